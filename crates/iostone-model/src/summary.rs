//! A run in some kB, `summary.json`: what lists, histories, comparisons of runs and fleets need of it, so that none of them
//! reads its trials. It follows from the records and can be made of them again at any time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::dataset::MetricNote;
use crate::metric::Direction;
use crate::omitted::is_default;
use crate::platform::Platform;
use crate::verdict::{SweepOutcome, Verdict};

/// The version of [`RunSummary`] as JSON. A summary of another version is not read but made of the records again.
pub const SUMMARY_SCHEMA: &str = "iostone/summary/1";

/// A run, or an import, without its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// Bytes of the record that it was made of: the run's `journal.jsonl`, which only grows, or `import.json`. Where that has
    /// another length today, the summary is of before.
    pub record_bytes: u64,
    /// The run's id: eight letters and digits.
    pub run_id: String,
    /// The experiment's name; of an import the dataset's.
    pub experiment: String,
    /// SHA-256 of the experiment's text without its seed, its comments and its layout, with what the command line changed of
    /// it. Runs of one digest were declared alike. None of an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_digest: Option<String>,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The words of `--tag`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// What has become of it.
    pub state: RunState,
    /// Why its last session ended: "decided", "interrupted", or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// A rehearsal in small, which claims no verdict.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rehearsal: bool,
    /// Identical levels: what differs is the machine's noise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub identical_levels: bool,
    /// When the plan was made, or the figures imported, RFC 3339 in UTC.
    pub started_at: String,
    /// When its last event happened, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The version of iostone that planned or imported it.
    pub iostone_version: String,
    /// What it was measured on.
    pub machine: MachineSummary,
    /// What was varied, with the levels in the file's order.
    pub factors: Vec<FactorSummary>,
    /// Trials recorded, also those that do not count; observations of an import.
    pub trials: u32,
    /// Blocks whose every trial counted.
    pub blocks: u32,
    /// What was to be decided; none of an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// What each figure is: unit, direction, title.
    pub metrics: BTreeMap<String, MetricNote>,
    /// Each combination of levels by itself, in the plan's order.
    pub configurations: Vec<ConfigurationFigures>,
    /// The answer in one or two sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Each level against the baseline; of a curve also each of its points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonSummary>,
    /// Of a sweep: what it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSummary>,
    /// Names of the flags on the run as a whole.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<String>,
}

/// What has become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has ended.
    Finished,
    /// Somebody stopped it; it can be resumed.
    Interrupted,
    /// It goes on after a reboot.
    Waiting,
    /// An error ended its last session.
    Failed,
    /// No end was recorded: a session is at work, or one was killed.
    Unfinished,
    /// Its figures were measured elsewhere.
    Imported,
}

impl RunState {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
            Self::Imported => "imported",
        }
    }
}

/// What a run was measured on; empty or none is what was not recorded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MachineSummary {
    /// The host's name.
    pub host: String,
    /// The kernel's release, as `uname -r`; of guests that ran another one see [`ConfigurationFigures::kernel`].
    pub kernel: String,
    /// The operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The processor's model.
    pub cpu: String,
    /// Its architecture.
    pub architecture: String,
    /// Logical processors online.
    pub logical_cpus: u32,
    /// The frequency governor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// "none", or the hypervisor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hypervisor: String,
    /// The container that iostone ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The cloud, with instance type, zone and image as far as recorded; its evidence is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Devices below the workload that were there before the run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DeviceSummary>,
    /// Versions of the programs that the experiment may use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// Median over the counted trials of the share of CPU time that was stolen; none where that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
}

/// A block device below the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// Its place: `stack`, `member`, `below`.
    pub role: String,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Firmware revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// The I/O scheduler in force when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// "write back" or "write through".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// A factor and its levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorSummary {
    /// Its name.
    pub name: String,
    /// Its levels.
    pub levels: Vec<String>,
}

/// The declared question: by which metric, against what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The metric; its unit and direction are in [`RunSummary::metrics`] as soon as there is a figure.
    pub metric: String,
    /// The equivalence margin as a fraction.
    pub margin: f64,
    /// The confidence as a fraction.
    pub confidence: f64,
    /// The factor that the baseline is a level of; empty without factors.
    pub factor: String,
    /// The baseline level; empty of a sweep.
    pub baseline: String,
}

