//! How likely two independent rows are to agree in every printed figure.
//!
//! The chance for one figure follows from its step and from how far apart its values usually lie: if a quarter of the
//! differences between repetitions are below `D`, the density of differences near zero is about `1 / (4 D)` on one
//! side, and two values fall into one step `q` with a chance near `q / (8 D)` (for normal noise exactly
//! `q / (2 sqrt(pi) sigma)`, within 2 % of that).
//!
//! Figures of one row depend on each other: a rate and a time are often the same thing. The chance of the single most
//! telling figure bounds that of the row. A second and a third multiply it only where the repetitions show that they
//! go their own ways: with Kendall's `tau`, and so about `r = sin(pi tau / 2)` (Greiner), two normal figures agree at
//! once with the product of their chances over `sqrt(1 - r^2)`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use iostone_model::dataset::{Dataset, Figure, Observation};
use iostone_model::metric::Unit;

use super::conditions::{Table, at, metrics};
use super::wording::step_of;

/// Where a dataset shows no two different repetitions: a quarter of the differences are taken to be below this share
/// of the value, which only very steady measurements are.
const STEADY: f64 = 1e-3;
/// A single figure must have so many digits for its repetition to mean something.
const TELLING_DIGITS: f64 = 5.0;
/// Of each condition so many rows enter the differences.
const MOST_ROWS: usize = 40;
/// Two figures whose Kendall's tau is further from zero say the same thing twice.
const OWN_WAY: f64 = 0.7;
/// Over fewer pairs of rows that tau is not known: those of eight rows.
const FEWEST_PAIRS: usize = 28;
/// So many figures are multiplied at most.
const MOST_FIGURES: usize = 3;

/// What the figures of a dataset usually differ by.
pub(super) struct Coincidence<'a> {
    dataset: &'a Dataset,
    /// By figure: the relative differences of pairs of repetitions, in the same order for all figures; not a number
    /// where a row lacks the figure.
    differences: BTreeMap<&'a str, Vec<f64>>,
    /// By figure: the lower quartile of their sizes.
    quartiles: BTreeMap<&'a str, f64>,
    /// By figure: the share of pairs of repetitions that agree in it though their rows are not copies.
    ties: BTreeMap<&'a str, f64>,
}

