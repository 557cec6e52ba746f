//! Figures without blocks: what can still be said, and what cannot.

use iostone_model::verdict::{Comparison, Flag};

use super::table::Table;
use super::{Judgement, Rules};
use crate::unpaired;

/// Compares each level with its baseline by the unpaired test; no verdicts. `all` comparisons are made together.
pub(super) fn compare(table: &Table<'_>, rules: &Rules, all: usize) -> Judgement {
    let places = table.pairs();
    let comparisons: Vec<Comparison> = places
        .iter()
        .map(|(stratum, level)| {
            let scores = |level: usize| table.trials(*stratum, level).map(|t| t.score).collect::<Vec<f64>>();
            let (base, other) = (scores(table.baseline), scores(*level));
            let test = unpaired::compare(&base, &other, rules.confidence);
            let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
            let mean_ratio = Some((mean(&other) - mean(&base)).exp()).filter(|ratio| ratio.is_finite());
            let endless = base.iter().chain(&other).any(|score| score.is_infinite());
            let name = |index: usize| table.levels.get(index).copied().unwrap_or_default().to_owned();
            Comparison {
                level: name(*level),
                baseline: name(table.baseline),
                stratum: table.strata.get(*stratum).copied().unwrap_or_default().to_owned(),
                ratio: test.as_ref().map(|test| test.ratio).filter(|ratio| *ratio > 0.0 && *ratio < f64::MAX),
                mean_ratio: mean_ratio.filter(|_| !endless),
                flags: if endless { vec![censored()] } else { Vec::new() },
                unpaired: test,
                ..Comparison::default()
            }
        })
        .collect();
    Judgement { comparisons, flags: vec![unblocked(all)] }
}

fn censored() -> Flag {
    Flag::new(
        "censored",
        "some runs never ended, or completed nothing: they rank as worst, so the ratio may have no bound",
    )
}

fn unblocked(comparisons: usize) -> Flag {
    let mut message = "the figures carry no blocks, so no verdict is given: the unpaired test says how surprising \
                       they would be if the levels were equal and all trials independent, but not whether the level \
                       or the time between the trials made a difference"
        .to_owned();
    if comparisons > 1 {
        message.push_str("; each of the tests stands by itself, not adjusted for the number of comparisons");
    }
    Flag::new("unblocked", message)
}
