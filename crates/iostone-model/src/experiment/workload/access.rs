//! The words that a load chooses from: direction and order, durability, engine, flags of requests, checksums.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The direction and order of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadWrite {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
    /// Sequential reads and writes, mixed by `rwmixread`.
    Rw,
    /// Random reads and writes, mixed by `rwmixread`.
    Randrw,
    /// Sequential discards.
    Trim,
    /// Random discards.
    Randtrim,
    /// Each block is discarded, then written, in sequence.
    Trimwrite,
    /// Each block is discarded, then written, in random order.
    Randtrimwrite,
}

impl ReadWrite {
    /// Whether some of it reads.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Randread) || self.is_mixed()
    }

    /// Whether some of it writes.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread | Self::Trim | Self::Randtrim)
    }

    /// Whether some of it discards.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::Randtrim | Self::Trimwrite | Self::Randtrimwrite)
    }

    /// Whether blocks are visited in random order.
    pub fn is_random(self) -> bool {
        !matches!(self, Self::Read | Self::Write | Self::Rw | Self::Trim | Self::Trimwrite)
    }

    /// Whether reads and writes are mixed by a percentage.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::Rw | Self::Randrw)
    }

    /// fio's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
            Self::Rw => "rw",
            Self::Randrw => "randrw",
            Self::Trim => "trim",
            Self::Randtrim => "randtrim",
            Self::Trimwrite => "trimwrite",
            Self::Randtrimwrite => "randtrimwrite",
        }
    }
}

/// Synchronous open flags, open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// `O_DSYNC`: each write returns when its data is durable.
    Dsync,
    /// `O_SYNC`: data and all metadata.
    Sync,
}

/// Which way requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum IoEngine {
    /// Synchronous calls at depth 1, `io_uring` above; which it was is recorded.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// io_uring or an error.
    #[serde(rename = "io_uring")]
    IoUring,
    /// pread(2) and pwrite(2).
    #[serde(rename = "sync")]
    Sync,
    /// Copies from and to a mapping, mmap(2), with msync(2) for syncs.
    #[serde(rename = "mmap")]
    Mmap,
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

/// With what each block that is written is sealed, so that one that is read can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verification {
    /// Nothing is checked.
    #[default]
    None,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

impl Verification {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc32c => "crc32c",
            Self::Sha256 => "sha256",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file() {
        for word in [
            "read",
            "write",
            "randread",
            "randwrite",
            "rw",
            "randrw",
            "trim",
            "randtrim",
            "trimwrite",
            "randtrimwrite",
        ] {
            let rw: ReadWrite = serde_json::from_value(word.into()).unwrap();
            assert_eq!(rw.word(), word);
            assert_eq!(rw.is_random(), word.starts_with("rand"));
            assert_eq!(rw.trims(), word.contains("trim"));
            assert_eq!(rw.writes(), word.contains("write") || word.ends_with("rw"));
            assert_eq!(rw.reads(), word.contains("read") || word.ends_with("rw"));
        }
        for word in ["hipri", "dsync", "sync", "nowait", "atomic", "dontcache"] {
            assert_eq!(serde_json::from_value::<RequestFlag>(word.into()).unwrap().word(), word);
        }
        for word in ["none", "crc32c", "sha256"] {
            assert_eq!(serde_json::from_value::<Verification>(word.into()).unwrap().word(), word);
        }
    }
}
