//! How many blocks more, and how small a difference a budget can show.
//!
//! Both rest on the mean half-width of the running interval in units of the blocks' spread. For the usual case
//! (95 %, one comparison, 40 blocks) those are constants from a large simulation of normal blocks; for any other
//! design the same is simulated here, with a fixed seed and fewer repetitions (within about 3 %). Every forecast
//! is to be printed as "about".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use iostone_model::verdict::{Forecast, NoiseFloor};

use crate::boundary::{Boundary, FEWEST_BLOCKS, LARGEST_BUDGET, looks};
use crate::schedule::SplitMix64;
use crate::sequential::Looks;
use crate::walsh::{Interval, WalshAverages, centre_and_spread};

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

    /// The first look after `blocks` at which the interval would show what the blocks so far suggest.
    ///
    /// A difference where the estimate exceeds the half-width; equivalence where estimate and half-width together
    /// stay within the margin (all as log ratios).
    pub(crate) fn forecast(&self, blocks: u32, estimate: f64, spread: f64, log_margin: f64) -> Forecast {
        let later = || self.looks.iter().filter(move |(look, ..)| *look > blocks);
        Forecast {
            difference_at: later()
                .find(|(_, wide, _)| spread * wide < estimate.abs())
                .map(|(look, ..)| *look),
            equivalence_at: later()
                .find(|(.., narrow)| estimate.abs() + spread * narrow < log_margin)
                .map(|(look, ..)| *look),
            budget: self.looks.last().map_or(0, |(look, ..)| *look),
        }
    }

    /// The smallest difference (as a ratio minus one) that `blocks` show with 80 % power at that spread.
    ///
    /// `spread * (g95(n) + 0.86 / sqrt n)` on the log scale: the mean half-width and 0.86 standard errors, the 80th
    /// percentile of the estimate's own scatter. At 40 blocks 0.59 spreads, 0.62 when simulated.
    fn detectable(&self, blocks: u32, spread: f64) -> Option<f64> {
        let (half_width, _) = self.at(blocks)?;
        Some((spread * (half_width + 0.86 / f64::from(blocks).sqrt())).exp_m1())
    }
}

/// The noise of a machine from the block log ratios of a run of identical levels, at 95 % confidence.
///
/// `budget` is the number of blocks that [`NoiseFloor::detectable`] speaks of. None below six blocks or a budget
/// below six: nothing at all can be shown with fewer. Blocks beyond 400 count as 400.
pub fn noise_floor(log_ratios: &[f64], budget: u32) -> Option<NoiseFloor> {
    let blocks = crate::count(log_ratios.len()).min(LARGEST_BUDGET);
    if blocks < FEWEST_BLOCKS || budget < FEWEST_BLOCKS {
        return None;
    }
    let (_, spread) = centre_and_spread(log_ratios)?;
    let budget = budget.min(LARGEST_BUDGET);
    let planned = HalfWidths::shared(USUAL_ALPHA, 1, budget);
    // A run longer than the budget was its own budget.
    let run = if blocks > budget { HalfWidths::shared(USUAL_ALPHA, 1, blocks) } else { Arc::clone(&planned) };
    Some(NoiseFloor {
        sigma: spread,
        detectable: planned.detectable(budget, spread)?,
        detectable_at_run: run.detectable(blocks, spread)?,
        budget,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn forecasts_match_the_vectors() {
        let widths = HalfWidths::shared(0.05, 1, 40);
        for case in vectors::list("forecast") {
            let number = |name: &str| case[name].as_f64().unwrap();
            let blocks = vectors::whole(&case["n"]);
            let forecast = widths.forecast(blocks, number("est"), number("sigma"), number("delta").ln_1p());
            assert_eq!(forecast.difference_at.map(u64::from), case["diff_at"].as_u64());
            assert_eq!(forecast.equivalence_at.map(u64::from), case["equiv_at"].as_u64());
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
        assert_eq!(noise_floor(&ratios[..5], 40), None);
        let floor = noise_floor(&ratios, 40).unwrap();
        assert!((floor.detectable - (floor.sigma * (0.456 + 0.86 / 40f64.sqrt())).exp_m1()).abs() < 1e-12);
        assert!(floor.detectable_at_run > floor.detectable);
        assert!(noise_floor(&ratios, 12).unwrap().detectable > floor.detectable);
        assert_eq!(noise_floor(&ratios, 6).unwrap().budget, 6);
    }
}
