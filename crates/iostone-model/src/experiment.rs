//! The experiment file: a question, a stack, factors, a workload, how to decide.
//!
//! [`read`] turns its text into an [`Experiment`]: every configuration already complete, every quantity already
//! typed. What is wrong comes back as [`Diagnostic`](crate::diagnostic::Diagnostic)s that point into the text.

mod apart;
mod check;
mod combine;
mod confounded;
mod decide;
mod declared;
mod decode;
mod factors;
mod kinds;
mod machine;
mod read;
pub mod source;
mod stack;
mod sweep;
mod timing;
mod workload;
mod zip;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use confounded::{ConfoundedLevel, confounded_sentences};
pub use decide::*;
pub use declared::declared_text;
pub use machine::*;
pub use read::{MachineProblem, Override, read, read_with};
pub use stack::*;
pub use timing::Timing;
pub use workload::*;

/// The file as it is written; its JSON Schema is what `iostone schema` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "iostone experiment")]
pub struct ExperimentFile {
    /// A short name, used in the run directory's: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The question in plain words; the report's headline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What is built under the workload.
    pub stack: Stack,
    /// What is varied; several are combined in full, unless `combine` says otherwise.
    #[serde(default, rename = "factor", skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<FactorFile>,
    /// How factors are combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combine: Option<CombineFile>,
    /// What is measured.
    pub workload: Workload,
    /// How it is decided.
    pub decide: Decide,
    /// The pace of trials.
    #[serde(default)]
    pub trials: Trials,
    /// The checks of a trial's validity.
    #[serde(default)]
    pub gates: Gates,
    /// Where trials run.
    #[serde(default)]
    pub machine: MachineSpec,
}

/// What is varied: either named levels with their settings, or one path with its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorFile {
    /// Its name.
    pub name: String,
    /// Named levels: each a table of settings below `stack` (`mount.options`, `queue.write_cache`, ...), below
    /// `workload` or below `machine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<BTreeMap<String, serde_json::Map<String, serde_json::Value>>>,
    /// The one setting that is varied, with `values`: `workload.bs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The values of `path`; each is also its level's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<serde_json::Value>>,
    /// The range of `path` in which the best value is looked for, in place of `values`: `"10%..100%"` in ten steps,
    /// `"10%..100% step 5%"`, `"1..64 doubling"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<String>,
}

/// Exceptions from the full combination of all factors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CombineFile {
    /// Factors that go together, level by level in the order of their levels, instead of each with each:
    /// `zip = [["volumes", "readahead"]]`. Together they count as one factor, `volumes+readahead`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zip: Vec<Vec<String>>,
    /// Combinations that are left out, by the levels they hold: `exclude = [{ volumes = "4", instance = "t1.micro" }]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<BTreeMap<String, String>>,
}

/// A checked experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// Its question.
    pub question: Option<String>,
    /// The factors with the names of their levels, in the file's order.
    pub factors: Vec<Factor>,
    /// Every combination of levels, complete.
    pub configurations: Vec<Configuration>,
    /// The factor that the baseline belongs to; empty without factors.
    pub baseline_factor: String,
    /// The baseline level; empty of a sweep, which looks for the best instead.
    pub baseline_level: String,
    /// How it is decided.
    pub decide: Decide,
    /// The pace of trials.
    pub trials: Trials,
    /// The checks of a trial's validity.
    pub gates: Gates,
    /// Where trials run.
    pub machine: MachineSpec,
}

/// A factor and the names of its levels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, in the file's order.
    pub levels: Vec<String>,
    /// Of a sweep: where each level stands on the axis, ascending, in its unit's base (1 for 100 %, bytes, seconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Vec<f64>>,
    /// Of factors that go together: the pairs of levels between which one of them changes several things by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crowded: Vec<[String; 2]>,
}

/// One combination of levels with everything it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The level's name; with several factors all of them, `off, 4KiB`.
    pub name: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// What is built.
    pub stack: Stack,
    /// What is measured.
    pub workload: Workload,
    /// Where it is measured: the experiment's machine, with what the levels change of it.
    #[serde(default)]
    pub machine: MachineSpec,
    /// What an hour of the machine costs; none where nobody said and the catalogue does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// What an hour of a machine costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// US dollars an hour, without the volumes'.
    pub usd_per_hour: f64,
    /// Who says so: `experiment file`, or the catalogue's region and date.
    pub source: String,
}

impl Experiment {
    /// The factor whose best level is looked for, with the places of its levels on the axis. The configurations are its
    /// levels, in order.
    pub fn sweep(&self) -> Option<(&Factor, &[f64])> {
        self.factors.iter().find_map(|factor| Some((factor, factor.sweep.as_deref()?)))
    }

    /// The other factors' levels of a configuration, `factor=level, ...`; comparisons are made within these.
    pub fn stratum(&self, configuration: &Configuration) -> String {
        let others: Vec<String> = self
            .factors
            .iter()
            .filter(|factor| factor.name != self.baseline_factor)
            .filter_map(|factor| {
                configuration.levels.get(&factor.name).map(|level| format!("{}={level}", factor.name))
            })
            .collect();
        others.join(", ")
    }

    /// The configuration's level of the factor that is compared.
    pub fn compared_level<'a>(&self, configuration: &'a Configuration) -> &'a str {
        configuration.levels.get(&self.baseline_factor).map_or(configuration.name.as_str(), String::as_str)
    }

    /// Whether a quota or an emulated allowance holds back the workload of any configuration: then steal and throttling
    /// are what the experiment acts on, and no fault of it.
    pub fn limits_cpu(&self) -> bool {
        self.configurations.iter().any(|configuration| {
            let stack = &configuration.stack;
            !stack.limit.cpu.is_none()
                || stack.governor.is_some()
                || configuration.machine.governed().is_some()
        })
    }

    /// Whether the experiment's question depends on flushes: the workload syncs, or a factor acts on them.
    pub fn flushes_matter(&self) -> bool {
        let syncs = self.configurations.iter().any(|configuration| configuration.workload.syncs());
        let barrier = |option: &String| option.contains("barrier");
        syncs
            || self.configurations.iter().any(|configuration| {
                configuration.stack.queue.write_cache.is_some()
                    || configuration.stack.mount.options.iter().any(barrier)
            })
    }
}

/// The JSON Schema (2020-12) of experiment files.
pub fn json_schema() -> schemars::Schema {
    schemars::schema_for!(ExperimentFile)
}
