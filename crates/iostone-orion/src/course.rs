//! The course of a test: which point is next.

use iostone_model::orion::{CellEstimate, Knee, LoadPoint, PointRecord};

/// Says what point is next, from those measured so far: so a test that was killed goes on where it was.
pub trait Course {
    /// The next point to measure; none when the test is over. A course gives the same answer to the same records.
    fn next(&self, done: &[PointRecord]) -> Option<LoadPoint>;

    /// How many points it takes, where that is known beforehand.
    fn total(&self) -> Option<u32>;

    /// The knee, where it was looked for and found.
    fn knee(&self, _done: &[PointRecord]) -> Option<Knee> {
        None
    }

    /// Points settled without being measured.
    fn estimates(&self, _done: &[PointRecord]) -> Vec<CellEstimate> {
        Vec::new()
    }
}

/// All points of a plan, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholePlan(pub Vec<LoadPoint>);

impl Course for WholePlan {
    fn next(&self, done: &[PointRecord]) -> Option<LoadPoint> {
        self.0.get(done.len()).copied()
    }

    fn total(&self) -> Option<u32> {
        u32::try_from(self.0.len()).ok()
    }
}
