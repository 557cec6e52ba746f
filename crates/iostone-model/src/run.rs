//! A run as it is kept: the plan made of an experiment, and everything recorded while carrying it out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::audit::AuditReport;
use crate::covariate::DeclaredCovariate;
use crate::dataset::Dataset;
use crate::environment::Environment;
use crate::experiment::{Boot, Configuration, ConfoundedLevel, Experiment, Timing};
use crate::explanation::Explanation;
use crate::metric::{Direction, Unit};
use crate::omitted::is_default;
use crate::trial::TrialRecord;
use crate::verdict::Verdicts;
use crate::warm_up::{DeclaredRamp, PilotRecord};

/// The version of [`Plan`] as JSON.
pub const PLAN_SCHEMA: &str = "iostone/plan/1";

/// The version of [`ImportRecord`] as JSON.
pub const IMPORT_SCHEMA: &str = "iostone/import/1";

/// Figures that were measured elsewhere and brought into a run directory: `import.json`. The files they were read from
/// lie beside it in `raw/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportRecord {
    /// [`IMPORT_SCHEMA`].
    pub schema: String,
    /// The run's id: eight letters and digits.
    pub run_id: String,
    /// When it was imported, RFC 3339 in UTC.
    pub created_at: String,
    /// The version of iostone that read the files.
    pub iostone_version: String,
    /// The pattern that conditions were taken from the files' names by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What the files hold.
    pub dataset: Dataset,
}

/// What is going to be done, settled before the first trial: `plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The run's id: eight letters and digits, also in the names of everything it creates on the machine.
    pub run_id: String,
    /// When the plan was made, RFC 3339 in UTC.
    pub created_at: String,
    /// The version of iostone that made it.
    pub iostone_version: String,
    /// The experiment, checked and complete.
    pub experiment: Experiment,
    /// The unit of the metric.
    pub unit: Unit,
    /// Which way the metric is better.
    pub better: Direction,
    /// The seed of the order of trials and of all data written.
    pub seed: u64,
    /// Trials of each configuration in the superblock that the run begins with; 0 without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superblock: u32,
    /// A shrunken rehearsal that claims no verdict.
    pub quick: bool,
    /// Of a rehearsal: what it leaves out of the experiment, and whether it makes things smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Shrunk>,
    /// Identical levels: what differs is the machine's noise.
    pub identical_levels: bool,
    /// What `--set` laid over the file, as it was typed: without it the file alone is another experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// Words that the user finds the run by, of `--tag`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Devices whose content may be destroyed, as they were typed in full behind `--destroy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destroy: Vec<String>,
    /// Levels that change more than one thing, as the file has them: before anything was settled or left out. None in
    /// plans of before they were written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confounded: Option<Vec<ConfoundedLevel>>,
}

/// What a rehearsal is less than its experiment by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shrunk {
    /// Whether sizes, counts or times of a workload or a volume were made smaller.
    pub sizes: bool,
    /// Configurations of the experiment.
    pub of_configurations: u32,
}

/// One comparison that the plan will decide, as indices into the experiment's configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedComparison {
    /// The other factors' levels; empty with one factor.
    pub stratum: String,
    /// The level compared.
    pub level: String,
    /// The configuration with that level.
    pub configuration: usize,
    /// The configuration with the baseline level.
    pub baseline: usize,
}