impl<'a> Coincidence<'a> {
    /// Learns them from all conditions of all tables.
    pub(super) fn of(dataset: &'a Dataset, tables: &[Table<'_>]) -> Self {
        let keys = keys(dataset);
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for condition in tables.iter().flat_map(|table| &table.conditions) {
            // Copies of a row would make figures seem to repeat by nature.
            let mut seen = HashSet::new();
            let distinct: Vec<usize> =
                condition.members.iter().copied().filter(|place| seen.insert(keys.get(*place))).collect();
            let stride = distinct.len().div_ceil(MOST_ROWS).max(1);
            let sample: Vec<usize> = distinct.into_iter().step_by(stride).collect();
            for (index, one) in sample.iter().enumerate() {
                pairs.extend(sample.iter().skip(index + 1).map(|other| (*one, *other)));
            }
        }
        let all: Vec<usize> = (0..dataset.observations.len()).collect();
        let difference = |metric: &str, (one, other): (usize, usize)| {
            let value = |place: usize| at(dataset, place)?.value(metric).filter(|value| value.is_finite());
            let (a, b) = (value(one)?, value(other)?);
            let scale = f64::midpoint(a.abs(), b.abs());
            (scale > 0.0).then(|| (a - b) / scale)
        };
        let differences: BTreeMap<&str, Vec<f64>> = metrics(dataset, &all)
            .into_iter()
            .map(|metric| {
                let of = pairs.iter().map(|pair| difference(metric, *pair).unwrap_or(f64::NAN));
                (metric, of.collect())
            })
            .collect();
        let quartile = |of: &[f64]| {
            let mut sizes: Vec<f64> = of.iter().map(|one| one.abs()).filter(|size| !size.is_nan()).collect();
            sizes.sort_unstable_by(f64::total_cmp);
            sizes.get(sizes.len() / 4).copied()
        };
        let quartiles =
            differences.iter().filter_map(|(metric, of)| Some((*metric, quartile(of)?))).collect();
        let share = |of: &[f64]| {
            let known = of.iter().filter(|one| !one.is_nan()).count();
            let equal = of.iter().filter(|one| **one == 0.0).count();
            // A lone tie may be the copy that is looked for.
            (equal > 1).then(|| equal as f64 / known as f64)
        };
        let mut ties: BTreeMap<&str, f64> =
            differences.iter().filter_map(|(metric, of)| Some((*metric, share(of)?))).collect();
        // Rows of a single figure that agree are all copies; that it comes in lumps shows where several values repeat.
        if let (1, Some(metric)) = (differences.len(), differences.keys().next()) {
            ties.extend(lumps(dataset, tables, metric).map(|share| (*metric, share)));
        }
        Self { dataset, differences, quartiles, ties }
    }

    /// The chance that one other row agrees with this one in every figure, 0 to 1.
    ///
    /// None where agreement would mean nothing: a single figure of few digits, or only counts and sizes.
    pub(super) fn chance(&self, observation: &Observation) -> Option<f64> {
        // Beside figures with known digits, one without was computed from them.
        let printed = observation.figures.values().any(|figure| figure.step > 0.0);
        let mut telling: Vec<(&str, f64, f64)> = observation
            .figures
            .iter()
            .filter(|(_, figure)| !printed || figure.step > 0.0)
            .filter_map(|(metric, figure)| {
                let (chance, digits) = self.of_figure(metric, *figure)?;
                Some((metric.as_str(), chance, digits))
            })
            .collect();
        let enough = telling.len() >= 2 || telling.iter().any(|(_, _, digits)| *digits >= TELLING_DIGITS);
        if !enough {
            return None;
        }
        telling.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut chosen: Vec<&str> = Vec::new();
        let mut product = 1.0;
        if self.differences.values().all(Vec::is_empty) {
            // No two different repetitions tell which figures go their own ways, only the digits are left; half of the
            // figures are taken to restate the others.
            let all: f64 = telling.iter().map(|(_, chance, _)| chance).product();
            return Some(telling.first().map_or(1.0, |(_, chance, _)| chance.min(all.sqrt())));
        }
        for (metric, chance, _) in telling {
            if chosen.len() == MOST_FIGURES {
                break;
            }
            let excess: Option<f64> = chosen.iter().map(|other| self.dependence(metric, other)).product();
            if let Some(excess) = excess {
                product *= (chance * excess).min(1.0);
                chosen.push(metric);
            }
        }
        Some(product)
    }

    /// By how much two figures agree at once more often than if they were independent; none where they say the same
    /// thing, or where there are too few rows to tell.
    fn dependence(&self, one: &str, other: &str) -> Option<f64> {
        let (a, b) = (self.differences.get(one)?, self.differences.get(other)?);
        let both = a.iter().zip(b).map(|(a, b)| a * b).filter(|product| !product.is_nan());
        let (mut same, mut opposite, mut pairs) = (0_usize, 0_usize, 0_usize);
        for product in both {
            pairs += 1;
            same += usize::from(product > 0.0);
            opposite += usize::from(product < 0.0);
        }
        if same + opposite < FEWEST_PAIRS {
            return None;
        }
        let tau = (same as f64 - opposite as f64) / pairs as f64;
        let correlation = (std::f64::consts::FRAC_PI_2 * tau).sin();
        (tau.abs() <= OWN_WAY).then(|| 1.0 / (1.0 - correlation * correlation).sqrt())
    }

    /// The chance of agreement in one figure, and its digits.
    fn of_figure(&self, metric: &str, figure: Figure) -> Option<(f64, f64)> {
        let value = figure.value.abs();
        if self.dataset.unit_of(metric) == Unit::Bytes || !value.is_finite() || value <= 0.0 {
            return None;
        }
        let step = step_of(figure) / value;
        let digits = (1.0 / step).log10().floor() + 1.0;
        let spread = self.quartiles.get(metric).copied().unwrap_or(STEADY);
        // Where a quarter of the repetitions agree anyway, another that does tells nothing.
        let lumped = self.ties.get(metric).copied().unwrap_or(0.0);
        (spread > 0.0).then(|| ((step / (8.0 * spread)).max(lumped).min(1.0), digits))
    }
}

