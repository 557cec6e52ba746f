//! How long trials are best measured: from pilots, before the first block.
//!
//! Blocks are cheap and slow noise is dear: two short trials beside each other share a drift that two long ones do not. A length T
//! is judged by pairs of windows of a pilot, T long and as far apart as two trials are. Their log ratios have a spread, the
//! spread gives the blocks until equivalence within the margin is shown, and blocks times the cost of a trial is the time.

use crate::boundary::alpha;
use crate::forecast::HalfWidths;
use crate::median::NORMAL_SCALE;
use crate::median::median;

/// The lengths to choose from, in seconds.
pub const LENGTHS: [f64; 6] = [2.5, 5.0, 10.0, 20.0, 30.0, 60.0];

/// A trial has at least so many operations: fewer are a count rather than a rate.
const FEWEST_OPERATIONS: f64 = 500.0;
/// Differences between windows that do not overlap, over all pilots, that a spread takes.
const FEWEST_DIFFERENCES: usize = 3;

/// What the length is to serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Purpose {
    /// Seconds between the measured times of two trials: what a trial costs beside them, its ramp included.
    pub gap: f64,
    /// The equivalence margin as a fraction; where there is none, 3 %.
    pub margin: f64,
    /// The confidence of all verdicts together.
    pub confidence: f64,
    /// The comparisons that share the chance of error.
    pub comparisons: u32,
    /// The most blocks.
    pub budget: u32,
    /// The fewest blocks.
    pub minimum: u32,
}

/// A length and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialLength {
    /// In seconds.
    pub seconds: f64,
    /// The robust standard deviation of a block's log ratio; none where the pilots are too short to tell.
    pub spread: Option<f64>,
    /// The blocks until equivalence is shown at that spread, at most the budget.
    pub blocks: u32,
}

