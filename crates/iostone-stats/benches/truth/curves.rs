//! Curves of 28 points beside as many comparisons that share the chance of error: the blocks that the shared coin spares.

use iostone_model::metric::Direction;
use iostone_model::verdict::Comparison;
use iostone_stats::judge::{Figure, Rules};
use iostone_stats::schedule::SplitMix64;

use crate::design::{BUDGET, MARGIN, apart, together};
use crate::models::{Noise, Order};

const POINTS: usize = 28;

/// The noise of a block ratio: what all points of a block have in common, and what each has of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) common: f64,
    pub(crate) own: f64,
}

/// What is listed.
pub(crate) const SPREADS: [Spread; 3] = [
    Spread { common: 0.02, own: 0.01 },
    Spread { common: 0.01, own: 0.02 },
    Spread { common: 0.0, own: 0.03 },
];

/// Mean blocks of one kind of curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saving {
    pub(crate) spread: Spread,
    pub(crate) ratio: f64,
    /// To the first point and to all, by the shared coin.
    pub(crate) together: [f64; 2],
    /// The same with an even share for each point.
    pub(crate) apart: [f64; 2],
}

impl Saving {
    /// The share of blocks that the coin spares, to the first point and to all.
    pub(crate) fn shares(&self) -> [f64; 2] {
        [0, 1].map(|which| 1.0 - self.together[which] / self.apart[which])
    }
}

/// Simulates curves at each spread and ratio.
pub(crate) fn compare(ratios: &[f64], tables: u32) -> Vec<Saving> {
    let cell = |(spread, ratio): (Spread, f64)| {
        let mut sums = [[0.0; 2]; 2];
        for seed in 1..=u64::from(tables) {
            let sets = curve(spread, ratio, seed);
            let rules = Rules {
                margin: MARGIN,
                budget: BUDGET,
                randomised: true,
                seed,
                ..Rules::new("0", Direction::Higher)
            };
            for (sums, judged) in sums.iter_mut().zip([together(&sets, &rules), apart(&sets, &rules)]) {
                let at = |comparison: &Comparison| f64::from(comparison.decided_at.unwrap_or(BUDGET));
                sums[0] += judged.iter().map(at).fold(f64::INFINITY, f64::min);
                sums[1] += judged.iter().map(at).fold(0.0, f64::max);
            }
        }
        let [together, apart] = sums.map(|of| of.map(|sum| sum / f64::from(tables.max(1))));
        Saving { spread, ratio, together, apart }
    };
    SPREADS
        .into_iter()
        .flat_map(|spread| ratios.iter().map(move |ratio| (spread, *ratio)))
        .map(cell)
        .collect()
}

/// The figures of each point. The noise of a ratio is that of two trials.
fn curve(spread: Spread, ratio: f64, seed: u64) -> Vec<Vec<Figure>> {
    let mut noise = Noise(SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0));
    let mut sets = vec![Vec::new(); POINTS];
    for (block, order) in Order::Drawn.rows(seed, 2, BUDGET as usize).into_iter().enumerate() {
        for (place, level) in order.into_iter().enumerate() {
            let common = spread.common * noise.normal();
            let effect = if level > 0 { ratio } else { 1.0 };
            for set in &mut sets {
                let own = spread.own * noise.normal();
                set.push(Figure {
                    level: level.to_string(),
                    value: 100.0 * effect * (0.5f64.sqrt() * (common + own)).exp(),
                    block: Some(block as u64),
                    order: Some(place as f64),
                    ..Figure::default()
                });
            }
        }
    }
    sets
}
