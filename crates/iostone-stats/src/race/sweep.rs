//! The race for the best level of an ordered factor, which takes one optimum for granted.

use crate::boundary::alpha;
use std::ops::Range;

use super::basin::{Remains, basins, eliminate, shown_worse};
use super::bounds::Bounds;
use super::effects::{Effects, fit, roughness};
use super::spending::{RACED_WHOLE, Spending};
use super::{Outcome, RaceFigure, RaceRules};
use crate::judge::JudgeError;
use crate::median::{NORMAL_SCALE, median};

/// Every level runs so often before any is passed over: in the first blocks. One unlucky trial is to hide no optimum.
pub const SCREENINGS: u32 = 2;
const PASSES: usize = SCREENINGS as usize;

/// A curve of less than so many standard deviations of a trial, from its best to its worst level, races as a whole.
const GENTLE_DEVIATIONS: f64 = 6.0;

/// A sweep in progress: a pure function of its rules and blocks.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub(super) bounds: Bounds,
    /// (level, log score) of each block.
    blocks: Vec<Vec<(usize, f64)>>,
    /// Figures of each level as they were measured.
    pub(super) values: Vec<Vec<f64>>,
    /// The first score of each level, and its second.
    screenings: [Vec<Option<f64>>; PASSES],
}

/// Where a sweep stands after its blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepStatus {
    /// What it came to; none while it goes on.
    pub outcome: Option<Outcome>,
    /// The level that looks best of those that are left; none before the first block.
    pub leader: Option<usize>,
    /// Levels that may still be the best, in order.
    pub alive: Vec<usize>,
    /// Parts of the axis in each of which one optimum is taken for granted, in order.
    pub basins: Vec<Range<usize>>,
    /// The levels that the next block should hold, in order: all of them in the first two.
    pub active: Vec<usize>,
    /// Whether the figures show more than one optimum where one was taken for granted.
    pub contradicted: bool,
    pub(super) effects: Effects,
    /// For each level, how much worse than another it was shown to be: itself, and as lying beyond another.
    pub(super) shown: Vec<(f64, f64)>,
}

impl Sweep {
    /// A sweep over `levels` levels, before its first block; the first two are to hold all of them.
    ///
    /// # Errors
    /// Rules that no race can be held by.
    pub fn new(levels: usize, rules: RaceRules) -> Result<Self, JudgeError> {
        Ok(Self {
            bounds: Bounds::new(levels, Spending::of_sweep(levels, alpha(rules.confidence)), rules)?,
            blocks: Vec::new(),
            values: vec![Vec::new(); levels],
            screenings: std::array::from_fn(|_| vec![None; levels]),
        })
    }

    /// Adds a block. Those beyond the budget change nothing.
    ///
    /// # Errors
    /// Figures that are not above zero.
    pub fn push(&mut self, block: &[RaceFigure]) -> Result<(), JudgeError> {
        let rules = *self.bounds.rules();
        if crate::count(self.blocks.len()) >= rules.budget {
            return Ok(());
        }
        self.bounds.push(block)?;
        let scores: Vec<(usize, f64)> =
            block.iter().map(|figure| (figure.level, rules.score(figure.value))).collect();
        self.screen(&scores);
        for figure in block {
            if let Some(values) = self.values.get_mut(figure.level) {
                values.push(figure.value);
            }
        }
        self.blocks.push(scores);
        Ok(())
    }

    /// Takes in the first and the second figure of each level.
    fn screen(&mut self, scores: &[(usize, f64)]) {
        for (level, score) in scores {
            let times = self.values.get(*level).map_or(0, Vec::len);
            let pass = self.screenings.get_mut(times).and_then(|pass| pass.get_mut(*level));
            if let Some(seen) = pass {
                *seen = Some(*score);
            }
        }
    }

    /// Blocks taken in.
    pub fn blocks(&self) -> u32 {
        crate::count(self.blocks.len())
    }

    /// How things stand.
    pub fn status(&self) -> SweepStatus {
        let levels = self.bounds.levels();
        let log_margin = self.bounds.rules().log_margin();
        let screened = roughness(self.screenings.first().map(Vec::as_slice).unwrap_or_default());
        let effects = fit(levels, &self.blocks, screened);
        let basins = if self.races_all() {
            std::iter::once(0..levels).collect()
        } else {
            basins(&self.screenings, screened, log_margin)
        };
        let remains = eliminate(basins, &self.bounds);
        let alive: Vec<usize> = remains.alive.iter().flatten().copied().collect();
        let shown = shown_worse(&remains, &self.bounds);
        let outcome = self.outcome(&alive, &effects);
        let leader = match outcome {
            Some(Outcome::Unique(level) | Outcome::WithinMargin(level)) => Some(level),
            Some(Outcome::Unstable) => None,
            None => best_of(&alive, &effects),
        };
        let active = self.active(&remains, &effects, log_margin);
        let Remains { basins, contradicted, .. } = remains;
        SweepStatus { outcome, leader, alive, basins, active, contradicted, effects, shown }
    }

