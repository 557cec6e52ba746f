//! Finds figures above what a known limit lets through: memory answered in the device's place.

use iostone_cloud::catalogue;
use iostone_cloud::explain::{Flow, Overrides, hold};
use iostone_model::audit::{Finding, Severity};
use iostone_model::ceiling::ALLOWANCE;
use iostone_model::dataset::Dataset;
use iostone_model::metric::Unit;

use super::above_every_ceiling::beyond;
use super::case::{Case, of_all, outcome, times, title, told};
use super::limits::{Bounded, bounded, by_ceiling, named};
use crate::Outcome;
use crate::explain::{known, measured, stated};
use crate::rule::Rule;

/// Throughput above a known ceiling.
pub(super) struct AboveCeiling;

impl Rule for AboveCeiling {
    fn name(&self) -> &'static str {
        "above-ceiling"
    }

    fn looks_for(&self) -> &'static str {
        "figures more than 2 % above the lowest known limit of the device, the link or the machine"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut all = bounded(dataset);
        // What no way through the machine carries is told by that rule, and once.
        let (beyond, _) = beyond(dataset);
        all.retain(|figure| {
            !beyond
                .iter()
                .any(|other| (other.index, other.figure.figure.as_str()) == (figure.index, figure.metric))
        });
        let findings = by_ceiling(&all).values().flat_map(|figures| self.judge(dataset, figures)).collect();
        outcome(!all.is_empty(), findings)
    }
}

impl AboveCeiling {
    /// Judges the figures under one limit.
    fn judge(&self, dataset: &Dataset, figures: &[Bounded<'_>]) -> Vec<Finding> {
        let mut above: Vec<&Bounded<'_>> = figures.iter().filter(|figure| exceeds(figure)).collect();
        above.sort_by(|one, other| other.share().total_cmp(&one.share()));
        let Some(worst) = above.first() else { return Vec::new() };
        let mut message = format!(
            "{}: {}, {} {}",
            title(dataset, worst.metric),
            dataset.unit_of(worst.metric).format(worst.value),
            times(worst.share()),
            named(worst.ceiling),
        );
        if above.len() > 1 {
            let rows = of_all(above.len(), figures.len(), "figure");
            message = format!("{message}; {rows} are above it");
        }
        if let Some(why) = explanation(dataset, worst) {
            message.push_str("; ");
            message.push_str(&why);
        }
        // The worst one's explanation stands in the message already.
        let cases = above.iter().enumerate().map(|(rank, figure)| case(dataset, figure, rank > 0)).collect();
        told(
            self,
            dataset,
            cases,
            message,
            "Do not take the figure for the device's: repeat it with O_DIRECT, or flush before the clock stops and \
             use files of at least twice the memory.",
        )
    }
}

/// Whether it is above by more than the allowance, whichever way it was rounded.
fn exceeds(figure: &Bounded<'_>) -> bool {
    (figure.value - figure.step / 2.0) / figure.ceiling.limit.value > ALLOWANCE
}

fn case(dataset: &Dataset, figure: &Bounded<'_>, explained: bool) -> Case {
    let mut text = format!(
        "{} {}, {} `{}`",
        figure.metric,
        dataset.unit_of(figure.metric).format(figure.value),
        times(figure.share()),
        figure.ceiling.name
    );
    if !figure.ceiling.source.is_empty() {
        text = format!("{text} ({})", figure.ceiling.source);
    }
    if let Some(why) = explanation(dataset, figure).filter(|_| explained) {
        text.push_str(": ");
        text.push_str(&why);
    }
    Case { index: figure.index, severity: Severity::Serious, text }
}

/// How memory can account for it, as far as the dataset tells.
fn explanation(dataset: &Dataset, figure: &Bounded<'_>) -> Option<String> {
    let known = known(figure.observation, &Overrides::default());
    let measured = measured(catalogue(), dataset, figure.observation, &known, figure.metric, figure.value);
    let is_told = measured.unit == Unit::BytesPerSecond && measured.reached_device.is_none();
    let one_way = matches!(measured.flow, Some(Flow::Read | Flow::Write));
    let held = (is_told && one_way).then(|| hold(&measured, vec![stated(figure.ceiling)]))?;
    held.excess.map(|excess| excess.words)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn a_figure_2_2_percent_above_the_volume_is_the_page_cache_with_the_arithmetic() {
        let (bytes, seconds) = (232_303_767_552u64, 1354.88);
        let mut dd = observation(
            &[("instance", "c4.4xlarge")],
            &[("throughput", bytes as f64 / seconds), ("wall_time", seconds)],
        );
        dd.facts.claimed_written_bytes = Some(bytes);
        dd.facts.memory_bytes = Some(30 << 30);
        let mut set = dataset(vec![dd]);
        set.ceilings = vec![ceiling("volume", "160MiB/s"), ceiling("instance link", "2000Mbps")];
        let found = only(&AboveCeiling, &set);
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "throughput: 171 MB/s, 2.2 % above the limit of `volume`, 160MiB/s (168 MB/s); 4.99 GB of the 232 GB \
             written did not fit through it in 1\u{202f}355 s and stayed in memory: 20 % of 30.0 GiB = 6.44 GB may"
        );
    }

    #[test]
    fn reads_many_times_the_links_rate_are_counted_under_it() {
        let read = |rate: f64| {
            let mut made = observation(&[("disks", "4")], &[("block_read", rate), ("block_write", 82e6)]);
            made.facts.memory_bytes = Some(15 << 30);
            made.facts.volume_bytes = Some(15 << 30);
            made
        };
        let mut set = dataset(vec![read(1.14e9), read(2.07e9)]);
        set.ceilings = vec![ceiling("link", "1Gbps")];
        let found = only(&AboveCeiling, &set);
        assert_eq!(
            found.message,
            "block reads: 2.07 GB/s, 16.6 times the limit of `link`, 1Gbps (125 MB/s); 2 of 4 figures are above it; memory \
             can have answered: at most 15.0 GiB were worked on, beside 15.0 GiB of it"
        );
        assert_eq!(found.observations, [0, 1]);
    }

    #[test]
    fn a_figure_at_its_limit_or_rounded_up_to_it_is_clear_and_without_limits_nothing_is_looked_at() {
        let mut set = dataset(vec![observation(&[], &[("throughput", 61.7e6)])]);
        assert!(silent(&AboveCeiling, &set));
        set.ceilings = vec![ceiling("link", "500Mbps")];
        assert!(findings(&AboveCeiling, &set).is_empty());
        let rounded = set.observations[0].figures.get_mut("throughput").unwrap();
        (rounded.value, rounded.step) = (64e6, 1e6);
        assert!(findings(&AboveCeiling, &set).is_empty());
    }
}
