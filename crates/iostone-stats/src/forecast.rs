//! How many blocks more, and how small a difference a budget can show.
//!
//! The forecast simulates runs on from the blocks so far ([`forecast`]). The noise floor rests on the mean half-width of the
//! interval in units of the blocks' spread: for the usual case (95 %, one comparison, 40 blocks) those are constants from a
//! large simulation of normal blocks; for any other design the same is simulated here, with a fixed seed and fewer
//! repetitions (within about 3 %).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use iostone_model::verdict::{Forecast, NoiseFloor, Verdict};

use crate::boundary::{Boundary, FEWEST_BLOCKS, LARGEST_BUDGET, looks};
use crate::median::shamos_spread;
use crate::schedule::SplitMix64;
use crate::sequential::{Looks, Ssr};
use crate::walsh::{Interval, WalshAverages};

/// Half-widths at the looks of 40 blocks at 95 %, one comparison: difference and equivalence interval.
const USUAL: [(u32, f64, f64); 16] = [
    (6, 1.268, 1.268),
    (7, 1.268, 1.268),
    (8, 1.268, 1.268),
    (9, 1.268, 1.083),
    (10, 1.268, 0.944),
    (11, 1.068, 0.868),
    (12, 1.006, 0.813),
    (14, 0.901, 0.737),
    (16, 0.808, 0.669),
    (18, 0.742, 0.610),
    (21, 0.671, 0.554),
    (24, 0.618, 0.508),
    (28, 0.563, 0.464),
    (32, 0.519, 0.428),
    (37, 0.479, 0.393),
    (40, 0.456, 0.374),
];
const USUAL_ALPHA: f64 = 0.05;
const USUAL_BUDGET: u32 = 40;

/// Numbers drawn at most, in Walsh averages, for one simulated table: about 50 ms of work.
const SIMULATED_AVERAGES: usize = 1_500_000;

/// Mean half-widths of the running intervals at each look, in units of the spread of a block's log ratio.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HalfWidths {
    /// Look, half-width for a difference, half-width for equivalence; infinite before a table starts.
    looks: Vec<(u32, f64, f64)>,
}

impl HalfWidths {
    /// The half-widths of a design, kept for the life of the process.
    pub(crate) fn shared(alpha: f64, family: u32, budget: u32) -> Arc<Self> {
        type Tables = Mutex<HashMap<(u64, u32, u32), Arc<HalfWidths>>>;
        static TABLES: OnceLock<Tables> = OnceLock::new();
        let tables = TABLES.get_or_init(Tables::default);
        let key = (alpha.to_bits(), family, budget);
        if let Some(found) = tables.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(found);
        }
        let usual = (alpha - USUAL_ALPHA).abs() < 1e-9 && family <= 1 && budget == USUAL_BUDGET;
        let computed = Arc::new(if usual {
            Self { looks: USUAL.to_vec() }
        } else {
            Self::simulate(alpha, family, budget)
        });
        tables.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&computed));
        computed
    }

    /// Simulates runs of independent normal blocks through all looks.
    fn simulate(alpha: f64, family: u32, budget: u32) -> Self {
        let level = alpha / f64::from(family.max(1));
        let tables = [level / 2.0, level].map(|level| Boundary::shared(level, budget, Looks::Sequential));
        let looks = looks(budget);
        let work: usize = looks.iter().map(|n| (n * (n + 1) / 2) as usize).sum();
        let repetitions = (SIMULATED_AVERAGES / work.max(1)).clamp(24, 400);
        let mut generator = SplitMix64::new(0);
        let mut sums = vec![[0.0; 2]; looks.len()];
        for _ in 0..repetitions {
            let blocks: Vec<f64> = (0..budget).map(|_| generator.next_normal()).collect();
            let mut running = [Interval::ALL; 2];
            for (look, sum) in looks.iter().zip(&mut sums) {
                let averages = WalshAverages::of(blocks.get(..*look as usize).unwrap_or(&blocks));
                for ((table, running), sum) in tables.iter().zip(&mut running).zip(sum) {
                    if let Some(seen) = table.limit_at(*look).and_then(|limit| averages.interval(limit)) {
                        *running = running.intersect(seen);
                    }
                    *sum += (running.upper - running.lower) / 2.0;
                }
            }
        }
        let mean = |sum: f64| sum / repetitions as f64;
        Self {
            looks: looks
                .iter()
                .zip(sums)
                .map(|(look, [wide, narrow])| (*look, mean(wide), mean(narrow)))
                .collect(),
        }
    }

    /// Half-widths (difference, equivalence) at the last look within `blocks`.
    pub(crate) fn at(&self, blocks: u32) -> Option<(f64, f64)> {
        self.looks.iter().rev().find(|(look, ..)| *look <= blocks).map(|(_, wide, narrow)| (*wide, *narrow))
    }

    /// The standard deviations of a block's log ratio that so many blocks show with 80 % power: the mean half-width and 0.86
    /// standard errors, the 80th percentile of the estimate's own scatter.
    fn detectable(&self, blocks: u32) -> Option<f64> {
        let (half_width, _) = self.at(blocks)?;
        Some(half_width + 0.86 / f64::from(blocks).sqrt())
    }
}

