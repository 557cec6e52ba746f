//! Finds timed work that downloads: the network is in the figure.

mod words;

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};

use super::case::{Case, concluded, of_all};
use crate::Outcome;
use crate::rule::Rule;

/// A network inside the timed region.
pub(super) struct NetworkInside;

impl Rule for NetworkInside {
    fn name(&self) -> &'static str {
        "network-inside"
    }

    fn looks_for(&self) -> &'static str {
        "downloads within the timed part"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = 0usize;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let facts = &observation.facts;
            if facts.network.is_none() && facts.command.is_none() && facts.work.is_none() {
                continue;
            }
            looked += 1;
            if let Some(text) = evidence(observation) {
                cases.push(Case { index, severity: Severity::Warning, text });
            }
        }
        let rows = of_all(cases.len(), looked, "observation");
        let message = cases
            .first()
            .map(|case| format!("the network is inside the timed part ({}), in {rows}", case.text));
        concluded(
            looked > 0,
            self,
            dataset,
            cases,
            message,
            "Download before the clock starts, and time the rest from local files.",
        )
    }
}

/// What shows that the network takes part.
fn evidence(observation: &Observation) -> Option<String> {
    let facts = &observation.facts;
    if let Some(network) = &facts.network {
        return Some(network.clone());
    }
    let download = words::downloads(facts.command.as_deref().or(facts.work.as_deref())?)?;
    Some(format!("`{download}` downloads"))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn a_build_that_downloads_its_source_is_found_by_its_command() {
        let mut made = observation(&[("limit", "30 %")], &[("wall_time", 4503.4)]);
        made.facts.command = Some("cgexec -g cpu:limittest perlbrew install perl-5.18.2".to_owned());
        let found = only(&NetworkInside, &dataset(vec![made]));
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            found.message,
            "the network is inside the timed part (`perlbrew install` downloads), in 1 of 1 observation"
        );
    }

    #[test]
    fn what_is_known_of_a_network_is_passed_on() {
        let mut made = observation(&[], &[]);
        made.facts.network = Some("the author says that it downloads".to_owned());
        assert!(only(&NetworkInside, &dataset(vec![made])).message.contains("the author says"));
    }

    #[test]
    fn local_commands_are_clear_and_unknown_ones_not_looked_at() {
        let mut made = observation(&[], &[]);
        assert!(silent(&NetworkInside, &dataset(vec![made.clone()])));
        made.facts.command = Some("make -j4 all".to_owned());
        assert!(findings(&NetworkInside, &dataset(vec![made])).is_empty());
    }
}
