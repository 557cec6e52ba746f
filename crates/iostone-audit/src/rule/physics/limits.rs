//! Which of the known limits bounds a figure: the lowest.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ceiling, Dataset, Observation};
use iostone_model::metric::Unit;

/// A figure under a limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounded<'a> {
    /// The observation's place in the dataset.
    pub(super) index: usize,
    /// The observation.
    pub(super) observation: &'a Observation,
    /// The figure's name.
    pub(super) metric: &'a str,
    /// Its value.
    pub(super) value: f64,
    /// The step of its last printed digit.
    pub(super) step: f64,
    /// The limit's place in the dataset.
    pub(super) which: usize,
    /// The limit.
    pub(super) ceiling: &'a Ceiling,
}

impl Bounded<'_> {
    /// The figure as a share of the limit.
    pub(super) fn share(&self) -> f64 {
        self.value / self.ceiling.limit.value
    }
}

/// Every figure that a limit bounds, with the lowest such limit.
pub(super) fn bounded(dataset: &Dataset) -> Vec<Bounded<'_>> {
    let mut all = Vec::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        for (metric, figure) in &observation.figures {
            if let Some((which, ceiling)) = lowest(dataset, observation, metric, dataset.unit_of(metric)) {
                let (value, step) = (figure.value, figure.step);
                all.push(Bounded { index, observation, metric, value, step, which, ceiling });
            }
        }
    }
    all
}

/// Figures by the limit that bounds them.
pub(super) fn by_ceiling<'a>(all: &[Bounded<'a>]) -> BTreeMap<usize, Vec<Bounded<'a>>> {
    let mut by_ceiling: BTreeMap<usize, Vec<Bounded<'a>>> = BTreeMap::new();
    for figure in all.iter().copied() {
        by_ceiling.entry(figure.which).or_default().push(figure);
    }
    by_ceiling
}

/// The lowest limit of an observation's figure.
fn lowest<'a>(
    dataset: &'a Dataset,
    observation: &Observation,
    metric: &str,
    unit: Unit,
) -> Option<(usize, &'a Ceiling)> {
    dataset
        .ceilings
        .iter()
        .enumerate()
        .filter(|(_, ceiling)| ceiling.limit.value > 0.0 && ceiling.limit.unit == unit)
        .filter(|(_, ceiling)| ceiling.bounds(observation, metric, unit))
        .min_by(|(_, one), (_, other)| one.limit.value.total_cmp(&other.limit.value))
}

/// The lowest limit in bytes a second that an observation is under, whichever figures it is of.
pub(super) fn lowest_rate<'a>(dataset: &'a Dataset, observation: &Observation) -> Option<&'a Ceiling> {
    const UNIT: Unit = Unit::BytesPerSecond;
    let rates = observation.figures.keys().map(String::as_str).filter(|name| dataset.unit_of(name) == UNIT);
    rates
        .chain(std::iter::once("throughput"))
        .filter_map(|metric| lowest(dataset, observation, metric, UNIT).map(|(_, ceiling)| ceiling))
        .min_by(|one, other| one.limit.value.total_cmp(&other.limit.value))
}

/// A limit for people: `the instance link, 500Mbps (62.5 MB/s)`.
pub(super) fn named(ceiling: &Ceiling) -> String {
    let limit = &ceiling.limit;
    let scaled = limit.unit.format(limit.value);
    let squeezed = |text: &str| text.replace(' ', "");
    let same = squeezed(&scaled) == squeezed(&limit.text);
    let both = if same { limit.text.clone() } else { format!("{} ({scaled})", limit.text) };
    format!("the limit of `{}`, {both}", ceiling.name)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, observation};
    use super::*;

    #[test]
    fn of_several_limits_the_lowest_is_meant() {
        let mut set = dataset(vec![observation(&[("instance", "c4.large")], &[("throughput", 61.7e6)])]);
        set.ceilings = vec![ceiling("volume", "160MiB/s"), ceiling("link", "500Mbps")];
        let all = bounded(&set);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].which, all[0].ceiling.name.as_str()), (1, "link"));
        assert!((all[0].share() - 0.9872).abs() < 1e-9);
        assert_eq!(lowest_rate(&set, &set.observations[0]).unwrap().name, "link");
        assert_eq!(named(&set.ceilings[1]), "the limit of `link`, 500Mbps (62.5 MB/s)");
    }

    #[test]
    fn a_limit_of_other_observations_or_units_bounds_nothing_here() {
        let mut set = dataset(vec![observation(&[("instance", "a")], &[("throughput", 1e6)])]);
        set.ceilings = vec![ceiling("iops", "1000/s"), ceiling("link", "1MB/s")];
        set.ceilings[1].applies = [("instance".to_owned(), "b".to_owned())].into();
        assert!(bounded(&set).is_empty());
    }
}
