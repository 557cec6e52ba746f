//! Google Compute Engine's metadata server: a header in each question, and the same in each answer.
//!
//! "About VM metadata" of Google's documentation. Names come as paths that begin with the customer's project; only their
//! last part is kept.

use iostone_model::platform::Platform;

use super::http::{AskError, Client};
use super::last_part;

const FLAVOR: (&str, &str) = ("Metadata-Flavor", "Google");

/// Completes the platform; what it was told before an error stays.
pub(super) fn ask(client: &mut Client, platform: &mut Platform) -> Result<(), AskError> {
    let mut tell = |path| told(client, path);
    platform.instance_type = tell("/computeMetadata/v1/instance/machine-type")?;
    platform.zone = tell("/computeMetadata/v1/instance/zone")?;
    // `asia-northeast1-a` is a zone of `asia-northeast1`.
    platform.region =
        platform.zone.as_ref().and_then(|zone| zone.rsplit_once('-')).map(|(region, _)| region.to_owned());
    platform.image = tell("/computeMetadata/v1/instance/image")?;
    // Spot and preemptible machines alike (TRUE); others are FALSE.
    platform.lifecycle = tell("/computeMetadata/v1/instance/scheduling/preemptible")?.map(|told| match told
        .to_ascii_uppercase()
        .as_str()
    {
        "TRUE" => "spot".to_owned(),
        "FALSE" => "on-demand".to_owned(),
        _ => told,
    });
    Ok(())
}

/// None where the service has no such path, for a machine of no image, and for an answer in other than plain letters.
fn told(client: &mut Client, path: &'static str) -> Result<Option<String>, AskError> {
    let answer = client.ask("GET", path, &[FLAVOR])?;
    if answer.header(FLAVOR.0) != Some(FLAVOR.1) {
        return Err(AskError::Impostor(path));
    }
    match answer.status {
        200 => Ok(last_part(&answer.text())),
        404 => Ok(None),
        status => Err(AskError::Status { asked: path, status }),
    }
}