impl Plan {
    /// Levels that change more than one thing: those written down, else those of the experiment as it was settled. An
    /// instance that a host stands for was settled into several settings, which tell nothing of the file's.
    pub fn confounded_levels(&self) -> Cow<'_, [ConfoundedLevel]> {
        match &self.confounded {
            Some(written) => Cow::Borrowed(written),
            None if self.experiment.configurations.iter().any(|c| c.machine.emulated().is_some()) => {
                Cow::Borrowed(&[])
            }
            None => Cow::Owned(self.experiment.confounded_levels()),
        }
    }

    /// Whether it leaves the ramp to pilots; a checked experiment does so for all configurations or for none.
    pub fn needs_pilots(&self) -> bool {
        let is_auto = |one: &Configuration| one.workload.profile().ramp.is_some_and(Timing::is_auto);
        self.experiment.configurations.iter().any(is_auto)
    }

    /// The different boots that its configurations ask of this host, in the order of the file; those that run anywhere have
    /// none.
    pub fn boots(&self) -> Vec<Boot<'_>> {
        let mut boots: Vec<Boot<'_>> = Vec::new();
        for boot in self.experiment.configurations.iter().filter_map(|one| one.machine.boot()) {
            if !boots.contains(&boot) {
                boots.push(boot);
            }
        }
        boots
    }

    /// Every configuration that is not a baseline, with the baseline of its stratum.
    pub fn comparisons(&self) -> Vec<PlannedComparison> {
        let experiment = &self.experiment;
        let is_baseline = |c: &Configuration| experiment.compared_level(c) == experiment.baseline_level;
        let configurations = &experiment.configurations;
        configurations
            .iter()
            .enumerate()
            .filter(|(_, candidate)| !is_baseline(candidate))
            .filter_map(|(index, candidate)| {
                let stratum = experiment.stratum(candidate);
                let baseline = configurations
                    .iter()
                    .position(|other| is_baseline(other) && experiment.stratum(other) == stratum)?;
                let level = experiment.compared_level(candidate).to_owned();
                Some(PlannedComparison { stratum, level, configuration: index, baseline })
            })
            .collect()
    }
}

/// A run read back from its directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The name of the run directory.
    pub directory: String,
    /// The plan.
    pub plan: Plan,
    /// The experiment file as it was written.
    pub experiment_text: String,
    /// The environment of the first session.
    pub environment: Environment,
    /// Every trial recorded, in order, the invalid ones too.
    pub trials: Vec<TrialRecord>,
    /// The pilots, in order; none unless the file leaves the ramp to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pilots: Vec<PilotRecord>,
    /// The ramp that followed from the pilots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_ramp: Option<DeclaredRamp>,
    /// What its verdicts are adjusted for, with `decide.covariates`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covariates: Vec<DeclaredCovariate>,
    /// Every block begun, in order.
    pub blocks: Vec<BlockRecord>,
    /// What was concluded; none before the first look.
    pub verdicts: Option<Verdicts>,
    /// Whether the run has ended, or could be resumed.
    pub finished: bool,
    /// Why the last session ended: "decided", "budget of time spent", "interrupted", or the error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What does not fit together in the directory, a sentence each: a trial that the journal has and the disk not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<String>,
    /// What an audit of its figures found, for those who show the run; it is not kept with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditReport>,
    /// What bound its figures, for those who show the run; it is not kept with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl BlockRecord {
    /// The blocks that it counts as: the most trials that a configuration has in it, one but for a superblock.
    pub fn count(&self) -> u32 {
        let times = |name: &String| self.order.iter().filter(|other| *other == name).count();
        let most = self.order.iter().map(times).max().unwrap_or(1);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Whether a trial of that configuration failed a gate in it.
    pub fn failed(&self, configuration: &str) -> bool {
        match &self.loss {
            Some(BlockLoss::GateFailed { configurations }) => {
                configurations.iter().any(|one| one == configuration)
            }
            Some(BlockLoss::Interrupted | BlockLoss::WaitsForReboot) | None => false,
        }
    }

    /// Whether it goes on after a reboot.
    pub fn waits_for_reboot(&self) -> bool {
        self.loss == Some(BlockLoss::WaitsForReboot)
    }

    /// Whether it is a superblock.
    pub fn is_superblock(&self) -> bool {
        self.count() > 1
    }

    /// The blocks that those of `blocks` which count come to.
    pub fn count_complete(blocks: &[Self]) -> u32 {
        blocks.iter().filter(|block| block.counted).map(Self::count).sum()
    }
}

/// One block and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Its number in the seed's stream of orders.
    pub number: u32,
    /// The configurations in the order in which they were to run.
    pub order: Vec<String>,
    /// Whether its trials are counted.
    pub counted: bool,
    /// Why not, where they are not: the gate that failed, or "interrupted".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same as a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<BlockLoss>,
}

/// What a block's trials are not counted for, or were not until the environment was found unfit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum BlockLoss {
    /// It was not run to its end.
    Interrupted,
    /// It stands between two boots, and is continued whatever ends a session meanwhile.
    WaitsForReboot,
    /// Trials failed a gate.
    GateFailed {
        /// Of these configurations.
        configurations: Vec<String>,
    },
}
