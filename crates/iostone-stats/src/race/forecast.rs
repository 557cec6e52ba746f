//! How many blocks a sweep will take still, and how many trials a race of all its levels would have taken.

use super::spending::Spending;
use super::sweep::{Sweep, SweepStatus};
use crate::boundary::{alpha, looks};
use crate::forecast::HalfWidths;

impl Sweep {
    /// Trials that racing all levels, none passed over, would take to a unique best or one within the margin of all that are
    /// left, at the differences and the spread seen; by the mean half-widths of the bounds, as every forecast.
    ///
    /// None before the first block, and where all levels race.
    pub fn trials_of_racing_all(&self) -> Option<u32> {
        if self.races_all() {
            return None;
        }
        let status = self.status();
        let rules = self.bounds.rules();
        let levels = crate::count(self.bounds.levels());
        let widths =
            HalfWidths::shared(alpha(rules.confidence), levels.saturating_sub(1).max(1), rules.budget);
        let spread = 2f64.sqrt() * status.effects.spread;
        let leader = status.leader?;
        let deficits: Vec<f64> =
            self.every_level().filter(|l| *l != leader).filter_map(|l| status.deficit(leader, l)).collect();
        let mut trials = 0;
        let mut left = deficits.len();
        let mut before = 0;
        for look in looks(rules.budget).into_iter().filter(|look| *look >= rules.minimum.min(rules.budget)) {
            trials += (look - before) * (crate::count(left) + 1);
            before = look;
            let Some((_, width)) = widths.at(look) else { continue };
            let open: Vec<&f64> = deficits.iter().filter(|deficit| spread * width >= **deficit).collect();
            left = open.len();
            if open.iter().all(|deficit| **deficit - spread * width > -rules.log_margin()) {
                return Some(trials);
            }
        }
        Some(trials)
    }

    /// Blocks that it will take still; none where the rest of the budget will most likely not do, or nothing is known yet.
    pub fn blocks_to_go(&self) -> Option<u32> {
        let status = self.status();
        if status.outcome.is_some() {
            return Some(0);
        }
        let rules = self.bounds.rules();
        let levels = self.bounds.levels();
        // The dearest of what it may take: its neighbours are to be passed over.
        let spending = Spending::of_sweep(levels, alpha(rules.confidence));
        let level = spending.beyond.map_or(spending.own, |[neighbours, ..]| neighbours);
        let widths = HalfWidths::shared(level, 1, rules.budget);
        let spread = 2f64.sqrt() * status.effects.spread;
        let leader = status.leader?;
        let all = looks(rules.budget);
        // When each pair is looked at next, in blocks from now, and what it will most likely show then.
        let settled = |level: usize, to_go: u32| {
            let met = self.bounds.met(leader, level);
            let look = all.iter().rev().find(|look| **look <= met + to_go)?;
            let (_, width) = widths.at(*look)?;
            let deficit = status.deficit(leader, level)?;
            (deficit > spread * width || deficit - spread * width > -rules.log_margin()).then_some(())
        };
        let rivals: Vec<usize> = status.active.iter().copied().filter(|level| *level != leader).collect();
        (1..=rules.budget.saturating_sub(self.blocks()))
            .find(|to_go| rivals.iter().all(|level| settled(*level, *to_go).is_some()))
    }
}

impl SweepStatus {
    /// How much worse than the leader a level looks, as log ratio.
    fn deficit(&self, leader: usize, level: usize) -> Option<f64> {
        let effect = |level: usize| self.effects.levels.get(level).copied().flatten();
        Some(effect(leader)? - effect(level)?)
    }
}
