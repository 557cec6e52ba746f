//! Many hosts as they are kept and as they are judged: `fleet.json`, a host's status, manifests, verdicts over hosts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Unit};
use crate::omitted::is_default;
use crate::verdict::{Flag, Verdict};

/// The version of [`Fleet`] as JSON.
pub const FLEET_SCHEMA: &str = "iostone/fleet/1";
/// The version of [`HostStatus`] as JSON.
pub const STATUS_SCHEMA: &str = "iostone/host-status/1";
/// The version of [`Manifest`] as JSON.
pub const MANIFEST_SCHEMA: &str = "iostone/manifest/1";
/// The version of [`FleetReport`] as JSON.
pub const FLEET_REPORT_SCHEMA: &str = "iostone/fleet-report/1";

/// The longest name of a host that is accepted: DNS's.
const LONGEST_HOST_NAME: usize = 253;

/// Whether a host's name can be a file's name and a word of a command line: letters, digits, `.`, `_` and `-`, a letter or digit
/// first.
pub fn is_host_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    name.len() <= LONGEST_HOST_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(plain)
}

/// Many hosts that run one experiment: `fleet.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// [`FLEET_SCHEMA`].
    pub schema: String,
    /// The fleet's id: eight letters and digits.
    pub fleet_id: String,
    /// When it was begun, RFC 3339 in UTC.
    pub created_at: String,
    /// The version of iostone that began it, which every host must run.
    pub iostone_version: String,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's question.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The seed that each host's seed is drawn from.
    pub seed: u64,
    /// What `--set` laid over the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// Whether each host only rehearses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub quick: bool,
    /// Devices whose content may be destroyed, on each host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destroy: Vec<String>,
    /// The inventory, as an absolute path; empty where directories were only collected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inventory: String,
    /// Every host, in the order of the inventory.
    pub hosts: Vec<FleetHost>,
}

/// How far a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostState {
    /// Not started.
    #[default]
    Waiting,
    /// Started, not fetched yet.
    Running,
    /// Its run directory is here, complete and checked.
    Done,
    /// It has no result; the reason says why.
    Missing,
}

/// One host of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FleetHost {
    /// Its name in the inventory.
    pub name: String,
    /// What the inventory says of it that can be a factor: instance type, image, zone, labels of the user's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How far it is.
    pub state: HostState,
    /// Why it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Its run directory, relative to the fleet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// SHA-256 of the content of its run directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// How a host's run is getting on, as the host says: `status.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostStatus {
    /// [`STATUS_SCHEMA`].
    pub schema: String,
    /// The version of iostone that runs there.
    pub iostone_version: String,
    /// What it is doing.
    pub state: RunState,
    /// Its process.
    pub pid: u32,
    /// Trials recorded.
    pub trials: u32,
    /// Blocks that count.
    pub blocks: u32,
    /// The most blocks.
    pub budget: u32,
    /// Why it ended without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The archive that can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Archive>,
}

/// What a host's run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its trials run.
    #[default]
    Running,
    /// It ended with a result.
    Done,
    /// It ended with an error; what was recorded is kept.
    Failed,
    /// Nobody asked for it in time: it stopped, undid everything, and can be resumed.
    Expired,
    /// Its process is gone without a word.
    Dead,
}

/// A packed run directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Archive {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// Every file of a run directory with its digest: `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// The fleet that it was measured for; empty for a run by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fleet_id: String,
    /// The host's name in that fleet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Every file but the manifest and its signature, by name.
    pub files: BTreeMap<String, FileDigest>,
}

/// What a file's bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileDigest {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// What the hosts of a fleet found together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetReport {
    /// [`FLEET_REPORT_SCHEMA`].
    pub schema: String,
    /// The answer, in a sentence or two.
    pub headline: String,
    /// The fleet.
    pub fleet: Fleet,
    /// The metric that was judged.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Direction,
    /// The equivalence margin as a fraction.
    pub margin: f64,
    /// The confidence of all verdicts together.
    pub confidence: f64,
    /// Every host with a result.
    pub hosts: Vec<HostFigures>,
    /// Each level against the baseline, over hosts.
    pub comparisons: Vec<HostComparison>,
    /// What differs between hosts, such as the instance type.
    pub between: Vec<BetweenHosts>,
    /// Hosts that are unlike the others.
    pub odd: Vec<OddHost>,
    /// Sums over hosts and percentiles of all requests, or why there are none.
    pub totals: Vec<FleetTotal>,
    /// What else must be known.
    pub flags: Vec<Flag>,
}

