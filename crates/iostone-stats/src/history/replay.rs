//! Running the last accepted state as a level beside the new one: what that takes, by the sequential procedure of blocks.
//!
//! Within blocks it does not matter how runs depend on each other, which machine was colder that week or who else was on it.

use crate::boundary::fewest_blocks;

/// The chance of a false alarm that a whole year of runs shares.
pub const A_YEAR: f64 = 0.10;

/// The confidence of each run where every one holds the accepted state beside the new: all `runs` of a year together are wrong
/// with [`A_YEAR`] at most.
pub fn standing_confidence(runs: u32) -> f64 {
    1.0 - A_YEAR / f64::from(runs.max(1))
}

/// The confidence of one run that is made only to confirm an alarm.
pub const CONFIRMING_CONFIDENCE: f64 = 0.95;

/// The fewest blocks after which a run of that confidence can say that the states differ.
pub fn fewest(confidence: f64) -> u32 {
    fewest_blocks(1, confidence).difference
}
