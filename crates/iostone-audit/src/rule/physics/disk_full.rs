//! Finds work that the full disk cut short.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Ending, Observation};

use super::case::{Case, concluded, of_all, size};
use super::traffic;
use crate::Outcome;
use crate::rule::Rule;

/// A disk filled before the end.
pub(super) struct DiskFull;

impl Rule for DiskFull {
    fn name(&self) -> &'static str {
        "disk-full"
    }

    fn looks_for(&self) -> &'static str {
        "work that ended because the disk was full"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let endings =
            || dataset.observations.iter().filter_map(|observation| observation.facts.ending.as_ref());
        let known = endings().count();
        // Some did all of it and some did not: they are not the same work.
        let uneven = endings().any(|ending| *ending == Ending::Completed);
        let severity = if uneven { Severity::Serious } else { Severity::Warning };
        let cases: Vec<Case> = dataset
            .observations
            .iter()
            .enumerate()
            .filter(|(_, observation)| observation.facts.ending == Some(Ending::DiskFull))
            .map(|(index, observation)| Case { index, severity, text: text(dataset, observation) })
            .collect();
        let rows = of_all(cases.len(), known, "observation");
        let but = if uneven { ", while others did all of their work" } else { "" };
        let message = format!(
            "the disk was full before the end, in {rows}{but}: the run ended by filling it, not by finishing"
        );
        concluded(
            known > 0,
            self,
            dataset,
            cases,
            message,
            "Write less than the filesystem has room for, so that every run does the same amount of work.",
        )
    }
}

fn text(dataset: &Dataset, observation: &Observation) -> String {
    let Some(written) = traffic::written(dataset, observation) else {
        return "ended with the disk full".to_owned();
    };
    let asked = dataset.predictions.iter().filter(|prediction| prediction.is_about(observation));
    let asked =
        asked.filter_map(|prediction| prediction.amount.as_ref()).find(|amount| amount.value > written);
    match asked {
        Some(amount) => format!(
            "ended with the disk full after {} of {} ({})",
            size(written),
            amount.text,
            size(amount.value)
        ),
        None => format!("ended with the disk full after {}", size(written)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, prediction, silent};
    use super::*;

    fn ended(ending: Option<Ending>) -> Observation {
        let mut made = observation(&[("instance", "a")], &[("wall_time", 3763.15)]);
        made.facts.claimed_written_bytes = Some(232_303_771_648);
        made.facts.ending = ending;
        made
    }

    #[test]
    fn a_full_disk_is_told_with_what_was_written_of_what_was_asked() {
        let mut set = dataset(vec![ended(Some(Ending::DiskFull))]);
        set.predictions = vec![prediction("wall_time", "59min", Some("220GiB"), None)];
        let found = only(&DiskFull, &set);
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            found.evidence,
            ["made-up.csv (instance=a): ended with the disk full after 232 GB of 220GiB (236 GB)"]
        );
    }

    #[test]
    fn it_is_serious_where_others_did_all_of_their_work() {
        let set = dataset(vec![ended(Some(Ending::DiskFull)), ended(Some(Ending::Completed))]);
        assert_eq!(only(&DiskFull, &set).severity, Severity::Serious);
    }

    #[test]
    fn completed_work_is_clear_and_unknown_endings_not_looked_at() {
        assert!(findings(&DiskFull, &dataset(vec![ended(Some(Ending::Completed))])).is_empty());
        assert!(silent(&DiskFull, &dataset(vec![ended(None)])));
    }
}
