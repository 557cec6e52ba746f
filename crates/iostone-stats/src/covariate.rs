//! Covariates: how much of a rate goes with what others take of the machine, and whether a level itself moves that.
//!
//! A block's log ratio d becomes d - b (x of the level - x of the baseline), x = ln (1 - share taken by others). Where no level
//! acts on x, that changes its sign with the block's coin as d does, so every verdict stays exact whatever the slope b is, if
//! only it was fixed before the first block. So b comes from the pilots, and a poor b costs blocks, not errors.

use crate::boundary::Boundary;
use crate::median::median;
use crate::sequential::Looks;
use crate::walsh::WalshAverages;

/// One second of a pilot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// The logarithm of the operations that it completed.
    pub log_rate: f64,
    /// ln (1 - share) of what others took in it.
    pub exposure: f64,
}

/// What pilots show of a covariate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fit {
    /// Where others leave the share L, the rate is L to that power.
    Slope(f64),
    /// Others took something in so many seconds only.
    Rare(u32),
    /// The rate does not follow it.
    Unrelated,
}

/// Others took something worth the name: 2 % of a second.
const SOMETHING: f64 = 0.02;
/// Seconds in which they must have.
const FEWEST: u32 = 5;

/// The slope that is common to all pilots: the median of the slopes between two seconds of the same pilot, each weighted by how
/// far they are apart in exposure, from 0 to `largest`. Robust as Theil's and Sen's (Sen, JASA 63 (1968), 1379).
pub fn fit(pilots: &[Vec<Second>], largest: f64) -> Fit {
    let exposed = pilots.iter().flatten().filter(|second| second.exposure <= -SOMETHING).count();
    if crate::count(exposed) < FEWEST {
        return Fit::Rare(crate::count(exposed));
    }
    let mut slopes: Vec<(f64, f64)> = Vec::new();
    for pilot in pilots {
        for (index, one) in pilot.iter().enumerate() {
            for other in pilot.iter().take(index) {
                let apart = one.exposure - other.exposure;
                if apart.abs() >= SOMETHING {
                    slopes.push(((one.log_rate - other.log_rate) / apart, apart.abs()));
                }
            }
        }
    }
    let Some(slope) = weighted_median(slopes).map(|slope| slope.clamp(0.0, largest)) else {
        return Fit::Rare(crate::count(exposed));
    };
    let (before, after) = (scatter(pilots, 0.0), scatter(pilots, slope));
    // A slope of t standard errors takes t^2 / 2 of the n seconds' scatter away; from 1.4 of them on it is more likely to help than
    // to harm.
    let seconds = pilots.iter().map(Vec::len).sum::<usize>();
    let gains = after * seconds as f64 <= before * (seconds as f64 - 1.0);
    if slope > 0.0 && gains { Fit::Slope(slope) } else { Fit::Unrelated }
}

fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    values.into_iter().find_map(|(value, weight)| {
        below += weight;
        (below >= half).then_some(value)
    })
}

/// The mean distance of log rates from the middle of their pilot, freed of the exposure by a slope.
fn scatter(pilots: &[Vec<Second>], slope: f64) -> f64 {
    let mut distances = Vec::new();
    for pilot in pilots {
        let freed: Vec<f64> = pilot.iter().map(|second| second.log_rate - slope * second.exposure).collect();
        let Some(middle) = median(&freed) else { continue };
        distances.extend(freed.into_iter().map(|rate| (rate - middle).abs()));
    }
    distances.iter().sum::<f64>() / distances.len().max(1) as f64
}

/// Whether a level itself moves a covariate: the exact signed-rank test of its differences over all blocks, two-sided at 5 %.
pub(crate) fn is_moved(differences: &[f64]) -> bool {
    let blocks = crate::count(differences.len());
    let limit = Boundary::shared(0.025, blocks.max(1), Looks::Once).limit_at(blocks);
    let interval = limit.and_then(|limit| WalshAverages::of(differences).interval(limit));
    interval.is_some_and(|interval| interval.lower > 0.0 || interval.upper < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SplitMix64;

    /// Seconds of a pilot whose rate follows steal to the power `slope`, which comes in bursts of 15 seconds.
    fn pilot(generator: &mut SplitMix64, seconds: usize, slope: f64, noise: f64) -> Vec<Second> {
        (0..seconds)
            .map(|second| {
                let stolen = if second % 30 < 15 { 0.0 } else { 0.2 * generator.next_unit() };
                let exposure = (1.0 - stolen).ln();
                Second { log_rate: 7.0 + slope * exposure + noise * generator.next_normal(), exposure }
            })
            .collect()
    }

    #[test]
    fn the_slope_is_found_in_pilots_of_different_rates() {
        let mut generator = SplitMix64::new(4);
        let mut pilots: Vec<Vec<Second>> = (0..2).map(|_| pilot(&mut generator, 30, 1.2, 0.02)).collect();
        for second in &mut pilots[1] {
            second.log_rate += 0.5;
        }
        let Fit::Slope(slope) = fit(&pilots, 4.0) else { panic!("no slope") };
        assert!((slope - 1.2).abs() < 0.15, "{slope}");
        assert_eq!(fit(&pilots, 0.8), Fit::Slope(0.8));
    }

    #[test]
    fn rates_that_do_not_follow_or_seldom_could_have_no_slope() {
        let mut generator = SplitMix64::new(5);
        let unrelated = [pilot(&mut generator, 30, 0.0, 0.05)];
        assert_eq!(fit(&unrelated, 4.0), Fit::Unrelated);
        let opposed = [pilot(&mut generator, 30, -1.0, 0.01)];
        assert_eq!(fit(&opposed, 4.0), Fit::Unrelated);
        assert_eq!(fit(&[pilot(&mut generator, 18, 1.0, 0.01)], 4.0), Fit::Rare(3));
        assert_eq!(fit(&[], 4.0), Fit::Rare(0));
    }

    #[test]
    fn a_covariate_that_goes_with_the_level_is_moved() {
        assert!(is_moved(&[0.01, 0.02, 0.03, 0.015, 0.011, 0.04]));
        assert!(!is_moved(&[0.01, 0.02, 0.03, 0.015, 0.011]), "five blocks cannot show it");
        assert!(!is_moved(&[0.01, -0.02, 0.03, -0.015, 0.011, -0.04]));
        assert!(!is_moved(&[0.0; 12]));
        assert!(!is_moved(&[]));
    }
}
