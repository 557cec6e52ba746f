//! What would come if the ceiling that binds were lifted: the next one above it, and how much sooner the work would end.

use iostone_model::answer::Lift;
use iostone_model::cloud::CeilingKind;
use iostone_model::prediction::Prediction;

use crate::prediction::{PredictError, Route, Work};

/// Ceilings that are lifted one after the other.
const STEPS: usize = 2;

/// Lifts the ceiling that binds, and then the next.
pub(super) fn lifts(route: &Route, work: &Work, prediction: &Prediction) -> Vec<Lift> {
    let mut lifts = Vec::new();
    let (mut route, mut work) = (route.clone(), work.clone());
    let (mut kind, mut name) = (prediction.binds, prediction.binding.clone());
    for _ in 0..STEPS {
        if !lift(kind, &mut route, &mut work) {
            break;
        }
        match route.predict(&work) {
            Ok(next) => {
                lifts.push(Lift {
                    lifted: kind,
                    name,
                    seconds: Some(next.seconds),
                    binds: Some(next.binds),
                    binding: Some(next.binding.clone()),
                });
                (kind, name) = (next.binds, next.binding);
            }
            Err(PredictError::Unlimited(_)) => {
                lifts.push(Lift { lifted: kind, name, seconds: None, binds: None, binding: None });
                break;
            }
            Err(_) => break,
        }
    }
    lifts
}

/// Takes away all ceilings of a kind. False where there is nothing to take away.
fn lift(kind: CeilingKind, route: &mut Route, work: &mut Work) -> bool {
    match kind {
        CeilingKind::Volume | CeilingKind::Array => {
            let Some(limits) = route.limits.take() else { return false };
            // A faster volume answers no sooner.
            route.latency = route.latency.or(limits.latency.map(|latency| (latency, None)));
            true
        }
        CeilingKind::Link => route.link.take().is_some(),
        CeilingKind::Cpu => route.cpu.take().is_some(),
        CeilingKind::Source => work.source.take().is_some(),
        CeilingKind::QueueDepth => work.depth.take().is_some(),
        CeilingKind::PageCache | CeilingKind::Filesystem => false,
    }
}
