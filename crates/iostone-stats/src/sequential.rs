//! One comparison over its blocks: the sequential signed-rank procedure with its looks, intervals and verdict.
//!
//! Each block gives one log ratio. At declared looks the ratios' ranks are held against limits that bound the
//! chance of a wrong verdict over all looks together; the interval is the set of ratios those limits do not
//! reject, intersected with that of earlier looks. Both are valid at any stopping time, a person's included.

use std::sync::Arc;

use iostone_model::verdict::Verdict;

use crate::boundary::Boundary;
use crate::forecast::HalfWidths;
pub use crate::order_effect::RunOrder;
use crate::order_effect::adjust;
pub use crate::walsh::Interval;
use crate::walsh::{WalshAverages, centre_and_spread};

/// What is declared before the first block of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// The chance of a wrong verdict that is accepted: 0.05 for 95 % confidence.
    pub alpha: f64,
    /// The equivalence margin as a fraction of the baseline.
    pub margin: f64,
    /// The most blocks, at most [`crate::LARGEST_BUDGET`].
    pub budget: u32,
    /// No look before that many blocks; skipping looks never raises the chance of error.
    pub minimum: u32,
    /// The worst rounding error of one log ratio, by which every interval is widened.
    pub rounding: f64,
    /// Whether a constant effect of running second is removed.
    pub adjust_order: bool,
    /// How many comparisons are made together.
    pub family: u32,
    /// When it is looked at.
    pub looks: Looks,
}

/// When a comparison is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Looks {
    /// Again and again on the way to the budget, so that it can end at its verdict.
    Sequential,
    /// Once, when the budget is there: for a number of blocks that was fixed beforehand. One exact test shows smaller effects.
    Once,
    /// Again and again, first after a superblock: so many trials of each level in one random order. It counts as that many
    /// blocks.
    AfterSuperblock(u32),
}

impl Looks {
    /// The trials of each level in the superblock; 0 without one.
    pub fn superblock(self) -> u32 {
        match self {
            Self::AfterSuperblock(trials) => trials,
            Self::Sequential | Self::Once => 0,
        }
    }
}

/// What one look showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Blocks seen.
    pub blocks: u32,
    /// The typical log ratio (Hodges-Lehmann).
    pub estimate: f64,
    /// The interval for a difference, at `alpha / family`, two-sided.
    pub difference: Interval,
    /// The interval for equivalence: each bound at `alpha / family`.
    pub equivalence: Interval,
    /// The verdict found here or before, at `alpha / family`; none where the run goes on, undecided where the budget is spent.
    pub verdict: Option<Verdict>,
}

/// A verdict and the look that found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) verdict: Verdict,
    pub(crate) blocks: u32,
}

/// How many family sizes, from 1 up, each kind of hypothesis of a comparison is rejected at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Strengths {
    /// That the levels are equal.
    pub(crate) equality: u32,
    /// That they are a margin apart.
    pub(crate) distance: u32,
}

/// The running intervals at one family size.
#[derive(Debug, Clone)]
struct RunningIntervals {
    difference_table: Arc<Boundary>,
    equivalence_table: Arc<Boundary>,
    difference: Interval,
    equivalence: Interval,
    /// The first verdict that this size and all smaller ones bear out.
    found: Option<Found>,
    /// The first look at which this size and all smaller ones bear equivalence out.
    equivalent_at: Option<u32>,
}

impl RunningIntervals {
    fn is_unstable(&self) -> bool {
        self.difference.is_empty() || self.equivalence.is_empty()
    }

    /// Whether the intervals bear `verdict` out, with the margin as log ratio.
    fn supports(&self, verdict: Verdict, log_margin: f64) -> bool {
        match verdict {
            Verdict::Unstable => self.is_unstable(),
            _ if self.is_unstable() => false,
            Verdict::Equivalent => {
                self.equivalence.lower > -log_margin && self.equivalence.upper < log_margin
            }
            Verdict::Faster => self.difference.lower > 0.0,
            Verdict::Slower => self.difference.upper < 0.0,
            Verdict::Undecided => false,
        }
    }
}

/// The verdicts that intervals can bear out, the more useful first: equivalence even where a difference is real.
const CLAIMS: [Verdict; 3] = [Verdict::Equivalent, Verdict::Faster, Verdict::Slower];