    fn outcome(&self, alive: &[usize], effects: &Effects) -> Option<Outcome> {
        if self.bounds.is_unstable() || alive.is_empty() {
            return Some(Outcome::Unstable);
        }
        if let [level] = alive {
            return Some(Outcome::Unique(*level));
        }
        let floor = -self.bounds.rules().log_margin();
        let holds = |level: &&usize| {
            alive.iter().all(|other| other == *level || self.bounds.lower(**level, *other) > floor)
        };
        let within: Vec<usize> = alive.iter().filter(holds).copied().collect();
        best_of(&within, effects).map(Outcome::WithinMargin)
    }

    /// In each basin the best with its neighbours, farther on where levels look as good, and one level beyond those; and
    /// whatever has not been screened twice.
    fn active(&self, remains: &Remains, effects: &Effects, log_margin: f64) -> Vec<usize> {
        let unseen = |level: &usize| self.values.get(*level).is_none_or(|seen| seen.len() < PASSES);
        let mut active: Vec<usize> = (0..self.bounds.levels()).filter(unseen).collect();
        if self.races_all() || self.is_gentle() {
            active.extend(remains.alive.iter().flatten());
        } else {
            for (alive, racing) in remains.alive.iter().zip(&remains.racing) {
                let Some(leader) = best_of(alive, effects) else { continue };
                active.push(leader);
                active.extend(plateau(leader, (racing.start..leader).rev(), effects, log_margin));
                active.extend(plateau(leader, leader + 1..racing.end, effects, log_margin));
            }
        }
        active.sort_unstable();
        active.dedup();
        active
    }

    /// Whether there are too few levels for passing any over.
    pub(super) fn races_all(&self) -> bool {
        self.bounds.levels() <= RACED_WHOLE
    }

    /// Whether the screening shows so little between the levels that there is hardly one to pass over.
    fn is_gentle(&self) -> bool {
        let [first, second] = &self.screenings;
        let seen: Vec<(f64, f64)> = first.iter().zip(second).filter_map(|(a, b)| (*a).zip(*b)).collect();
        if seen.len() < self.bounds.levels() {
            return false;
        }
        let apart: Vec<f64> = seen.iter().map(|(a, b)| a - b).collect();
        let Some(host) = median(&apart) else { return false };
        let sizes: Vec<f64> = apart.iter().map(|apart| (apart - host).abs()).collect();
        let spread = NORMAL_SCALE * median(&sizes).unwrap_or(0.0) / 2f64.sqrt();
        let means = || seen.iter().map(|(a, b)| (a + b) / 2.0);
        let (best, worst) =
            (means().fold(f64::NEG_INFINITY, f64::max), means().fold(f64::INFINITY, f64::min));
        best - worst < GENTLE_DEVIATIONS * spread
    }

    /// The levels that a level would be compared with inside its basin, itself among them.
    pub(super) fn every_level(&self) -> Range<usize> {
        0..self.bounds.levels()
    }
}

/// Of `levels`, the one that looks best; the first of equals.
pub(super) fn best_of(levels: &[usize], effects: &Effects) -> Option<usize> {
    let effect = |level: usize| effects.levels.get(level).copied().flatten();
    let seen = levels.iter().filter_map(|level| Some((*level, effect(*level)?)));
    seen.fold(None, |best: Option<(usize, f64)>, (level, score)| match best {
        Some((_, known)) if known >= score => best,
        _ => Some((level, score)),
    })
    .map(|(level, _)| level)
}

/// From the leader outwards: levels that may well be within the margin of it, and the first that looks worse.
fn plateau(
    leader: usize,
    outwards: impl Iterator<Item = usize>,
    effects: &Effects,
    log_margin: f64,
) -> Vec<usize> {
    let effect = |level: usize| effects.levels.get(level).copied().flatten();
    let share = |level: usize| 1.0 / f64::from(effects.counts.get(level).copied().unwrap_or(0).max(1));
    let mut found = Vec::new();
    for level in outwards {
        found.push(level);
        let doubt = 2.0 * effects.spread * (share(leader) + share(level)).sqrt();
        let deficit = effect(leader).zip(effect(level)).map(|(best, own)| best - own);
        if deficit.is_some_and(|deficit| deficit > log_margin + doubt) {
            break;
        }
    }
    found
}