/// What the rest of a run will bring: runs simulated on from the blocks so far.
///
/// Each draws a spread and an effect that the blocks so far leave possible (the spread by the chi-squared law of its degrees
/// of freedom, the effect by 1.05 standard errors, the error of a Hodges-Lehmann estimate), and blocks from those, and goes
/// on until its verdict. With few blocks the range is wide, and rightly so.
pub(crate) fn forecast(procedure: &Ssr) -> Option<Forecast> {
    const RUNS: u32 = 120;
    /// A chance below it is called none.
    const LIKELY: f64 = 0.2;
    let budget = procedure.design().budget;
    let (n, centre) = (procedure.blocks(), procedure.centre_and_spread()?.0);
    let spread = shamos_spread(procedure.adjusted())?;
    let so_far = Drawn::after(procedure);
    let mut generator = SplitMix64::new(0);
    let mut settled: Vec<(u32, Verdict)> = Vec::new();
    for _ in 0..RUNS {
        let freedom = n.saturating_sub(1).max(1);
        let chi_squared: f64 = (0..freedom).map(|_| generator.next_normal().powi(2)).sum();
        let spread = spread * (f64::from(freedom) / chi_squared).sqrt();
        let effect = centre + 1.05 * spread * generator.next_normal() / f64::from(n).sqrt();
        let mut run = so_far.clone();
        let mut blocks = n;
        while blocks < budget {
            blocks += 1;
            if let Some(verdict) = run.push(effect + spread * generator.next_normal()) {
                settled.push((blocks, verdict));
                break;
            }
        }
    }
    settled.sort_unstable_by_key(|(blocks, _)| *blocks);
    let share = |count: usize| count as f64 / f64::from(RUNS);
    let at = |quantile: f64| {
        let place = quantile * settled.len().saturating_sub(1) as f64;
        settled
            .iter()
            .enumerate()
            .find(|(index, _)| *index as f64 >= place.floor())
            .map(|(_, (blocks, _))| *blocks)
    };
    // What readers of version 0.1.0 look for: the middle of the runs that end so, where a fair part does.
    let middle = |wanted: &dyn Fn(Verdict) -> bool| {
        let of: Vec<u32> =
            settled.iter().filter(|(_, found)| wanted(*found)).map(|(blocks, _)| *blocks).collect();
        of.get(of.len() / 2).copied().filter(|_| share(of.len()) >= LIKELY)
    };
    let chance = share(settled.len());
    Some(Forecast {
        difference_at: middle(&|found| matches!(found, Verdict::Faster | Verdict::Slower)),
        equivalence_at: middle(&|found| found == Verdict::Equivalent),
        budget,
        chance: Some(chance),
        between: at(0.1).zip(at(0.9)).filter(|_| chance >= LIKELY).map(|(low, high)| [low, high]),
    })
}

/// A simulated run: what its looks have shown of the bounds that a verdict hangs on. Counting averages beyond a bound is a
/// hundred times as fast as the intervals of the procedure itself, which nobody reads here.
#[derive(Clone)]
struct Drawn {
    ratios: Vec<f64>,
    difference: Arc<Boundary>,
    equivalence: Arc<Boundary>,
    minimum: u32,
    rounding: f64,
    log_margin: f64,
    /// Whether the interval for equivalence was shown to end within the margin, below and above.
    within: [bool; 2],
}

impl Drawn {
    /// The blocks so far, without a verdict.
    fn after(procedure: &Ssr) -> Self {
        let design = procedure.design();
        let level = design.alpha / f64::from(design.family.max(1));
        let table = |level: f64| Boundary::shared(level, design.budget, design.looks);
        let mut drawn = Self {
            ratios: Vec::with_capacity(design.budget as usize),
            difference: table(level / 2.0),
            equivalence: table(level),
            minimum: design.minimum.min(design.budget),
            rounding: design.rounding,
            log_margin: design.margin.ln_1p(),
            within: [false; 2],
        };
        for ratio in procedure.adjusted() {
            drawn.push(*ratio);
        }
        drawn
    }

