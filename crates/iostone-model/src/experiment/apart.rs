//! What each of several factors that go together changes by itself, with the others left at the level before.

use toml::Table;

use super::combine::{Places, RawFactor, RawLevel, combine};
use super::confounded::things_between;
use super::read::read_configuration;
use super::zip::Exclusion;
use super::{Configuration, Experiment};

/// Marks the pairs of levels of factors that go together between which one of them changes several things by itself: that
/// factors were named together declares one thing of each. Every pair, since each level may become the baseline.
pub(super) fn mark_crowded(
    experiment: &mut Experiment,
    base: &Table,
    factors: &[RawFactor],
    excluded: &[Exclusion],
    places: &Places<'_>,
) {
    for (index, factor) in experiment.factors.iter_mut().enumerate() {
        let levels = factors.get(index).map_or(&[][..], |factor| &factor.levels);
        let is_crowded = |one: &RawLevel, other: &RawLevel| {
            alone(one, other).any(|mixed| {
                let varied = [one.clone(), mixed];
                let configurations = configurations(base, factors, (index, &varied), excluded, places);
                things_between(&configurations, &factor.name, &one.0, &other.0).len() > 1
            })
        };
        let pairs = levels.iter().enumerate().flat_map(|(place, one)| {
            let later = levels.iter().skip(place + 1).filter(|other| other.1.len() > 1);
            later.map(move |other| (one, other))
        });
        let crowded = pairs.filter(|(one, other)| is_crowded(one, other));
        factor.crowded = crowded.map(|(one, other)| [one.0.clone(), other.0.clone()]).collect();
    }
}

/// A level with but one of the factors that go together as another level has it: for each of them, under the other's name.
fn alone<'a>(one: &'a RawLevel, other: &'a RawLevel) -> impl Iterator<Item = RawLevel> + 'a {
    other.1.iter().enumerate().map(|(index, part)| {
        let own = one.1.iter().enumerate();
        let parts = own.map(|(place, own)| if place == index { part } else { own }.clone()).collect();
        (other.0.clone(), parts)
    })
}

/// Every combination with other levels of one factor; those that make no configuration are none.
fn configurations(
    base: &Table,
    factors: &[RawFactor],
    (index, levels): (usize, &[RawLevel]),
    excluded: &[Exclusion],
    places: &Places<'_>,
) -> Vec<Configuration> {
    let mut factors = factors.to_vec();
    if let Some(factor) = factors.get_mut(index) {
        factor.levels = levels.to_vec();
    }
    combine(base, &places.origins, &factors, places.source)
        .iter()
        .filter(|combination| !excluded.iter().any(|excluded| excluded.holds(&combination.levels)))
        .filter_map(|combination| read_configuration(combination).ok())
        .collect()
}
