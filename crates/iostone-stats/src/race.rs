//! Races for the best of several levels: successive elimination within randomised blocks, and its use for sweeps.
//!
//! Every pair of levels has its own sequential signed-rank bounds, one-sided, over the blocks in which both ran.
//! [`Race`] takes nothing for granted: all levels run until they are shown to be worse than another, at `alpha / (K - 1)`
//! for `K` levels, because only the `K - 1` events in which the best looks worse than another can make it lose (Even-Dar,
//! Mannor and Mansour 2006 call this successive elimination). [`Sweep`] is for levels in an order, and takes one optimum
//! for granted: a level that is shown to be worse takes all beyond it along, so that most of them never run again. There an
//! error of any pair may lose the best, so a part of `alpha` goes to all pairs, most of it to neighbours. Up to
//! [`RACED_WHOLE`] levels a sweep races all, and takes nothing for granted.
//!
//! Which levels the next block holds depends on the figures so far. The coin that decides their order does not, so each
//! pair's signs stay fair; as everywhere here, noise that reacts to past coins is not covered.

mod all;
mod basin;
mod bounds;
mod effects;
mod fit;
mod forecast;
mod spending;
mod sweep;
mod verdict;

use iostone_model::metric::Direction;

use crate::boundary::LARGEST_BUDGET;
use crate::judge::JudgeError;

pub use all::Race;
pub use spending::{RACED_WHOLE, fewest_blocks_of_sweep};
pub use sweep::{SCREENINGS, Sweep, SweepStatus};
pub use verdict::Axis;

/// What was declared before the first trial of a race.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RaceRules {
    /// Which way is better.
    pub direction: Direction,
    /// Differences within it do not matter, as a fraction: 0.03 for 3 %.
    pub margin: f64,
    /// The confidence of the whole answer, from 0.5 to below 1.
    pub confidence: f64,
    /// The most blocks, from 1 to [`LARGEST_BUDGET`].
    pub budget: u32,
    /// No pair is looked at before so many blocks of its own.
    pub minimum: u32,
    /// Whether a constant effect of running later in a block is estimated and removed, pair by pair.
    pub adjust_order: bool,
}

/// One measured figure of a race.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RaceFigure {
    /// The number of the level, from 0 up.
    pub level: usize,
    /// The figure, in any unit, above zero. Infinite for a run that never ended: the worst of all.
    pub value: f64,
    /// Its position within the block, or the time at which it ran: larger is later. None where unknown.
    pub order: Option<f64>,
}

/// What a race came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All others were shown to be worse.
    Unique(usize),
    /// Shown to be within the margin of every level that is left, and so of the best.
    WithinMargin(usize),
    /// Levels were shown to be worse than each other: the effect changed during the run.
    Unstable,
}

impl RaceRules {
    fn log_margin(&self) -> f64 {
        self.margin.ln_1p()
    }

    /// The logarithm of a figure, larger for better; minus infinity for a run that never ended.
    fn score(&self, value: f64) -> f64 {
        if value.is_finite() { self.direction.sign() * value.ln() } else { f64::NEG_INFINITY }
    }

    /// Refuses rules that no race can be held by.
    fn check(&self) -> Result<(), JudgeError> {
        let bad = |rule, value, expected: &str| {
            Err(JudgeError::BadRule { rule, value, expected: expected.to_owned() })
        };
        if !(self.margin.is_finite() && self.margin >= 0.0) {
            return bad("margin", self.margin, "zero or more");
        }
        if !(0.5..1.0).contains(&self.confidence) {
            return bad("confidence", self.confidence, "from 0.5 to below 1, as in 0.95");
        }
        if self.budget == 0 || self.budget > LARGEST_BUDGET {
            let expected = format!("from 1 to {LARGEST_BUDGET} blocks");
            return bad("budget", f64::from(self.budget), &expected);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
