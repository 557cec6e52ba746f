//! What would come if the ceiling that binds were lifted: the next one above it, and how much sooner the work would end.

use iostone_model::answer::Lift;
use iostone_model::prediction::{CeilingRow, Prediction};

use crate::ceiling::Lane;
use crate::prediction::{PredictError, Route, Work};

/// Ceilings that are lifted one after the other.
const STEPS: usize = 2;

/// Lifts the ceiling that binds, and then the next. Others of its kind stay: an instance's link has a limit of IOPS too.
pub(super) fn lifts(route: &Route, work: &Work, prediction: &Prediction) -> Vec<Lift> {
    let mut lifts = Vec::new();
    let mut route = route.clone();
    let mut binding = binding_row(prediction).cloned();
    while let Some(row) = binding.take().filter(|_| lifts.len() < STEPS) {
        let named = |lane: &Lane| lane.kind == row.kind && route.name(lane, work) == row.name;
        let Some(place) = route.path(work).iter().position(named) else { break };
        route.lifted.push(place);
        match route.predict(work) {
            Ok(next) => {
                lifts.push(Lift {
                    lifted: row.kind,
                    name: row.name,
                    seconds: Some(next.seconds),
                    binds: Some(next.binds),
                    binding: Some(next.binding.clone()),
                });
                binding = binding_row(&next).cloned();
            }
            Err(PredictError::Unlimited(_)) => {
                lifts.push(Lift {
                    lifted: row.kind,
                    name: row.name,
                    seconds: None,
                    binds: None,
                    binding: None,
                });
            }
            Err(_) => break,
        }
    }
    lifts
}

/// The ceiling that binds for the largest part of the time, of the kind that is said to.
fn binding_row(prediction: &Prediction) -> Option<&CeilingRow> {
    let of_kind = prediction.ceilings.iter().filter(|row| row.kind == prediction.binds);
    of_kind.max_by(|one, other| one.binds_seconds.total_cmp(&other.binds_seconds))
}
