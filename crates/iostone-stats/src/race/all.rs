//! The plain race: every level runs until it is shown to be worse than another.

use super::bounds::Bounds;
use super::effects::fit;
use super::spending::Spending;
use super::sweep::best_of;
use super::{Outcome, RaceFigure, RaceRules};
use crate::boundary::alpha;
use crate::judge::JudgeError;

/// A race of all levels, whatever their order.
#[derive(Debug, Clone)]
pub struct Race {
    bounds: Bounds,
    alive: Vec<usize>,
    outcome: Option<Outcome>,
    /// (level, log score) of each block.
    blocks: Vec<Vec<(usize, f64)>>,
}

impl Race {
    /// A race of `levels` levels, before its first block.
    ///
    /// # Errors
    /// Rules that no race can be held by.
    pub fn new(levels: usize, rules: RaceRules) -> Result<Self, JudgeError> {
        Ok(Self {
            bounds: Bounds::new(levels, Spending::of_race(levels, alpha(rules.confidence)), rules)?,
            alive: (0..levels).collect(),
            outcome: None,
            blocks: Vec::new(),
        })
    }

    /// Adds a block of the levels that are left. Blocks after the outcome and beyond the budget change nothing.
    ///
    /// # Errors
    /// Figures that are not above zero.
    pub fn push(&mut self, block: &[RaceFigure]) -> Result<(), JudgeError> {
        if self.outcome.is_some() || self.blocks() >= self.bounds.rules().budget {
            return Ok(());
        }
        self.bounds.push(block)?;
        let rules = *self.bounds.rules();
        self.blocks.push(block.iter().map(|figure| (figure.level, rules.score(figure.value))).collect());
        let before = self.alive.clone();
        self.alive.retain(|level| !before.iter().any(|other| self.bounds.beats(*other, *level)));
        self.outcome = match self.alive.as_slice() {
            _ if self.bounds.is_unstable() => Some(Outcome::Unstable),
            [] => Some(Outcome::Unstable),
            [level] => Some(Outcome::Unique(*level)),
            _ => self.best_within_margin().map(Outcome::WithinMargin),
        };
        Ok(())
    }

    /// The levels that are left, which the next block holds.
    pub fn alive(&self) -> &[usize] {
        &self.alive
    }

    /// What it came to; none while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Blocks taken in.
    pub fn blocks(&self) -> u32 {
        crate::count(self.blocks.len())
    }

    /// Of the levels that are within the margin of all others, the one that looks best.
    fn best_within_margin(&self) -> Option<usize> {
        let within = self.within_margin();
        match within.as_slice() {
            [] => None,
            [only] => Some(*only),
            // The spread is not asked for.
            _ => best_of(&within, &fit(self.bounds.levels(), &self.blocks, 0.0)),
        }
    }

    /// Of several levels that are left, those that are within the margin of all others.
    pub fn within_margin(&self) -> Vec<usize> {
        let floor = -self.bounds.rules().log_margin();
        let holds = |level: &&usize| {
            self.alive.iter().all(|other| other == *level || self.bounds.lower(**level, *other) > floor)
        };
        self.alive.iter().filter(holds).copied().collect()
    }
}
