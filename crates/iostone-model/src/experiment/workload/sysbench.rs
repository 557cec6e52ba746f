//! What sysbench is asked to do.

mod check;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{Ends, Preparation, counted, one, parts};
use crate::experiment::Configuration;
use crate::experiment::check::Findings;
use crate::metric::{Direction, Metric, Unit, metric};
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
    fn has_files(&self) -> bool {
        self.test == SysbenchTest::Fileio
    }

    /// The room its files take.
    pub fn room(&self) -> Bytes {
        if self.has_files() { self.file_total_size.unwrap_or(Bytes(2 << 30)) } else { Bytes(0) }
    }

    fn has_flag(&self, flags: &[&str]) -> bool {
        self.file_extra_flags.iter().any(|own| flags.contains(&own.as_str()))
    }

    /// Whether every request goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.has_files() && self.file_io_mode.as_deref() != Some("mmap") && self.has_flag(&["direct"])
    }

    fn summary(&self) -> Vec<String> {
        parts([
            Some(format!("sysbench {}", self.test.word())),
            self.file_test_mode.clone(),
            Some(counted(self.threads, "thread")),
            Some(format!("{} s", self.seconds)),
            self.warm_up.map(|seconds| format!("{seconds} s of warm-up")),
            self.has_files().then(|| format!("files of {}", self.room())),
            self.file_block_size.map(|size| format!("blocks of {size}")),
            (!self.file_extra_flags.is_empty()).then(|| self.file_extra_flags.join(" ")),
            self.file_fsync_freq.map(|every| match every {
                0 => "no fsync".to_owned(),
                every => format!("fsync after every {every} requests"),
            }),
        ])
    }
}

pub(super) const KIND: WorkloadKind =
    WorkloadKind { program: Some("sysbench"), ..WorkloadKind::new("sysbench", SYSBENCH_METRICS) };

impl Profiled for SysbenchWorkload {
    fn profile(&self) -> Profile {
        let room = self.room();
        let mode = self.file_test_mode.as_deref();
        let only_reads = mode.is_some_and(|mode| matches!(mode, "seqrd" | "rndrd"));
        let syncs = self.has_files()
            && mode.is_some()
            && !only_reads
            && (self.has_flag(&["sync", "dsync"]) || self.file_fsync_freq != Some(0));
        // `seqwr` makes its files in the measured time.
        let is_laid_out = mode.is_some_and(|mode| mode != "seqwr");
        Profile {
            direct: self.has_files().then(|| self.is_direct()),
            syncs: Some(syncs),
            flushed: (self.has_files() && !only_reads).then_some(syncs),
            must_reach_device: Some(self.is_direct()),
            working_set: if self.has_files() { WorkingSet::Bytes(room) } else { WorkingSet::Unknown },
            demand: Err("its time goes to flushes and processors, which are not reckoned"),
            ends: Ends::ByTime,
            takes: Some([Duration::from_secs(u64::from(self.seconds)); 2]),
            room: Some(room),
            preparation: is_laid_out.then(|| Preparation {
                words: format!("sysbench prepare lays out {room}; write it back, drop it from the cache"),
                bytes: room,
            }),
            ..Profile::of_program(self.summary(), KIND.program)
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    fn rehearse(&mut self, _: Rehearsal) {
        /// sysbench's own default of 128 would leave files of 128 KiB.
        const FILES: u32 = 8;
        self.seconds = self.seconds.min(1);
        self.warm_up = self.warm_up.map(|seconds| seconds.min(1));
        if self.file_test_mode.is_some() {
            let files = self.file_num.unwrap_or(FILES).min(FILES);
            let block = self.file_block_size.unwrap_or(Bytes(16 << 10)).0.max(1);
            // Whole blocks in every file.
            let least = Rehearsal::file_of(block.saturating_mul(u64::from(files.max(1))));
            self.file_num = Some(files);
            self.file_total_size = Some(self.file_total_size.unwrap_or(least).min(least));
        }
    }
}

/// What sysbench yields: its fileio and cpu tests.
const SYSBENCH_METRICS: &[Metric] = &[
    metric("events", Unit::PerSecond, Direction::Higher, "events per second"),
    metric("reads", Unit::PerSecond, Direction::Higher, "reads per second"),
    metric("writes", Unit::PerSecond, Direction::Higher, "writes per second"),
    metric("fsyncs", Unit::PerSecond, Direction::Higher, "fsyncs per second"),
    metric("read.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of reads"),
    metric("write.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of writes"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_min", Unit::Seconds, Direction::Lower, "minimum latency"),
    metric("latency_p95", Unit::Seconds, Direction::Lower, "p95 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
];
