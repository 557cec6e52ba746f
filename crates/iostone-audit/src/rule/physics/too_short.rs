//! Notes rates that were taken over less than a second.

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;
use iostone_model::metric::Unit;

use super::case::{Case, concluded, of_all};
use super::traffic;
use crate::Outcome;
use crate::rule::Rule;

/// Bursts, device caches and the journal's commit interval (5 s on ext4) are longer than this.
const SHORTEST_SECONDS: f64 = 1.0;

/// Rates over an instant.
pub(super) struct TooShort;

impl Rule for TooShort {
    fn name(&self) -> &'static str {
        "too-short"
    }

    fn looks_for(&self) -> &'static str {
        "rates taken over less than a second"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let timed: Vec<(usize, f64)> = dataset
            .observations
            .iter()
            .enumerate()
            .filter(|(_, observation)| traffic::rates(dataset, observation).next().is_some())
            .filter_map(|(index, observation)| Some((index, traffic::seconds(observation)?)))
            .collect();
        let short: Vec<_> = timed.iter().filter(|(_, seconds)| *seconds < SHORTEST_SECONDS).collect();
        let rows = of_all(short.len(), timed.len(), "observation");
        let shortest = short.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
        let message =
            format!("a rate was taken over as little as {}, in {rows}", Unit::Seconds.format(shortest));
        let cases = short.iter().map(|(index, seconds)| Case {
            index: *index,
            severity: Severity::Note,
            text: format!("it was over after {}", Unit::Seconds.format(*seconds)),
        });
        concluded(
            !timed.is_empty(),
            self,
            dataset,
            cases.collect(),
            message,
            "Measure for ten seconds or more, so that bursts and caches do not make the figure.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn a_rate_over_less_than_a_second_is_noted() {
        let short = observation(&[], &[("throughput", 1e9), ("wall_time", 0.31)]);
        let found = only(&TooShort, &dataset(vec![short]));
        assert_eq!(found.severity, Severity::Note);
        assert_eq!(found.message, "a rate was taken over as little as 310 ms, in 1 of 1 observation");
    }

    #[test]
    fn longer_ones_are_clear_and_times_alone_no_matter_of_it() {
        let long = observation(&[], &[("throughput", 1e9), ("wall_time", 31.0)]);
        assert!(findings(&TooShort, &dataset(vec![long])).is_empty());
        assert!(silent(&TooShort, &dataset(vec![observation(&[], &[("wall_time", 0.1)])])));
    }
}
