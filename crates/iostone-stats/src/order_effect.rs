//! Removal of a constant "the second run of a block is faster, or slower" from block log ratios.

use crate::median::{NORMAL_SCALE, median, median_deviation};

/// A log ratio at least this large, or its negative, stands for a block in which only one of the two runs ended.
pub(crate) const CENSORED_FROM: f64 = 1e8;

/// Which of the two levels of a comparison ran first in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrder {
    /// The baseline, then the level.
    BaselineFirst,
    /// The level, then the baseline.
    LevelFirst,
    /// Not recorded.
    Unknown,
}

impl RunOrder {
    /// +1 where the level ran second, -1 where it ran first, 0 where unknown.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::BaselineFirst => 1.0,
            Self::LevelFirst => -1.0,
            Self::Unknown => 0.0,
        }
    }
}

/// The log ratio of a block freed of the order effect that the `earlier` blocks show.
///
/// Only earlier blocks, so that this block's coin is still fair. With `pi` half the difference of the medians of
/// the blocks in either order, `pi` is removed only where it exceeds three standard errors (0.5 * 1.2533 times the
/// robust spread times the root of 1/n1 + 1/n2; 1.2533 is the inflation of a median's error, the root of pi/2)
/// and both orders were seen twice. Its validity is by simulation, not by proof.
pub(crate) fn adjust(log_ratio: f64, order: RunOrder, earlier: &[(f64, RunOrder)]) -> f64 {
    match order_effect(earlier) {
        Some(effect) => log_ratio - order.sign() * effect,
        None => log_ratio,
    }
}

/// The effect on a log ratio of the level running second, if the blocks show one.
fn order_effect(blocks: &[(f64, RunOrder)]) -> Option<f64> {
    let group = |wanted: RunOrder| -> Vec<f64> {
        // A run that never ended says which level is worse, but nothing about a few per cent of order effect.
        let finite = blocks.iter().filter(|(ratio, order)| *order == wanted && ratio.abs() < CENSORED_FROM);
        finite.map(|(ratio, _)| *ratio).collect()
    };
    let (second, first) = (group(RunOrder::BaselineFirst), group(RunOrder::LevelFirst));
    if second.len() < 2 || first.len() < 2 {
        return None;
    }
    let (centre_second, centre_first) = (median(&second)?, median(&first)?);
    let effect = (centre_second - centre_first) / 2.0;
    let centred: Vec<f64> = second
        .iter()
        .map(|ratio| ratio - centre_second)
        .chain(first.iter().map(|ratio| ratio - centre_first))
        .collect();
    let n = centred.len() as f64;
    let spread = NORMAL_SCALE * median_deviation(&centred, 0.0)? * (n / (n - 2.0)).sqrt();
    let sizes = 1.0 / second.len() as f64 + 1.0 / first.len() as f64;
    let error = 0.5 * 1.2533 * spread * sizes.sqrt();
    (effect.abs() > 3.0 * error).then_some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_order_effect_is_removed_and_a_doubtful_one_left() {
        use RunOrder::{BaselineFirst, LevelFirst, Unknown};
        let clear =
            [(0.05, BaselineFirst), (-0.05, LevelFirst), (0.051, BaselineFirst), (-0.049, LevelFirst)];
        assert!((adjust(0.05, BaselineFirst, &clear) - 0.0).abs() < 1e-12);
        assert!((adjust(-0.05, LevelFirst, &clear) - 0.0).abs() < 1e-12);
        assert!((adjust(0.05, Unknown, &clear) - 0.05).abs() < 1e-12);
        assert!((adjust(0.05, BaselineFirst, &clear[..3]) - 0.05).abs() < 1e-12);
        let doubtful =
            [(0.05, BaselineFirst), (0.04, LevelFirst), (-0.02, BaselineFirst), (-0.03, LevelFirst)];
        assert!((adjust(0.05, BaselineFirst, &doubtful) - 0.05).abs() < 1e-12);
    }
}
