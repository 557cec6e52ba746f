//! Amazon EC2's instance metadata service, version 2: a token first, then one question a path.
//!
//! "Use `IMDSv2`" of the EC2 User Guide. Version 1, without a token, is never asked.

use iostone_model::platform::Platform;

use super::http::{AskError, Client};
use super::plain;

const TOKEN: &str = "/latest/api/token";
const LIFETIME: (&str, &str) = ("X-aws-ec2-metadata-token-ttl-seconds", "60");

/// Completes the platform; what it was told before an error stays.
pub(super) fn ask(client: &mut Client, platform: &mut Platform) -> Result<(), AskError> {
    let answer = client.ask("PUT", TOKEN, &[LIFETIME])?;
    if !answer.is_success() {
        return Err(AskError::Status { asked: TOKEN, status: answer.status });
    }
    let token = answer.text();
    let token = token.trim();
    if token.is_empty() {
        return Err(AskError::Strange(TOKEN));
    }
    let mut tell = |path| told(client, token, path);
    platform.instance_type = tell("/latest/meta-data/instance-type")?.or(platform.instance_type.take());
    platform.region = tell("/latest/meta-data/placement/region")?;
    platform.zone = tell("/latest/meta-data/placement/availability-zone")?;
    platform.image = tell("/latest/meta-data/ami-id")?;
    platform.lifecycle = tell("/latest/meta-data/instance-life-cycle")?;
    Ok(())
}

/// None where the service has no such path, for some came later than others, and where it answers in other than plain letters.
fn told(client: &mut Client, token: &str, path: &'static str) -> Result<Option<String>, AskError> {
    let answer = client.ask("GET", path, &[("X-aws-ec2-metadata-token", token)])?;
    match answer.status {
        200 => Ok(plain(&answer.text())),
        404 => Ok(None),
        status => Err(AskError::Status { asked: path, status }),
    }
}