/// The share of pairs of repetitions with the same value of a dataset's only figure, the most frequent value apart; none
/// where fewer than three values repeat.
fn lumps(dataset: &Dataset, tables: &[Table<'_>], metric: &str) -> Option<f64> {
    let (mut pairs, mut tied, mut groups) = (0.0, Vec::new(), 0_usize);
    for condition in tables.iter().flat_map(|table| &table.conditions) {
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        for place in &condition.members {
            if let Some(value) = at(dataset, *place).and_then(|row| row.value(metric)) {
                *counts.entry(value.to_bits()).or_insert(0.0) += 1.0;
            }
        }
        let of = |count: f64| count * (count - 1.0) / 2.0;
        pairs += of(counts.values().sum());
        groups += counts.values().filter(|count| **count > 1.0).count();
        tied.extend(counts.into_values().map(of));
    }
    let most = tied.iter().copied().fold(0.0, f64::max);
    (groups > 2).then(|| (tied.iter().sum::<f64>() - most) / pairs)
}

/// For each observation, a text that is the same for all with the same figures; units made from other units by
/// calculation may differ in the last bits, so twelve digits count.
pub(super) fn keys(dataset: &Dataset) -> Vec<String> {
    let key = |observation: &Observation| {
        let figures =
            observation.figures.iter().map(|(name, figure)| format!("{name}={:.11e};", figure.value));
        figures.collect::<String>()
    };
    dataset.observations.iter().map(key).collect()
}

/// Files that are byte for byte the same, as lists of their names.
pub(super) fn same_files(dataset: &Dataset) -> Vec<Vec<&str>> {
    let mut by_content: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in dataset.files.iter().filter(|file| !file.sha256.is_empty() && file.bytes > 0) {
        by_content.entry(&file.sha256).or_default().insert(&file.name);
    }
    let names = by_content.into_values().filter(|names| names.len() > 1);
    names.map(|names| names.into_iter().collect()).collect()
}

/// Those places whose rows are not of a file that is a copy of another; that is told of the files.
pub(super) fn not_of_copies(dataset: &Dataset, files: &[Vec<&str>], members: &[usize]) -> Vec<usize> {
    if files.is_empty() {
        return members.to_vec();
    }
    let copies: HashSet<&str> = files.iter().flat_map(|names| names.iter().skip(1).copied()).collect();
    let own = |place: &&usize| {
        at(dataset, **place).is_some_and(|observation| !copies.contains(observation.file.as_str()))
    };
    members.iter().filter(own).copied().collect()
}

/// Groups of two or more of those places whose rows agree in every figure, in the order of first appearance.
pub(super) fn twins(keys: &[String], members: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for place in members {
        let Some(key) = keys.get(*place).filter(|key| !key.is_empty()) else { continue };
        let group = *known.entry(key.as_str()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(group) {
            group.push(*place);
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The chance for the row at that place, times the number of pairs among which it was found; at most 1.
pub(super) fn chance_among(
    coincidence: &Coincidence<'_>,
    dataset: &Dataset,
    place: usize,
    pairs: f64,
) -> Option<f64> {
    coincidence.chance(at(dataset, place)?).map(|chance| (chance * pairs).min(1.0))
}

/// Whether those rows have a rate or a time, which no two runs share. Of figures without a unit it is not known whether
/// they were measured: prices, scores and what was calculated repeat.
pub(super) fn measured(dataset: &Dataset, places: &[usize]) -> bool {
    let units = [Unit::BytesPerSecond, Unit::PerSecond, Unit::Seconds];
    let mut rows = places.iter().filter_map(|place| at(dataset, *place));
    rows.any(|row| row.figures.keys().any(|metric| units.contains(&dataset.unit_of(metric))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::conditions::tables;
    use crate::rule::design::examples::two_conditions;

    #[test]
    fn finer_digits_and_wider_noise_make_agreement_less_likely() {
        let dataset = two_conditions(&[58.75, 60.96, 63.23, 61.44], &[195.2, 196.5, 196.2, 197.8]);
        let coincidence = Coincidence::of(&dataset, &tables(&dataset));
        let of =
            |value: f64, step: f64| coincidence.of_figure("throughput", Figure { value, step }).unwrap().0;
        assert!(of(60.0, 1e-4) < of(60.0, 1e-2) / 50.0);
        assert!(of(60.0, 10.0) >= of(60.0, 1.0));
        // Steps of 0.01 at a quartile near 0.7 of 100: some 1 in 500.
        assert!((1e-4..1e-2).contains(&of(60.0, 0.01)), "{}", of(60.0, 0.01));
    }

    #[test]
    fn figures_that_hardly_vary_or_are_few_digits_tell_nothing() {
        let dataset = two_conditions(&[5.0, 5.0, 5.0, 6.0], &[5.0, 5.0, 7.0, 5.0]);
        let coincidence = Coincidence::of(&dataset, &tables(&dataset));
        assert_eq!(coincidence.chance(&dataset.observations[0]), None);
    }

    #[test]
    fn figures_that_go_their_own_ways_multiply_and_restatements_do_not() {
        let rates = [58.75, 60.96, 63.23, 61.44, 59.87, 62.01, 60.12, 61.93];
        let mut dataset = two_conditions(&rates, &[195.2]);
        let alone = |dataset: &Dataset| {
            Coincidence::of(dataset, &tables(dataset)).chance(&dataset.observations[0]).unwrap()
        };
        let add = |dataset: &mut Dataset, figure: &dyn Fn(f64) -> f64| {
            for observation in &mut dataset.observations {
                let rate = observation.value("throughput").unwrap();
                observation.figures.insert("wall_time".to_owned(), figure(rate).into());
            }
        };
        // Four digits by themselves are no more than a bound; restated as a time they stay that.
        add(&mut dataset, &|rate| (1e6 / rate).round() / 100.0);
        let restated = alone(&dataset);
        add(&mut dataset, &|rate| ((rate * 7919.0).sin() * 1e4).round() / 1e4 + 3.0);
        assert!(restated > 1e-4 && alone(&dataset) < restated / 50.0, "{restated} {}", alone(&dataset));
    }

    #[test]
    fn many_equal_figures_without_any_other_row_are_no_chance() {
        let mut dataset = two_conditions(&[58.7519], &[58.7519]);
        let chance = |dataset: &Dataset| {
            Coincidence::of(dataset, &tables(dataset)).chance(&dataset.observations[0]).unwrap()
        };
        let alone = chance(&dataset);
        for observation in &mut dataset.observations {
            for index in 0..30 {
                let value = 411.0 + f64::from(index) * 1.37;
                observation.figures.insert(format!("figure{index}"), value.into());
            }
        }
        assert!(alone > 1e-4 && chance(&dataset) < 1e-9, "{alone} {}", chance(&dataset));
    }

    #[test]
    fn twins_agree_in_every_figure() {
        let dataset = two_conditions(&[1.0, 2.0, 1.0], &[2.0, 1.0 + 1e-14, 3.0]);
        assert_eq!(twins(&keys(&dataset), &[0, 1, 2, 3, 4, 5]), [vec![0, 2, 4], vec![1, 3]]);
    }
}
