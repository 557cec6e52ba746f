//! What a server serves: volumes, each at a socket of its own, and the link that all of them share.

use std::path::PathBuf;

use iostone_model::experiment::{EmulatedVolume, Link};
use serde::{Deserialize, Serialize};

/// Everything that a server needs to know, as JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskPlan {
    /// The volumes.
    pub volumes: Vec<VolumePlan>,
    /// What all volumes together may move, reads and writes.
    pub link: Option<Link>,
    /// Where the server is steered: a Unix socket.
    pub control: PathBuf,
    /// The seed of everything random: latencies, destaging, faults, what a power cut keeps.
    pub seed: u64,
}

/// One volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VolumePlan {
    /// Its name, for people and for `control`.
    pub name: String,
    /// The Unix socket at which it speaks NBD.
    pub socket: PathBuf,
    /// Where its bytes lie.
    pub store: Store,
    /// Its properties; `size` is the volume's, `count`, `by`, `directory` and `fill` mean nothing here.
    pub model: EmulatedVolume,
}

/// Where a volume's bytes lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// A file, or a block device, that is there already.
    File {
        /// Its path.
        path: PathBuf,
        /// Past the page cache, with `O_DIRECT`.
        direct: bool,
    },
    /// Memory; gone with the server.
    Memory,
}
