//! Finds rewriting that is faster than writing, although it reads the same bytes first.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};

use super::case::{Case, concluded, of_all, times};
use crate::Outcome;
use crate::rule::Rule;

/// Less than this beyond the printed digits may be noise between two phases.
const WARNED: f64 = 1.02;

/// Rewrite above write.
pub(super) struct RewriteFaster;

impl Rule for RewriteFaster {
    fn name(&self) -> &'static str {
        "rewrite-faster"
    }

    fn looks_for(&self) -> &'static str {
        "rewriting faster than writing, although each rewrite reads as well"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = 0usize;
        let mut worst: Option<(f64, String)> = None;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            for (rewrite, write) in pairs(observation) {
                let (Some(again), Some(first)) =
                    (observation.figures.get(rewrite), observation.figures.get(write))
                else {
                    continue;
                };
                if first.value <= 0.0 {
                    continue;
                }
                looked += 1;
                let least = (again.value - again.step / 2.0) / (first.value + first.step / 2.0);
                if least <= 1.0 {
                    continue;
                }
                let ratio = again.value / first.value;
                let unit = dataset.unit_of(rewrite);
                let text = format!(
                    "{rewrite} {}, {} {write} {}",
                    unit.format(again.value),
                    times(ratio),
                    unit.format(first.value)
                );
                if worst.as_ref().is_none_or(|(so_far, _)| ratio > *so_far) {
                    worst = Some((ratio, text.clone()));
                }
                let severity = if least > WARNED { Severity::Warning } else { Severity::Note };
                cases.push(Case { index, severity, text });
            }
        }
        let rows = of_all(cases.len(), looked, "row");
        let message = worst.map(|(_, text)| {
            format!("rewriting reads all that it writes and yet is faster than writing ({text}), in {rows}")
        });
        concluded(
            looked > 0,
            self,
            dataset,
            cases,
            message,
            "Write every block of the volume once before measuring (a fresh volume is slow at first touch), and \
             use files of at least twice the memory.",
        )
    }
}

/// The figures of rewriting, each with that of writing the same way.
fn pairs(observation: &Observation) -> Vec<(&str, &str)> {
    let names = || observation.figures.keys().map(String::as_str);
    let known = |wanted: &str| names().find(|name| *name == wanted);
    names()
        .filter_map(|name| match name {
            "rewrite" => known("block_write").or_else(|| known("write")).map(|write| (name, write)),
            "block_rewrite" => known("block_write").map(|write| (name, write)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn rewriting_faster_than_writing_is_found_with_its_ratio() {
        let set = dataset(vec![
            observation(&[("disks", "1")], &[("block_write", 40_685e3), ("rewrite", 47_039e3)]),
            observation(&[("disks", "2")], &[("block_write", 78_498e3), ("rewrite", 75_381e3)]),
        ]);
        let found = only(&RewriteFaster, &set);
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            found.message,
            "rewriting reads all that it writes and yet is faster than writing (rewrite 47.0 MB/s, 15.6 % above \
             block_write 40.7 MB/s), in 1 of 2 rows"
        );
        assert_eq!(found.observations, [0]);
    }

    #[test]
    fn a_difference_within_the_printed_digits_is_clear_and_a_small_one_a_note() {
        let mut set = dataset(vec![observation(&[], &[("block_write", 70_917e3), ("rewrite", 71_262e3)])]);
        assert_eq!(only(&RewriteFaster, &set).severity, Severity::Note);
        for figure in set.observations[0].figures.values_mut() {
            figure.step = 1e6;
        }
        assert!(findings(&RewriteFaster, &set).is_empty());
        assert!(silent(&RewriteFaster, &dataset(vec![observation(&[], &[("rewrite", 1.0)])])));
    }
}