    /// The verdict after another block, if its look bears one out.
    fn push(&mut self, ratio: f64) -> Option<Verdict> {
        self.ratios.push(ratio);
        let blocks = crate::count(self.ratios.len());
        if blocks < self.minimum {
            return None;
        }
        if let Some(limit) = self.equivalence.limit_at(blocks) {
            let edge = self.log_margin - self.rounding;
            self.within[0] |= self.count(|average| average <= -edge) <= limit;
            self.within[1] |= self.count(|average| average >= edge) <= limit;
        }
        if self.within == [true; 2] && self.log_margin > 0.0 {
            return Some(Verdict::Equivalent);
        }
        let limit = self.difference.limit_at(blocks)?;
        if self.count(|average| average <= self.rounding) <= limit {
            return Some(Verdict::Faster);
        }
        (self.count(|average| average >= -self.rounding) <= limit).then_some(Verdict::Slower)
    }

    /// The Walsh averages for which that is so.
    fn count(&self, of: impl Fn(f64) -> bool) -> u32 {
        let pairs = self.ratios.iter().enumerate();
        let averages = pairs.flat_map(|(index, one)| {
            self.ratios.iter().take(index + 1).map(move |other| f64::midpoint(*one, *other))
        });
        crate::count(averages.filter(|average| of(*average)).count())
    }
}

/// How many spreads a difference must have to be shown by 40 blocks in 80 % of runs, by the number of blocks that the spread
/// was measured in: from few blocks it is too small half of the time. By simulation of normal blocks.
const DETECTABLE: [(u32, f64); 5] = [(6, 0.685), (8, 0.645), (12, 0.635), (20, 0.635), (40, 0.625)];

/// Between the measured numbers of blocks in a straight line, beyond them the last.
fn detectable_spreads(blocks: u32) -> f64 {
    let mut before = DETECTABLE[0];
    for (n, factor) in DETECTABLE {
        if blocks <= n {
            let part =
                if n == before.0 { 1.0 } else { f64::from(blocks - before.0) / f64::from(n - before.0) };
            return before.1 + part * (factor - before.1);
        }
        before = (n, factor);
    }
    before.1
}

