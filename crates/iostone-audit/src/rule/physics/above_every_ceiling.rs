//! Finds figures that no way through the machine's link and volumes carries, by the catalogue of their date.

use iostone_cloud::catalogue;
use iostone_cloud::explain::{Known, Overrides, known_of};
use iostone_model::audit::{Finding, Severity};
use iostone_model::cloud::CeilingKind;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::explanation::{ExcessCause, ExplainedFigure, HeldState};

use super::case::{Case, of_all, outcome, title, told};
use super::traffic;
use crate::Outcome;
use crate::explain::held;
use crate::rule::Rule;

/// Figures above the ceilings of their path.
pub(super) struct AboveEveryCeiling;

impl Rule for AboveEveryCeiling {
    fn name(&self) -> &'static str {
        "above-every-ceiling"
    }

    fn looks_for(&self) -> &'static str {
        "figures that the link and the volumes of the instance cannot carry even at their best, by the catalogue of their \
         date, and that neither memory nor credits account for"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = 0usize;
        let mut worst: Option<(f64, String)> = None;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(known) = named(observation) else { continue };
            for (metric, value, _) in traffic::rates(dataset, observation) {
                let (Some(figure), _) = held(catalogue(), dataset, observation, &known, metric, value) else {
                    continue;
                };
                let Some(times) = narrowest(&figure).map(|at_best| value / at_best) else { continue };
                looked += 1;
                if !is_beyond(&figure) {
                    continue;
                }
                if worst.as_ref().is_none_or(|(so_far, _)| times > *so_far) {
                    worst = Some((times, format!("{}: {}", title(dataset, metric), figure.sentence)));
                }
                cases.push((times, Case { index, severity: Severity::Serious, text: figure.sentence }));
            }
        }
        cases.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let count = of_all(cases.len(), looked, "figure");
        let message = worst.map(|(_, message)| message).unwrap_or_default();
        let message = if cases.len() > 1 {
            format!("{message}; {count} are above what their path carries")
        } else {
            message
        };
        let findings: Vec<Finding> = told(
            self,
            dataset,
            cases.into_iter().map(|(_, case)| case).collect(),
            message,
            "Do not take such a figure for the volume's: measure with O_DIRECT, or flush before the clock stops and work on at \
             least twice the memory.",
        );
        outcome(looked > 0, findings)
    }
}

/// The machine of an observation, where its facts name one.
fn named(observation: &Observation) -> Option<Known> {
    let facts = &observation.facts;
    (facts.instance.is_some() || facts.volume.is_some()).then(|| {
        let recorded = Known {
            instance: facts.instance.clone(),
            instance_from: None,
            volumes: facts.volume.clone(),
            date: facts.date,
        };
        known_of(recorded, &Overrides::default())
    })
}

fn narrowest(figure: &ExplainedFigure) -> Option<f64> {
    figure.ceilings.iter().map(|held| held.at_best).reduce(f64::min)
}

/// Whether it is above what the path carries, and either nothing explains it or no ceiling of the path lets it through, so
/// that it says nothing of the path at all.
fn is_beyond(figure: &ExplainedFigure) -> bool {
    let Some(excess) = &figure.excess else { return false };
    let mut path = figure.ceilings.iter().filter(|held| held.kind != Some(CeilingKind::QueueDepth));
    match excess.because {
        ExcessCause::AboveEveryCeiling => true,
        ExcessCause::PageCache => path.all(|held| held.state == HeldState::Exceeded),
        ExcessCause::BurstCredits => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, findings, observation, only, silent};
    use super::*;

    fn of(instance: &str, figures: &[(&str, f64)]) -> Observation {
        let mut made = observation(&[("instance", instance)], figures);
        made.facts.instance = Some(instance.to_owned());
        made.facts.date = Some("2015".parse().unwrap());
        made
    }

    #[test]
    fn dbench_figures_above_the_link_of_their_instance_are_flagged() {
        let set = dataset(vec![
            of("c4.2xlarge", &[("throughput", 331e6)]),
            of("c4.2xlarge", &[("throughput", 60e6)]),
        ]);
        let found = only(&AboveEveryCeiling, &set);
        assert_eq!((found.severity, found.observations.as_slice()), (Severity::Serious, [0].as_slice()));
        assert!(
            found.message.contains("331 MB/s, 2.65 times the link of c4.2xlarge (125 MB/s)"),
            "{}",
            found.message
        );
    }

    #[test]
    fn a_little_that_memory_kept_is_no_finding_and_without_a_machine_nothing_is_looked_at() {
        let mut dd = of("c4.4xlarge", &[("throughput", 232_303_767_552.0 / 1354.88), ("wall_time", 1354.88)]);
        dd.facts.claimed_written_bytes = Some(232_303_767_552);
        let mut set = dataset(vec![dd]);
        set.ceilings = vec![ceiling("volume", "160MiB/s")];
        assert!(findings(&AboveEveryCeiling, &set).is_empty());
        set.observations[0].facts.instance = None;
        assert!(silent(&AboveEveryCeiling, &set));
    }

    #[test]
    fn before_links_of_their_own_what_the_author_states_stays() {
        let mut read = of("m1.large", &[("block_read", 1.14e9)]);
        read.facts.date = Some("2011-10".parse().unwrap());
        let mut set = dataset(vec![read]);
        set.ceilings = vec![ceiling("network", "1Gbps")];
        let found = only(&AboveEveryCeiling, &set);
        assert!(found.message.contains("9.12 times 1Gbps of the network"), "{}", found.message);
    }
}
