//! Passes on what tools complained of and what is doubtful in their own arithmetic.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::case::{Case, of_all, outcome, told};
use crate::Outcome;
use crate::rule::Rule;

/// So many notes at most.
const MOST_NOTES: usize = 5;

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
        let mut kinds = kinds(dataset);
        let any = !kinds.is_empty();
        // The commonest have a note of their own, the others share the last.
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.len()));
        let rest = if kinds.len() > MOST_NOTES { kinds.split_off(MOST_NOTES - 1) } else { Vec::new() };
        let mut findings: Vec<Finding> = kinds.iter().flat_map(|kind| self.tell(dataset, kind, "")).collect();
        let others: Vec<(usize, &str)> = rest.iter().flatten().copied().collect();
        let more = format!(", and {} remarks of other kinds", rest.len().saturating_sub(1));
        findings.extend(self.tell(dataset, &others, &more));
        let read = dataset.observations.iter().any(|observation| !observation.tool.is_empty());
        outcome(read || any, findings)
    }
}

impl Remarks {
    /// Tells remarks as one note by the first of them.
    fn tell(&self, dataset: &Dataset, remarks: &[(usize, &str)], more: &str) -> Vec<Finding> {
        let Some((_, first)) = remarks.first() else { return Vec::new() };
        let rows: BTreeSet<usize> = remarks.iter().map(|(index, _)| *index).collect();
        let differ = more.is_empty() && remarks.iter().any(|(_, remark)| remark != first);
        let message = format!(
            "{}{}{more}, in {}",
            first.trim_end_matches('.'),
            if differ { " (or other numbers)" } else { "" },
            of_all(rows.len(), dataset.observations.len(), "observation")
        );
        let cases = remarks.iter().map(|(index, remark)| Case {
            index: *index,
            severity: Severity::Note,
            text: (*remark).to_owned(),
        });
        told(self, dataset, cases.collect(), message, "Read the figures concerned with this in mind.")
    }
}

/// Remarks with the places of their rows, those together that differ in their numbers only.
fn kinds(dataset: &Dataset) -> Vec<Vec<(usize, &str)>> {
    let mut kinds: BTreeMap<String, Vec<(usize, &str)>> = BTreeMap::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        for remark in &observation.facts.remarks {
            kinds.entry(without_numbers(remark)).or_default().push((index, remark));
        }
    }
    kinds.into_values().collect()
}

/// A remark with `#` for each of its numbers.
fn without_numbers(remark: &str) -> String {
    let mut text = String::new();
    for letter in remark.chars() {
        match letter {
            '0'..='9' | '.' | ',' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            other => text.push(other),
        }
    }
    text
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
        let rows = (0..1000).map(|index| {
            let mut row = observation(&[], &[]);
            row.facts.remarks = vec![
                format!("{index} of {}.5 reads were short", index * 7),
                format!("complaint {}", char::from(b'a' + u8::try_from(index % 20).unwrap())),
            ];
            row
        });
        let Outcome::Looked(found) = Remarks.look(&dataset(rows.collect())) else { panic!("it looked") };
        assert_eq!(found.len(), MOST_NOTES);
        assert_eq!(
            found[0].message,
            "0 of 0.5 reads were short (or other numbers), in 1000 of 1000 observations"
        );
        assert!(found[4].message.contains("and 16 remarks of other kinds"), "{}", found[4].message);
        assert!(silent(&Remarks, &dataset(vec![observation(&[], &[])])));
    }
}
