//! Finds figures that no way through the machine's link and volumes carries, by the catalogue of their date.

use iostone_cloud::catalogue;
use iostone_cloud::explain::Overrides;
use iostone_model::audit::{Finding, Severity};
use iostone_model::ceiling::HeldState;
use iostone_model::dataset::Dataset;
use iostone_model::explanation::{ExcessCause, ExplainedFigure};

use super::case::{Case, of_all, outcome, times, title, told};
use super::traffic;
use crate::Outcome;
use crate::explain::{held, io, known};
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
        let (mut beyond, looked) = beyond(dataset);
        beyond.sort_by(|one, other| other.times().total_cmp(&one.times()));
        let count = of_all(beyond.len(), looked, "figure");
        let more = if beyond.len() > 1 {
            format!("; {count} are above what their path carries")
        } else {
            String::new()
        };
        let message = beyond.first().map(|worst| worst.told(dataset) + &more);
        let findings: Vec<Finding> = told(
            self,
            dataset,
            beyond.iter().map(Beyond::case).collect(),
            message,
            "Do not take such a figure for the volume's: measure with O_DIRECT, or flush before the clock stops and work on at \
             least twice the memory.",
        );
        outcome(looked > 0, findings)
    }
}

/// A figure that its path does not carry.
pub(super) struct Beyond {
    /// Its observation's place in the dataset.
    pub(super) index: usize,
    /// It, held against the ceilings of its path.
    pub(super) figure: ExplainedFigure,
    /// Whether something had to be assumed of its I/Os.
    is_assumed: bool,
}

/// All such figures of a dataset, and how many have a path that is known.
pub(super) fn beyond(dataset: &Dataset) -> (Vec<Beyond>, usize) {
    let mut looked = 0usize;
    let mut all = Vec::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        let known = known(observation, &Overrides::default());
        if known.instance.is_none() && known.volumes.is_none() {
            continue;
        }
        for (metric, value, _) in traffic::rates(dataset, observation) {
            if io::is_repeated(observation, metric) {
                continue;
            }
            let (Some(figure), notes) = held(catalogue(), dataset, observation, &known, metric, value) else {
                continue;
            };
            looked += usize::from(!figure.ceilings.is_empty());
            if is_beyond(&figure) {
                let assumed = io::of_figure(observation, metric, None).assumed;
                let is_assumed = assumed.is_some_and(|assumed| notes.contains(&assumed));
                all.push(Beyond { index, figure, is_assumed });
            }
        }
    }
    (all, looked)
}

impl Beyond {
    /// How many times what the path carries at best it is.
    fn times(&self) -> f64 {
        self.figure.narrowest().map_or(1.0, |held| self.figure.measured / held.at_best)
    }

    /// "throughput 331 MB/s, 2.65 times the link of c4.2xlarge".
    fn in_short(&self, name: &str, separator: &str) -> String {
        let value = self.figure.unit.format(self.figure.measured);
        let ceiling = self.figure.narrowest().map_or("", |held| held.ceiling.name.as_str());
        format!("{name}{separator}{value}, {} {ceiling}", times(self.times()))
    }

    /// The whole sentence: "block reads: 2.07 GB/s, 16.6 times ...".
    fn told(&self, dataset: &Dataset) -> String {
        let short = self.in_short(title(dataset, &self.figure.figure), ": ");
        let carries = self.figure.unit.format(self.figure.measured / self.times());
        let why = self.figure.excess.as_ref().map_or("", |excess| excess.words.as_str());
        format!("{short} ({carries}), which the path cannot carry: {why}")
    }

    fn case(&self) -> Case {
        let severity = if self.is_assumed { Severity::Warning } else { Severity::Serious };
        Case { index: self.index, severity, text: self.in_short(&self.figure.figure, " ") }
    }
}

/// Whether it is above what the path carries, and either nothing explains it or no ceiling of the path lets it through, so
/// that it says nothing of the path at all.
fn is_beyond(figure: &ExplainedFigure) -> bool {
    let Some(excess) = &figure.excess else { return false };
    match excess.because {
        ExcessCause::AboveEveryCeiling => true,
        ExcessCause::PageCache => figure.ceilings.iter().all(|held| held.state == HeldState::Exceeded),
        ExcessCause::BurstCredits => false,
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::dataset::Observation;

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
            found.message.contains("throughput: 331 MB/s, 2.65 times the link of c4.2xlarge (125 MB/s)"),
            "{}",
            found.message
        );
        assert_eq!(
            found.evidence,
            ["made-up.csv (instance=c4.2xlarge): throughput 331 MB/s, 2.65 times the link of c4.2xlarge"]
        );
    }

    #[test]
    fn more_ios_than_a_volume_passes_are_flagged_doubtfully_where_they_may_have_followed_each_other() {
        let mut made = of("m5.large", &[("iops", 20_000.0), ("throughput", 81.92e6), ("wall_time", 600.0)]);
        made.facts.volume = Some("gp2:100GiB".parse().unwrap());
        (made.facts.date, made.facts.direct) = (Some("2020".parse().unwrap()), Some(true));
        let found = only(&AboveEveryCeiling, &dataset(vec![made.clone()]));
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.message.contains("6.67 times 300 IOPS of gp2:100GiB"), "{}", found.message);
        made.labels.insert("rw".to_owned(), "randread".to_owned());
        assert_eq!(only(&AboveEveryCeiling, &dataset(vec![made.clone()])).severity, Severity::Serious);
        made.labels.insert("rw".to_owned(), "read".to_owned());
        assert!(findings(&AboveEveryCeiling, &dataset(vec![made])).is_empty());
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