/// A configuration with what its counted trials measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConfigurationFigures {
    /// Its name.
    pub name: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Whether it has the baseline level.
    #[serde(default, skip_serializing_if = "is_default")]
    pub baseline: bool,
    /// Its workload in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The filesystem that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// Mount options asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// Settings of mount, queue, limit and kernel as asked for (`mount barrier=1`), each with what was read back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The kernel of its guest, where it ran in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Trials that count.
    pub trials: u32,
    /// Trials kept but not counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub invalid_trials: u32,
    /// Every metric over the counted trials.
    pub figures: BTreeMap<String, FigureSummary>,
    /// The block of each counted trial, in the order in which they ran; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u64>,
    /// The figures that are decided by, of each of `blocks` in its order; of a curve a list for each of its points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

/// One metric of a configuration, in its base unit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FigureSummary {
    /// Counted trials that have it.
    pub trials: u32,
    /// Their median.
    pub median: Option<f64>,
    /// Robust coefficient of variation: 1.4826 MAD / median.
    pub cv: Option<f64>,
    /// The smallest.
    pub minimum: Option<f64>,
    /// The largest.
    pub maximum: Option<f64>,
    /// Of the first counted trial.
    pub first: Option<f64>,
    /// Of the last.
    pub last: Option<f64>,
}

/// A level against the baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ComparisonSummary {
    /// The level.
    pub level: String,
    /// What it is compared with.
    pub baseline: String,
    /// The other factors' levels; empty with one factor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// The point of a curve; empty of one figure and of a curve as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub point: String,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// A flag forbids the verdict: ratio and interval are no finding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub withheld: bool,
    /// The typical ratio; above 1 is better whatever the metric's direction. None of a curve as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its interval, simultaneous over all comparisons and looks.
    pub ratio_interval: [Option<f64>; 2],
    /// The interval of the equivalence test.
    pub equivalence_interval: [Option<f64>; 2],
    /// Robust standard deviation of a block's log ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// Blocks that entered it.
    pub blocks: u32,
    /// Names of its flags.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<String>,
}

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepSummary {
    /// The outcome.
    pub outcome: SweepOutcome,
    /// The best level; none while it is open.
    pub best: Option<String>,
    /// Levels that were not shown to be worse.
    pub not_shown_worse: Vec<String>,
}

/// One line of `iostone list`: what runs are found and told apart by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers of a line, which scripts ask for by name"
)]
pub struct RunListing {
    /// The directory's name.
    pub directory: String,
    /// The run's id.
    pub id: String,
    /// The experiment's name.
    pub experiment: String,
    /// As [`RunSummary::experiment_digest`].
    pub experiment_digest: Option<String>,
    /// When the plan was made, or the figures imported.
    pub created_at: String,
    /// The words of `--tag`.
    pub tags: BTreeSet<String>,
    /// The host's name; empty where it is not known.
    pub host: String,
    /// The kernel's release; empty where it is not known.
    pub kernel: String,
    /// Trials recorded; observations of an import.
    pub trials: u32,
    /// What has become of it.
    pub state: RunState,
    /// Whether the run has ended; otherwise it can be resumed.
    pub finished: bool,
    /// Whether a process is at work on it now.
    pub live: bool,
    /// Why its last session ended: "decided", "interrupted", or the error.
    pub ended: Option<String>,
    /// A rehearsal in small.
    pub rehearsal: bool,
    /// Identical levels.
    pub identical_levels: bool,
    /// The answer, once there is one.
    pub headline: Option<String>,
    /// Each level against the baseline, curves as a whole.
    pub comparisons: Vec<ComparisonSummary>,
    /// Which way the figure that decides is better, where that is known.
    pub better: Option<Direction>,
    /// What a sweep came to.
    pub sweep: Option<SweepSummary>,
    /// Blocks whose every trial counted.
    pub blocks: u32,
    /// Whether its figures were measured elsewhere.
    pub imported: bool,
}

impl RunListing {
    /// The line of a run in a directory of that name.
    pub fn of(directory: &str, summary: &RunSummary) -> Self {
        let imported = summary.state == RunState::Imported;
        Self {
            directory: directory.to_owned(),
            id: summary.run_id.clone(),
            experiment: summary.experiment.clone(),
            experiment_digest: summary.experiment_digest.clone(),
            created_at: summary.started_at.clone(),
            tags: summary.tags.clone(),
            host: summary.machine.host.clone(),
            kernel: summary.machine.kernel.clone(),
            trials: summary.trials,
            state: summary.state,
            finished: imported || summary.state == RunState::Finished,
            live: false,
            ended: summary.ended.clone(),
            rehearsal: summary.rehearsal,
            identical_levels: summary.identical_levels,
            headline: summary.headline.clone(),
            comparisons: summary.comparisons.iter().filter(|one| one.point.is_empty()).cloned().collect(),
            better: summary.decided.as_ref().and_then(|decided| summary.metrics.get(&decided.metric)?.better),
            sweep: summary.sweep.clone(),
            blocks: summary.blocks,
            imported,
        }
    }
}
