//! Whether a curve over load is flat: the slope of the logarithm of a rate over the logarithm of the load, and how far its
//! points stray from that line.
//!
//! A slope of 0 is a rate that no load changes, 1 one that grows as the load does. Each trial gives one line, by least
//! squares over its points. The slope's interval is that of the median over the trials, and so is that of each point's
//! distance from its trial's line ([`median_interval`], Thompson 1936): nothing is assumed of their noise, and points of
//! one trial, which depend on each other, count once. A slope alone would call a hump flat; so flat takes both, the slope
//! and every point (an intersection-union test, Berger 1982: what needs all of several statements needs no adjustment for
//! their number). Uneven takes any one point, which by chance some point among many is: there each point's interval is
//! that of its share of the error (Bonferroni).

use crate::boundary::{FEWEST_BLOCKS, fewest_blocks};
use crate::median::{interval_rank, median, median_interval};

/// Within this distance of 0 a slope is flat: twice the load then changes the rate by 3.5 % at most (2^0.05).
pub const FLAT_WITHIN: f64 = 0.05;

/// A point within this share of its line, up or down, lies on it: as much as a flat slope may change over eight times the
/// load.
pub const STRAYS_WITHIN: f64 = 0.10;

/// Statements of each comparison that could be wrong by chance: of either slope, and of the levels.
const STATEMENTS: f64 = 3.0;

/// The confidence of each interval, two-sided, such that all statements of so many comparisons hold together at
/// `confidence`, by Bonferroni. Each statement is wrong only if its interval fails on the one side that makes it so, which
/// has half the chance: 1 - 2 (1 - `confidence`) / (3 `comparisons`).
pub fn confidence_of_each(comparisons: usize, confidence: f64) -> f64 {
    1.0 - 2.0 * (1.0 - confidence) / (STATEMENTS * comparisons.max(1) as f64)
}

/// The fewest blocks after which anything is said of so many comparisons: as many as a verdict of faster or slower takes,
/// and as many as the intervals need at all.
pub fn fewest(comparisons: usize, confidence: f64) -> u32 {
    let each = confidence_of_each(comparisons, confidence);
    // An interval from the least to the greatest misses the median with a chance of 2 times 2^-n.
    let of_interval = (1..=64).find(|n| 1.0 - 2.0 * (-f64::from(*n)).exp2() >= each - 1e-12).unwrap_or(64);
    of_interval.max(fewest_blocks(comparisons, confidence).difference).max(FEWEST_BLOCKS)
}

/// The blocks that such comparisons are given before they may end: so many that each interval passes over the lowest and the
/// highest trial, since one trial that something disturbed would else forbid every statement, and that a point among
/// `loads` can be shown to stray. Fixed before the first block, so that the intervals need be made for one look alone.
pub fn enough(comparisons: usize, loads: usize, confidence: f64) -> u32 {
    let each = confidence_of_each(comparisons, confidence);
    let is_enough = |blocks: &usize| {
        interval_rank(*blocks, each).is_some_and(|passed_over| passed_over > 0)
            && interval_rank(*blocks, confidence_of_any(loads, each)).is_some()
    };
    let blocks = (1..=64).find(is_enough).unwrap_or(64);
    crate::count(blocks).max(fewest(comparisons, confidence))
}

/// The confidence of one interval among so many, such that a statement of any of them has `each`.
fn confidence_of_any(intervals: usize, each: f64) -> f64 {
    1.0 - (1.0 - each) / intervals.max(1) as f64
}

/// The line through a trial's points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its slope.
    pub slope: f64,
    /// By how much the logarithm of each point's rate lies above it, in the order of the points.
    pub strays: Vec<f64>,
}

/// The least-squares line of `ln(rate)` over `ln(load)`; none for fewer than three points, for loads that do not differ,
/// and where the load or the rate of any point is not above zero: a point that did nothing lies on no line.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let is_usable = |(load, rate): &(f64, f64)| *load > 0.0 && *rate > 0.0 && rate.is_finite();
    if points.len() < 3 || !points.iter().all(is_usable) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(load, rate)| (load.ln(), rate.ln())).collect();
    let count = logs.len() as f64;
    let mean_load = logs.iter().map(|(load, _)| load).sum::<f64>() / count;
    let mean_rate = logs.iter().map(|(_, rate)| rate).sum::<f64>() / count;
    let across: f64 = logs.iter().map(|(load, rate)| (load - mean_load) * (rate - mean_rate)).sum();
    let along: f64 = logs.iter().map(|(load, _)| (load - mean_load).powi(2)).sum();
    (along > 1e-12).then(|| {
        let slope = across / along;
        let strays = logs.iter().map(|(load, rate)| rate - mean_rate - slope * (load - mean_load)).collect();
        Line { slope, strays }
    })
}

