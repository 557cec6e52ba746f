//! Finds data that storage need not store or read: zeros, holes, the same blocks over and over.

use iostone_model::audit::Severity;
use iostone_model::dataset::{DataKind, Dataset, Observation};

use super::case::{Case, concluded};
use crate::Outcome;
use crate::rule::Rule;

/// From this share on the device did move what the tool claims, so that at least nothing above it saw through the data.
const SERVED: f64 = 0.9;

/// Data of zeros or sparse files.
pub(super) struct ZeroData;

impl Rule for ZeroData {
    fn name(&self) -> &'static str {
        "zero-data"
    }

    fn looks_for(&self) -> &'static str {
        "data of zeros, sparse files or repeated blocks, which storage may never store or read"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(kind) = kind(observation) else { continue };
            looked = true;
            let text = match kind {
                DataKind::Random => continue,
                DataKind::Zeros => "data of zeros: it compresses to nothing, and may be stored as nothing",
                DataKind::Sparse => "blocks never written: reads of them need not reach a device",
                DataKind::Compressible => {
                    "data that is zeros by half or more: it compresses to half or less, and storage that \
                                           compresses moves less of it"
                }
                DataKind::Repeated => "the same blocks over and over: they may be stored once",
            };
            let severity = match kind {
                _ if was_served(observation) => Severity::Note,
                DataKind::Compressible => Severity::Note,
                DataKind::Sparse => Severity::Serious,
                _ => Severity::Warning,
            };
            let from = observation.facts.source.as_ref().map(|source| format!(", from {source}"));
            cases.push(Case { index, severity, text: format!("{text}{}", from.unwrap_or_default()) });
        }
        let worst = cases.iter().max_by_key(|case| case.severity);
        let message = worst.map(|case| format!("the device was given {}", case.text));
        concluded(
            looked,
            self,
            dataset,
            cases,
            message,
            "Fill the files with incompressible data before reading them, and write such data.",
        )
    }
}

/// What the data is: as told, else by its source.
fn kind(observation: &Observation) -> Option<DataKind> {
    let facts = &observation.facts;
    facts.data.or_else(|| match facts.source.as_deref()?.trim_start_matches("if=") {
        "/dev/zero" => Some(DataKind::Zeros),
        "/dev/urandom" | "/dev/random" => Some(DataKind::Random),
        _ => None,
    })
}

fn was_served(observation: &Observation) -> bool {
    let facts = &observation.facts;
    let written = facts.claimed_written_bytes.zip(facts.served_written_bytes);
    let read = facts.claimed_read_bytes.zip(facts.served_read_bytes);
    // Of what was written it is known that it was stored; without writes, that reads were answered by the device.
    let counts = written.filter(|(claimed, _)| *claimed > 0).or(read);
    counts.is_some_and(|(claimed, served)| claimed > 0 && served as f64 >= SERVED * claimed as f64)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn with(data: Option<DataKind>, source: Option<&str>) -> Observation {
        let mut made = observation(&[("mix", "read")], &[("iops", 900.0)]);
        made.facts.data = data;
        made.facts.source = source.map(str::to_owned);
        made
    }

    #[test]
    fn zeros_are_found_by_kind_and_by_source() {
        let found = only(&ZeroData, &dataset(vec![with(Some(DataKind::Zeros), None)]));
        assert_eq!(found.severity, Severity::Warning);
        let found = only(&ZeroData, &dataset(vec![with(None, Some("/dev/zero"))]));
        assert_eq!(
            found.message,
            "the device was given data of zeros: it compresses to nothing, and may be stored as nothing, from /dev/zero"
        );
        let sparse = only(&ZeroData, &dataset(vec![with(Some(DataKind::Sparse), None)]));
        assert_eq!(sparse.severity, Severity::Serious);
    }

    #[test]
    fn zeros_that_the_device_did_serve_are_a_note() {
        let mut made = with(Some(DataKind::Zeros), None);
        made.facts.claimed_written_bytes = Some(1000);
        made.facts.served_written_bytes = Some(1010);
        assert_eq!(only(&ZeroData, &dataset(vec![made])).severity, Severity::Note);
    }

    #[test]
    fn random_data_is_clear_and_unknown_data_not_looked_at() {
        assert!(findings(&ZeroData, &dataset(vec![with(Some(DataKind::Random), None)])).is_empty());
        assert!(findings(&ZeroData, &dataset(vec![with(None, Some("/dev/urandom"))])).is_empty());
        assert!(silent(&ZeroData, &dataset(vec![with(None, None), with(None, Some("file"))])));
    }
}