/// The noise of a machine from a run of identical levels, at 95 % confidence: `spread` is that of a block's log ratio over
/// `blocks` blocks, without the effect of running second ([`Comparison::spread`](iostone_model::verdict::Comparison)).
///
/// `budget` is the number of blocks that [`NoiseFloor::detectable`] speaks of; other numbers than 40 are in proportion to the
/// half-widths of their intervals. Never less than the smallest step in which the `log_ratios` differ from none. None below six
/// blocks or a budget below six, where nothing at all can be shown, and where all blocks are equal: the figures are too coarse to
/// tell. Blocks beyond 400 count as 400.
pub fn noise_floor(spread: f64, log_ratios: &[f64], budget: u32) -> Option<NoiseFloor> {
    let blocks = crate::count(log_ratios.len()).min(LARGEST_BUDGET);
    if blocks < FEWEST_BLOCKS || budget < FEWEST_BLOCKS {
        return None;
    }
    let step = log_ratios.iter().map(|ratio| ratio.abs()).filter(|size| *size > 0.0).reduce(f64::min)?;
    let budget = budget.min(LARGEST_BUDGET);
    let usual = HalfWidths::shared(USUAL_ALPHA, 1, USUAL_BUDGET).detectable(USUAL_BUDGET)?;
    // A run longer than the budget was its own budget.
    let of = |planned: u32, looked: u32| -> Option<f64> {
        let widths = HalfWidths::shared(USUAL_ALPHA, 1, planned);
        let spreads = detectable_spreads(blocks) * widths.detectable(looked)? / usual;
        Some((spread * spreads).max(step).exp_m1())
    };
    Some(NoiseFloor {
        sigma: spread,
        detectable: of(budget, budget)?,
        detectable_at_run: of(budget.max(blocks), blocks)?,
        budget,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::RunOrder;
    use crate::vectors;

    #[test]
    fn the_constants_match_the_vectors() {
        let constants = vectors::map("forecast_constants");
        for (look, wide, narrow) in USUAL {
            vectors::assert_close(wide, &constants["g95"][look.to_string()]);
            vectors::assert_close(narrow, &constants["g90"][look.to_string()]);
        }
    }

    #[test]
    fn a_simulated_table_agrees_with_the_constants() {
        let simulated = HalfWidths::simulate(0.05, 1, 40);
        for ((_, wide, narrow), (look, expected_wide, expected_narrow)) in simulated.looks.iter().zip(USUAL) {
            assert!((wide / expected_wide - 1.0).abs() < 0.05, "{look}: {wide} {expected_wide}");
            assert!((narrow / expected_narrow - 1.0).abs() < 0.05, "{look}: {narrow} {expected_narrow}");
        }
    }

    #[test]
    fn a_noise_floor_needs_six_blocks_and_shrinks_with_the_budget() {
        let ratios = [0.01, -0.02, 0.015, -0.005, 0.02, -0.012, 0.004, -0.018];
        assert_eq!(noise_floor(0.016, &ratios[..5], 40), None);
        assert_eq!(noise_floor(0.0, &[0.0; 8], 40), None);
        let floor = noise_floor(0.016, &ratios, 40).unwrap();
        assert!((floor.detectable - (0.645f64 * 0.016).exp_m1()).abs() < 1e-12);
        assert!(floor.detectable_at_run > floor.detectable);
        assert!(noise_floor(0.016, &ratios, 12).unwrap().detectable > floor.detectable);
        assert_eq!(noise_floor(0.016, &ratios, 6).unwrap().budget, 6);
        // Two values 8 % apart, mostly equal: nothing finer than that can be shown.
        let coarse = [0.0, 0.08, 0.0, 0.0, -0.08, 0.0, 0.0, 0.0];
        assert!(noise_floor(0.0, &coarse, 40).unwrap().detectable >= 0.08);
    }

    fn procedure(ratios: &[f64]) -> Ssr {
        let mut procedure = Ssr::new(crate::sequential::Design {
            alpha: 0.05,
            margin: 0.03,
            budget: 40,
            minimum: 6,
            rounding: 0.0,
            adjust_order: false,
            family: 1,
            looks: Looks::Sequential,
        });
        for ratio in ratios {
            procedure.push(*ratio, RunOrder::Unknown);
        }
        procedure
    }

    #[test]
    fn the_power_of_what_is_called_detectable_is_80_percent() {
        let mut generator = SplitMix64::new(5);
        for blocks in [6usize, 12, 40] {
            let (mut shown, runs) = (0, 500);
            for _ in 0..runs {
                let noise: Vec<f64> = (0..blocks).map(|_| 0.03 * generator.next_normal()).collect();
                let floor = noise_floor(shamos_spread(&noise).unwrap(), &noise, 40).unwrap();
                let effect = floor.detectable.ln_1p();
                let run: Vec<f64> = (0..40).map(|_| effect + 0.03 * generator.next_normal()).collect();
                let mut run = procedure(&run);
                shown +=
                    u32::from(run.push(0.0, RunOrder::Unknown).is_none() && run.intervals().0.lower > 0.0);
            }
            let power = f64::from(shown) / f64::from(runs);
            println!("{blocks} blocks of noise: power {power}");
            // The standard error is 1.8 points, and the spread itself scatters.
            assert!((0.74..=0.86).contains(&power), "{blocks} blocks: {power}");
        }
    }

    #[test]
    fn a_drawn_run_ends_as_the_procedure_does() {
        let mut generator = SplitMix64::new(3);
        for run in 0..60 {
            let truth = [0.0, 0.02, -0.05][run % 3];
            let ratios: Vec<f64> = (0..40).map(|_| truth + 0.02 * generator.next_normal()).collect();
            let whole = procedure(&ratios);
            let mut drawn = Drawn::after(&procedure(&[]));
            let found =
                ratios.iter().enumerate().find_map(|(block, ratio)| Some((block + 1, drawn.push(*ratio)?)));
            let expected = whole.found_within(1).map(|found| (found.blocks as usize, found.verdict));
            // Only the procedure itself sees intervals that exclude each other.
            if expected.is_none_or(|(_, verdict)| verdict != Verdict::Unstable) {
                assert_eq!(found, expected, "run {run}");
            }
        }
    }

    #[test]
    fn forecasts_come_true_about_as_often_as_they_say() {
        let mut generator = SplitMix64::new(7);
        let (mut brier, mut held, mut ranges, mut made) = (0.0, 0, 0, 0);
        for run in 0..150 {
            let truth = [0.0, 0.05][run % 2];
            let blocks: Vec<f64> = (0..40).map(|_| truth + 0.03 * generator.next_normal()).collect();
            let so_far = procedure(&blocks[..8]);
            if so_far.last_look().unwrap().verdict.is_some() {
                continue;
            }
            let forecast = forecast(&so_far).unwrap();
            let mut whole = so_far;
            let mut settled = None;
            for ratio in &blocks[8..] {
                let verdict = whole.push(*ratio, RunOrder::Unknown).and_then(|look| look.verdict);
                if settled.is_none() && verdict.is_some_and(|verdict| verdict != Verdict::Undecided) {
                    settled = Some(whole.blocks());
                }
            }
            made += 1;
            brier += (forecast.chance.unwrap() - f64::from(u8::from(settled.is_some()))).powi(2);
            if let Some((settled, [low, high])) = settled.zip(forecast.between) {
                ranges += 1;
                held += u32::from((low..=high).contains(&settled));
            }
        }
        let (brier, held) = (brier / f64::from(made), f64::from(held) / f64::from(ranges));
        println!(
            "{made} forecasts: Brier score {brier:.3}, {:.0} % of {ranges} within the range",
            100.0 * held
        );
        // A coin would have 0.25.
        assert!(brier < 0.2 && held > 0.7, "{brier} {held}");
    }
}
