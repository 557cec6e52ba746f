//! The record of one trial: what was built, what was measured, what the machine did meanwhile.

mod container;
mod cpu;
mod device_under_test;
mod space;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::covariate::Taken;
use crate::dataset::{DISK_FULL, NO_SPACE, Series};
use crate::experiment::{Filesystem, Stack};
use crate::metric::Unit;
use crate::omitted::is_default;
use crate::orion::Ceiling;
use crate::sample::{DiskCounters, NvmeActivity};
use crate::warm_up::SteadyState;

pub use container::ContainerFacts;
pub use cpu::{CpuAccount, GovernorRecord};
pub use device_under_test::DeviceUnderTest;
pub use space::{FileSpace, FreeSpace, MOST_FILES, SpaceRecord};

/// What a note on a trial says of a mount below its volume that drops every fsync.
pub const DROPS_SYNCS: &str = "mounted volatile, which drops every fsync";

/// The place of a container, `container.place`, whose files are memory.
pub const MEMORY: &str = "tmpfs";

/// The version of [`TrialRecord`] as JSON.
pub const TRIAL_SCHEMA: &str = "iostone/trial/1";

/// Seconds of each phase of a trial, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TrialPhases {
    /// Building and verifying the stack: volume, filesystem, mount, limits.
    pub build: f64,
    /// Laying out what the workload works on.
    pub prepare: f64,
    /// Rest until the devices are idle.
    pub settle: f64,
    /// The workload, its ramp and its start and end included.
    pub run: f64,
    /// Verifying the stack again.
    pub verify: f64,
    /// Undoing the stack.
    pub undo: f64,
}

/// Everything kept of a trial, `trials/NNNNNN/trial.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Counted from 1 over the whole run, failed ones included.
    pub number: u32,
    /// The block it belongs to, counted from 0 in the seed's stream of orders.
    pub block: u32,
    /// Its place within the block, from 0.
    pub position: u32,
    /// The configuration's name.
    pub configuration: String,
    /// The session that ran it, counted from 0; a resumed run has several.
    pub session: u32,
    /// Start of the workload, RFC 3339 in UTC.
    pub started_at: String,
    /// Seconds from the first step of building the stack to the end of undoing it.
    pub total_seconds: f64,
    /// Where those seconds went; absent from records of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<TrialPhases>,
    /// Seconds that the unrecorded trial of the same level took before this one, with `decide.conditioning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditioned_seconds: Option<f64>,
    /// The figures, by metric name (see [`crate::metric`]) in SI units: seconds, bytes a second.
    pub metrics: BTreeMap<String, f64>,
    /// Seconds of load before the measured time: the workload's ramp, the same for every trial of a run.
    #[serde(default)]
    pub ramp_seconds: f64,
    /// Whether the rate was steady over the measured time; none where the workload tells no rate over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// What the workload reported in full.
    pub workload: WorkloadReport,
    /// What was asked of each layer and what the kernel reported back.
    pub checks: Vec<Check>,
    /// Notes of the layers worth repeating in the report ("backing file on ext4, buffered").
    pub notes: Vec<String>,
    /// Whether the filesystem that its volume stands on is mounted so that it drops every fsync. Absent from records of version
    /// 0.1.0, where a note says so; reading them back fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_dropped_below: Option<bool>,
    /// The guest that it ran in, as it told from inside; none on a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestFacts>>,
    /// The container that the workload worked in or beside; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Box<ContainerFacts>>,
    /// What the workload took up on the filesystem that was made for it; none where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Box<SpaceRecord>>,
    /// The emulated CPU allowance and how well it was kept; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<Box<GovernorRecord>>,
    /// What the machine did during the workload.
    pub signals: SignalSummary,
    /// What others took of it over the measured time, with `decide.covariates`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Every declared gate with its outcome.
    pub gates: Vec<GateOutcome>,
    /// Whether the trial counts: every gate passed.
    pub valid: bool,
}

/// A guest, as it told from inside once it had booted, and how it was started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GuestFacts {
    /// The line of `uname -srvm`: `Linux 6.1.0-56-cloud-amd64 #1 SMP ... x86_64`.
    pub uname: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// The kernel's command line.
    pub command_line: String,
    /// What the kernel was taken from: a file, or a package with its version.
    pub kernel_source: String,
    /// SHA-256 of the kernel's file.
    pub kernel_sha256: String,
    /// The operating system of the root filesystem, as /etc/os-release names it; none where there is only the agent.
    pub os: Option<String>,
    /// Processors that it sees.
    pub cpus: u32,
    /// Memory that it sees, in bytes.
    pub memory_bytes: u64,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// Why this accelerator, and what it means for figures that the CPU bounds.
    pub accelerator_note: String,
    /// `qemu-system-x86_64 --version`.
    pub qemu_version: String,
    /// Seconds from the start of QEMU to the agent's first answer.
    pub boot_seconds: f64,
    /// Modules that the agent loaded.
    pub modules: Vec<String>,
}

