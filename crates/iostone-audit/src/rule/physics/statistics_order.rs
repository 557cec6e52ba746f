//! Finds statistics of one quantity that contradict each other: a p50 above the p99, a least value above the mean.

use std::collections::BTreeMap;

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Figure};
use iostone_model::metric::Unit;

use super::case::{Case, concluded, of_all};
use crate::Outcome;
use crate::rule::Rule;

/// Histograms give the bound of a bucket, and load generators round percentiles to two digits.
const ROUNDING: f64 = 0.05;

/// Statistics out of order.
pub(super) struct StatisticsOrder;

/// Which statistic of a quantity a figure is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    /// That quantile: 0 is the least value, 1 the largest.
    Quantile(f64),
    Mean,
}

impl Rule for StatisticsOrder {
    fn name(&self) -> &'static str {
        "statistics-order"
    }

    fn looks_for(&self) -> &'static str {
        "a percentile above a higher one, a least value above the mean, a mean above the largest value"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut names: BTreeMap<&str, Option<(String, Statistic)>> = BTreeMap::new();
        let (mut looked, mut cases) = (0_usize, Vec::new());
        for (index, observation) in dataset.observations.iter().enumerate() {
            let mut quantities: BTreeMap<&str, Vec<(&str, Statistic, Figure)>> = BTreeMap::new();
            for metric in observation.figures.keys() {
                names.entry(metric).or_insert_with(|| statistic(metric));
            }
            for (metric, figure) in observation.figures.iter().filter(|(_, figure)| figure.value.is_finite())
            {
                if let Some(Some((base, statistic))) = names.get(metric.as_str()) {
                    quantities.entry(base).or_default().push((metric, *statistic, *figure));
                }
            }
            let several = quantities.values().filter(|of| of.len() > 1);
            let mut contradiction = None;
            let mut any = false;
            for of in several {
                any = true;
                contradiction = contradiction.or_else(|| contradicts(dataset, of));
            }
            looked += usize::from(any);
            cases.extend(contradiction.map(|text| Case { index, severity: Severity::Serious, text }));
        }
        let message = cases.first().map(|case| {
            let rows = of_all(cases.len(), looked, "row");
            format!("{}, which no set of values allows, in {rows}", case.text)
        });
        let advice =
            "Find out which columns were swapped or calculated wrongly, and use none of them before.";
        concluded(looked > 0, self, dataset, cases, message, advice)
    }
}

/// The first two statistics of one quantity that cannot both be right.
fn contradicts(dataset: &Dataset, of: &[(&str, Statistic, Figure)]) -> Option<String> {
    let unit = dataset.unit_of(of.first()?.0);
    if of.iter().any(|(metric, ..)| dataset.unit_of(metric) != unit) {
        return None;
    }
    // Of rates, some count percentiles from the top: p99 is what 99 % of the time exceeds.
    let rate = matches!(unit, Unit::BytesPerSecond | Unit::PerSecond);
    let extreme = |rank: f64| rank <= 0.0 || rank >= 1.0;
    of.iter().find_map(|(lower, low, small)| {
        of.iter().find_map(|(upper, high, large)| {
            let ordered = match (*low, *high) {
                (Statistic::Quantile(low), Statistic::Quantile(high)) => {
                    low < high && (!rate || (extreme(low) && extreme(high)))
                }
                (Statistic::Quantile(low), Statistic::Mean) => low <= 0.0,
                (Statistic::Mean, Statistic::Quantile(high)) => high >= 1.0,
                (Statistic::Mean, Statistic::Mean) => false,
            };
            let slack = ROUNDING * small.value.abs().max(large.value.abs()) + small.step + large.step;
            (ordered && small.value > large.value + slack).then(|| {
                format!(
                    "{lower} is {}, above {upper}, {}",
                    unit.format(small.value),
                    unit.format(large.value)
                )
            })
        })
    })
}

/// Which statistic a figure's name tells, and of what.
fn statistic(metric: &str) -> Option<(String, Statistic)> {
    let (name, point) = metric.split_once('@').unwrap_or((metric, ""));
    let mut found = None;
    let mut rest: Vec<String> = vec![point.to_owned()];
    let mut parts = name.split(['_', ' ', '-', '/', '(', ')', '[', ']']).peekable();
    while let Some(part) = parts.next() {
        // `read.latency` has two words, `99.9%` one.
        let words: Vec<&str> =
            if part.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !is_quantile(part) {
                part.split('.').collect()
            } else {
                vec![part]
            };
        for word in words {
            let word = word.to_lowercase();
            // `p99_9` is the 99.9th percentile.
            let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let told = if is_quantile(&word) && word.starts_with('p') && parts.peek().is_some_and(digits) {
                of_word(&format!("{word}.{}", parts.next().unwrap_or_default()))
            } else {
                of_word(&word)
            };
            match told {
                Some(_) if found.is_some() => return None,
                Some(statistic) => found = Some(statistic),
                None if word.starts_with("std") || word == "count" => return None,
                None if word.is_empty() || word == "percentile" => {}
                None => rest.push(word),
            }
        }
    }
    found.map(|statistic| (rest.join(" "), statistic))
}

