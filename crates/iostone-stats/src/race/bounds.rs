//! What each pair of levels has shown: running one-sided bounds of the log ratio, for the pair itself and for what lies beyond.

use std::sync::Arc;

use super::spending::Spending;
use super::{RaceFigure, RaceRules};
use crate::boundary::Boundary;
use crate::judge::{CENSORED_LOG_RATIO, JudgeError};
use crate::order_effect::{RunOrder, adjust};
use crate::sequential::Looks;
use crate::walsh::{Interval, WalshAverages};

/// Running bounds of all pairs.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    rules: RaceRules,
    levels: usize,
    tables: Tables,
    /// The pairs (0, 1), (0, 2), (1, 2), (0, 3), ...
    duels: Vec<Duel>,
}

/// One pair: how much better its first level is than its second.
#[derive(Debug, Clone)]
struct Duel {
    blocks: Vec<(f64, RunOrder)>,
    adjusted: Vec<f64>,
    /// By which one of the two is dropped, or found within the margin.
    own: Interval,
    /// By which one of the two is passed over with all beyond it.
    beyond: Interval,
}

/// The limits of each use of a pair.
#[derive(Debug, Clone)]
struct Tables {
    own: Arc<Boundary>,
    /// Of neighbours, of levels two apart, of levels farther apart; none where nothing is passed over.
    beyond: Option<[Arc<Boundary>; 3]>,
}

impl Tables {
    fn beyond(&self, apart: usize) -> Option<&Boundary> {
        let [neighbours, two, farther] = self.beyond.as_ref()?;
        Some(match apart {
            0 | 1 => neighbours,
            2 => two,
            _ => farther,
        })
    }
}

/// Where the pair of two different levels stands.
fn place(one: usize, other: usize) -> usize {
    let (first, second) = (one.min(other), one.max(other));
    second * second.saturating_sub(1) / 2 + first
}

impl Bounds {
    /// Bounds of `levels` levels at the levels of `spending`.
    pub(super) fn new(levels: usize, spending: Spending, rules: RaceRules) -> Result<Self, JudgeError> {
        rules.check()?;
        let blank =
            Duel { blocks: Vec::new(), adjusted: Vec::new(), own: Interval::ALL, beyond: Interval::ALL };
        let table = |level: f64| Boundary::shared(level, rules.budget, Looks::Sequential);
        Ok(Self {
            tables: Tables {
                own: table(spending.own),
                beyond: spending.beyond.map(|levels| levels.map(table)),
            },
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
                    let apart = second.level - first.level;
                    duel.look(&self.tables, apart, minimum);
                }
            }
        }
        Ok(())
    }

    /// The bound from below of how much better `one` is than `other`, as log ratio; minus infinity while nothing is shown.
    pub(super) fn lower(&self, one: usize, other: usize) -> f64 {
        match self.duel(one, other) {
            Some(duel) if one < other => duel.own.lower,
            Some(duel) => -duel.own.upper,
            None => f64::NEG_INFINITY,
        }
    }

    /// Whether `one` was shown to be better than `other`.
    pub(super) fn beats(&self, one: usize, other: usize) -> bool {
        self.lower(one, other) > 0.0
    }

    /// As [`Bounds::lower`], where it is to hold for the levels beyond `other` as well.
    pub(super) fn lower_beyond(&self, one: usize, other: usize) -> f64 {
        match self.duel(one, other) {
            Some(duel) if one < other => duel.beyond.lower,
            Some(duel) => -duel.beyond.upper,
            None => f64::NEG_INFINITY,
        }
    }

    /// Whether `other` and all beyond it can be passed over, seen from `one`.
    pub(super) fn passes(&self, one: usize, other: usize) -> bool {
        self.lower_beyond(one, other) > 0.0
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
        self.duels.iter().any(|duel| duel.own.lower > duel.own.upper)
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

    fn look(&mut self, tables: &Tables, apart: usize, minimum: u32) {
        let blocks = crate::count(self.blocks.len());
        if blocks < minimum {
            return;
        }
        let own = tables.own.limit_at(blocks);
        let beyond = tables.beyond(apart).and_then(|table| table.limit_at(blocks));
        if own.is_none() && beyond.is_none() {
            return;
        }
        let averages = WalshAverages::of(&self.adjusted);
        for (running, limit) in [(&mut self.own, own), (&mut self.beyond, beyond)] {
            if let Some(seen) = limit.and_then(|limit| averages.interval(limit)) {
                *running = running.intersect(seen);
            }
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
