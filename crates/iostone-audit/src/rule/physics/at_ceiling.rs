//! Notes figures that stand at a known limit: conditions cannot differ above it.

use iostone_model::audit::{Finding, Severity};
use iostone_model::ceiling::{ALLOWANCE, BINDS};
use iostone_model::dataset::Dataset;

use super::case::{Case, of_all, outcome, percent, title, told};
use super::limits::{Bounded, bounded, by_ceiling, named};
use crate::Outcome;
use crate::rule::Rule;

/// Figures within 5 % below a limit.
pub(super) struct AtCeiling;

impl Rule for AtCeiling {
    fn name(&self) -> &'static str {
        "at-ceiling"
    }

    fn looks_for(&self) -> &'static str {
        "figures within 5 % of the lowest known limit, which then is what binds"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let all = bounded(dataset);
        let findings = by_ceiling(&all).values().flat_map(|figures| self.judge(dataset, figures)).collect();
        outcome(!all.is_empty(), findings)
    }
}

impl AtCeiling {
    fn judge(&self, dataset: &Dataset, figures: &[Bounded<'_>]) -> Vec<Finding> {
        let mut at: Vec<&Bounded<'_>> =
            figures.iter().filter(|figure| (BINDS..=ALLOWANCE).contains(&figure.share())).collect();
        at.sort_by(|one, other| other.share().total_cmp(&one.share()));
        let (Some(highest), Some(lowest)) = (at.first(), at.last()) else { return Vec::new() };
        let what = if at.len() == 1 {
            format!("{} is {} of", title(dataset, highest.metric), percent(highest.share()))
        } else {
            let range = format!("{} to {}", percent(lowest.share()), percent(highest.share()));
            format!("{} are {range} of", of_all(at.len(), figures.len(), "figure"))
        };
        let message =
            format!("{what} {}: it binds, so conditions cannot differ above it", named(highest.ceiling));
        let cases = at.iter().map(|figure| {
            let value = dataset.unit_of(figure.metric).format(figure.value);
            let text = format!("{} {value}, {}", figure.metric, percent(figure.share()));
            Case { index: figure.index, severity: Severity::Note, text }
        });
        told(
            self,
            dataset,
            cases.collect(),
            message,
            "Raise this limit before comparing what lies above it, or compare a figure that it does not bound.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn a_figure_just_below_the_link_shows_the_link() {
        let rate = 232_303_771_648.0 / 3763.15;
        let mut set = dataset(vec![observation(&[("instance", "c4.large")], &[("throughput", rate)])]);
        set.ceilings = vec![ceiling("volume", "160MiB/s"), ceiling("instance link", "500Mbps")];
        let found = only(&AtCeiling, &set);
        assert_eq!(found.severity, Severity::Note);
        assert_eq!(
            found.message,
            "throughput is 98.8 % of the limit of `instance link`, 500Mbps (62.5 MB/s): it binds, so conditions cannot \
             differ above it"
        );
    }

    #[test]
    fn figures_well_below_or_above_a_limit_are_clear() {
        let mut set = dataset(vec![
            observation(&[], &[("throughput", 50e6)]),
            observation(&[], &[("throughput", 171e6)]),
        ]);
        assert!(silent(&AtCeiling, &set));
        set.ceilings = vec![ceiling("link", "500Mbps")];
        assert!(findings(&AtCeiling, &set).is_empty());
    }
}