fn is_quantile(word: &str) -> bool {
    matches!(of_word(&word.to_lowercase()), Some(Statistic::Quantile(_)))
}

fn of_word(word: &str) -> Option<Statistic> {
    match word {
        "min" | "minimum" => return Some(Statistic::Quantile(0.0)),
        "max" | "maximum" => return Some(Statistic::Quantile(1.0)),
        "median" => return Some(Statistic::Quantile(0.5)),
        "mean" | "avg" | "average" => return Some(Statistic::Mean),
        _ => {}
    }
    // One digit behind it is a number of something: `const_p1`.
    let number = word.strip_prefix('p').filter(|rest| !rest.ends_with('%') && rest.len() > 1);
    let number =
        number.or_else(|| ["%", "th", "st", "nd", "rd"].iter().find_map(|end| word.strip_suffix(end)))?;
    let starts = number.starts_with(|letter: char| letter.is_ascii_digit());
    let percent: f64 = number.parse().ok().filter(|percent| starts && (0.0..=100.0).contains(percent))?;
    // To eight digits, so that 99.9 % is the same however it was written.
    Some(Statistic::Quantile((percent * 1e6).round() / 1e8))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    #[test]
    fn names_tell_which_statistic_they_are() {
        let is = |name: &str| statistic(name).map(|(base, statistic)| (base.trim().to_owned(), statistic));
        let quantile = |base: &str, rank: f64| Some((base.to_owned(), Statistic::Quantile(rank)));
        assert_eq!(is("latency_p50"), quantile("latency", 0.5));
        assert_eq!(is("p50_latency"), quantile("latency", 0.5));
        assert_eq!(is("read.latency_p99_9"), quantile("read latency", 0.999));
        assert_eq!(is("99.9%"), quantile("", 0.999));
        assert_eq!(is("Min Response Time"), quantile("response time", 0.0));
        assert_eq!(is("95th_percentile_latency"), quantile("latency", 0.95));
        assert_eq!(is("latency_p99@1,0"), quantile("1,0 latency", 0.99));
        assert_eq!(is("latency_mean"), Some(("latency".to_owned(), Statistic::Mean)));
        assert_eq!(is("stddev_latency"), None);
        assert_eq!(is("max_min_ratio"), None);
        assert_eq!(is("throughput"), None);
        assert_eq!(is("pages"), None);
        assert_eq!(is("const_p1"), None);
    }

    #[test]
    fn swapped_percentiles_and_a_least_value_above_the_mean_are_serious() {
        let swapped = observation(&[], &[("latency_p50", 0.004), ("latency_p99", 0.001)]);
        let least = observation(&[], &[("latency_min", 0.003), ("latency_mean", 0.002)]);
        let fine =
            observation(&[], &[("latency_min", 0.001), ("latency_p50", 0.002), ("latency_max", 0.003)]);
        let found = only(&StatisticsOrder, &dataset(vec![fine.clone(), swapped, least]));
        assert_eq!((found.severity, found.observations.as_slice()), (Severity::Serious, &[1, 2][..]));
        assert!(
            found.message.starts_with("latency_p50 is 4.00 ms, above latency_p99, 1.00 ms"),
            "{}",
            found.message
        );
        assert!(findings(&StatisticsOrder, &dataset(vec![fine])).is_empty());
    }

    #[test]
    fn rounding_and_percentiles_of_rates_from_the_top_are_clear() {
        let rounded = observation(&[], &[("latency_p99_9", 0.0074), ("latency_max", 0.007_35)]);
        assert!(findings(&StatisticsOrder, &dataset(vec![rounded])).is_empty());
        let mut top = dataset(vec![observation(&[], &[("iops_p50", 900.0), ("iops_p99", 500.0)])]);
        let note =
            iostone_model::dataset::MetricNote { unit: Unit::PerSecond, better: None, title: String::new() };
        for name in ["iops_p50", "iops_p99"] {
            top.metrics.insert(name.to_owned(), note.clone());
        }
        assert!(findings(&StatisticsOrder, &top).is_empty());
        assert!(silent(&StatisticsOrder, &dataset(vec![observation(&[], &[("iops", 1.0)])])));
    }
}
