//! What each pair of levels has shown: running one-sided bounds of the log ratio, one table of limits for all pairs.

use std::sync::Arc;

use super::{RaceFigure, RaceRules};
use crate::boundary::Boundary;
use crate::judge::{CENSORED_LOG_RATIO, JudgeError};
use crate::order_effect::{RunOrder, adjust};
use crate::sequential::Looks;
use crate::walsh::WalshAverages;

/// Running bounds of all pairs.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    rules: RaceRules,
    levels: usize,
    table: Arc<Boundary>,
    /// The pairs (0, 1), (0, 2), (1, 2), (0, 3), ...
    duels: Vec<Duel>,
}

/// One pair: how much better its first level is than its second.
#[derive(Debug, Clone)]
struct Duel {
    blocks: Vec<(f64, RunOrder)>,
    adjusted: Vec<f64>,
    lower: f64,
    upper: f64,
}

/// Where the pair of two different levels stands.
fn place(one: usize, other: usize) -> usize {
    let (first, second) = (one.min(other), one.max(other));
    second * second.saturating_sub(1) / 2 + first
}

impl Bounds {
    /// Bounds of `levels` levels, each at the one-sided level `alpha / family`.
    pub(super) fn new(levels: usize, family: u32, rules: RaceRules) -> Result<Self, JudgeError> {
        rules.check()?;
        let blank =
            Duel { blocks: Vec::new(), adjusted: Vec::new(), lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        Ok(Self {
            table: Boundary::shared(
                rules.alpha() / f64::from(family.max(1)),
                rules.budget,
                Looks::Sequential,
            ),
            rules,
            levels,
            duels: vec![blank; levels * levels.saturating_sub(1) / 2],
        })
    }

    pub(super) fn rules(&self) -> &RaceRules {
        &self.rules
    }

    pub(super) fn levels(&self) -> usize {
        self.levels
    }

    /// Adds a block, and looks at the pairs for which it is the time.
    pub(super) fn push(&mut self, block: &[RaceFigure]) -> Result<(), JudgeError> {
        for (number, figure) in (1..).zip(block) {
            if figure.value.is_nan() || figure.value <= 0.0 {
                let level = figure.level.to_string();
                return Err(JudgeError::NotPositive { number, level, block: None, value: figure.value });
            }
        }
        let minimum = self.rules.minimum.min(self.rules.budget);
        for (index, second) in block.iter().enumerate() {
            for first in block.iter().take(index) {
                let (first, second) =
                    if first.level < second.level { (first, second) } else { (second, first) };
                let ratio = log_ratio(&self.rules, first, second);
                let order = run_order(first, second);
                if first.level == second.level {
                    continue;
                }
                if let Some(duel) = self.duels.get_mut(place(first.level, second.level)) {
                    duel.push(ratio, order, self.rules.adjust_order);
                    duel.look(&self.table, minimum);
                }
            }
        }
        Ok(())
    }

    /// The bound from below of how much better `one` is than `other`, as log ratio; minus infinity while nothing is shown.
    pub(super) fn lower(&self, one: usize, other: usize) -> f64 {
        match self.duel(one, other) {
            Some(duel) if one < other => duel.lower,
            Some(duel) => -duel.upper,
            None => f64::NEG_INFINITY,
        }
    }

    /// Whether `one` was shown to be better than `other`.
    pub(super) fn beats(&self, one: usize, other: usize) -> bool {
        self.lower(one, other) > 0.0
    }

    /// Blocks in which both ran.
    pub(super) fn met(&self, one: usize, other: usize) -> u32 {
        self.duel(one, other).map_or(0, |duel| crate::count(duel.blocks.len()))
    }

    /// The typical log ratio (Hodges-Lehmann) of `one` to `other`; none where they never met.
    pub(super) fn estimate(&self, one: usize, other: usize) -> Option<f64> {
        let duel = self.duel(one, other)?;
        let estimate = WalshAverages::of(&duel.adjusted).estimate()?;
        Some(if one < other { estimate } else { -estimate })
    }

    /// Whether two levels were shown to be worse than each other.
    pub(super) fn is_unstable(&self) -> bool {
        self.duels.iter().any(|duel| duel.lower > duel.upper)
    }

    fn duel(&self, one: usize, other: usize) -> Option<&Duel> {
        (one != other).then(|| self.duels.get(place(one, other)))?
    }
}

impl Duel {
    fn push(&mut self, ratio: f64, order: RunOrder, adjusting: bool) {
        self.adjusted.push(if adjusting { adjust(ratio, order, &self.blocks) } else { ratio });
        self.blocks.push((ratio, order));
    }

    fn look(&mut self, table: &Boundary, minimum: u32) {
        let blocks = crate::count(self.blocks.len());
        let limit = Some(blocks).filter(|blocks| *blocks >= minimum).and_then(|n| table.limit_at(n));
        let seen = limit.and_then(|limit| WalshAverages::of(&self.adjusted).interval(limit));
        if let Some(seen) = seen {
            self.lower = self.lower.max(seen.lower);
            self.upper = self.upper.min(seen.upper);
        }
    }
}

fn log_ratio(rules: &RaceRules, first: &RaceFigure, second: &RaceFigure) -> f64 {
    let (first, second) = (rules.score(first.value), rules.score(second.value));
    match (first.is_finite(), second.is_finite()) {
        (true, true) => first - second,
        (true, false) => CENSORED_LOG_RATIO,
        (false, true) => -CENSORED_LOG_RATIO,
        (false, false) => 0.0,
    }
}

/// The second level of a pair takes the place of the baseline.
fn run_order(first: &RaceFigure, second: &RaceFigure) -> RunOrder {
    match first.order.zip(second.order).map(|(first, second)| second.total_cmp(&first)) {
        Some(std::cmp::Ordering::Less) => RunOrder::BaselineFirst,
        Some(std::cmp::Ordering::Greater) => RunOrder::LevelFirst,
        Some(std::cmp::Ordering::Equal) | None => RunOrder::Unknown,
    }
}
