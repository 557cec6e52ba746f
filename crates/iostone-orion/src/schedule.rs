//! The schedule of a test: which point is next.

mod adaptive;
pub(crate) mod growth;
mod knee;

use std::collections::HashSet;

use iostone_model::orion::{CellEstimate, Knee, LoadPoint, OrionHeader, PointRecord};

pub use adaptive::AdaptiveSchedule;
pub use knee::{KneeSchedule, knee_of};

/// Says what point is next, from those measured so far: so a test that was killed goes on where it was.
pub trait Schedule {
    /// The next point to measure; none when the test is over. A schedule gives the same answer to the same records.
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

/// The schedule that a test asks for: to the knee (`--knee`), as few points as a stated error needs (`--adaptive`), or all
/// of its plan. Where both are asked for, the knee is looked for.
pub fn schedule(header: &OrionHeader) -> Box<dyn Schedule> {
    if header.knee {
        return Box::new(KneeSchedule::new(&header.test, header.num_disks));
    }
    let points = header.test.points(header.num_disks);
    match header.adaptive {
        Some(error) => Box::new(AdaptiveSchedule::new(&points, error)),
        None => Box::new(WholePlan(points)),
    }
}

/// All points of a plan, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholePlan(pub Vec<LoadPoint>);

impl Schedule for WholePlan {
    fn next(&self, done: &[PointRecord]) -> Option<LoadPoint> {
        let measured: HashSet<LoadPoint> = done.iter().map(PointRecord::point).collect();
        self.0.iter().find(|point| !measured.contains(point)).copied()
    }

    fn total(&self) -> Option<u32> {
        u32::try_from(self.0.len()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_plan_goes_on_behind_what_was_measured() {
        let plan = WholePlan((0..3).map(|small| LoadPoint { small, large: 0 }).collect());
        let mut done = Vec::new();
        while let Some(point) = plan.next(&done) {
            done.push(PointRecord { small: point.small, large: point.large, ..PointRecord::default() });
        }
        assert_eq!(done.iter().map(PointRecord::point).collect::<Vec<_>>(), plan.0);
        assert_eq!(plan.total(), Some(3));
    }
}
