//! Finds reads of files that memory can hold: they show memory, not the device.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::units::{Bytes, three_digits};

use super::case::{Case, concluded};
use super::traffic;
use crate::Outcome;
use crate::rule::Rule;

/// bonnie++ asks for files of at least twice the memory, so that at most half of a read can come from there; it
/// counts whole MiB, and the kernel keeps some memory for itself.
const MEMORIES: f64 = 1.95;
/// From this share on the device did serve what was read, whatever memory could have held.
const SERVED: f64 = 0.9;

/// Files smaller than twice the memory.
pub(super) struct SmallFile;

/// What is known of the size that was worked on.
struct Size {
    bytes: u64,
    is_volume: bool,
}

impl Rule for SmallFile {
    fn name(&self) -> &'static str {
        "small-file"
    }

    fn looks_for(&self) -> &'static str {
        "buffered reads of files smaller than twice the machine's memory"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut worst: Option<(f64, String)> = None;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let facts = &observation.facts;
            let Some((size, memory)) = sizes(observation) else { continue };
            if !reads(dataset, observation) {
                continue;
            }
            looked = true;
            let share = size.bytes as f64 / memory as f64;
            if facts.direct == Some(true) || share >= MEMORIES || was_served(observation) {
                continue;
            }
            let what = if size.is_volume { "the volume" } else { "the files" };
            let ratio = three_digits(share);
            let (bytes, held) = (Bytes(size.bytes).approximate(), Bytes(memory).approximate());
            let severity = if share <= 1.0 { Severity::Serious } else { Severity::Warning };
            let text = format!("{what} of {bytes} against {held} of memory: {ratio} times");
            if worst.as_ref().is_none_or(|(so_far, _)| share < *so_far) {
                let most = if share <= 1.0 { "all" } else { "much" };
                let message = format!(
                    "{what} of {bytes} against {held} of memory ({ratio} times): {most} that is read can come from memory"
                );
                worst = Some((share, message));
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
            "Read with O_DIRECT, use files of at least twice the memory, or limit the memory that the test may use.",
        )
    }
}

/// The size worked on, or else the volume's, which is no smaller, and the memory.
fn sizes(observation: &Observation) -> Option<(Size, u64)> {
    let facts = &observation.facts;
    let memory = facts.memory_bytes.filter(|memory| *memory > 0)?;
    let size = match (facts.working_set_bytes, facts.volume_bytes) {
        (Some(bytes), _) => Size { bytes, is_volume: false },
        (None, Some(bytes)) => Size { bytes, is_volume: true },
        (None, None) => return None,
    };
    Some((size, memory))
}

/// Whether some of its figures are of reads, or may be.
fn reads(dataset: &Dataset, observation: &Observation) -> bool {
    traffic::rates(dataset, observation).any(|(_, _, traffic)| traffic.may_read())
}

fn was_served(observation: &Observation) -> bool {
    let facts = &observation.facts;
    match (facts.claimed_read_bytes, facts.served_read_bytes) {
        (Some(claimed), Some(served)) => served as f64 >= SERVED * claimed as f64,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn read(set: Option<u64>, memory: u64) -> Observation {
        let mut made = observation(&[("disks", "4")], &[("block_read", 1.1e9)]);
        made.facts.working_set_bytes = set.map(|gib| gib << 30);
        made.facts.memory_bytes = Some(memory << 30);
        made
    }

    #[test]
    fn files_that_memory_holds_are_serious_and_those_that_it_holds_half_a_warning() {
        let found = only(&SmallFile, &dataset(vec![read(Some(15), 15), read(Some(20), 15)]));
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "the files of 15.0 GiB against 15.0 GiB of memory (1.00 times): all that is read can come from memory"
        );
        assert_eq!(only(&SmallFile, &dataset(vec![read(Some(20), 15)])).severity, Severity::Warning);
    }

    #[test]
    fn a_volume_too_small_for_such_a_file_is_found_where_the_files_size_is_unknown() {
        let mut made = read(None, 34);
        assert!(silent(&SmallFile, &dataset(vec![made.clone()])));
        made.facts.volume_bytes = Some(15 << 30);
        assert!(only(&SmallFile, &dataset(vec![made])).evidence[0].contains("the volume of 15.0 GiB"));
    }

    #[test]
    fn large_files_direct_reads_and_reads_that_were_served_are_clear() {
        let large = read(Some(31), 15);
        let mut direct = read(Some(1), 15);
        direct.facts.direct = Some(true);
        let mut served = read(Some(1), 15);
        served.facts.claimed_read_bytes = Some(1 << 30);
        served.facts.served_read_bytes = Some(1 << 30);
        assert!(findings(&SmallFile, &dataset(vec![large, direct, served])).is_empty());
    }

    #[test]
    fn writes_alone_are_no_matter_of_this_rule() {
        let mut made = read(Some(1), 15);
        made.figures = [("block_write".to_owned(), 1e8.into())].into();
        assert!(silent(&SmallFile, &dataset(vec![made])));
    }
}
