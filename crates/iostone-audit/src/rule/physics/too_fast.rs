//! Finds phases that a tool was too fast to time.

use std::collections::BTreeMap;

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;
use iostone_model::metric::{self, Unit};

use super::case::{Case, outcome, told};
use crate::Outcome;
use crate::rule::Rule;

/// Phases too fast to time.
pub(super) struct TooFast;

impl Rule for TooFast {
    fn name(&self) -> &'static str {
        "too-fast"
    }

    fn looks_for(&self) -> &'static str {
        "phases that the tool found too fast to time"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let phases = &observation.facts.too_fast;
            if phases.is_empty() {
                continue;
            }
            for phase in phases {
                *counts.entry(phase).or_default() += 1;
            }
            // Files of data that pass in no time were in memory; empty files often are made that fast.
            let data = phases.iter().any(|phase| moves_data(dataset, phase));
            let severity = if data { Severity::Warning } else { Severity::Note };
            cases.push(Case { index, severity, text: format!("no figure for {}", phases.join(", ")) });
        }
        let named: Vec<&str> = counts.keys().copied().collect();
        let message = format!(
            "{} {} over too fast to time: there is no figure, only that memory or too little work was measured",
            named.join(", "),
            if named.len() == 1 { "was" } else { "were" }
        );
        let findings = told(
            self,
            dataset,
            cases,
            message,
            "Give these phases more to do: larger files, or more of them.",
        );
        // Nothing tells whether a tool would have said so; figures of a tool at all are what there is to look at.
        outcome(
            dataset.observations.iter().any(|observation| !observation.tool.is_empty())
                || !findings.is_empty(),
            findings,
        )
    }
}

fn moves_data(dataset: &Dataset, phase: &str) -> bool {
    let unit = metric::find(phase).map_or_else(|| dataset.unit_of(phase), |known| known.unit);
    unit == Unit::BytesPerSecond || phase.contains("seek")
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn data_too_fast_to_time_is_doubted_and_empty_files_noted() {
        let mut made = observation(&[], &[]);
        made.facts.too_fast = vec!["block_read".to_owned(), "random_seeks".to_owned()];
        let found = only(&TooFast, &dataset(vec![made.clone()]));
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.message.starts_with("block_read, random_seeks were over too fast"));
        made.facts.too_fast = vec!["sequential_create".to_owned()];
        assert_eq!(only(&TooFast, &dataset(vec![made])).severity, Severity::Note);
    }

    #[test]
    fn a_tool_that_timed_all_is_clear() {
        let mut made = observation(&[], &[("block_read", 1e8)]);
        assert!(silent(&TooFast, &dataset(vec![made.clone()])));
        made.tool = "bonnie".to_owned();
        assert!(findings(&TooFast, &dataset(vec![made])).is_empty());
    }
}
