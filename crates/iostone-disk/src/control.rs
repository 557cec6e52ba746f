//! How a running server is steered: requests and replies, each one line of JSON, over a Unix socket.

mod client;
mod handling;
mod setting;

use iostone_model::figures::{counted, list, quoted};
use iostone_model::units::{ByteRate, Fraction, Span};
use serde::{Deserialize, Serialize};

use crate::cache::{CacheCounters, PowerCut, PowerSwitch};
use crate::counters::{Counters, StoreFailures};
use crate::model::{LinkState, VolumeState};

pub use client::{Control, ControlError};
pub use handling::handle;
pub use setting::{Setting, SettingError};

/// The longest request, in bytes with its newline; whoever sends more is disconnected.
pub const LONGEST_REQUEST_BYTES: usize = 64 * 1024;

/// What is asked of a server. A volume left out means all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlRequest {
    /// Read the counters.
    Counters {
        /// Of which volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
    },
    /// Count anew, from zero.
    ResetCounters {
        /// Of which volume; all also resets the link's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
    },
    /// Change properties while requests go on.
    Set {
        /// Of which volume; the link is that of the server either way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
        /// What is to hold from now on; all of it, or nothing if one is wrong.
        settings: Vec<Setting>,
    },
    /// Cut the power.
    Cut {
        /// Of which volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
        /// The share of the blocks not flushed that still reaches the medium.
        keep: Fraction,
    },
    /// Switch the power on again.
    Restore {
        /// Of which volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
    },
    /// Begin nothing and answer nothing for a while, from now on.
    Stall {
        /// Of which volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
        /// For how long.
        lasts: Span,
    },
    /// Set what is in the burst buckets.
    Fill {
        /// Of which volume; each has to have such a bucket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<String>,
        /// I/Os in the bucket of I/Os; more than it holds fills it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits: Option<u64>,
        /// Bytes in the bucket of bytes; more than it holds fills it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credit_bytes: Option<u64>,
    },
    /// Set what is in the burst buckets of the link.
    FillLink {
        /// I/Os in the bucket of I/Os; more than it holds fills it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits: Option<u64>,
        /// Bytes in the bucket of bytes; more than it holds fills it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credit_bytes: Option<u64>,
    },
    /// A workload begins: every burst bucket, the link's too, holds what it is to hold then.
    Begin,
    /// End the server.
    End,
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlReply {
    /// It is done.
    Done,
    /// The counters.
    Counters(ServerReport),
    /// The power is off.
    Cut(Vec<CutReport>),
    /// It was not done, and why.
    Refused(String),
}

/// The counters of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReport {
    /// The volumes, in the order of the plan.
    pub volumes: Vec<VolumeReport>,
    /// The rate of the link, if there is one.
    pub link: Option<ByteRate>,
    /// I/Os a second of the link in the long run, if those are limited.
    #[serde(default)]
    pub link_iops: Option<u32>,
    /// Bytes over the link, reads and writes of all volumes, those on their way as well.
    pub link_bytes: u64,
    /// I/Os over the link, as their volumes count them.
    #[serde(default)]
    pub link_ios: u64,
    /// Bytes left in the link's burst bucket; none without such a bucket.
    #[serde(default)]
    pub link_credit_bytes: Option<f64>,
    /// I/Os left in the link's burst bucket; none without such a bucket.
    #[serde(default)]
    pub link_credits: Option<f64>,
    /// When this was so, in nanoseconds of the server's own clock, by which it grants.
    #[serde(default)]
    pub at_ns: u64,
}

/// The counters of one volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VolumeReport {
    /// Its name.
    pub name: String,
    /// What it has done.
    pub counters: Counters,
    /// What its cache has done; none without one.
    pub cache: Option<CacheCounters>,
    /// What the file, device or memory below it could not do.
    #[serde(default)]
    pub store_failures: StoreFailures,
}

impl ServerReport {
    /// In words, what this machine could not do for the emulation, which its requests got as I/O errors; none if it did all.
    pub fn trouble_below(&self) -> Option<String> {
        let failed: Vec<&VolumeReport> =
            self.volumes.iter().filter(|volume| volume.store_failures.requests > 0).collect();
        let requests: u64 = failed.iter().map(|volume| volume.store_failures.requests).sum();
        let errno = failed.iter().find_map(|volume| volume.store_failures.first_errno)?;
        Some(format!(
            "the storage below {} failed {}, the first with \"{}\": a fault of this machine, not of the emulated volume",
            list(&quoted(failed.iter().map(|volume| &volume.name))),
            counted(requests, "request"),
            std::io::Error::from_raw_os_error(errno),
        ))
    }
}

/// What a power cut did to one volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutReport {
    /// Its name.
    pub name: String,
    /// What became of its cache; none without one, where everything acknowledged is on the medium.
    pub cache: Option<PowerCut>,
}

/// One volume, as a server hands it over for the time of a request.
pub struct SteeredVolume<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its model.
    pub state: &'a mut VolumeState,
    /// What its store could not do.
    pub store_failures: StoreFailures,
    /// Its cache, if it has one.
    pub cache: Option<&'a mut dyn PowerSwitch>,
}

/// A server, as it hands itself over for the time of a request.
pub struct Steering<'a> {
    /// The time by the clock of its requests.
    pub now_ns: u64,
    /// Its volumes, in the order of the plan.
    pub volumes: Vec<SteeredVolume<'a>>,
    /// Its link.
    pub link: &'a mut LinkState,
    /// Set when it is to end.
    pub end: &'a mut bool,
}

#[cfg(test)]
mod tests;