/// What one host measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// Its name.
    pub name: String,
    /// Its facts that can be factors: instance type, kernel, image, zone, labels.
    pub facts: BTreeMap<String, String>,
    /// Blocks that count.
    pub blocks: u32,
    /// Whether its run had come to its own end.
    pub finished: bool,
    /// Median of the metric, by configuration.
    pub medians: BTreeMap<String, f64>,
    /// Its figures relative to those of the median host of its type, over all configurations; above 1 is better.
    pub relative: Option<f64>,
    /// Its own ratios to the baseline, in the order of [`FleetReport::comparisons`]; null without a block.
    pub ratios: Vec<Option<f64>>,
    /// Their intervals, as its own run concluded them.
    pub intervals: Vec<[Option<f64>; 2]>,
}

/// One level against the baseline, over hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostComparison {
    /// The level compared.
    pub level: String,
    /// The level it is compared with.
    pub baseline: String,
    /// The other factors' levels; empty with one factor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// Hosts with a ratio.
    pub hosts: u32,
    /// What holds for these hosts and no others: all blocks of all hosts.
    pub these: Claim,
    /// What holds for hosts like these: one figure a host.
    pub like_these: Claim,
    /// Standard deviation of the effect between hosts, as a log ratio, free of the blocks' noise; null below two hosts.
    pub between_sd: Option<f64>,
    /// Standard deviation of a block's log ratio within a host; null where unknown.
    pub within_sd: Option<f64>,
    /// The interval in which the ratio of the next host lies with the declared confidence; null where hosts are too few.
    pub next_host: Option<[f64; 2]>,
    /// How many hosts more would probably settle it; null where it is settled, or where nothing can be said.
    pub hosts_more: Option<u32>,
    /// What else must be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// A verdict with its scope.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Claim {
    /// The verdict; null where there are too few for any.
    pub verdict: Option<Verdict>,
    /// The ratio; above 1 is better whatever the metric's direction.
    pub ratio: Option<f64>,
    /// Its interval; null where unbounded.
    pub interval: [Option<f64>; 2],
    /// Blocks, or hosts, that it rests on.
    pub count: u32,
    /// Why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A factor that varies from host to host, judged for one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BetweenHosts {
    /// The fact: `instance type`.
    pub fact: String,
    /// The configuration whose figures are compared.
    pub configuration: String,
    /// The level compared.
    pub level: String,
    /// The level it is compared with.
    pub baseline: String,
    /// Hosts of the level, and of the baseline.
    pub hosts: [u32; 2],
    /// What follows.
    pub claim: Claim,
}

/// A host that is unlike the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OddHost {
    /// Its name.
    pub name: String,
    /// What is odd about it, in a sentence.
    pub message: String,
    /// Its figure relative to the fleet's typical one; above 1 is better.
    pub ratio: f64,
}

/// A figure of all hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetTotal {
    /// The configuration.
    pub configuration: String,
    /// What it is: `bandwidth of all hosts together`, `latency p99 of all requests`.
    pub what: String,
    /// The figure; null where it is refused.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: Unit,
    /// What it rests on, or why it is refused.
    pub because: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_are_words_and_file_names() {
        for good in ["db1", "10.0.0.7", "ip-10-0-0-7.eu-west-1.compute.internal", "a_b"] {
            assert!(is_host_name(good), "{good}");
        }
        for bad in
            ["", "..", ".hidden", "-oProxyCommand=x", "a/b", "a b", "fe80::1", "ü", "a\n", &"a".repeat(254)]
        {
            assert!(!is_host_name(bad), "{bad}");
        }
    }
}
