//! How good each level looks over all blocks, whichever of them it ran in, and how noisy the figures are.

use crate::median::{NORMAL_SCALE, median};

/// Rounds of the alternating fit; it halves its error in a round or better, as blocks share levels.
const ROUNDS: usize = 60;

/// A run that never ended looks this much worse, as log ratio, than the worst of its block.
const CENSORED_GAP: f64 = 1.0;

/// Least-squares effects of levels beside those of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effects {
    /// The effect of each level as a log score, larger for better; none without a figure.
    pub(super) levels: Vec<Option<f64>>,
    /// Figures of each level.
    pub(super) counts: Vec<u32>,
    /// The standard deviation of one trial's log figure.
    pub(super) spread: f64,
}

/// Fits blocks of (level, log score). `screened` is the spread to go by until blocks repeat enough.
pub(super) fn fit(levels: usize, blocks: &[Vec<(usize, f64)>], screened: f64) -> Effects {
    let blocks: Vec<Vec<(usize, f64)>> = blocks.iter().map(|block| bounded(block)).collect();
    let mut effects = vec![0.0; levels];
    let mut counts = vec![0u32; levels];
    for (level, _) in blocks.iter().flatten() {
        if let Some(count) = counts.get_mut(*level) {
            *count += 1;
        }
    }
    let mut residuals = Vec::new();
    for _ in 0..ROUNDS {
        let mut sums = vec![0.0; levels];
        residuals.clear();
        for block in &blocks {
            let of = |(level, score): &(usize, f64)| score - effects.get(*level).copied().unwrap_or(0.0);
            let middle = block.iter().map(of).sum::<f64>() / block.len().max(1) as f64;
            for trial in block {
                residuals.push(of(trial) - middle);
                if let Some(sum) = sums.get_mut(trial.0) {
                    *sum += trial.1 - middle;
                }
            }
        }
        for ((effect, sum), count) in effects.iter_mut().zip(sums).zip(&counts) {
            *effect = sum / f64::from((*count).max(1));
        }
    }
    let seen = counts.iter().filter(|count| **count > 0).count();
    let free = (residuals.len() + 1).saturating_sub(seen + blocks.len());
    Effects {
        levels: effects
            .into_iter()
            .zip(&counts)
            .map(|(effect, count)| (*count > 0).then_some(effect))
            .collect(),
        counts,
        spread: if free < 4 { screened } else { robust_spread(&residuals, free) },
    }
}

/// The standard deviation of one trial from residuals with `free` degrees of freedom: that of the middle half, or what is left
/// when one in ten is cut off at three of those, whichever is larger.
fn robust_spread(residuals: &[f64], free: usize) -> f64 {
    let inflation = (residuals.len() as f64 / free as f64).sqrt();
    let sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
    let middle = NORMAL_SCALE * median(&sizes).unwrap_or(0.0);
    let cut =
        sizes.iter().map(|size| size.min(3.0 * middle).powi(2)).sum::<f64>() / sizes.len().max(1) as f64;
    middle.max(cut.sqrt()) * inflation
}

/// The same block with finite scores only.
fn bounded(block: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let worst =
        block.iter().map(|trial| trial.1).filter(|score| score.is_finite()).fold(f64::INFINITY, f64::min);
    let worst = if worst.is_finite() { worst } else { 0.0 };
    let bound = |score: f64| if score.is_finite() { score } else { worst - CENSORED_GAP };
    block.iter().map(|(level, score)| (*level, bound(*score))).collect()
}

/// The standard deviation of one figure of a smooth curve, from how rough a single pass over it looks.
///
/// Second differences of independent figures have the root of 6 times their standard deviation; the median ignores the few
/// where the curve itself bends. A curve that bends everywhere looks noisier than it is, which only races more of it.
pub(super) fn roughness(scores: &[Option<f64>]) -> f64 {
    let finite: Vec<f64> = scores.iter().flatten().copied().filter(|score| score.is_finite()).collect();
    let bends: Vec<f64> = finite
        .windows(3)
        .filter_map(|three| match three {
            [left, middle, right] => Some((left - 2.0 * middle + right).abs()),
            _ => None,
        })
        .collect();
    NORMAL_SCALE * median(&bends).unwrap_or(0.0) / 6f64.sqrt()
}
