//! `confounded-circumstances`: what trials of two levels met each of its own, though no setting between them asks for it.

use iostone_model::audit::{Finding, Severity, Subject};
use iostone_model::evidence::{Evidence, Group};
use iostone_model::run::PlannedComparison;
use iostone_model::trial::TrialRecord;

use super::looked;
use crate::{Outcome, Rule, finding};

/// Something that a trial met and that no setting names by itself.
struct Circumstance {
    name: &'static str,
    of: fn(&TrialRecord) -> Option<&str>,
    /// The settings, or the beginnings of them, that may well change it.
    follows: &'static [&'static str],
    /// The metrics that it changes; all, where none is named.
    of_metrics: &'static [&'static str],
}

const CIRCUMSTANCES: &[Circumstance] = &[
    Circumstance {
        name: "the kernel",
        of: |trial| Some(trial.guest.as_deref()?.kernel_release.as_str()),
        follows: &["machine."],
        of_metrics: &[],
    },
    Circumstance {
        name: "the operating system",
        of: |trial| trial.guest.as_deref()?.os.as_deref(),
        follows: &["machine."],
        of_metrics: &[],
    },
    Circumstance {
        name: "the version of QEMU",
        of: |trial| Some(trial.guest.as_deref()?.qemu_version.as_str()),
        follows: &["machine.kind"],
        of_metrics: &[],
    },
    Circumstance {
        name: "the engine's version",
        of: |trial| trial.container.as_deref()?.engine_version.as_deref(),
        follows: &["container.kind"],
        of_metrics: &[],
    },
    Circumstance {
        name: "the runtime",
        of: |trial| trial.container.as_deref()?.runtime.as_deref(),
        follows: &["container.kind"],
        of_metrics: &[],
    },
    Circumstance {
        name: "the storage driver",
        of: |trial| Some(trial.container.as_deref()?.driver.as_str()),
        follows: &["container.kind", "container.driver"],
        of_metrics: &[],
    },
    Circumstance {
        name: "the filesystem below the container",
        of: |trial| Some(trial.container.as_deref()?.backing_filesystem.as_str()),
        follows: &["container.", "filesystem.kind", "volume."],
        of_metrics: &[],
    },
    // The place of a container settles it, and yet it is none of that place: names that the kernel knows already are found in
    // memory wherever the files lie.
    Circumstance {
        name: "where the small files come from",
        of: |trial| {
            Some(trial.workload.facts.get("files").filter(|_| trial.workload.kind == "copy-up")?.as_str())
        },
        follows: &[],
        of_metrics: &["stat_time", "open_time"],
    },
    Circumstance {
        name: "limits on iostone's own control group that do not hold",
        of: |trial| {
            Some(trial.container.as_deref().and_then(|own| own.unheld_limits.as_deref()).unwrap_or("none"))
        },
        follows: &[],
        of_metrics: &[],
    },
    Circumstance {
        name: "the I/O engine",
        of: |trial| fact(trial, "engine")?.split(':').next(),
        follows: &["workload.", "machine."],
        of_metrics: &[],
    },
    Circumstance {
        name: "what the I/O engine was declined",
        of: |trial| fact(trial, "engine").map(|_| fact(trial, "engine_declined").unwrap_or("nothing")),
        follows: &["workload.", "machine."],
        of_metrics: &[],
    },
];

/// What iostone's own load engine told of itself; other workloads have facts of their own by these names.
fn fact<'trial>(trial: &'trial TrialRecord, name: &str) -> Option<&'trial str> {
    (trial.workload.kind == "io").then(|| trial.workload.facts.get(name).map(String::as_str)).flatten()
}

/// Both sides of a comparison met something each of its own throughout.
pub(super) struct ConfoundedCircumstances;

impl Rule for ConfoundedCircumstances {
    fn name(&self) -> &'static str {
        "confounded-circumstances"
    }

    fn looks_for(&self) -> &'static str {
        "kernels, engines, drivers and the like that differ between levels though no factor set them"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let metric = &run.plan.experiment.decide.metric;
            Some(run.pairs().filter_map(|(pair, sides)| self.look_at(pair, sides, metric)).collect())
        })
    }
}

impl ConfoundedCircumstances {
    fn look_at(&self, pair: PlannedComparison, sides: [&Group<'_>; 2], metric: &str) -> Option<Finding> {
        let met = apart(sides, metric);
        let [level, baseline] = sides.map(|side| &side.configuration.name);
        let message = format!(
            "`{level}` and `{baseline}` differ in what no factor set: {}; the ratio holds that difference too",
            met.join("; ")
        );
        let advice = "Make it the same on both sides, or a factor of its own.";
        (!met.is_empty()).then(|| Finding {
            subject: Subject::Comparison { level: pair.level, stratum: Some(pair.stratum) },
            ..finding(self, Severity::Warning, message, advice)
        })
    }
}

/// What two configurations never had in common, and no setting explains: `the kernel (6.1.0 against 6.12.9)`.
fn apart(sides: [&Group<'_>; 2], metric: &str) -> Vec<String> {
    let [level, baseline] = sides.map(|side| side.configuration);
    let things = level.things_unlike(baseline);
    let mut met = Vec::new();
    let changes_metric = |one: &&Circumstance| one.of_metrics.is_empty() || one.of_metrics.contains(&metric);
    for circumstance in CIRCUMSTANCES.iter().filter(changes_metric) {
        let is_asked =
            |thing: &String| circumstance.follows.iter().any(|beginning| thing.starts_with(beginning));
        if things.iter().any(is_asked) {
            continue;
        }
        let [own, other] = sides.map(|side| {
            let mut values: Vec<&str> = side.trials.iter().copied().filter_map(circumstance.of).collect();
            values.retain(|value| !value.is_empty());
            values.sort_unstable();
            values.dedup();
            values
        });
        if !own.is_empty() && !other.is_empty() && !own.iter().any(|value| other.contains(value)) {
            met.push(format!("{} ({} against {})", circumstance.name, own.join(", "), other.join(", ")));
        }
    }
    met
}
