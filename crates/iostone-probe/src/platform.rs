//! On which cloud this is: told by the firmware and by Xen, completed by the provider's metadata service.
//!
//! The metadata service is asked only where the machine's own marks name its provider, so that no other machine waits for
//! one; at a link-local address, past every proxy, within a second in all. Only what describes a kind of machine is asked
//! for: no credentials, no user data, no instance id, no account.

mod aws;
mod azure;
mod gcp;
mod http;
mod marks;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use iostone_model::platform::{Platform, Provider};

use crate::root::Root;
use http::{Client, Patience};
pub use http::{MOST_SECONDS, is_forbidden_by};

/// The variable of the environment that keeps every iostone process from asking.
pub const NO_METADATA_VARIABLE: &str = "IOSTONE_NO_METADATA";

/// Where AWS, Google and Azure answer their instances (RFC 3927 keeps the address on the link).
const LINK_LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));
/// Where AWS answers instances on Nitro over IPv6.
const NITRO_IPV6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFD00, 0x0EC2, 0, 0, 0, 0, 0, 0x254));
const HTTP_PORT: u16 = 80;

/// Whether the provider's metadata service is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metadata {
    /// No: `--no-metadata`.
    NotAsked,
    /// At the provider's addresses.
    Asked,
    /// At this address, whoever the provider is; for trying a service out.
    AskedAt(SocketAddr),
}

impl Metadata {
    /// Asked, unless that is forbidden here or by [`NO_METADATA_VARIABLE`].
    pub fn unless(forbidden: bool) -> Self {
        let by_variable = std::env::var(NO_METADATA_VARIABLE).is_ok_and(|value| is_forbidden_by(&value));
        if forbidden || by_variable { Self::NotAsked } else { Self::Asked }
    }

    fn addresses(&self, provider: Provider) -> Vec<SocketAddr> {
        let at = |address| SocketAddr::new(address, HTTP_PORT);
        match (self, provider) {
            (Self::NotAsked, _) => Vec::new(),
            (Self::AskedAt(address), _) => vec![*address],
            (Self::Asked, Provider::Aws) => vec![at(LINK_LOCAL), at(NITRO_IPV6)],
            (Self::Asked, Provider::Gcp | Provider::Azure) => vec![at(LINK_LOCAL)],
        }
    }
}

/// The cloud that the machine below `root` is on; none where no mark of one is found, and then nobody is asked.
///
/// Never fails: what is not answered, not in time, or not in plain letters stays unknown, and
/// [`Platform::evidence`] says why.
pub fn find_platform(root: &Root, metadata: &Metadata) -> Option<Platform> {
    find_within(root, metadata, Patience::USUAL)
}

fn find_within(root: &Root, metadata: &Metadata, patience: Patience) -> Option<Platform> {
    let mut platform = marks::read_marks(root)?;
    let addresses = metadata.addresses(platform.provider);
    if addresses.is_empty() {
        platform.evidence.push("the metadata service was not asked".to_owned());
        return Some(platform);
    }
    let mut client = Client::new(addresses, patience);
    let by_marks = platform.instance_type.clone();
    let asked = match platform.provider {
        Provider::Aws => aws::ask(&mut client, &mut platform),
        Provider::Gcp => gcp::ask(&mut client, &mut platform),
        Provider::Azure => azure::ask(&mut client, &mut platform),
    };
    match asked {
        Ok(()) => platform.evidence.push("the metadata service answered".to_owned()),
        Err(error) => platform.evidence.push(format!("the metadata service: {error}")),
    }
    if let (Some(marked), Some(told)) = (&by_marks, &platform.instance_type)
        && marked != told
    {
        platform.evidence.push(format!("the metadata service says `{told}` and the firmware `{marked}`"));
    }
    Some(platform)
}

/// At most so many letters of any answer are kept.
const LONGEST_ANSWER: usize = 128;

/// An answer in plain letters, as names of types, zones and images are; others are taken for none.
fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/ ".contains(letter);
    (!text.is_empty() && text.len() <= LONGEST_ANSWER && text.chars().all(is_plain)).then(|| text.to_owned())
}

/// What is behind the last slash: Google names things by paths that begin with the customer's project.
fn last_part(text: &str) -> Option<String> {
    plain(text.trim().rsplit('/').next()?)
}

#[cfg(test)]
mod tests;
