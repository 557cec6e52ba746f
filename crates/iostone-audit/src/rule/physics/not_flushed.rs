//! Finds writes whose clock stopped before the data was on the device.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::units::Bytes;

use super::case::{Case, concluded, percent, size, whole_percent};
use super::traffic::{self, DIRTY_SHARE};
use crate::Outcome;
use crate::rule::Rule;

/// What could have been left in memory, as a share of all that was written, from where on it is doubtful.
const WARNED: f64 = 0.02;
/// From where on the figure is memory's rather than the device's.
const GRAVE: f64 = 0.20;

/// Buffered writes without a flush.
pub(super) struct NotFlushed;

impl Rule for NotFlushed {
    fn name(&self) -> &'static str {
        "not-flushed"
    }

    fn looks_for(&self) -> &'static str {
        "buffered writes that were not flushed before the clock was stopped"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut worst: Option<(f64, String)> = None;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(flushed) = observation.facts.flushed.filter(|_| writes(dataset, observation)) else {
                continue;
            };
            looked = true;
            if flushed || observation.facts.direct == Some(true) {
                continue;
            }
            let (share, text) = unwritten(dataset, observation);
            let severity = match share {
                None => Severity::Warning,
                Some(share) if share >= GRAVE => Severity::Serious,
                Some(share) if share >= WARNED => Severity::Warning,
                Some(_) => Severity::Note,
            };
            let rank = share.unwrap_or(WARNED);
            if worst.as_ref().is_none_or(|(so_far, _)| rank > *so_far) {
                let message = format!("the clock stopped before the data was on the device: {text}");
                worst = Some((rank, message));
            }
            cases.push(Case { index, severity, text });
        }
        let message = worst.map(|(_, message)| message);
        concluded(
            looked,
            self,
            dataset,
            cases,
            message,
            "Flush within the timed part: `conv=fdatasync` for dd, `end_fsync=1` for fio, or write with O_DIRECT.",
        )
    }
}

fn writes(dataset: &Dataset, observation: &Observation) -> bool {
    traffic::rates(dataset, observation).any(|(_, _, traffic)| traffic.may_write())
}

/// What could have been left in memory, as a share of what was written, and how to say so.
fn unwritten(dataset: &Dataset, observation: &Observation) -> (Option<f64>, String) {
    let written = traffic::written(dataset, observation);
    let memory = observation.facts.memory_bytes.filter(|memory| *memory > 0);
    match (written, memory) {
        (Some(written), Some(memory)) => {
            let most = memory as f64 * DIRTY_SHARE;
            let left = most.min(written);
            let share = left / written;
            let text = if most < written {
                format!(
                    "up to {} of the {} written ({} of memory of {}) may still have been in the page cache: {}",
                    size(left),
                    size(written),
                    whole_percent(DIRTY_SHARE),
                    Bytes(memory).approximate(),
                    percent(share),
                )
            } else {
                format!("all of the {} written may still have been in the page cache", size(written))
            };
            (Some(share), text)
        }
        (Some(written), None) => {
            (None, format!("how much of the {} was still in memory is unknown", size(written)))
        }
        (None, _) => (None, "how much of it was still in memory is unknown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn written(gib: u64, memory_gib: u64) -> Observation {
        let mut made = observation(&[("instance", "a")], &[("throughput", 61.7e6)]);
        made.facts.claimed_written_bytes = Some(gib << 30);
        made.facts.memory_bytes = Some(memory_gib << 30);
        made.facts.flushed = Some(false);
        made
    }

    #[test]
    fn severity_goes_by_what_memory_could_hold() {
        let severity = |gib, memory| only(&NotFlushed, &dataset(vec![written(gib, memory)])).severity;
        assert_eq!(severity(1, 16), Severity::Serious);
        assert_eq!(severity(216, 30), Severity::Warning);
        assert_eq!(severity(216, 4), Severity::Note);
        let found = only(&NotFlushed, &dataset(vec![written(216, 30)]));
        assert_eq!(
            found.message,
            "the clock stopped before the data was on the device: up to 6.44 GB of the 232 GB written (20 % of memory of \
             30.0 GiB) may still have been in the page cache: 2.78 %"
        );
    }

    #[test]
    fn with_memory_or_amount_unknown_it_is_a_warning() {
        let mut made = written(1, 1);
        made.facts.memory_bytes = None;
        assert_eq!(only(&NotFlushed, &dataset(vec![made.clone()])).severity, Severity::Warning);
        made.facts.claimed_written_bytes = None;
        assert_eq!(only(&NotFlushed, &dataset(vec![made])).severity, Severity::Warning);
    }

    #[test]
    fn flushed_or_direct_writes_are_clear_and_reads_no_matter_of_it() {
        let mut flushed = written(1, 16);
        flushed.facts.flushed = Some(true);
        let mut direct = written(1, 16);
        direct.facts.direct = Some(true);
        assert!(findings(&NotFlushed, &dataset(vec![flushed, direct])).is_empty());
        let mut read = written(1, 16);
        read.facts.claimed_written_bytes = None;
        read.facts.claimed_read_bytes = Some(1 << 30);
        let mut unknown = written(1, 16);
        unknown.facts.flushed = None;
        assert!(silent(&NotFlushed, &dataset(vec![read, unknown])));
    }
}
