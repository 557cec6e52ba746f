//! What the page offers for other programs: its trials as a table, its verdicts as JSON.

use std::collections::BTreeSet;

use iostone_model::metric::{self, Unit};
use iostone_model::run::RunRecord;

use crate::json::named;
use crate::load_points::point_of_metric;
use crate::view::View;

/// Beyond so many figures the table has those alone by which the run is decided: `iostone export` has all.
const MOST_FIGURES: usize = 20_000;

/// A row for each trial, as RFC 4180 has it: where it stood in the run, its levels, whether it counts, and its figures in base
/// units, which their columns name. None before the first trial.
pub(super) fn trials_csv(run: &RunRecord, view: &View<'_>) -> Option<String> {
    if run.trials.is_empty() {
        return None;
    }
    let experiment = &run.plan.experiment;
    let all: BTreeSet<&str> =
        run.trials.iter().flat_map(|trial| trial.metrics.keys().map(String::as_str)).collect();
    let is_decided = |name: &&str| *name == view.metric || (view.curve && point_of_metric(name).is_some());
    let few = all.len() * run.trials.len() <= MOST_FIGURES;
    let metrics: Vec<&str> = all.into_iter().filter(|name| few || is_decided(name)).collect();
    let factors: Vec<&str> = experiment.factors.iter().map(|factor| factor.name.as_str()).collect();
    let own = ["trial", "block", "position", "session", "configuration"];
    let mut header: Vec<String> = own.map(str::to_owned).to_vec();
    header.extend(factors.iter().map(|factor| (*factor).to_owned()));
    header.extend(["counted", "valid", "started_at"].map(str::to_owned));
    header.extend(metrics.iter().map(|name| named(name, unit_of(name, view))));
    let mut lines = vec![line(&header)];
    for trial in &run.trials {
        let configuration = experiment.configurations.iter().find(|one| one.name == trial.configuration);
        let level = |factor: &&str| {
            configuration.and_then(|one| one.levels.get(*factor)).cloned().unwrap_or_default()
        };
        let counted =
            run.blocks.iter().rev().find(|block| block.number == trial.block).is_some_and(|b| b.counted);
        let mut cells = [trial.number, trial.block, trial.position, trial.session]
            .map(|number| number.to_string())
            .to_vec();
        cells.push(trial.configuration.clone());
        cells.extend(factors.iter().map(level));
        cells.extend([counted.to_string(), trial.valid.to_string(), trial.started_at.clone()]);
        let figure =
            |name: &&str| trial.metrics.get(*name).filter(|value| value.is_finite()).map(f64::to_string);
        cells.extend(metrics.iter().map(|name| figure(name).unwrap_or_default()));
        lines.push(line(&cells));
    }
    Some(lines.concat())
}

/// The verdicts as they are recorded, where there are any and the run claims them.
pub(super) fn verdicts_json(run: &RunRecord) -> Option<String> {
    // What was read from a record can be written again.
    serde_json::to_string_pretty(run.verdicts.as_ref().filter(|_| !run.plan.quick)?).ok()
}

fn unit_of(name: &str, view: &View<'_>) -> Unit {
    if name == view.metric {
        return view.unit;
    }
    let point = || point_of_metric(name).map(|(aspect, _)| aspect.unit());
    metric::find(name).map(|metric| metric.unit).or_else(point).unwrap_or(Unit::Plain)
}

fn line(cells: &[String]) -> String {
    let cell = |cell: &String| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    };
    format!("{}\n", cells.iter().map(cell).collect::<Vec<String>>().join(","))
}
