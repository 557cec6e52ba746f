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
        let num_small = self.num_small.unwrap_or(0);
        match self.shape() {
            Matrix::Point | Matrix::Col => vec![num_small],
            Matrix::Max => from_zero(num_small),
            Matrix::Basic | Matrix::Detailed | Matrix::Row => {
                let per_disk = if self.run == RunLevel::Oltp { SMALL_PER_DISK_OLTP } else { SMALL_PER_DISK };
                from_zero(num_disks.saturating_mul(per_disk))
            }
        }
    }

    /// The rows: its large loads, likewise.
    pub fn large_loads(&self, num_disks: u32) -> Vec<u32> {
        let num_large = self.num_large.unwrap_or(0);
        match self.shape() {
            Matrix::Point | Matrix::Row => vec![num_large],
            Matrix::Max => from_zero(num_large),
            Matrix::Basic | Matrix::Detailed | Matrix::Col => {
                let per_disk = if self.run == RunLevel::Dss { LARGE_PER_DISK_DSS } else { LARGE_PER_DISK };
                from_zero(num_disks.saturating_mul(per_disk))
            }
        }
    }

    /// The load points in the order in which they are measured: row by row, the row without large I/O first.
    pub fn points(&self, num_disks: u32) -> Vec<LoadPoint> {
        let (columns, rows) = (self.small_loads(num_disks), self.large_loads(num_disks));
        let basic = self.shape() == Matrix::Basic;
        rows.iter()
            .flat_map(|large| columns.iter().map(|small| LoadPoint { small: *small, large: *large }))
            .filter(|point| !basic || point.small == 0 || point.large == 0)
            .collect()
    }

    /// The minutes that ORION announces: those of all points, and one more.
    pub fn estimated_minutes(&self, points: usize) -> u64 {
        let milliseconds = self.duration.0.as_millis().saturating_mul(points as u128);
        u64::try_from(milliseconds / 60_000).unwrap_or(u64::MAX - 1) + 1
    }
}

fn from_zero(maximum: u32) -> Vec<u32> {
    std::iter::once(0).chain(levels(maximum)).collect()
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
    fn the_second_point_is_one_small_io() {
        let (points, _) = test(RunLevel::Simple, 4);
        assert_eq!(points[..2], [LoadPoint { small: 0, large: 0 }, LoadPoint { small: 1, large: 0 }]);
    }
}
