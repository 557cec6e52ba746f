//! Finds writes that were said to be durable and were not: something below dropped every fsync, or no flush was served.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Facts};
use iostone_model::metric::Unit;

use super::case::{Case, outcome, told};
use crate::Outcome;
use crate::rule::Rule;

/// Syncs that made nothing durable.
pub(super) struct SyncDropped;

impl Rule for SyncDropped {
    fn name(&self) -> &'static str {
        "sync-dropped"
    }

    fn looks_for(&self) -> &'static str {
        "writes said to be durable of which every fsync was dropped, or no flush was served"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut doubts: Vec<(usize, Doubt)> = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let facts = &observation.facts;
            looked |= facts.syncs_dropped_by.is_some()
                || (facts.served_flushes.is_some() && facts.volatile_cache.is_some());
            doubts.extend(doubt(facts).map(|doubt| (index, doubt)));
        }
        let worst = doubts.iter().map(|(_, doubt)| doubt).max_by_key(|doubt| doubt.severity);
        let message = worst.map(|doubt| match doubt.severity {
            Severity::Note => format!("what was synced is not durable: {}", doubt.text),
            _ => format!("nothing that was synced is durable: {}", doubt.text),
        });
        let advice = worst.map_or("", |doubt| doubt.advice);
        let cases = doubts
            .into_iter()
            .map(|(index, doubt)| Case { index, severity: doubt.severity, text: doubt.text })
            .collect();
        outcome(looked, told(self, dataset, cases, message, advice))
    }
}

/// Why what was synced is not durable.
struct Doubt {
    severity: Severity,
    /// Half a sentence.
    text: String,
    /// What helps against it.
    advice: &'static str,
}

/// How often it syncs, which is how much faster that made it.
fn rate(facts: &Facts) -> String {
    let told = |rate| format!(", at {} syncs a second", Unit::Plain.format(rate));
    facts.syncs_per_second.map(told).unwrap_or_default()
}

/// What is doubtful of one observation.
fn doubt(facts: &Facts) -> Option<Doubt> {
    // What writes nothing has nothing to lose, and what never syncs was promised nothing.
    if facts.claimed_written_bytes == Some(0) || facts.flushed == Some(false) {
        return None;
    }
    if let Some(by) = &facts.syncs_dropped_by {
        let severity = if facts.flushed == Some(true) { Severity::Serious } else { Severity::Warning };
        return Some(Doubt {
            severity,
            text: format!("every fsync is dropped by {by}{}", rate(facts)),
            advice: "Work in a mounted directory or a named volume instead of the layer, or without `--rm` (Podman) or \
                     `volatile`; compare it with nothing that is durable.",
        });
    }
    let unserved = facts.served_flushes == Some(0) && facts.volatile_cache == Some(true);
    if let Some(by) = facts.flushes_off_by.as_ref().filter(|_| unserved) {
        // Chosen by name: nothing else dropped them.
        return Some(Doubt {
            severity: Severity::Note,
            text: format!(
                "flushes are off by {by}, and the device has a volatile cache: a power cut takes what was synced"
            ),
            advice: "Compare it with nothing that is durable, and leave barriers on where data must outlive a power cut.",
        });
    }
    (unserved && facts.flushed == Some(true)).then(|| Doubt {
        severity: Severity::Serious,
        text: "the device has a volatile cache, and completed no flush".to_owned(),
        advice: "Check that the filesystem sends flushes, or set the device's cache to write through; compare it with \
                 nothing that is durable.",
    })
}

#[cfg(test)]
mod tests {
    use iostone_model::dataset::Observation;

    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn synced(dropped: bool) -> Observation {
        let mut made = observation(&[("place", "layer")], &[("iops", 18_000.0)]);
        made.facts.claimed_written_bytes = Some(1 << 30);
        made.facts.flushed = Some(true);
        made.facts.syncs_dropped_by = dropped.then(|| "an overlay mounted volatile".to_owned());
        made
    }

    #[test]
    fn a_layer_that_drops_syncs_is_serious_where_the_work_syncs() {
        let found = only(&SyncDropped, &dataset(vec![synced(true)]));
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "nothing that was synced is durable: every fsync is dropped by an overlay mounted volatile"
        );
        assert!(found.advice.contains("named volume"), "{}", found.advice);
        let mut unknown = synced(true);
        unknown.facts.flushed = None;
        assert_eq!(only(&SyncDropped, &dataset(vec![unknown])).severity, Severity::Warning);
    }

    #[test]
    fn reads_and_work_that_never_syncs_lose_nothing() {
        let mut read = synced(true);
        read.facts.claimed_written_bytes = Some(0);
        let mut unsynced = synced(true);
        unsynced.facts.flushed = Some(false);
        assert!(findings(&SyncDropped, &dataset(vec![read, unsynced])).is_empty());
        assert!(silent(&SyncDropped, &dataset(vec![synced(false)])));
    }

    #[test]
    fn a_volatile_cache_without_a_flush_is_serious_and_a_cache_that_keeps_is_not() {
        let mut made = synced(false);
        (made.facts.served_flushes, made.facts.volatile_cache) = (Some(0), Some(true));
        let grave = only(&SyncDropped, &dataset(vec![made.clone()]));
        assert_eq!(grave.severity, Severity::Serious);
        assert!(grave.advice.contains("sends flushes"), "a bare disk has no layer: {}", grave.advice);
        made.facts.flushes_off_by = Some("the mount option `barrier=0`".to_owned());
        let mild = only(&SyncDropped, &dataset(vec![made.clone()]));
        assert_eq!(mild.severity, Severity::Note);
        assert!(mild.message.contains("off by the mount option `barrier=0`"), "{}", mild.message);
        made.facts.flushes_off_by = None;
        made.facts.volatile_cache = Some(false);
        assert!(findings(&SyncDropped, &dataset(vec![made.clone()])).is_empty());
        (made.facts.served_flushes, made.facts.volatile_cache) = (Some(18_342), Some(true));
        assert!(findings(&SyncDropped, &dataset(vec![made])).is_empty());
    }
}
