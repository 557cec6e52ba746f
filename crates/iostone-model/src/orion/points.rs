//! ORION's load points: which pairs of loads a test measures, in which order, and how long that takes.
//!
//! Oracle does not publish the rule. This one explains every public output that was found (point counts, printed columns,
//! minutes, the points of maxima): an axis of maximum M has the step `s = max(1, floor(M / 20))` and the levels 1 to s and
//! then every multiple of s up to M; the point without any load counts as one more.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Matrix, OrionTest, RunLevel};

/// Small loads of `simple`, `normal` and `advanced` go up to this many per disk.
const SMALL_PER_DISK: u32 = 5;
/// Large loads of `simple`, `normal` and `advanced` go up to this many per disk.
const LARGE_PER_DISK: u32 = 2;
/// Small loads of `oltp` go up to this many per disk.
const SMALL_PER_DISK_OLTP: u32 = 20;
/// Large loads of `dss` go up to this many per disk: iostone's choice, for ORION's is not publicly known.
const LARGE_PER_DISK_DSS: u32 = 15;
/// An axis has about this many levels.
const LEVELS_PER_AXIS: u32 = 20;

/// A pair of loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Outstanding small I/Os.
    pub small: u32,
    /// Outstanding large I/Os, or sequential streams.
    pub large: u32,
}

impl fmt::Display for LoadPoint {
    /// As ORION writes it: `Small=4 and Large=0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Small={} and Large={}", self.small, self.large)
    }
}

/// The loads of an axis of that maximum, ascending, without 0.
pub fn levels(maximum: u32) -> Vec<u32> {
    let step = (maximum / LEVELS_PER_AXIS).max(1);
    (1..=step).chain((2 * step..=maximum).step_by(step as usize)).filter(|level| *level <= maximum).collect()
}

/// How many [`levels`] there are.
fn level_count(maximum: u32) -> u64 {
    let step = (maximum / LEVELS_PER_AXIS).max(1);
    // Those up to the step, and the multiples behind it.
    if maximum == 0 { 0 } else { u64::from(step) + u64::from(maximum / step) - 1 }
}

impl OrionTest {
    /// The part of the matrix that it measures, with its level taken into account.
    pub fn shape(&self) -> Matrix {
        match self.run {
            RunLevel::Simple => Matrix::Basic,
            RunLevel::Normal => Matrix::Detailed,
            RunLevel::Advanced => self.matrix,
            RunLevel::Oltp => Matrix::Row,
            RunLevel::Dss => Matrix::Col,
        }
    }

    /// The columns: its small loads, ascending, 0 among them where it is measured.
    pub fn small_loads(&self, num_disks: u32) -> Vec<u32> {
        self.small_axis(num_disks).loads()
    }

    /// The rows: its large loads, likewise.
    pub fn large_loads(&self, num_disks: u32) -> Vec<u32> {
        self.large_axis(num_disks).loads()
    }

    fn small_axis(&self, num_disks: u32) -> Axis {
        let num_small = self.num_small.unwrap_or(0);
        match self.shape() {
            Matrix::Point | Matrix::Col => Axis::Only(num_small),
            Matrix::Max => Axis::UpTo(num_small),
            Matrix::Basic | Matrix::Detailed | Matrix::Row => {
                let per_disk = if self.run == RunLevel::Oltp { SMALL_PER_DISK_OLTP } else { SMALL_PER_DISK };
                Axis::UpTo(num_disks.saturating_mul(per_disk))
            }
        }
    }

    fn large_axis(&self, num_disks: u32) -> Axis {
        let num_large = self.num_large.unwrap_or(0);
        match self.shape() {
            Matrix::Point | Matrix::Row => Axis::Only(num_large),
            Matrix::Max => Axis::UpTo(num_large),
            Matrix::Basic | Matrix::Detailed | Matrix::Col => {
                let per_disk = if self.run == RunLevel::Dss { LARGE_PER_DISK_DSS } else { LARGE_PER_DISK };
                Axis::UpTo(num_disks.saturating_mul(per_disk))
            }
        }
    }

