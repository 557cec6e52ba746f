//! A sweep's verdict: the best level, those that were not shown to be worse, and the curve.

use std::ops::RangeInclusive;

use iostone_model::verdict::{SweepFit, SweepLevel, SweepOutcome, SweepState, SweepVerdict};

use super::Outcome;
use super::fit::{Parabola, parabola};
use super::sweep::{SCREENINGS, Sweep, SweepStatus};
use crate::median::summarize;

/// The name of a sweep's factor, and of each of its levels with its place on the axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis<'a> {
    /// The factor.
    pub factor: &'a str,
    /// The levels' names, in order.
    pub levels: &'a [String],
    /// Where they stand, ascending.
    pub positions: &'a [f64],
}

impl Sweep {
    /// What the blocks so far come to. A rehearsal decides nothing: see `rehearsal`.
    pub fn verdict(&self, axis: Axis<'_>, rehearsal: bool) -> SweepVerdict {
        let status = self.status();
        let decided = status.outcome.filter(|_| !rehearsal);
        let outcome = match decided {
            Some(Outcome::Unique(_)) => SweepOutcome::UniqueBest,
            Some(Outcome::WithinMargin(_)) => SweepOutcome::WithinMargin,
            Some(Outcome::Unstable) => SweepOutcome::Unstable,
            None => SweepOutcome::Open,
        };
        let name = |level: usize| axis.levels.get(level).cloned();
        let by_level: Vec<SweepState> =
            self.every_level().map(|level| self.state(level, &status, outcome)).collect();
        let levels: Vec<SweepLevel> = axis
            .levels
            .iter()
            .zip(axis.positions)
            .zip(&by_level)
            .enumerate()
            .map(|(level, ((name, position), state))| self.level(level, name, *position, *state, &status))
            .collect();
        let worse = |state: &SweepState| matches!(state, SweepState::Worse | SweepState::BeyondWorse);
        let trials = self.values.iter().map(Vec::len).sum();
        SweepVerdict {
            factor: axis.factor.to_owned(),
            outcome,
            best: status.leader.filter(|_| decided.is_some()).and_then(name),
            leader: status.leader.and_then(name),
            not_shown_worse: levels
                .iter()
                .filter(|level| !worse(&level.state))
                .map(|l| l.level.clone())
                .collect(),
            blocks_to_go: if rehearsal || decided.is_some() { None } else { self.blocks_to_go() },
            fit: self.fit(&status, &levels),
            levels,
            trials: crate::count(trials),
            trials_of_racing_all: if rehearsal { None } else { self.trials_of_racing_all() },
            optima: crate::count(status.basins.len()),
            assumption: self.assumption(&status).to_owned(),
        }
    }

    fn state(&self, level: usize, status: &SweepStatus, outcome: SweepOutcome) -> SweepState {
        let margin = self.bounds.rules().log_margin();
        let (own, beyond) =
            status.shown.get(level).copied().unwrap_or((f64::NEG_INFINITY, f64::NEG_INFINITY));
        if own > margin {
            SweepState::Worse
        } else if beyond > margin {
            SweepState::BeyondWorse
        } else if matches!(outcome, SweepOutcome::Open | SweepOutcome::Unstable) {
            SweepState::Open
        } else if status.leader == Some(level) {
            SweepState::Best
        } else {
            SweepState::NotShownWorse
        }
    }

    fn level(
        &self,
        level: usize,
        name: &str,
        position: f64,
        state: SweepState,
        status: &SweepStatus,
    ) -> SweepLevel {
        let rules = self.bounds.rules();
        let values = self.values.get(level).map(Vec::as_slice).unwrap_or_default();
        let summary = summarize(values, rules.confidence);
        let leader = status.leader.filter(|leader| *leader != level);
        let finite = |ratio: f64| Some(ratio.exp()).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let ratio = leader.and_then(|leader| self.bounds.estimate(level, leader)).and_then(finite);
        let interval = leader.map_or([None, None], |leader| {
            [finite(self.bounds.lower(level, leader)), finite(-self.bounds.lower(leader, level))]
        });
        SweepLevel {
            level: name.to_owned(),
            position,
            trials: summary.trials,
            median: summary.median,
            median_interval: summary.median_interval,
            ratio,
            ratio_interval: interval,
            state,
        }
    }

    /// Through the leader, its neighbours, and what adjoins them and was raced, as far as one optimum is taken for granted.
    /// Where such a parabola misses the leader's own interval, one through the leader and its neighbours alone.
    fn fit(&self, status: &SweepStatus, levels: &[SweepLevel]) -> Option<SweepFit> {
        let leader = status.leader?;
        let place = levels.get(leader)?;
        let own = place.median?;
        let basin = status.basins.iter().find(|basin| basin.contains(&leader))?;
        let raced = |level: usize| {
            basin.contains(&level) && levels.get(level).is_some_and(|level| level.trials > SCREENINGS)
        };
        let (near_low, near_high) = (leader.checked_sub(1)?, leader + 1);
        if !(basin.contains(&near_low) && basin.contains(&near_high)) {
            return None;
        }
        let (mut low, mut high) = (near_low, near_high);
        while low.checked_sub(1).is_some_and(raced) {
            low -= 1;
        }
        while raced(high + 1) {
            high += 1;
        }
        let direction = self.bounds.rules().direction;
        // Of the typical ratio rather than the medians: levels did not all run in the same blocks.
        let figure = |level: usize| {
            let place = levels.get(level)?;
            let value = if level == leader { own } else { own * place.ratio?.powf(direction.sign()) };
            Some((place.position, value))
        };
        let through = |range: RangeInclusive<usize>| {
            let places = range.map(figure).collect::<Option<Vec<_>>>()?;
            parabola(&places, direction)
        };
        let agrees = |fit: &Parabola| match (fit.at(place.position), place.median_interval) {
            (at, [Some(least), Some(most)]) => (least..=most).contains(&at),
            _ => true,
        };
        let fit =
            through(low..=high).filter(&agrees).or_else(|| through(near_low..=near_high).filter(&agrees))?;
        Some(fit.description())
    }
}

impl Sweep {
    /// What was taken for granted, to follow these words.
    fn assumption(&self, status: &SweepStatus) -> &'static str {
        if self.races_all() {
            "nothing of the curve: every level ran until it was shown to be worse than another."
        } else if status.contradicted {
            "beside each of the optima that the figures show there is no other, so that levels beyond one that was shown to be \
         worse were passed over."
        } else if status.basins.len() > 1 {
            "the curve has no optima but those beside the dips that two passes over all levels showed near the best; levels \
         beyond one that was shown to be worse were passed over after that."
        } else {
            "the curve has one optimum, as two passes over all levels showed it; levels beyond one that was shown to be worse \
         were passed over after that."
        }
    }
}