/// The length of least time to a verdict, the longer of equals.
///
/// `pilots` are the operations of each 100 ms behind the ramp. None where pilots twice as long are called for: they judge fewer than
/// two lengths, or the longest that they judge is the best of them. `last` takes what there is.
pub fn choose(pilots: &[Vec<f64>], purpose: Purpose, last: bool) -> Option<TrialLength> {
    const INTERVAL: f64 = 0.1;
    let slowest =
        pilots.iter().filter_map(|pilot| Some(median(pilot)? / INTERVAL)).fold(f64::INFINITY, f64::min);
    let longest = LENGTHS.len().saturating_sub(1);
    let allowed: Vec<f64> = (0..)
        .zip(LENGTHS)
        .filter(|(place, seconds)| seconds * slowest >= FEWEST_OPERATIONS || *place == longest)
        .map(|(_, seconds)| seconds)
        .collect();
    let judged: Vec<TrialLength> = allowed
        .iter()
        .filter_map(|seconds| {
            let spread =
                spread(pilots, to_intervals(*seconds, INTERVAL), to_intervals(purpose.gap, INTERVAL))?;
            Some(TrialLength { seconds: *seconds, spread: Some(spread), blocks: blocks(spread, purpose) })
        })
        .collect();
    let cost = |of: &TrialLength| f64::from(of.blocks) * (of.seconds + purpose.gap);
    let best = judged.iter().rev().copied().min_by(|one, other| cost(one).total_cmp(&cost(other)));
    let is_longest = |best: TrialLength| judged.last().is_some_and(|longest| longest.seconds <= best.seconds);
    let open = judged.len() < allowed.len();
    match best {
        Some(best) if last || !open || (judged.len() > 1 && !is_longest(best)) => Some(best),
        None if last => allowed.first().map(|seconds| TrialLength {
            seconds: *seconds,
            spread: None,
            blocks: purpose.budget,
        }),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred")]
fn to_intervals(seconds: f64, interval: f64) -> usize {
    (seconds / interval).round().max(0.0) as usize
}

/// The spread of log ratios of two windows, so many intervals long and so many apart; none of too few.
fn spread(pilots: &[Vec<f64>], length: usize, gap: usize) -> Option<f64> {
    let apart = |pilot: &Vec<f64>| ((pilot.len() + gap) / (length + gap).max(1)).saturating_sub(1);
    if length == 0 || pilots.iter().map(apart).sum::<usize>() < FEWEST_DIFFERENCES {
        return None;
    }
    let mut differences = Vec::new();
    for pilot in pilots {
        let mut sums = vec![0.0];
        for operations in pilot {
            sums.push(sums.last().copied().unwrap_or_default() + operations);
        }
        let window = |from: usize| Some(sums.get(from + length)? - sums.get(from)?);
        // Windows may overlap those of another pair: more of them make the middle of their differences steadier.
        differences
            .extend((0..).map_while(|from| Some((window(from + length + gap)? / window(from)?).ln().abs())));
    }
    Some(NORMAL_SCALE * median(&differences)?).filter(|spread| !spread.is_nan())
}

/// The first look at which a mean interval of that spread lies within the margin; the budget where none does.
fn blocks(spread: f64, purpose: Purpose) -> u32 {
    let margin = if purpose.margin > 0.0 { purpose.margin } else { 0.03 }.ln_1p();
    let widths = HalfWidths::shared(alpha(purpose.confidence), purpose.comparisons, purpose.budget);
    let looks = crate::looks(purpose.budget).into_iter().filter(|look| *look >= purpose.minimum);
    let settled = |look: &u32| widths.at(*look).is_some_and(|(_, equivalence)| equivalence * spread < margin);
    looks.into_iter().find(settled).unwrap_or(purpose.budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SplitMix64;

    const PURPOSE: Purpose =
        Purpose { gap: 3.0, margin: 0.03, confidence: 0.95, comparisons: 1, budget: 40, minimum: 6 };

    /// A pilot with noise of each 100 ms, and a drift of 5 % that is forgotten in a minute.
    fn pilot(generator: &mut SplitMix64, seconds: usize, white: f64, drift: f64) -> Vec<f64> {
        let memory = (-0.1f64 / 60.0).exp();
        let mut level = drift * generator.next_normal();
        (0..seconds * 10)
            .map(|_| {
                level = memory * level + (1.0 - memory * memory).sqrt() * drift * generator.next_normal();
                1000.0 * (level + white * generator.next_normal()).exp()
            })
            .collect()
    }

    fn chosen(seconds: usize, white: f64, drift: f64, purpose: Purpose, last: bool) -> Option<TrialLength> {
        let mut generator = SplitMix64::new(8);
        let pilots: Vec<Vec<f64>> = (0..2).map(|_| pilot(&mut generator, seconds, white, drift)).collect();
        choose(&pilots, purpose, last)
    }

    #[test]
    fn trials_are_as_short_as_the_noise_allows() {
        // What averages out by itself soon is measured for 2.5 s, as is what drifts.
        assert_eq!(chosen(30, 0.05, 0.0, PURPOSE, false).map(|of| of.seconds), Some(2.5));
        let drifting = chosen(30, 0.05, 0.05, PURPOSE, false).unwrap();
        assert!(drifting.seconds <= 5.0 && drifting.blocks < 40, "{drifting:?}");
        // Where a trial costs 20 s beside its measured time, longer ones pay, and it takes longer pilots to tell.
        let dear = Purpose { gap: 20.0, ..PURPOSE };
        assert_eq!(chosen(30, 0.5, 0.0, dear, false), None);
        let long = chosen(120, 0.5, 0.0, dear, true).unwrap();
        assert!(long.seconds >= 10.0, "{long:?}");
    }

    #[test]
    fn few_operations_take_longer_trials() {
        let slow = vec![vec![8.0; 300], vec![8.0; 300]];
        assert_eq!(choose(&slow, PURPOSE, false), None, "10 s is the least, of which 30 s tell nothing");
        assert_eq!(choose(&slow, PURPOSE, true).map(|of| (of.seconds, of.spread)), Some((10.0, None)));
        let slower = vec![vec![0.0; 1200], vec![1.0; 1200]];
        assert_eq!(choose(&slower, PURPOSE, true).map(|of| of.seconds), Some(60.0));
        assert_eq!(choose(&[], PURPOSE, true).map(|of| of.spread), Some(None));
    }
}