/// What a workload reported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkloadReport {
    /// `io`, `command`, ...
    pub kind: String,
    /// Seconds that the figures cover.
    pub measured_seconds: f64,
    /// Bytes that the workload says it read in the measured time.
    pub claimed_read_bytes: u64,
    /// Bytes that the workload says it wrote in the measured time.
    pub claimed_written_bytes: u64,
    /// Seconds of the same load before the measured time, where there are several such stretches and one cut does not
    /// part them: before each point of ORION's. What the device served in them is in no claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_in_seconds: Option<f64>,
    /// Whether a foreign program was asked for I/O that cannot stay in the page cache, so that the claim can be held
    /// against what the device served. Of iostone's own engine this is known from the experiment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub must_reach_device: bool,
    /// What went wrong, if it failed: one sentence.
    pub error: Option<String>,
    /// The number of the error that made it fail, where it is known (errno(3)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Facts in plain words: engine used and why, threads, flags taken.
    pub facts: BTreeMap<String, String>,
    /// Completed reads, writes and discards in the measured time, where the workload tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Completed operations in each 100 ms of the measured time, where the workload tells.
    pub operations_per_100ms: Vec<u64>,
    /// Latency of operations, as `(bucket's midpoint in ns, count)`, sparse and ascending.
    pub latency_histogram: Vec<(u64, u64)>,
    /// Latency of fsync and fdatasync calls, likewise.
    pub sync_latency_histogram: Vec<(u64, u64)>,
    /// The end of the standard error of a foreign program (the whole is in `raw/`).
    pub stderr_tail: Option<String>,
    /// What a foreign program told over time, or run by run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
    /// Of ORION's test: what bounded its small and its large I/O. In records of version 0.1.0 the facts `ceiling_small` and
    /// `ceiling_large` said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// Figures that it could not give this time, by name: why not, and what helps, in one sentence without its point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

impl WorkloadReport {
    /// Takes from sentences what records of version 0.1.0 say by them alone: the ceilings of ORION's test, and a full disk, which
    /// whatever fails before the workload begins says in words as well.
    pub fn read_words(&mut self) {
        let is_full =
            |error: &str| [DISK_FULL, "no space left on", "ENOSPC"].iter().any(|says| error.contains(says));
        self.errno = self.errno.or(self.error.as_deref().filter(|error| is_full(error)).map(|_| NO_SPACE));
        if self.ceilings.is_empty() {
            let told = [(true, "ceiling_small"), (false, "ceiling_large")].into_iter();
            let told = told.filter_map(|(small, fact)| Ceiling::of_sentence(small, self.facts.get(fact)?));
            self.ceilings = told.collect();
        }
    }
}

impl TrialRecord {
    /// Whether the workload's files were memory, so that no device was to serve or to flush any of them.
    pub fn works_in_memory(&self) -> bool {
        self.container.as_deref().is_some_and(|container| container.place == MEMORY)
    }

    /// What drops every fsync of the workload before it reaches a device: the layer of its container, or a mount below its
    /// volume. In words; none where nothing is known to.
    pub fn syncs_dropped_by(&self) -> Option<String> {
        match self.container.as_deref() {
            Some(container) if container.volatile => {
                Some("its container's layer, mounted volatile".to_owned())
            }
            _ if self.syncs_dropped_below == Some(true) => {
                Some("the filesystem below its volume, which is mounted volatile".to_owned())
            }
            _ => None,
        }
    }

    /// What compressed the workload's files on their way to the device, in words: the option of the mount, or that files
    /// were found compressed. None where nothing is known to, or btrfs was asked to and stored them plain. Where something
    /// did, served bytes say nothing of the page cache.
    pub fn compressed_by(&self, stack: &Stack) -> Option<String> {
        compressed_by(stack, self.space.as_deref())
    }
}

/// As [`TrialRecord::compressed_by`], of a trial that has no record yet.
pub fn compressed_by(stack: &Stack, space: Option<&SpaceRecord>) -> Option<String> {
    let found = || {
        let space =
            space.filter(|space| space.files.encoded_extents + space.files_prepared.encoded_extents > 0)?;
        Some(format!("{}, which stored extents compressed", space.filesystem))
    };
    let asked = stack.compression().map(|option| {
        let filesystem = stack.filesystem.name().unwrap_or("the filesystem");
        format!("{filesystem}, mounted `{option}`")
    });
    asked.filter(|_| !is_stored_plain(stack, space)).or_else(found)
}

/// Whether btrfs stored the workload's files as they are, whatever it was asked for: what does not compress it leaves plain,
/// `btrfs(5)`, and marks compressed extents in FIEMAP.
fn is_stored_plain(stack: &Stack, space: Option<&SpaceRecord>) -> bool {
    let is_plain = |space: &SpaceRecord| {
        let (files, prepared) = (&space.files, &space.files_prepared);
        // Nothing is known of files that are gone, whose extents are not told, or that were not looked at.
        let is_known =
            files.bytes > 0 && files.extents.is_some_and(|extents| extents > 0) && files.count < MOST_FILES;
        is_known && files.encoded_extents + prepared.encoded_extents == 0
    };
    matches!(stack.filesystem, Filesystem::Btrfs(_)) && space.is_some_and(is_plain)
}

