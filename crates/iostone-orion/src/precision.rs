//! Ends a point by the precision of its rate instead of by time.
//!
//! The rate of a point is that of the I/Os completed in each 100 ms; how precisely its mean is known, the method of batch
//! means says, and where the I/Os came more regularly than chance has it, the place of the window between two portions of
//! them ([`iostone_stats::batch_means::count_interval`]). A point that ends by precision is looked at after 2 s and from
//! then on whenever it has become 15 % longer: looking all the time would end points at moments when they seem steady by chance.

use std::time::Duration;

use iostone_engine::SERIES_INTERVAL;
use iostone_model::orion::{LoadFigures, LoadPoint, OrionHeader};
use iostone_stats::batch_means::count_interval;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// No point ends by precision before this.
pub const LEAST_DURATION: Duration = Duration::from_secs(2);
/// The next look is due when the series is longer by this factor.
const LOOK_GROWTH: f64 = 1.15;
/// Two readings that are nearer to each other than this say too little about the rate.
const LEAST_STEP: Duration = Duration::from_millis(20);

/// The half width of the 95 % interval of a load's rate, as a share of the rate; never 0. None for less than a second, and
/// where nothing was completed.
pub fn precision_of(figures: &LoadFigures, seconds: f64) -> Option<f64> {
    // The last interval is not whole where the measured time is no multiple of its length, and shows a low rate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of intervals")]
    let whole = (seconds / SERIES_INTERVAL.as_secs_f64() + 1e-6) as usize;
    let series: Vec<f64> = figures.ios_per_100ms.iter().take(whole).map(|ios| *ios as f64).collect();
    relative(&series)
}

/// The worse of both loads' precisions, where all loads have one.
pub(crate) fn worse(small: Option<&LoadFigures>, large: Option<&LoadFigures>, seconds: f64) -> Option<f64> {
    let of_each: Option<Vec<f64>> =
        [small, large].into_iter().flatten().map(|io| precision_of(io, seconds)).collect();
    of_each?.into_iter().reduce(f64::max)
}

/// Of I/Os in each 100 ms.
fn relative(series: &[f64]) -> Option<f64> {
    count_interval(series, CONFIDENCE)?.relative()
}

/// Watches a running point until its rates are known precisely enough.
#[derive(Debug)]
pub(crate) struct PrecisionWatch {
    wanted: f64,
    loads: Loads,
    last: (Duration, u64, u64),
    small: Vec<f64>,
    large: Vec<f64>,
    next_look: f64,
    reached: Option<f64>,
}

/// Which loads run, and so how the sum of their I/Os is taken apart.
#[derive(Debug, Clone, Copy)]
enum Loads {
    /// One, or two of the same block size, whose sum is what can be watched.
    One,
    /// Both, with blocks of so many bytes.
    Both { small_bytes: f64, large_bytes: f64 },
}

impl PrecisionWatch {
    /// Watches a point of a test that ends by precision; none if it does not.
    pub(crate) fn new(header: &OrionHeader, point: LoadPoint) -> Option<Self> {
        let (small, large) = (header.test.size_small, header.test.size_large);
        let loads = if point.small > 0 && point.large > 0 && small != large {
            Loads::Both { small_bytes: small.0 as f64, large_bytes: large.0 as f64 }
        } else {
            Loads::One
        };
        Some(Self {
            wanted: header.until?,
            loads,
            last: (Duration::ZERO, 0, 0),
            small: Vec::new(),
            large: Vec::new(),
            next_look: 0.0,
            reached: None,
        })
    }

    /// Takes what was counted by a moment of the measured time, all loads together; says whether that is enough.
    pub(crate) fn look(&mut self, elapsed: Duration, ios: u64, bytes: u64) -> bool {
        let (before, ios_before, bytes_before) = self.last;
        let step = elapsed.saturating_sub(before);
        if step < LEAST_STEP {
            return false;
        }
        self.last = (elapsed, ios, bytes);
        let intervals = step.as_secs_f64() / SERIES_INTERVAL.as_secs_f64();
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / intervals;
        let (ios, bytes) = (rate(ios, ios_before), rate(bytes, bytes_before));
        match self.loads {
            Loads::One => self.small.push(ios),
            Loads::Both { small_bytes, large_bytes } => {
                // Both counters are read one after the other, so that either share may come out below 0 by an I/O.
                let large = (bytes - ios * small_bytes) / (large_bytes - small_bytes);
                self.large.push(large.max(0.0));
                self.small.push((ios - large).max(0.0));
            }
        }
        if elapsed < LEAST_DURATION || (self.small.len() as f64) < self.next_look {
            return false;
        }
        self.next_look = self.small.len() as f64 * LOOK_GROWTH;
        self.reached = match self.loads {
            Loads::One => relative(&self.small),
            Loads::Both { .. } => {
                relative(&self.small).and_then(|small| relative(&self.large).map(|large| small.max(large)))
            }
        };
        self.reached.is_some_and(|reached| reached <= self.wanted)
    }

