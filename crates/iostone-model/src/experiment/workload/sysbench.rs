//! What sysbench is asked to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one, sentence};
use crate::units::Bytes;

/// sysbench 1.0: its `fileio` and `cpu` tests. Options are named as sysbench names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SysbenchWorkload {
    /// Which test.
    pub test: SysbenchTest,
    /// `--threads`.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub threads: u32,
    /// `--time`, in seconds.
    #[serde(default = "ten")]
    #[schemars(range(min = 1))]
    pub seconds: u32,
    /// `--warmup-time`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u32>,
    /// `--file-total-size`; 2 GiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_total_size: Option<Bytes>,
    /// `--file-num`; 128 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_num: Option<u32>,
    /// `--file-block-size`; 16 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_block_size: Option<Bytes>,
    /// `--file-test-mode`: seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw; needed for `fileio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_test_mode: Option<String>,
    /// `--file-io-mode`: sync, async or mmap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_io_mode: Option<String>,
    /// `--file-extra-flags`: sync, dsync, direct.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_extra_flags: Vec<String>,
    /// `--file-fsync-freq`: fsync(2) after so many requests, 0 for never; 100 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_fsync_freq: Option<u32>,
    /// `--cpu-max-prime`; 10000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_max_prime: Option<u32>,
}

/// Which of sysbench's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SysbenchTest {
    /// Reads and writes of a set of files.
    Fileio,
    /// Prime numbers.
    Cpu,
}

fn ten() -> u32 {
    10
}

impl SysbenchTest {
    /// The word in the file and on sysbench's command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fileio => "fileio",
            Self::Cpu => "cpu",
        }
    }
}

impl SysbenchWorkload {
    /// The room its files take.
    pub fn room(&self) -> Option<Bytes> {
        let files = self.test == SysbenchTest::Fileio;
        Some(if files { self.file_total_size.unwrap_or(Bytes(2 << 30)) } else { Bytes(0) })
    }

    /// Whether it makes what it writes durable.
    pub fn syncs(&self) -> bool {
        let writes = self.file_test_mode.as_deref().is_some_and(|mode| !matches!(mode, "seqrd" | "rndrd"));
        let durable = self.file_extra_flags.iter().any(|flag| matches!(flag.as_str(), "sync" | "dsync"));
        self.test == SysbenchTest::Fileio && writes && (durable || self.file_fsync_freq != Some(0))
    }

    /// Whether every request goes past the page cache.
    pub fn is_direct(&self) -> bool {
        let mapped = self.file_io_mode.as_deref() == Some("mmap");
        self.test == SysbenchTest::Fileio
            && !mapped
            && self.file_extra_flags.iter().any(|flag| flag == "direct")
    }

    /// In a line for people.
    pub fn summary(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        sentence([
            Some(format!("sysbench {}", self.test.word())),
            self.file_test_mode.clone(),
            Some(format!("{} thread{plural}, {} s", self.threads, self.seconds)),
            self.warm_up.map(|seconds| format!("{seconds} s of warm-up")),
            self.room().filter(|room| room.0 > 0).map(|room| format!("files of {room}")),
            self.file_block_size.map(|size| format!("blocks of {size}")),
            (!self.file_extra_flags.is_empty()).then(|| self.file_extra_flags.join(" ")),
            self.file_fsync_freq.map(|every| match every {
                0 => "no fsync".to_owned(),
                every => format!("fsync after every {every} requests"),
            }),
        ])
    }
}
