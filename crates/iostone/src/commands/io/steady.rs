//! Whether a load's rate was steady, and from when on.

use iostone_engine::{Outcome, SERIES_INTERVAL};
use iostone_stats::steady::{Onset, whole_intervals};
use serde_json::{Value, json};

/// Judges the I/Os of each 100 ms.
fn onset(outcome: &Outcome) -> Onset {
    let interval_seconds = SERIES_INTERVAL.as_secs_f64();
    let measured = outcome.elapsed.0.as_secs_f64();
    Onset::of(whole_intervals(&outcome.series.ios, measured, interval_seconds), interval_seconds)
}

/// A sentence about it; None where too little was measured to say anything.
pub(super) fn in_words(outcome: &Outcome) -> Option<String> {
    match onset(outcome) {
        Onset::Unknown { .. } => None,
        onset => Some(onset.to_string()),
    }
}

pub(super) fn describe(outcome: &Outcome) -> Value {
    let onset = onset(outcome);
    json!({ "from_seconds": onset.steady_from_seconds(), "finding": onset.to_string() })
}
