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
    /// The verdict at `alpha / family`; none where the run goes on, undecided where the budget is spent.
    pub verdict: Option<Verdict>,
}

/// The running intervals at one family size.
#[derive(Debug, Clone)]
struct Standing {
    difference_table: Arc<Boundary>,
    equivalence_table: Arc<Boundary>,
    difference: Interval,
    equivalence: Interval,
}

impl Standing {
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
    blocks: Vec<(f64, RunOrder)>,
    adjusted: Vec<f64>,
    /// One for each family size from 1 to that of the design, for Holm's rule.
    standings: Vec<Standing>,
    last_look: Option<Look>,
}

impl Ssr {
    /// A comparison without blocks yet.
    pub fn new(design: Design) -> Self {
        let standing = |size: u32| Standing {
            difference_table: Boundary::shared(design.alpha / 2.0 / f64::from(size), design.budget),
            equivalence_table: Boundary::shared(design.alpha / f64::from(size), design.budget),
            difference: Interval::ALL,
            equivalence: Interval::ALL,
        };
        Self {
            design,
            log_margin: design.margin.ln_1p(),
            blocks: Vec::new(),
            adjusted: Vec::new(),
            standings: (1..=design.family.max(1)).map(standing).collect(),
            last_look: None,
        }
    }

    /// Adds a block's log ratio (above zero: the level is better) and looks, if this is the time for it.
    ///
    /// Blocks beyond the budget are kept but never looked at.
    pub fn push(&mut self, log_ratio: f64, order: RunOrder) -> Option<Look> {
        let ratio = if self.design.adjust_order { adjust(log_ratio, order, &self.blocks) } else { log_ratio };
        self.blocks.push((log_ratio, order));
        self.adjusted.push(ratio);
        let blocks = self.blocks();
        if !self.looks().any(|look| look == blocks) {
            return None;
        }
        let averages = WalshAverages::of(&self.adjusted);
        for standing in &mut self.standings {
            for (table, running) in [
                (&standing.difference_table, &mut standing.difference),
                (&standing.equivalence_table, &mut standing.equivalence),
            ] {
                if let Some(seen) = table.limit_at(blocks).and_then(|limit| averages.interval(limit)) {
                    *running = running.intersect(Interval {
                        lower: seen.lower - self.design.rounding,
                        upper: seen.upper + self.design.rounding,
                    });
                }
            }
        }
        let strictest = self.standings.last()?;
        let claim = std::iter::once(Verdict::Unstable)
            .chain(CLAIMS)
            .find(|verdict| strictest.supports(*verdict, self.log_margin));
        let look = Look {
            blocks,
            estimate: averages.estimate()?,
            difference: strictest.difference,
            equivalence: strictest.equivalence,
            verdict: claim.or((blocks == self.design.budget).then_some(Verdict::Undecided)),
        };
        self.last_look = Some(look);
        Some(look)
    }

    /// Blocks seen so far.
    pub fn blocks(&self) -> u32 {
        crate::count(self.blocks.len())
    }

    /// The latest look; what it showed holds until the next.
    pub fn last_look(&self) -> Option<&Look> {
        self.last_look.as_ref()
    }

    /// The numbers of blocks at which this comparison is looked at.
    pub fn looks(&self) -> impl Iterator<Item = u32> + '_ {
        let minimum = self.design.minimum.min(self.design.budget);
        self.standings
            .first()
            .into_iter()
            .flat_map(|s| s.equivalence_table.looks())
            .filter(move |n| *n >= minimum)
    }

    /// The next look, if the budget holds one.
    pub fn next_look(&self) -> Option<u32> {
        self.looks().find(|look| *look > self.blocks())
    }

    /// The log ratios after removal of the order effect, in block order.
    pub fn adjusted(&self) -> &[f64] {
        &self.adjusted
    }

    /// The typical log ratio over all blocks (Hodges-Lehmann) and the robust spread about it.
    pub fn centre_and_spread(&self) -> Option<(f64, f64)> {
        centre_and_spread(&self.adjusted)
    }

    /// How many family sizes, from 1 up, the best supported claim withstands: its strength in Holm's rule.
    pub(crate) fn strength(&self) -> u32 {
        CLAIMS.iter().map(|claim| self.withstands(*claim)).max().unwrap_or(0)
    }

    fn withstands(&self, claim: Verdict) -> u32 {
        let supported = self.standings.iter().take_while(|at| at.supports(claim, self.log_margin));
        crate::count(supported.count())
    }

    /// The verdict with `open` comparisons still open: a claim supported at alpha / j for every j up to `open`.
    pub(crate) fn verdict_within(&self, open: u32) -> Verdict {
        let sizes = || self.standings.iter().take(open as usize);
        if sizes().any(Standing::is_unstable) {
            return Verdict::Unstable;
        }
        CLAIMS.into_iter().find(|claim| self.withstands(*claim) >= open).unwrap_or(Verdict::Undecided)
    }

    /// Whether the rest of the budget would most likely be spent for nothing, as of the latest look.
    ///
    /// From 12 blocks on: equivalence is out of reach at this spread (`sigma * g90(N)` above 1.25 margins), and the
    /// estimate is too small for a difference (`|estimate| + sigma / sqrt n` below 0.8 `sigma * g95(N)`). It only
    /// ever ends a run undecided, so it cannot create an error; it costs under one point of power.
    pub fn is_futile(&self) -> bool {
        let Some(look) = self.last_look.filter(|look| look.blocks >= 12) else { return false };
        let seen = self.adjusted.get(..look.blocks as usize).unwrap_or(&self.adjusted);
        let Some((estimate, spread)) = centre_and_spread(seen) else { return false };
        let widths = HalfWidths::shared(self.design.alpha, self.design.family, self.design.budget);
        let Some((difference, equivalence)) = widths.at(self.design.budget) else { return false };
        spread * equivalence > 1.25 * self.log_margin
            && estimate.abs() + spread / f64::from(look.blocks).sqrt() < 0.8 * spread * difference
    }
}

#[cfg(test)]
mod tests;
