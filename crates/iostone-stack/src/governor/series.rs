//! What is kept of a law's course: its balance over time, thinned where the run is long, and the governor's own steps.

use std::collections::BTreeMap;
use std::time::Duration;

/// Between two points at first, seconds.
const FIRST_SPACING: f64 = 0.05;
/// So many points are kept; of more, every second one goes, and the next come half as often.
const MOST_POINTS: usize = 3000;

/// A balance over time.
#[derive(Debug)]
pub(super) struct Series {
    /// Seconds, CPU seconds, and whether the law changed its course there.
    points: Vec<(f64, f64, bool)>,
    spacing: f64,
}

impl Series {
    /// One that begins at 0 with that balance.
    pub(super) fn begin(balance: f64) -> Self {
        Self { points: vec![(0.0, balance, true)], spacing: FIRST_SPACING }
    }

    /// Takes a point if one is due, or if the law changed its course there.
    pub(super) fn push(&mut self, seconds: f64, balance: f64, changed: bool) {
        let due = self.points.last().is_none_or(|(last, ..)| seconds - last >= self.spacing);
        if !due && !changed {
            return;
        }
        self.points.push((seconds, balance, changed));
        if self.points.len() > MOST_POINTS {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.spacing *= 2.0;
        let mut index = 0_usize;
        let last = self.points.len().saturating_sub(1);
        self.points.retain(|(_, _, changed)| {
            index += 1;
            *changed || index % 2 == 1 || index > last
        });
        if self.points.len() > MOST_POINTS * 3 / 4 {
            // The law changes its course all the time: then no change is worth more than another.
            for (_, _, changed) in &mut self.points {
                *changed = false;
            }
        }
    }

    /// The points, to a tenth of a millisecond.
    pub(super) fn into_points(self) -> Vec<(f64, f64)> {
        let round = |figure: f64| (figure * 1e4).round() / 1e4;
        self.points.into_iter().map(|(seconds, balance, _)| (round(seconds), round(balance))).collect()
    }
}

/// How long the governor's steps took, in hundredths of a millisecond.
#[derive(Debug, Default)]
pub(super) struct Steps {
    counts: BTreeMap<u64, u64>,
}

impl Steps {
    pub(super) fn count(&mut self, step: Duration) {
        *self.counts.entry(u64::try_from(step.as_micros() / 10).unwrap_or(u64::MAX)).or_default() += 1;
    }

    /// The median and the longest, seconds.
    #[expect(clippy::cast_precision_loss, reason = "steps are milliseconds")]
    pub(super) fn median_and_longest(&self) -> (f64, f64) {
        let half = self.counts.values().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let median = self.counts.iter().find_map(|(step, count)| {
            seen += count;
            (seen >= half).then_some(*step)
        });
        let longest = self.counts.keys().next_back().copied();
        (median.unwrap_or(0) as f64 / 1e5, longest.unwrap_or(0) as f64 / 1e5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_at_least_ten_points_a_second_and_a_long_one_no_more_than_fit() {
        let mut series = Series::begin(1.0);
        for step in 1..=2000_u32 {
            series.push(f64::from(step) * 0.005, 1.0, step == 777);
        }
        let points = series.into_points();
        assert!(points.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 0.1), "{points:?}");
        assert!(points.iter().any(|point| (point.0 - 3.885).abs() < 1e-9), "where it changed its course");
        let mut long = Series::begin(1.0);
        for step in 1..=2_000_000_u32 {
            long.push(f64::from(step) * 0.005, f64::from(step), step % 3 == 0);
        }
        let points = long.into_points();
        assert!((MOST_POINTS / 8..=MOST_POINTS).contains(&points.len()), "{}", points.len());
        assert!(points.is_sorted_by(|one, next| one.0 < next.0));
    }

    #[test]
    fn steps_have_a_median_and_a_longest() {
        let mut steps = Steps::default();
        assert_eq!(steps.median_and_longest(), (0.0, 0.0));
        for ms in [5, 5, 5, 9, 40] {
            steps.count(Duration::from_millis(ms));
        }
        assert_eq!(steps.median_and_longest(), (0.005, 0.04));
    }
}