/// The state of one comparison.
#[derive(Debug, Clone)]
pub struct Ssr {
    design: Design,
    log_margin: f64,
    /// Every difference of a level's trial to a baseline's in the superblock.
    superblock: Vec<f64>,
    /// The blocks after it.
    blocks: Vec<(f64, RunOrder)>,
    adjusted: Vec<f64>,
    /// One for each family size from 1 to that of the design, for Holm's rule.
    sizes: Vec<RunningIntervals>,
    last_look: Option<Look>,
    /// The intervals at `alpha / family` as of the last look before one of them became empty.
    shown: (Interval, Interval),
}

impl Ssr {
    /// A comparison without blocks yet.
    pub fn new(design: Design) -> Self {
        let table = |level: f64| Boundary::shared(level, design.budget, design.looks);
        let running = |size: u32| RunningIntervals {
            difference_table: table(design.alpha / 2.0 / f64::from(size)),
            equivalence_table: table(design.alpha / f64::from(size)),
            difference: Interval::ALL,
            equivalence: Interval::ALL,
            found: None,
            equivalent_at: None,
        };
        Self {
            design,
            log_margin: design.margin.ln_1p(),
            superblock: Vec::new(),
            blocks: Vec::new(),
            adjusted: Vec::new(),
            sizes: (1..=design.family.max(1)).map(running).collect(),
            last_look: None,
            shown: (Interval::ALL, Interval::ALL),
        }
    }

    /// A comparison that began with a superblock: `differences` are those of every trial of the level to every one of the
    /// baseline, as log ratios. The design says how many trials of each there were.
    pub fn after(design: Design, differences: Vec<f64>) -> Self {
        let mut begun = Self { superblock: differences, ..Self::new(design) };
        begun.look();
        begun
    }

    /// Adds a block's log ratio (above zero: the level is better) and looks, if this is the time for it.
    ///
    /// Looks go on after a verdict, for the intervals; the verdict stays. Blocks beyond the budget are kept but never looked at.
    pub fn push(&mut self, log_ratio: f64, order: RunOrder) -> Option<Look> {
        let ratio = if self.design.adjust_order { adjust(log_ratio, order, &self.blocks) } else { log_ratio };
        self.blocks.push((log_ratio, order));
        self.adjusted.push(ratio);
        self.look()
    }

    fn look(&mut self) -> Option<Look> {
        let blocks = self.blocks();
        if !self.looks().any(|look| look == blocks) {
            return None;
        }
        let averages = self.averages();
        for running in &mut self.sizes {
            for (table, running) in [
                (&running.difference_table, &mut running.difference),
                (&running.equivalence_table, &mut running.equivalence),
            ] {
                if let Some(seen) = table.limit_at(blocks).and_then(|limit| averages.interval(limit)) {
                    *running = running.intersect(Interval {
                        lower: seen.lower - self.design.rounding,
                        upper: seen.upper + self.design.rounding,
                    });
                }
            }
        }
        self.note_verdicts(blocks);
        let strictest = self.sizes.last()?;
        if !strictest.is_unstable() {
            self.shown = (strictest.difference, strictest.equivalence);
        }
        let undecided = || (blocks == self.design.budget).then_some(Verdict::Undecided);
        let look = Look {
            blocks,
            estimate: averages.estimate()?,
            difference: strictest.difference,
            equivalence: strictest.equivalence,
            verdict: strictest.found.map(|found| found.verdict).or_else(undecided),
        };
        self.last_look = Some(look);
        Some(look)
    }

    /// Keeps for each family size the first verdict that it and all smaller sizes bear out.
    fn note_verdicts(&mut self, blocks: u32) {
        let equivalent = self.withstands(Verdict::Equivalent) as usize;
        for running in self.sizes.iter_mut().take(equivalent) {
            running.equivalent_at.get_or_insert(blocks);
        }
        // A size is unstable as soon as a smaller one is.
        let steady = self.sizes.iter().take_while(|at| !at.is_unstable()).count();
        for running in self.sizes.iter_mut().skip(steady) {
            running.found.get_or_insert(Found { verdict: Verdict::Unstable, blocks });
        }
        for verdict in CLAIMS {
            let sizes = self.withstands(verdict) as usize;
            for running in self.sizes.iter_mut().take(sizes) {
                running.found.get_or_insert(Found { verdict, blocks });
            }
        }
    }