    /// The precision at the last look, of the worse load: that by which a point was ended. Cut into 100 ms that begin at other
    /// moments, the same I/Os have an interval of another width, and the one that was decided by is the one to state.
    pub(crate) fn reached(&self) -> Option<f64> {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::{OrionTest, RunLevel};
    use iostone_stats::schedule::SplitMix64;

    use super::*;

    fn watch(until: f64, small: u32, large: u32) -> PrecisionWatch {
        let mut header = crate::point::tests::header(OrionTest::new(RunLevel::Normal));
        header.until = Some(until);
        PrecisionWatch::new(&header, LoadPoint { small, large }).unwrap()
    }

    /// The 100 ms after which a point ends whose loads do so many I/Os in each.
    fn ends_after(mut watch: PrecisionWatch, mut ios: impl FnMut() -> (u64, u64)) -> Option<u64> {
        let (mut small, mut large) = (0, 0);
        (1..2000).find(|tick| {
            let (more_small, more_large) = ios();
            (small, large) = (small + more_small, large + more_large);
            watch.look(Duration::from_millis(100 * tick), small + large, (small << 13) + (large << 20))
        })
    }

    #[test]
    fn a_steady_point_ends_once_its_edges_are_a_small_enough_part_of_it() {
        assert_eq!(ends_after(watch(0.05, 4, 0), || (200, 0)), Some(20));
        assert_eq!(ends_after(watch(0.02, 4, 0), || (200, 0)), Some(43));
        assert_eq!(ends_after(watch(0.02, 4, 2), || (200, 10)), Some(43));
    }

    #[test]
    fn a_point_of_granted_portions_ends_with_its_rate_within_what_was_asked() {
        let mut rng = SplitMix64::new(9);
        let mut held = 0;
        for _ in 0..400 {
            let pace = 0.098 + 0.004 * rng.next_unit();
            // When each of the 200 I/Os of a portion is done: up to 8 ms late, and in 20 ms.
            let first = -pace * rng.next_unit();
            let mut done: Vec<f64> = (0..250)
                .flat_map(|portion| {
                    let begun = first + pace * f64::from(portion) + 0.008 * rng.next_unit();
                    (0..200).map(move |io| begun + 0.000_1 * f64::from(io))
                })
                .filter(|at| *at >= 0.0)
                .collect();
            done.sort_by(f64::total_cmp);
            let counted = |until: f64| done.partition_point(|at| *at < until);
            let mut watch = watch(0.02, 4, 0);
            // Looks come a little later each time; what counts ends with a whole 100 ms.
            let ended = (1..240)
                .map(|tick| 0.100_2 * f64::from(tick))
                .find(|elapsed| watch.look(Duration::from_secs_f64(*elapsed), counted(*elapsed) as u64, 0));
            let ended = (10.0 * ended.unwrap()).floor() / 10.0;
            assert!(watch.reached().is_some_and(|reached| reached > 0.0 && reached <= 0.02) && ended >= 3.8);
            let rate = counted(ended) as f64 / ended;
            held += u32::from((rate * pace / 200.0 - 1.0).abs() <= 0.02);
        }
        assert!(held >= 380, "{held}");
    }

    #[test]
    fn a_point_is_as_long_as_its_less_steady_load_needs() {
        let mut rng = SplitMix64::new(3);
        let ended = ends_after(watch(0.02, 4, 2), || (200, 5 + rng.next_below(11))).unwrap();
        assert!((30..1500).contains(&ended), "{ended}");
    }

    #[test]
    fn the_precision_of_a_whole_point_leaves_a_part_of_an_interval_out() {
        let steady =
            LoadFigures { ios_per_100ms: [vec![50; 20], vec![3]].concat(), ..LoadFigures::default() };
        let whole = precision_of(&steady, 2.01).unwrap();
        assert!((whole - 0.038_82).abs() < 1e-5, "{whole}");
        assert_eq!(worse(Some(&steady), Some(&LoadFigures::default()), 2.01), None);
        assert_eq!(worse(None, None, 2.0), None);
    }
}
