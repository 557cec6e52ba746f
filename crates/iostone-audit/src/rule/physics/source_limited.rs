//! Finds writes that may have waited for the source of their data rather than for the device.

use iostone_model::audit::Severity;
use iostone_model::ceiling::NEAR_SOURCE;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;

use super::case::{Case, concluded, percent};
use super::traffic;
use crate::Outcome;
use crate::rule::Rule;

/// Another observation that got this much more out of the same source shows that the source was not the limit.
const FASTER: f64 = 1.25;

/// A source that is as slow as the result.
pub(super) struct SourceLimited;

impl Rule for SourceLimited {
    fn name(&self) -> &'static str {
        "source-limited"
    }

    fn looks_for(&self) -> &'static str {
        "throughput no higher than the data's own source may give, such as /dev/urandom"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(rate) = rate(dataset, observation) else { continue };
            let source = observation.facts.source.as_deref();
            let name = source.unwrap_or("the source");
            let got = Unit::BytesPerSecond.format(rate);
            if let Some(limit) = observation.facts.source_bytes_per_second.filter(|limit| *limit > 0.0) {
                looked = true;
                if rate >= (1.0 - NEAR_SOURCE) * limit {
                    let limit_text = Unit::BytesPerSecond.format(limit);
                    let share = percent(rate / limit);
                    let text = format!("throughput {got} is {share} of the {limit_text} that {name} gives");
                    cases.push(Case { index, severity: Severity::Warning, text });
                }
            } else if source.is_some_and(is_generator) {
                looked = true;
                if !shown_faster(dataset, observation, rate) {
                    let text =
                        format!("throughput {got} is not known to be below what {name} gives by itself");
                    cases.push(Case { index, severity: Severity::Warning, text });
                }
            }
        }
        let message = cases.first().map(|case| format!("{}: the source may be the limit", case.text));
        concluded(
            looked,
            self,
            dataset,
            cases,
            message,
            "Measure the source alone (`dd if=SOURCE of=/dev/null bs=1M`), or write from a file prepared in memory.",
        )
    }
}

/// Its rate of writing.
fn rate(dataset: &Dataset, observation: &Observation) -> Option<f64> {
    traffic::rates(dataset, observation)
        .filter(|(metric, _, traffic)| dataset.unit_of(metric) == Unit::BytesPerSecond && traffic.may_write())
        .map(|(_, rate, _)| rate)
        .max_by(f64::total_cmp)
}

/// A device of the kernel that computes its data: some hundred MB/s at most for the random ones (and 10 to 20 MB/s
/// before Linux 4.8). `/dev/zero` costs next to nothing.
fn is_generator(source: &str) -> bool {
    matches!(source.trim_start_matches("if="), "/dev/urandom" | "/dev/random")
}

/// Whether the same source gave much more to another observation.
fn shown_faster(dataset: &Dataset, observation: &Observation, own: f64) -> bool {
    let mut others =
        dataset.observations.iter().filter(|other| other.facts.source == observation.facts.source);
    others.any(|other| rate(dataset, other).is_some_and(|rate| rate >= FASTER * own))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn dd(rate: f64, source: Option<&str>, alone: Option<f64>) -> Observation {
        let mut made = observation(&[("instance", "a")], &[("throughput", rate)]);
        made.facts.source = source.map(str::to_owned);
        made.facts.source_bytes_per_second = alone;
        made
    }

    #[test]
    fn an_unmeasured_random_source_is_doubted_only_where_it_was_not_seen_faster() {
        let set =
            dataset(vec![dd(61.7e6, Some("/dev/urandom"), None), dd(171e6, Some("/dev/urandom"), None)]);
        let found = only(&SourceLimited, &set);
        assert_eq!((found.severity, found.observations.as_slice()), (Severity::Warning, [1].as_slice()));
        assert!(
            found.message.starts_with("throughput 171 MB/s is not known to be below what /dev/urandom gives")
        );
    }

    #[test]
    fn a_measured_source_is_doubted_within_ten_percent() {
        let found = only(&SourceLimited, &dataset(vec![dd(171e6, Some("/dev/urandom"), Some(180e6))]));
        assert!(found.message.contains("95.0 % of the 180 MB/s"), "{}", found.message);
        assert!(
            findings(&SourceLimited, &dataset(vec![dd(61e6, Some("/dev/urandom"), Some(180e6))])).is_empty()
        );
    }

    #[test]
    fn zeros_and_files_are_not_looked_at() {
        let set = dataset(vec![
            dd(1e9, Some("/dev/zero"), None),
            dd(1e9, Some("big.iso"), None),
            dd(1e9, None, None),
        ]);
        assert!(silent(&SourceLimited, &set));
    }
}
