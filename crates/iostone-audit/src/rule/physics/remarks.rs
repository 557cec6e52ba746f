//! Passes on what tools complained of and what is doubtful in their own arithmetic.

use std::collections::BTreeMap;

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;

use super::case::{Case, of_all, outcome, told};
use crate::Outcome;
use crate::rule::Rule;

/// What tools remarked.
pub(super) struct Remarks;

impl Rule for Remarks {
    fn name(&self) -> &'static str {
        "tool-remarks"
    }

    fn looks_for(&self) -> &'static str {
        "what the tools themselves complained of, or are known to get wrong"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut by_remark: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            for remark in &observation.facts.remarks {
                by_remark.entry(remark).or_default().push(index);
            }
        }
        let all = dataset.observations.len();
        let findings = by_remark.iter().flat_map(|(remark, indices)| {
            let cases = indices.iter().map(|index| Case {
                index: *index,
                severity: Severity::Note,
                text: (*remark).to_owned(),
            });
            let message =
                format!("{}, in {}", remark.trim_end_matches('.'), of_all(indices.len(), all, "observation"));
            told(self, dataset, cases.collect(), message, "Read the figures concerned with this in mind.")
        });
        let findings = findings.collect();
        let read = dataset.observations.iter().any(|observation| !observation.tool.is_empty());
        outcome(read || !by_remark.is_empty(), findings)
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, observation, silent};
    use super::*;

    #[test]
    fn each_remark_is_told_once_with_its_rows() {
        let mut one = observation(&[], &[]);
        one.facts.remarks = vec!["the clock went backwards.".to_owned()];
        let set = dataset(vec![one.clone(), one, observation(&[], &[])]);
        let Outcome::Looked(found) = Remarks.look(&set) else { panic!("it looked") };
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "the clock went backwards, in 2 of 3 observations");
        assert!(silent(&Remarks, &dataset(vec![observation(&[], &[])])));
    }
}
