//! What a sweep came to, in a few sentences.

use iostone_model::figures::list;
use iostone_model::verdict::{SweepLevel, SweepOutcome, SweepState, SweepVerdict, Verdicts};

use super::{confidence, interval, margin};

/// The best level, what is worse, what is not shown to be worse, and the trials that took.
pub(super) fn sentence(sweep: &SweepVerdict, verdicts: &Verdicts) -> String {
    let mut sentences = Vec::new();
    match (sweep.outcome, sweep.best.as_deref(), sweep.leader.as_deref()) {
        (SweepOutcome::UniqueBest, Some(best), _) => {
            sentences.push(format!("{best} is best{}{}.", condition(sweep), lead(sweep, verdicts)));
        }
        (SweepOutcome::WithinMargin, Some(best), _) => {
            let margin = margin(verdicts);
            let condition = condition(sweep);
            sentences
                .push(format!("{best} is within {margin} of the best, whichever level that is{condition}."));
        }
        (SweepOutcome::Unstable, ..) => {
            sentences.push(
                "Levels were shown to be worse than each other: the effect changed during the run, so no one level is best."
                    .to_owned(),
            );
        }
        (_, _, Some(leader)) => {
            let more = match sweep.blocks_to_go {
                Some(blocks) => format!(" About {blocks} more blocks would decide it."),
                None => String::new(),
            };
            let blocks = verdicts.blocks.complete;
            sentences.push(format!(
                "No level is shown to be best after {blocks} blocks; {leader} looks best.{more}"
            ));
        }
        _ => return "No block is complete yet, so nothing can be said.".to_owned(),
    }
    let with = |states: &[SweepState]| -> Vec<&str> {
        let of = |level: &&SweepLevel| states.contains(&level.state);
        sweep.levels.iter().filter(of).map(|level| level.level.as_str()).collect()
    };
    let (worse, beyond) = (with(&[SweepState::Worse]), with(&[SweepState::BeyondWorse]));
    let mut told = Vec::new();
    if !worse.is_empty() {
        let verb = if worse.len() == 1 { "is" } else { "are" };
        told.push(format!("{} {verb} worse", list(&worse)));
    }
    if !beyond.is_empty() {
        let verb = if beyond.len() == 1 { "lies" } else { "lie" };
        told.push(format!("{} {verb} beyond and {} passed over", range(&beyond, sweep), was(beyond.len())));
    }
    let close = with(&[SweepState::NotShownWorse]);
    if !close.is_empty() {
        let verb = was(close.len());
        told.push(format!("{} {verb} not shown to be worse by more than {}", list(&close), margin(verdicts)));
    }
    if !told.is_empty() {
        sentences.push(format!("{}.", told.join("; ")));
    }
    let trials = match sweep.trials_of_racing_all {
        Some(all) if all > sweep.trials => {
            format!("{} trials; racing all levels would have taken about {all}.", sweep.trials)
        }
        Some(all) if all < sweep.trials => {
            format!("{} trials; racing all levels would have taken fewer, about {all}.", sweep.trials)
        }
        _ => format!("{} trials.", sweep.trials),
    };
    sentences.push(trials);
    sentences.join(" ")
}

/// What it hangs on, where levels were passed over.
fn condition(sweep: &SweepVerdict) -> &'static str {
    let passed_over = sweep.levels.iter().any(|level| level.state == SweepState::BeyondWorse);
    match sweep.optima {
        _ if !passed_over => "",
        0 | 1 => " if the curve has one optimum, as it looks",
        _ => " if the curve has no optimum but those it shows",
    }
}

/// How far the nearest rival that raced stays behind.
fn lead(sweep: &SweepVerdict, verdicts: &Verdicts) -> String {
    let raced = sweep.levels.iter().filter(|level| level.ratio_interval[1].is_some());
    let near = raced.max_by(|a, b| a.ratio.unwrap_or(0.0).total_cmp(&b.ratio.unwrap_or(0.0)));
    let Some((near, ratio)) = near.and_then(|level| Some((level, level.ratio?))) else {
        return String::new();
    };
    let turned = [near.ratio_interval[1].map(f64::recip), near.ratio_interval[0].map(f64::recip)];
    let within = interval(turned)
        .map(|interval| format!(", {} interval {interval}", confidence(verdicts)))
        .unwrap_or_default();
    format!(": {:.1} % faster than {}, the next{within}", (1.0 / ratio - 1.0) * 100.0, near.level)
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// Levels side by side in short, "50% to 100%"; those of either end of the axis apart.
fn range(levels: &[&str], sweep: &SweepVerdict) -> String {
    let mut runs: Vec<Vec<&str>> = Vec::new();
    let mut before = None;
    for (place, level) in sweep.levels.iter().enumerate() {
        if !levels.contains(&level.level.as_str()) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if before.is_some_and(|before| before + 1 == place) => run.push(&level.level),
            _ => runs.push(vec![&level.level]),
        }
        before = Some(place);
    }
    let in_short = |run: &Vec<&str>| match run.as_slice() {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(|level| (*level).to_owned()).collect(),
    };
    let short: Vec<String> = runs.iter().flat_map(in_short).collect();
    list(&short)
}
