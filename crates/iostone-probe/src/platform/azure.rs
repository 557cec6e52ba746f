//! Azure's instance metadata service: one answer in JSON, of which a few keys are read and the rest is thrown away.
//!
//! "Azure Instance Metadata Service" of Microsoft's documentation. The version asked for is the last before user data became
//! part of the answer.

use iostone_model::platform::Platform;
use serde::Deserialize;

use super::http::{AskError, Client};
use super::plain;

const COMPUTE: &str = "/metadata/instance/compute?api-version=2020-12-01&format=json";

/// The keys that are read; the subscription, the names of groups and keys of users are not among them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Compute {
    vm_size: String,
    location: String,
    zone: String,
    publisher: String,
    offer: String,
    sku: String,
    version: String,
    priority: String,
}

/// Completes the platform.
pub(super) fn ask(client: &mut Client, platform: &mut Platform) -> Result<(), AskError> {
    let answer = client.ask("GET", COMPUTE, &[("Metadata", "true")])?;
    if !answer.is_success() {
        return Err(AskError::Status { asked: COMPUTE, status: answer.status });
    }
    let compute: Compute = serde_json::from_slice(&answer.body).map_err(|_| AskError::Impostor(COMPUTE))?;
    platform.instance_type = plain(&compute.vm_size);
    platform.region = plain(&compute.location);
    platform.zone = plain(&compute.zone);
    let image = [&compute.publisher, &compute.offer, &compute.sku, &compute.version];
    // A machine of the customer's own image has none of them.
    platform.image = image
        .iter()
        .all(|part| !part.is_empty())
        .then(|| image.map(String::as_str).join(":"))
        .and_then(|name| plain(&name));
    platform.lifecycle = match compute.priority.as_str() {
        "Spot" | "Low" => Some("spot".to_owned()),
        "Regular" => Some("on-demand".to_owned()),
        other => plain(other),
    };
    Ok(())
}
