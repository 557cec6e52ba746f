//! What verdicts keep of ceilings: the figures that tell most, and a flag where memory answered in the device's place.

use iostone_cloud::explain::Overrides;
use iostone_model::ceiling::{FROM_MEMORY, HeldState};
use iostone_model::environment::Environment;
use iostone_model::evidence::{Group, RunEvidence};
use iostone_model::explanation::{ExplainedFigure, ExplainedPart};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;
use iostone_model::verdict::{CeilingState, Flag, KnownCeiling};

use super::part;

/// Every configuration with trials that count, held against what its plan says of ceilings.
fn parts<'r, 'a>(run: &'r RunEvidence<'a>) -> impl Iterator<Item = (ExplainedPart, &'r Group<'a>)> {
    run.measured().map(|group| (part(run.plan, &Environment::default(), group, &Overrides::default()), group))
}

/// What every configuration moved past the page cache, held against what binds, or against the tightest.
pub(crate) fn ceilings(run: &RunEvidence<'_>) -> Vec<KnownCeiling> {
    let mut known = Vec::new();
    for (mut part, _) in parts(run) {
        part.figures.retain(|figure| figure.passed_device != Some(false));
        known.extend(part.telling().into_iter().filter_map(|figure| known_ceiling(&part, figure)));
    }
    known
}

fn known_ceiling(part: &ExplainedPart, figure: &ExplainedFigure) -> Option<KnownCeiling> {
    let held = figure.binding().or_else(|| figure.narrowest())?;
    let at_most = held.holds_at();
    Some(KnownCeiling {
        configuration: part.configuration.clone(),
        figure: figure.figure.clone(),
        limit: held.ceiling.name.clone(),
        at_most,
        measured: figure.measured,
        unit: figure.unit,
        share: figure.measured / at_most,
        state: match held.state {
            HeldState::Exceeded => CeilingState::Exceeded,
            _ if held.binds() => CeilingState::Binds,
            _ if figure.uncounted => CeilingState::Unknown,
            _ => CeilingState::Free,
        },
        kind: held.ceiling.kind,
        held: Some(held.state),
    })
}

/// A flag for each configuration with rates of buffered I/O above every known limit, unless what was claimed beside what was served
/// says the same.
pub(crate) fn above_limits(run: &RunEvidence<'_>) -> Vec<Flag> {
    let flag = |(part, group): (ExplainedPart, &Group<'_>)| {
        let first = group.trials.first();
        let compressed = first.and_then(|trial| trial.compressed_by(&group.configuration.stack));
        let name = if compressed.is_some() { "compressed" } else { "page-cache" };
        let why = compressed.map(|by| {
            format!("compressed by {by}, so that fewer bytes passed it, or the page cache answered")
        });
        let above: Vec<String> =
            part.figures.iter().filter_map(|figure| above(figure, why.as_deref())).collect();
        let message = format!("under {}: {}", part.configuration, above.join("; "));
        (!above.is_empty()).then(|| Flag::new(name, message))
    };
    parts(run).filter_map(flag).collect()
}

/// "`block_read` of 512 MB/s is 8.19 times the link of 62.5MB/s: memory answered ...", or for another reason where there is one.
fn above(figure: &ExplainedFigure, why: Option<&str>) -> Option<String> {
    let excess = figure.excess.as_ref().filter(|excess| !excess.unserved)?;
    let is_buffered = figure.passed_device == Some(false) && figure.unit == Unit::BytesPerSecond;
    let narrowest = figure.narrowest().filter(|_| is_buffered)?;
    let times = figure.measured / narrowest.at_best;
    (times > FROM_MEMORY).then(|| {
        let (value, times) = (figure.unit.format(figure.measured), three_digits(times));
        let (name, why) = (&narrowest.ceiling.name, why.unwrap_or(&excess.words));
        format!("{} of {value} is {times} times {name}: {why}", figure.figure)
    })
}

#[cfg(test)]
mod tests;
