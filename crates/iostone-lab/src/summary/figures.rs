//! What the counted trials of each configuration measured, metric by metric.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::dataset::MetricNote;
use iostone_model::evidence::{Group, RunEvidence};
use iostone_model::run::{Plan, RunRecord};
use iostone_model::summary::{ConfigurationFigures, FigureSummary};
use iostone_model::trial::TrialRecord;
use iostone_stats::median::summarize;

use super::is_baseline;
use crate::conclude::Subject;

/// Layers whose settings tell one run from another; those of the rest name what the run made for itself.
const LAYERS: [&str; 6] = ["mount", "queue", "limit", "sysctl", "throttle", "container"];

/// The figures of each configuration, and what each metric is.
pub(super) fn of_run(run: &RunRecord) -> (Vec<ConfigurationFigures>, BTreeMap<String, MetricNote>) {
    let evidence = RunEvidence::of(&run.plan, &run.trials, &run.blocks);
    let subject = Subject::of(&run.plan);
    let configurations: Vec<ConfigurationFigures> =
        evidence.groups.iter().map(|group| of_group(run, &subject, group)).collect();
    let names: BTreeSet<&String> = configurations.iter().flat_map(|one| one.figures.keys()).collect();
    let notes = names.into_iter().map(|name| (name.clone(), iostone_audit::note(&run.plan, name))).collect();
    (configurations, notes)
}

fn of_group(run: &RunRecord, subject: &Subject, group: &Group<'_>) -> ConfigurationFigures {
    let configuration = group.configuration;
    let trials = &group.trials;
    let all = run.trials.iter().filter(|trial| trial.configuration == configuration.name).count();
    let names: BTreeSet<&String> = trials.iter().flat_map(|trial| trial.metrics.keys()).collect();
    let of = |name: &String| -> Vec<f64> {
        trials.iter().filter_map(|trial| trial.metrics.get(name).copied()).collect()
    };
    let points = subject.points.iter().filter(|point| names.contains(&point.metric));
    ConfigurationFigures {
        name: configuration.name.clone(),
        levels: configuration.levels.clone(),
        baseline: is_baseline(run, configuration),
        workload: configuration.workload.profile().summary.join(", "),
        filesystem: configuration.stack.filesystem.name().map(str::to_owned),
        mount_options: configuration.stack.mount.options.clone(),
        settings: trials.last().map(|trial| settings(&run.plan, trial)).unwrap_or_default(),
        kernel: trials
            .last()
            .and_then(|trial| trial.guest.as_deref())
            .map(|guest| guest.kernel_release.clone()),
        trials: super::count(trials.len()),
        invalid_trials: super::count(all - trials.len()),
        figures: names.iter().map(|name| ((*name).clone(), figure(&of(name)))).collect(),
        blocks: trials.iter().map(|trial| u64::from(trial.block)).collect(),
        values: points
            .map(|point| {
                let values = trials.iter().map(|trial| trial.metrics.get(&point.metric).copied());
                (point.metric.clone(), values.collect())
            })
            .collect(),
    }
}

/// Settings as asked for, with what was read back. Names that the run made up are of no other run.
fn settings(plan: &Plan, trial: &TrialRecord) -> BTreeMap<String, String> {
    let told = trial.checks.iter().filter(|check| LAYERS.contains(&check.layer.as_str()));
    let of_any_run = told
        .filter(|check| [&check.asked, &check.read_back].iter().all(|words| !words.contains(&plan.run_id)));
    of_any_run.map(|check| (format!("{} {}", check.layer, check.asked), check.read_back.clone())).collect()
}

/// Figures in the order in which they were measured.
pub(super) fn figure(values: &[f64]) -> FigureSummary {
    // The confidence is that of an interval that is not kept.
    let summary = summarize(values, 0.95);
    let finite = |value: Option<&f64>| value.copied().filter(|value| value.is_finite());
    FigureSummary {
        trials: summary.trials,
        median: summary.median,
        cv: summary.cv,
        minimum: summary.minimum,
        maximum: summary.maximum,
        first: finite(values.first()),
        last: finite(values.last()),
    }
}