    /// What was declared.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// Blocks seen so far; a superblock counts as its trials of each level.
    pub fn blocks(&self) -> u32 {
        let superblock = if self.superblock.is_empty() { 0 } else { self.design.looks.superblock() };
        superblock + crate::count(self.blocks.len())
    }

    /// All averages that the intervals are cut from.
    fn averages(&self) -> WalshAverages {
        WalshAverages::after(&self.superblock, &self.adjusted)
    }

    /// The typical log ratio over everything so far (Hodges-Lehmann).
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.averages().estimate()
    }

    /// The latest look; what it showed holds until the next.
    pub fn last_look(&self) -> Option<&Look> {
        self.last_look.as_ref()
    }

    /// The numbers of blocks at which this comparison is looked at.
    pub fn looks(&self) -> impl Iterator<Item = u32> + '_ {
        let minimum = self.design.minimum.min(self.design.budget);
        self.sizes
            .first()
            .into_iter()
            .flat_map(|s| s.equivalence_table.looks())
            .filter(move |n| *n >= minimum)
    }

    /// The next look, if the budget holds one.
    pub fn next_look(&self) -> Option<u32> {
        self.looks().find(|look| *look > self.blocks())
    }

    /// The log ratios after removal of the order effect, in block order; of the blocks after a superblock.
    pub fn adjusted(&self) -> &[f64] {
        &self.adjusted
    }

    /// The typical log ratio over all blocks (Hodges-Lehmann) and the robust spread about it; of those after a superblock.
    pub fn centre_and_spread(&self) -> Option<(f64, f64)> {
        centre_and_spread(&self.adjusted)
    }

    /// The interval for a difference and the one for equivalence over all blocks, simultaneous over all looks and the
    /// family; those of before, where they have become empty since.
    pub(crate) fn intervals(&self) -> (Interval, Interval) {
        self.shown
    }

    /// Whether intervals of different looks exclude each other: the effect changed.
    pub(crate) fn is_unstable(&self) -> bool {
        self.sizes.last().is_some_and(RunningIntervals::is_unstable)
    }

    /// What is rejected so far, and at how many family sizes.
    pub(crate) fn strengths(&self) -> Strengths {
        Strengths {
            equality: self.withstands(Verdict::Faster).max(self.withstands(Verdict::Slower)),
            distance: self.withstands(Verdict::Equivalent),
        }
    }

    fn withstands(&self, claim: Verdict) -> u32 {
        let supported = self.sizes.iter().take_while(|at| at.supports(claim, self.log_margin));
        crate::count(supported.count())
    }

    /// The verdict with `open` comparisons open, and the look that found it.
    ///
    /// It is borne out at alpha / j for every j up to `open`, because the limits of different levels are not perfectly nested.
    pub(crate) fn found_within(&self, open: u32) -> Option<Found> {
        self.running(open)?.found
    }

    /// The first look at which equivalence was borne out with `open` comparisons open.
    pub(crate) fn equivalent_within(&self, open: u32) -> Option<u32> {
        self.running(open)?.equivalent_at
    }

    fn running(&self, open: u32) -> Option<&RunningIntervals> {
        self.sizes.get((open as usize).checked_sub(1)?)
    }

    /// Whether the rest of the budget would most likely be spent for nothing, as of the latest look.
    ///
    /// From 12 blocks on: equivalence is out of reach at this spread (`sigma * g90(N)` above 1.25 margins), and the
    /// estimate is too small for a difference (`|estimate| + sigma / sqrt n` below 0.8 `sigma * g95(N)`). It only
    /// ever ends a run undecided, so it cannot create an error; it costs under one point of power.
    pub fn is_futile(&self) -> bool {
        // The spread is that of blocks, so those of a superblock are none.
        let pairs = |look: &Look| look.blocks.saturating_sub(self.design.looks.superblock());
        let Some(look) = self.last_look.filter(|look| pairs(look) >= 12) else { return false };
        let seen = self.adjusted.get(..pairs(&look) as usize).unwrap_or(&self.adjusted);
        let Some((estimate, spread)) = centre_and_spread(seen) else { return false };
        let widths = HalfWidths::shared(self.design.alpha, self.design.family, self.design.budget);
        let Some((difference, equivalence)) = widths.at(self.design.budget) else { return false };
        spread * equivalence > 1.25 * self.log_margin
            && estimate.abs() + spread / f64::from(look.blocks).sqrt() < 0.8 * spread * difference
    }
}

#[cfg(test)]
mod tests;
