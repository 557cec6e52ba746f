//! The limits of the change-point monitor, by the number of runs of a segment.
//!
//! Each is the value that the statistic of so many exchangeable runs exceeds with the chance named, given that it exceeded
//! none before: simulated once, from 200,000 random rank sequences. Where a statistic of so few runs cannot be that
//! rare, the limit is its largest value, so that no alarm is possible.

/// The fewest runs that are looked at.
pub(super) const FIRST: usize = 8;

/// The most runs that are looked at: the latest of a segment.
pub(super) const WINDOW: usize = 60;

/// So far above its limit a statistic must be, because the limits are rounded to four digits.
pub(super) const SLACK: f64 = 1e-4;

/// How often an alarm may be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// At most once in 1,000 runs.
    In1000,
    /// At most once in 500 runs: one in ten for a year of weekly runs.
    In500,
    /// At most once in 200 runs.
    In200,
}

impl Hazard {
    /// The limit for a segment of `runs` runs; none for too few.
    pub(super) fn limit(self, runs: usize) -> Option<f64> {
        let limits = match self {
            Self::In1000 => &IN_1000,
            Self::In500 => &IN_500,
            Self::In200 => &IN_200,
        };
        limits.get(runs.min(WINDOW).checked_sub(FIRST)?).copied()
    }

    /// The chance of a false alarm in each run.
    pub fn chance(self) -> f64 {
        match self {
            Self::In1000 => 1e-3,
            Self::In500 => 2e-3,
            Self::In200 => 5e-3,
        }
    }
}

const IN_1000: [f64; WINDOW - FIRST + 1] = [
    2.2392, 2.373, 2.5198, 2.6408, 2.7711, 2.8823, 2.9133, 2.985, 3.021, 3.0364, 3.0369, 3.0466, 3.0868,
    3.1211, 3.1213, 3.1211, 3.1348, 3.1399, 3.1438, 3.1521, 3.1667, 3.1846, 3.1737, 3.1781, 3.1754, 3.1713,
    3.1916, 3.2062, 3.207, 3.2236, 3.2397, 3.2467, 3.2468, 3.2458, 3.2722, 3.2405, 3.231, 3.2439, 3.2576,
    3.2711, 3.2726, 3.2608, 3.244, 3.2684, 3.2548, 3.2778, 3.2885, 3.2827, 3.2783, 3.2721, 3.2812, 3.2847,
    3.2981,
];

const IN_500: [f64; WINDOW - FIRST + 1] = [
    2.2392, 2.373, 2.5198, 2.6408, 2.7711, 2.8336, 2.8731, 2.8645, 2.9074, 2.9352, 2.9599, 2.9404, 2.9736,
    2.9671, 2.9773, 2.9885, 2.9788, 2.9877, 3.0077, 3.0311, 3.0536, 3.0648, 3.0553, 3.0415, 3.0466, 3.0599,
    3.0654, 3.0841, 3.0578, 3.0609, 3.0683, 3.0687, 3.0793, 3.1019, 3.0824, 3.0866, 3.0919, 3.0938, 3.1107,
    3.1091, 3.1028, 3.0916, 3.1067, 3.1024, 3.1147, 3.0928, 3.1105, 3.1192, 3.121, 3.1067, 3.1096, 3.1373,
    3.1251,
];

const IN_200: [f64; WINDOW - FIRST + 1] = [
    2.2392, 2.373, 2.5198, 2.5765, 2.6579, 2.7097, 2.682, 2.7268, 2.7098, 2.7398, 2.7742, 2.8093, 2.8104,
    2.789, 2.7838, 2.8053, 2.8154, 2.8097, 2.7915, 2.8153, 2.8236, 2.8159, 2.8185, 2.8236, 2.8167, 2.8269,
    2.8283, 2.8281, 2.8222, 2.8348, 2.8344, 2.8409, 2.8498, 2.8485, 2.8533, 2.8563, 2.8671, 2.8776, 2.8879,
    2.898, 2.9078, 2.9174, 2.9269, 2.9361, 2.9442, 2.9171, 2.9082, 2.9156, 2.9083, 2.9103, 2.9071, 2.9108,
    2.9021,
];