    /// How many load points there are, without listing them: those of thousands of disks are millions.
    pub fn point_count(&self, num_disks: u32) -> u64 {
        let (columns, rows) = (self.small_axis(num_disks).count(), self.large_axis(num_disks).count());
        if self.shape() == Matrix::Basic { columns + rows - 1 } else { columns.saturating_mul(rows) }
    }

    /// The load points in the order in which they are measured: row by row, the row without large I/O first.
    pub fn points(&self, num_disks: u32) -> Vec<LoadPoint> {
        let (columns, rows) = (self.small_loads(num_disks), self.large_loads(num_disks));
        let basic = self.shape() == Matrix::Basic;
        let measured = |large: u32| if basic && large > 0 { columns.get(..1) } else { columns.get(..) };
        rows.iter()
            .flat_map(|large| measured(*large).into_iter().flatten().map(|small| (*small, *large)))
            .map(|(small, large)| LoadPoint { small, large })
            .collect()
    }

    /// The minutes that ORION announces: those of all points, and one more.
    pub fn estimated_minutes(&self, points: usize) -> u64 {
        let milliseconds = self.duration.0.as_millis().saturating_mul(points as u128);
        u64::try_from(milliseconds / 60_000).unwrap_or(u64::MAX - 1) + 1
    }
}

/// The loads of one axis of a matrix.
#[derive(Clone, Copy)]
enum Axis {
    /// This one alone.
    Only(u32),
    /// 0, and the levels up to this maximum.
    UpTo(u32),
}

impl Axis {
    fn loads(self) -> Vec<u32> {
        match self {
            Self::Only(load) => vec![load],
            Self::UpTo(maximum) => std::iter::once(0).chain(levels(maximum)).collect(),
        }
    }

    fn count(self) -> u64 {
        match self {
            Self::Only(_) => 1,
            Self::UpTo(maximum) => 1 + level_count(maximum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(run: RunLevel, num_disks: u32) -> (Vec<LoadPoint>, u64) {
        let test = OrionTest::new(run);
        let points = test.points(num_disks);
        let minutes = test.estimated_minutes(points.len());
        (points, minutes)
    }

    #[test]
    fn published_counts_and_minutes_come_out() {
        let counted = |run, disks| {
            let (points, minutes) = test(run, disks);
            (points.len(), minutes)
        };
        assert_eq!(counted(RunLevel::Simple, 1), (8, 9));
        assert_eq!(counted(RunLevel::Normal, 1), (18, 19));
        assert_eq!(counted(RunLevel::Simple, 4).0, 29);
        assert_eq!(counted(RunLevel::Simple, 8).0, 38);
        assert_eq!(counted(RunLevel::Oltp, 1), (21, 22));
        assert_eq!(counted(RunLevel::Dss, 1), (16, 17));
    }

    #[test]
    fn points_are_counted_as_they_are_listed() {
        for maximum in (0..2_000).chain([32_765, 65_536, 327_680]) {
            assert_eq!(level_count(maximum), levels(maximum).len() as u64, "{maximum}");
        }
        for run in [RunLevel::Simple, RunLevel::Normal, RunLevel::Oltp, RunLevel::Dss] {
            for disks in 1..100 {
                let test = OrionTest::new(run);
                assert_eq!(test.point_count(disks), test.points(disks).len() as u64, "{run:?} {disks}");
            }
        }
        let huge = OrionTest::new(RunLevel::Simple).points(60_000);
        assert_eq!(huge.len() as u64, OrionTest::new(RunLevel::Simple).point_count(60_000));
    }

    #[test]
    fn the_second_point_is_one_small_io() {
        let (points, _) = test(RunLevel::Simple, 4);
        assert_eq!(points[..2], [LoadPoint { small: 0, large: 0 }, LoadPoint { small: 1, large: 0 }]);
    }
}
