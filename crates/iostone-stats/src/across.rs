//! What may be said of two runs: by a level that both hold, or by how far runs of one experiment lie apart.

use crate::boundary::{LARGEST_BUDGET, alpha};
use crate::order_effect::RunOrder;
use crate::sequential::{Design, Looks, Ssr};
use crate::special::student_critical;
use crate::walsh::Interval;

/// The budget whose looks an interval over a run's blocks is made of, where the run has no more blocks than that.
const USUAL_BUDGET: u32 = 40;

/// The fewest runs that say how far runs lie apart.
pub const FEWEST_RUNS: usize = 5;

/// The difference between two runs, as log ratio of the second to the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apart {
    /// The typical difference.
    pub estimate: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Apart {
    /// Whether the interval leaves no room for no difference.
    pub fn differs(&self) -> bool {
        !self.interval.contains(0.0)
    }
}

/// The ratio of ratios to a level that both runs hold, from the log ratios of each run's blocks in order.
///
/// Each run has its own interval at `confidence`, which holds whenever the run was stopped; that of the difference is made of
/// their ends. It misses only where one of the two misses by more than the other leaves: in at most twice the chance of error
/// whatever the noise, and in simulations in less than a fifth of it. What sets the runs apart as a whole (host, day, load)
/// cancels out as far as it slows both levels by the same factor. None where one run has too few blocks for an interval.
pub fn by_common_level(first: &[f64], second: &[f64], confidence: f64) -> Option<Apart> {
    let ((one, of_one), (other, of_other)) =
        (running(first, alpha(confidence))?, running(second, alpha(confidence))?);
    let interval = Interval { lower: of_other.lower - of_one.upper, upper: of_other.upper - of_one.lower };
    Some(Apart { estimate: other - one, interval })
}

fn running(blocks: &[f64], alpha: f64) -> Option<(f64, Interval)> {
    let budget = crate::count(blocks.len()).max(USUAL_BUDGET);
    if budget > LARGEST_BUDGET {
        return None;
    }
    let mut procedure = Ssr::new(Design {
        alpha,
        margin: 0.0,
        budget,
        minimum: 1,
        rounding: 0.0,
        adjust_order: false,
        family: 1,
        looks: Looks::Sequential,
    });
    for ratio in blocks {
        procedure.push(*ratio, RunOrder::Unknown);
    }
    let (interval, _) = procedure.intervals();
    // Of an effect that changed during its run no one ratio speaks.
    (interval.lower.is_finite() && !procedure.is_unstable()).then_some((procedure.estimate()?, interval))
}

/// The difference of two runs by the spread of others of the same experiment on the same machine, each given as ln of its median.
///
/// Student's law with as many degrees of freedom as the history has; it assumes that runs vary normally and do not depend on each
/// other. None below five runs.
pub fn by_history(first: f64, second: f64, history: &[f64], confidence: f64) -> Option<Apart> {
    if history.len() < FEWEST_RUNS {
        return None;
    }
    let n = history.len() as f64;
    let mean = history.iter().sum::<f64>() / n;
    let variance = history.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let reach = student_critical(alpha(confidence), n - 1.0) * (2.0 * variance).sqrt();
    let estimate = second - first;
    Some(Apart { estimate, interval: Interval { lower: estimate - reach, upper: estimate + reach } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SplitMix64;

    #[test]
    fn pairs_of_runs_that_are_alike_seldom_differ_by_a_common_level_and_others_do() {
        let differing = |shift: f64, tail: f64, blocks_of: [usize; 2]| {
            (0..500)
                .filter(|seed| {
                    let mut generator = SplitMix64::new(*seed);
                    let mut run = |count: usize, centre: f64| -> Vec<f64> {
                        (0..count)
                            .map(|_| {
                                let far = if generator.next_unit() < tail { 10.0 } else { 1.0 };
                                centre + 0.03 * far * generator.next_normal()
                            })
                            .collect()
                    };
                    let (first, second) = (run(blocks_of[0], 0.2), run(blocks_of[1], 0.2 + shift));
                    by_common_level(&first, &second, 0.95).is_some_and(|apart| apart.differs())
                })
                .count()
        };
        for (tail, blocks) in [(0.0, [6, 6]), (0.0, [8, 14]), (0.1, [6, 6]), (0.1, [6, 24])] {
            let alike = differing(0.0, tail, blocks);
            assert!(alike <= 10, "{alike} of 500 pairs that are alike, {tail} {blocks:?}");
        }
        assert!(differing(0.2, 0.0, [6, 6]) >= 475 && differing(0.2, 0.0, [8, 14]) >= 475);
        assert_eq!(by_common_level(&[0.1; 4], &[0.1; 9], 0.95), None);
    }

    #[test]
    fn pairs_of_runs_seldom_differ_by_their_history() {
        let differing = |shift: f64| {
            (0..1000)
                .filter(|seed| {
                    let mut generator = SplitMix64::new(*seed);
                    let history: Vec<f64> = (0..6).map(|_| 0.02 * generator.next_normal()).collect();
                    let (one, other) = (0.02 * generator.next_normal(), 0.02 * generator.next_normal());
                    by_history(one, other + shift, &history, 0.95).unwrap().differs()
                })
                .count()
        };
        let alike = differing(0.0);
        // 50 of 1,000 are promised; 75 would be more than three standard errors above.
        assert!(alike <= 75, "{alike}");
        assert!(differing(0.2) >= 900);
        assert_eq!(by_history(0.0, 1.0, &[0.0; 4], 0.95), None);
    }
}