/// What intervals of slopes and of points say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The slope's interval lies within [`FLAT_WITHIN`] of 0, and that of every point within [`STRAYS_WITHIN`] of its line.
    Flat,
    /// All of the slope's interval lies above.
    Rises,
    /// All of it lies below.
    Falls,
    /// It does neither, and the interval of some point lies wholly outside, at a confidence for all points together.
    Uneven,
    /// An interval reaches over a bound, or there are too few trials for one.
    Undecided,
}

/// The lines of several trials together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Median of their slopes; none without any.
    pub slope: Option<f64>,
    /// The interval of that median.
    pub interval: [Option<f64>; 2],
    /// The greatest distance of a point from its line, as a share of the rate there: of the medians over the trials.
    pub stray: Option<f64>,
    /// What they say.
    pub shape: Shape,
    /// Whether all of the slope's interval lies above 0.
    pub grows: bool,
}

/// What lines through points at the same loads come to, at that confidence of each interval.
pub fn trend(lines: &[Line], confidence: f64) -> Trend {
    let slopes: Vec<f64> = lines.iter().map(|line| line.slope).collect();
    let loads = lines.iter().map(|line| line.strays.len()).min().unwrap_or(0);
    let at_loads: Vec<Vec<f64>> = (0..loads)
        .map(|load| lines.iter().filter_map(|line| line.strays.get(load).copied()).collect())
        .collect();
    let bounds = [(1.0 - STRAYS_WITHIN).ln(), (1.0 + STRAYS_WITHIN).ln()];
    let intervals: Vec<Option<[f64; 2]>> =
        at_loads.iter().map(|strays| median_interval(strays, confidence)).collect();
    let is_even = intervals
        .iter()
        .all(|ends| matches!(ends, Some([low, high]) if *low >= bounds[0] && *high <= bounds[1]));
    let of_any = confidence_of_any(loads, confidence);
    let strays_surely = at_loads.iter().any(|strays| {
        matches!(median_interval(strays, of_any), Some([low, high]) if low > bounds[1] || high < bounds[0])
    });
    let interval = median_interval(&slopes, confidence);
    let shape = match interval {
        Some([low, _]) if low > FLAT_WITHIN => Shape::Rises,
        Some([_, high]) if high < -FLAT_WITHIN => Shape::Falls,
        Some(_) if strays_surely => Shape::Uneven,
        Some([low, high]) if is_even && low >= -FLAT_WITHIN && high <= FLAT_WITHIN => Shape::Flat,
        _ => Shape::Undecided,
    };
    let medians = at_loads.iter().filter_map(median);
    Trend {
        slope: median(&slopes),
        interval: interval.map_or([None, None], |ends| ends.map(Some)),
        stray: medians.map(|stray| stray.exp_m1().abs()).max_by(f64::total_cmp),
        shape,
        grows: interval.is_some_and(|[low, _]| low > 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Curve = fn(f64) -> f64;

    /// The lines of ten trials with that curve, each a little higher than the one before.
    fn of(curve: Curve) -> Vec<Line> {
        (0..10).map(|trial| line(&points(curve, 1.0 + 0.01 * f64::from(trial))).unwrap()).collect()
    }

    fn points(curve: Curve, level: f64) -> Vec<(f64, f64)> {
        (1..=20).map(f64::from).map(|load| (load, curve(load) * level)).collect()
    }

    fn shape(curve: Curve) -> Shape {
        trend(&of(curve), 0.95).shape
    }

    #[test]
    fn a_power_of_the_load_has_its_exponent_for_a_slope_and_no_stray() {
        let curves: [(Curve, f64); 4] = [
            (|_| 700.0, 0.0),
            (|load| 3.0 * load.sqrt(), 0.5),
            (|load| 7.0 * load, 1.0),
            (|load| load.powf(-0.3), -0.3),
        ];
        for (curve, exponent) in curves {
            let line = line(&points(curve, 1.0)).unwrap();
            assert!((line.slope - exponent).abs() < 1e-9);
            assert!(line.strays.len() == 20 && line.strays.iter().all(|stray| stray.abs() < 1e-9));
        }
        assert_eq!(line(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(line(&[(2.0, 2.0), (2.0, 3.0), (2.0, 4.0)]), None);
    }

    #[test]
    fn a_point_that_did_nothing_leaves_no_line() {
        assert_eq!(line(&[(1.0, 400.0), (2.0, 400.0), (3.0, 400.0), (4.0, 0.0)]), None);
        assert_eq!(line(&[(1.0, 400.0), (2.0, f64::NAN), (3.0, 400.0), (4.0, 400.0)]), None);
    }

    #[test]
    fn flat_takes_the_slope_and_every_point() {
        assert_eq!(shape(|_| 400.0), Shape::Flat);
        assert_eq!(shape(|load| load.powf(0.3)), Shape::Rises);
        assert_eq!(shape(|load| load.powf(-0.3)), Shape::Falls);
        // A hump, a saw and one load that is lower: their slopes are next to 0, and they are not flat.
        let hump: Curve = |load| if load <= 6.0 { load / 6.0 } else { (6.0 / load).powf(1.06) };
        let found = trend(&of(hump), 0.95);
        assert!(found.slope.unwrap().abs() < FLAT_WITHIN, "{found:?}");
        assert!(found.shape == Shape::Uneven && found.stray.unwrap() > 0.5, "{found:?}");
        assert_eq!(shape(|load| if load % 2.0 > 0.5 { 8000.0 } else { 4000.0 }), Shape::Uneven);
        assert_eq!(shape(|load| if (load - 9.0).abs() < 0.5 { 300.0 } else { 400.0 }), Shape::Uneven);
    }

    #[test]
    fn a_shape_is_said_only_where_all_of_the_intervals_say_it() {
        let lines = |slopes: &[f64], stray: f64| -> Vec<Line> {
            slopes.iter().map(|slope| Line { slope: *slope, strays: vec![0.0, stray, 0.0] }).collect()
        };
        let shape = |lines: &[Line]| trend(lines, 0.95).shape;
        let flat = [0.01, -0.01, 0.02, 0.0, 0.01, -0.02];
        assert_eq!(shape(&lines(&flat, 0.0)), Shape::Flat);
        assert_eq!(shape(&lines(&[0.04, 0.06, 0.04, 0.06, 0.04, 0.06], 0.0)), Shape::Undecided);
        // One trial strays at one load: neither flat nor uneven is shown, until there are trials enough to pass over it.
        let mut one = lines(&flat, 0.0);
        one[3].strays[1] = 0.3;
        assert_eq!(shape(&one), Shape::Undecided);
        let many: Vec<Line> = one.iter().chain(&lines(&flat, 0.0)).cloned().collect();
        assert_eq!(shape(&many), Shape::Flat);
        // That a point of three strays takes one more than that a slope lies somewhere.
        assert_eq!(shape(&lines(&flat, 0.3)), Shape::Undecided);
        assert_eq!(shape(&lines(&[&flat[..], &[0.0]].concat(), 0.3)), Shape::Uneven);
        // Five trials have no interval at 95 %.
        assert_eq!(shape(&lines(&[0.0; 5], 0.0)), Shape::Undecided);
        assert_eq!(shape(&[]), Shape::Undecided);
    }

    #[test]
    fn several_comparisons_take_more_blocks() {
        assert_eq!((fewest(1, 0.95), fewest(2, 0.95)), (6, 7));
        assert_eq!(fewest(2, 0.95), fewest_blocks(2, 0.95).difference);
        // However little is asked, six.
        assert_eq!(fewest(1, 0.5), 6);
        for comparisons in 1..=8 {
            let blocks = fewest(comparisons, 0.95);
            let figures = vec![0.0; blocks as usize];
            assert!(median_interval(&figures, confidence_of_each(comparisons, 0.95)).is_some());
        }
    }

    #[test]
    fn enough_blocks_pass_over_one_and_show_a_stray_among_all_loads() {
        assert_eq!((enough(1, 3, 0.95), enough(2, 3, 0.95), enough(2, 20, 0.95)), (10, 11, 12));
        let each = confidence_of_each(2, 0.95);
        let with_one_off =
            |blocks: usize| median_interval(&[vec![0.0; blocks - 1], vec![9.0]].concat(), each);
        assert_eq!((with_one_off(10), with_one_off(11)), (Some([0.0, 9.0]), Some([0.0, 0.0])));
    }
}
