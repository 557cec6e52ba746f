//! The plain race: every level runs until it is shown to be worse than another.

use super::bounds::Bounds;
use super::{Outcome, RaceFigure, RaceRules};
use crate::judge::JudgeError;

/// A race of all levels, whatever their order.
#[derive(Debug, Clone)]
pub struct Race {
    bounds: Bounds,
    alive: Vec<usize>,
    outcome: Option<Outcome>,
    blocks: u32,
}

impl Race {
    /// A race of `levels` levels, before its first block.
    ///
    /// # Errors
    /// Rules that no race can be held by.
    pub fn new(levels: usize, rules: RaceRules) -> Result<Self, JudgeError> {
        let family = crate::count(levels.saturating_sub(1)).max(1);
        Ok(Self {
            bounds: Bounds::new(levels, family, rules)?,
            alive: (0..levels).collect(),
            outcome: None,
            blocks: 0,
        })
    }

    /// Adds a block of the levels that are left. Blocks after the outcome and beyond the budget change nothing.
    ///
    /// # Errors
    /// Figures that are not above zero.
    pub fn push(&mut self, block: &[RaceFigure]) -> Result<(), JudgeError> {
        if self.outcome.is_some() || self.blocks >= self.bounds.rules().budget {
            return Ok(());
        }
        self.bounds.push(block)?;
        self.blocks += 1;
        let before = self.alive.clone();
        self.alive.retain(|level| !before.iter().any(|other| self.bounds.beats(*other, *level)));
        self.outcome = match self.alive.as_slice() {
            _ if self.bounds.is_unstable() => Some(Outcome::Unstable),
            [] => Some(Outcome::Unstable),
            [level] => Some(Outcome::Unique(*level)),
            _ => self.within_margin().first().map(|level| Outcome::WithinMargin(*level)),
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
        self.blocks
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
