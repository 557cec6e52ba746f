//! Everything that is found in the points of a test, and what should be known beside it.

#[cfg(test)]
pub(crate) mod fixture;
mod notes;
mod remarks;
mod served;

use iostone_model::orion::{OrionFindings, OrionRecord};

use crate::ceiling::{ceilings, plateaus};
use crate::schedule::knee_of;

/// What the measured points say: the extremes that ORION reports, what bounds them, where rates stay flat, where latency
/// takes off, and remarks.
///
/// The knee is the one that the test looked for, or else that of small I/O alone, or else of large I/O alone.
pub fn find(record: &OrionRecord) -> OrionFindings {
    let searched = record.end.as_ref().and_then(|end| end.knee.clone());
    OrionFindings {
        maxima: record.maxima(),
        ceilings: ceilings(record),
        plateaus: plateaus(record),
        knee: searched.or_else(|| knee_of(&record.points, true)).or_else(|| knee_of(&record.points, false)),
        remarks: remarks::remarks(record),
    }
}

#[cfg(test)]
mod tests;
