//! How requests reach the kernel and when: the engine, flags of each request, the process of arrivals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum IoEngine {
    /// Synchronous calls at depth 1, where a ring can only add cost; `io_uring` above. Which it was is recorded.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// `io_uring`, or an error that says why not.
    #[serde(rename = "io_uring")]
    IoUring,
    /// pread(2) and pwrite(2); depth 1 only.
    #[serde(rename = "sync")]
    Sync,
    /// Copies from and to a mapping, mmap(2), with msync(2) for syncs; depth 1 only.
    #[serde(rename = "mmap")]
    Mmap,
    /// Every request completes at once and nothing is touched: the cost of the load engine's loop. Not for experiments.
    #[serde(rename = "null", skip_deserializing)]
    Null,
    /// A ring that is sent `IORING_OP_NOP`: the cost of the loop and of the ring. Not for experiments.
    #[serde(rename = "io_uring_nop", skip_deserializing)]
    IoUringNop,
}

/// A flag of each request, `preadv2(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestFlag {
    /// `RWF_HIPRI`: poll for the completion.
    Hipri,
    /// `RWF_DSYNC`: this write is durable, as with `O_DSYNC`.
    Dsync,
    /// `RWF_SYNC`: this write is durable, as with `O_SYNC`.
    Sync,
    /// `RWF_NOWAIT`: fail with `EAGAIN` instead of waiting.
    Nowait,
    /// `RWF_ATOMIC`: all of the write or none of it survives a power cut.
    Atomic,
    /// `RWF_DONTCACHE`: through the page cache, and dropped from it afterwards.
    Dontcache,
}

impl RequestFlag {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hipri => "hipri",
            Self::Dsync => "dsync",
            Self::Sync => "sync",
            Self::Nowait => "nowait",
            Self::Atomic => "atomic",
            Self::Dontcache => "dontcache",
        }
    }

    /// Whether it makes a write durable before it completes.
    pub fn is_durable(self) -> bool {
        matches!(self, Self::Dsync | Self::Sync)
    }
}

/// How the arrivals of an open loop follow each other; fio's `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// At equal distances.
    #[default]
    Linear,
    /// At random: a Poisson process, as independent users make it.
    Poisson,
}

impl RateProcess {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Poisson => "poisson",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file() {
        for word in ["hipri", "dsync", "sync", "nowait", "atomic", "dontcache"] {
            assert_eq!(serde_json::from_value::<RequestFlag>(word.into()).unwrap().word(), word);
        }
    }
}
