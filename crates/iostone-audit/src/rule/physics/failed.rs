//! Finds figures of executions that failed.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Ending};

use super::case::{Case, concluded, of_all};
use crate::Outcome;
use crate::rule::Rule;

/// More of an error than this tells nobody more.
const SHOWN: usize = 120;

/// A tool's error.
pub(super) struct Failed;

impl Rule for Failed {
    fn name(&self) -> &'static str {
        "tool-error"
    }

    fn looks_for(&self) -> &'static str {
        "figures of executions whose tool reported an error"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let known =
            dataset.observations.iter().filter(|observation| observation.facts.ending.is_some()).count();
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(Ending::Failed(why)) = &observation.facts.ending else { continue };
            // Without a figure nothing can be concluded from it anyway.
            let severity = if observation.figures.is_empty() { Severity::Warning } else { Severity::Serious };
            let mut shown: String = why.trim().chars().take(SHOWN).collect();
            if shown.len() < why.trim().len() {
                shown.push('…');
            }
            cases.push(Case { index, severity, text: format!("the tool failed: {shown}") });
        }
        let rows = of_all(cases.len(), known, "observation");
        let message = format!("the tool reported an error in {rows}: what it measured is not what was asked");
        concluded(
            known > 0,
            self,
            dataset,
            cases,
            message,
            "Leave failed executions out, and repeat them once the cause is mended.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn a_failed_execution_with_figures_is_serious_and_without_a_warning() {
        let mut made = observation(&[], &[("iops", 1.0)]);
        made.facts.ending = Some(Ending::Failed("Child failed with status 1".to_owned()));
        let found = only(&Failed, &dataset(vec![made.clone()]));
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(found.evidence, ["made-up.csv: the tool failed: Child failed with status 1"]);
        made.figures.clear();
        assert_eq!(only(&Failed, &dataset(vec![made])).severity, Severity::Warning);
    }

    #[test]
    fn other_endings_are_clear_and_unknown_ones_not_looked_at() {
        let mut made = observation(&[], &[("iops", 1.0)]);
        assert!(silent(&Failed, &dataset(vec![made.clone()])));
        made.facts.ending = Some(Ending::DiskFull);
        assert!(findings(&Failed, &dataset(vec![made])).is_empty());
    }
}