/// One setting, asked and read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The layer: volume, throttle, queue, filesystem, mount, container, limit, governor.
    pub layer: String,
    /// What was asked: `barrier=0`.
    pub asked: String,
    /// What the kernel reports: `nobarrier`.
    pub read_back: String,
    /// Where that was read: `/proc/self/mountinfo`.
    pub from: String,
}

/// What the machine did during the workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SignalSummary {
    /// Seconds between the first and the last sample.
    pub seconds: f64,
    /// Samples taken.
    pub samples: u32,
    /// Share of all CPU time that was stolen; null where the kernel cannot see that (a guest without a paravirtual clock).
    #[serde(default)]
    pub steal: Option<f64>,
    /// Where the CPU time went; null in records of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuAccount>,
    /// Share of all CPU time that was used (user and system).
    pub cpu_busy: f64,
    /// Share of the control group's periods that were throttled; null without a quota.
    pub throttled: Option<f64>,
    /// Share of the time some task waited for I/O; null without PSI.
    pub io_pressure: Option<f64>,
    /// Largest amount of dirty page cache seen, bytes.
    pub dirty_peak_bytes: u64,
    /// Per device of the stack and below it, top first: what it served between start and end.
    pub devices: Vec<DeviceActivity>,
    /// What the NVMe devices of Amazon EC2 among them counted by themselves; empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvme: Vec<NvmeActivity>,
    /// CPU seconds that the probe itself used.
    pub probe_cpu_seconds: f64,
    /// How far `CLOCK_REALTIME` moved against `CLOCK_MONOTONIC`, seconds; a jump means that somebody set the clock.
    pub clock_jump_seconds: f64,
}

/// What one device did during the workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceActivity {
    /// Kernel name.
    pub name: String,
    /// Its place: `stack` for what the workload's filesystem stands on, `member` for a member of an array below that,
    /// `below` for the disk that holds the files.
    pub role: String,
    /// Differences of the counters over the workload.
    pub served: DiskCounters,
    /// Whether the kernel counts flushes (since Linux 5.5); where it does not, zero says nothing.
    #[serde(default)]
    pub flushes_counted: bool,
    /// Whether the kernel takes it for a device with a volatile write cache (`queue/write_cache` is `write back`,
    /// Documentation/ABI/stable/sysfs-block) as the workload began; none where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volatile_cache: Option<bool>,
}

/// A pre-declared check of a trial's validity and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateOutcome {
    /// `steal`, `throttling`, `served`, `idle`, `clock`, `workload`.
    pub gate: String,
    /// Whether the trial passed.
    pub passed: bool,
    /// The figure and the limit in words: "steal 7.1 % of CPU time, limit 5 %".
    pub message: String,
    /// Not evaluated (off, or no data); does not fail the trial. The message says which.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unjudged: bool,
    /// The figure and the limit themselves, where it judged by them. Records of version 0.1.0 have the message alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<GateReading>,
}

/// What a gate read of a trial, and the most that it lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateReading {
    /// What was read.
    pub value: f64,
    /// What it may be.
    pub limit: f64,
    /// The unit of both.
    pub unit: Unit,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Btrfs, DirectoryVolume, Volume};
    use proptest::prelude::*;

    #[test]
    fn what_btrfs_was_asked_to_compress_and_stored_plain_is_not_compressed() {
        let mut stack = Stack::of(Volume::Directory(DirectoryVolume { path: None }));
        stack.filesystem = Filesystem::Btrfs(Btrfs::default());
        stack.mount.options = vec!["compress=zstd".to_owned()];
        assert!(compressed_by(&stack, None).is_some_and(|by| by.contains("`compress=zstd`")));
        let files = FileSpace { count: 1, bytes: 1 << 20, extents: Some(8), ..FileSpace::default() };
        let mut space = SpaceRecord { filesystem: "btrfs".to_owned(), files, ..SpaceRecord::default() };
        assert_eq!(compressed_by(&stack, Some(&space)), None);
        space.files_prepared.encoded_extents = 1;
        assert!(compressed_by(&stack, Some(&space)).is_some(), "it was compressed before it was overwritten");
        space.files_prepared.encoded_extents = 0;
        space.files.extents = None;
        assert!(compressed_by(&stack, Some(&space)).is_some(), "no extents are told");
    }

    proptest! {
        /// Ranks and ties decide verdicts: a figure that comes back one bit apart may judge a run otherwise.
        #[test]
        fn a_figure_read_back_is_the_one_that_was_recorded(figure in any::<f64>().prop_filter("finite", |f| f.is_finite())) {
            let recorded = WorkloadReport { measured_seconds: figure, ..WorkloadReport::default() };
            let text = serde_json::to_string(&recorded).unwrap();
            let read: WorkloadReport = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.measured_seconds.to_bits(), figure.to_bits());
        }
    }
}
