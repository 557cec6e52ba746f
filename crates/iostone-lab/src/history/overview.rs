//! Every experiment on every host in a line: its runs, the latest of them, and the figure that decides over the last runs.

use std::collections::BTreeMap;

use iostone_model::overview::{Overview, OverviewLine};
use iostone_model::summary::{RunListing, RunState, RunSummary};

use super::NamedSummary;

/// So many configurations have a line.
const LINES: usize = 4;
/// A line has at most so many points.
pub const OVERVIEW_POINTS: usize = 40;

/// A line for each experiment and host, the latest first. Each listing belongs to the summary of the same place, the oldest
/// first.
pub fn overview<'a>(runs: impl Iterator<Item = (&'a RunListing, &'a NamedSummary)>) -> Vec<Overview> {
    let mut groups: BTreeMap<(&str, &str), Vec<(&RunListing, &RunSummary)>> = BTreeMap::new();
    for (listing, named) in runs {
        let place = (listing.experiment.as_str(), listing.host.as_str());
        groups.entry(place).or_default().push((listing, &named.summary));
    }
    let mut rows: Vec<Overview> = groups.into_values().filter_map(|runs| of_group(&runs)).collect();
    rows.sort_by(|left, right| right.latest.created_at.cmp(&left.latest.created_at));
    rows
}

fn of_group(runs: &[(&RunListing, &RunSummary)]) -> Option<Overview> {
    // Rehearsals and A/A checks answer nothing: they are shown where there is nothing else.
    let tells = |run: &RunSummary| run.state == RunState::Finished && !run.rehearsal && !run.identical_levels;
    let telling: Vec<&RunSummary> = runs.iter().map(|(_, run)| *run).filter(|run| tells(run)).collect();
    let latest = runs.iter().rev().find(|(_, run)| tells(run)).or(runs.last())?.0.clone();
    Some(Overview { runs: u32::try_from(runs.len()).unwrap_or(u32::MAX), latest, lines: lines(&telling) })
}

fn lines(runs: &[&RunSummary]) -> Vec<OverviewLine> {
    let Some(last) = runs.last() else { return Vec::new() };
    let Some(decided) = &last.decided else { return Vec::new() };
    let alike: Vec<&RunSummary> =
        runs.iter().copied().filter(|run| run.experiment_digest == last.experiment_digest).collect();
    let alike = alike.get(alike.len().saturating_sub(OVERVIEW_POINTS)..).unwrap_or_default();
    let median = |run: &RunSummary, name: &str| {
        let own = run.configurations.iter().find(|one| one.name == name)?;
        own.figures.get(&decided.metric)?.median.filter(|median| median.is_finite())
    };
    last.configurations
        .iter()
        .take(LINES)
        .map(|one| OverviewLine {
            configuration: one.name.clone(),
            values: alike.iter().filter_map(|run| median(run, &one.name)).collect(),
        })
        .filter(|line| !line.values.is_empty())
        .collect()
}
