//! Finds latencies in the wrong unit: a thousand times apart, or at odds with operations in flight.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

use super::case::{Case, condition, median, outcome, told};
use crate::Outcome;
use crate::rule::Rule;

/// How far a ratio may be from 1000, as a factor: latencies themselves differ between conditions.
const AROUND: f64 = 1.6;
/// The same for maxima and percentiles, of which there are few samples.
const AROUND_TAILS: f64 = 4.0;
/// Rates this much apart explain latencies a thousand times apart.
const RATES_APART: f64 = 30.0;
/// Labels that say how many operations are in flight; those of one observation are multiplied.
const DEPTHS: &[&str] = &[
    "iodepth",
    "depth",
    "queue_depth",
    "qd",
    "numjobs",
    "jobs",
    "threads",
    "clients",
    "small",
    "outstanding",
];

/// Latency unit slips.
pub(super) struct LatencyUnit;

impl Rule for LatencyUnit {
    fn name(&self) -> &'static str {
        "latency-unit"
    }

    fn looks_for(&self) -> &'static str {
        "latencies a thousand times apart, or a thousand times off what rate and depth allow"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let little = self.against_littles_law(dataset);
        let apart = self.apart(dataset);
        let looked = little.is_some() || apart.is_some();
        outcome(looked, little.into_iter().chain(apart).flatten().collect())
    }
}

impl LatencyUnit {
    /// Little's law (1961): the mean number in flight is the rate times the mean latency. None where no observation
    /// tells all three.
    fn against_littles_law(&self, dataset: &Dataset) -> Option<Vec<Finding>> {
        let mut looked = false;
        let mut cases = Vec::new();
        let mut first = None;
        for (index, observation) in dataset.observations.iter().enumerate() {
            let known =
                observation.value("iops").zip(observation.value("latency_mean")).zip(depth(observation));
            let Some(((rate, latency), depth)) = known else { continue };
            if rate <= 0.0 || latency <= 0.0 {
                continue;
            }
            looked = true;
            let ratio = rate * latency / depth;
            if !is_prefix_off(ratio, AROUND) {
                continue;
            }
            // More in flight than there can be is a slip; less may also be a load that was held back.
            let severity = if ratio > 1.0 { Severity::Serious } else { Severity::Note };
            let (rate, latency) = (Unit::PerSecond.format(rate), Unit::Seconds.format(latency));
            let text = format!(
                "{rate} at {latency} each keep {} in flight, but {} were",
                plain(ratio * depth),
                plain(depth)
            );
            first.get_or_insert_with(|| text.clone());
            cases.push(Case { index, severity, text });
        }
        let message = first.map(|first| {
            format!(
                "latencies are about a thousand times off: {first} (rate times latency is what is in flight)"
            )
        });
        looked.then(|| told(self, dataset, cases, message, ADVICE))
    }

    /// Conditions whose latencies are about a thousand times apart while their rates are not. None where no latency is
    /// known under two conditions.
    fn apart(&self, dataset: &Dataset) -> Option<Vec<Finding>> {
        let conditions = by_condition(dataset);
        let mut looked = false;
        let mut found = Vec::new();
        for metric in latencies(dataset) {
            let with = || conditions.iter().filter(|shown| shown.latencies.contains_key(metric));
            let latency = |shown: &Shown| shown.latencies.get(metric).copied().unwrap_or_default();
            let low = with().min_by(|one, other| latency(one).total_cmp(&latency(other)));
            let high = with().max_by(|one, other| latency(one).total_cmp(&latency(other)));
            let (Some(low), Some(high)) = (low, high) else { continue };
            if with().count() < 2 {
                continue;
            }
            looked = true;
            if !in_two_units(low, high) || !is_prefix_off(latency(high) / latency(low), AROUND) {
                continue;
            }
            let message = format!(
                "{metric} is {} under {} and {} under {}, {} times apart: one of them may be in another unit",
                Unit::Seconds.format(latency(low)),
                low.condition,
                Unit::Seconds.format(latency(high)),
                high.condition,
                three_digits(latency(high) / latency(low)),
            );
            let cases = [low, high].map(|end| Case {
                index: end.first,
                severity: Severity::Warning,
                text: format!("{metric} {}", Unit::Seconds.format(latency(end))),
            });
            found = told(self, dataset, cases.into(), message, ADVICE);
            break;
        }
        looked.then_some(found)
    }
}

const ADVICE: &str = "Look up the unit in the tool's own output (ms, us and ns change between versions of one tool) and import again.";

/// Means and medians, which are looked at first: they scatter least.
const TYPICAL: &[&str] = &["latency_mean", "latency_p50"];
/// Parts of the names of latencies, whoever names them.
const PARTS: &[&str] = &["latency", "response", "svctm", "await"];
/// Short words of such names, which stand in other words too.
const WORDS: &[&str] = &["lat", "clat", "slat", "rtt"];

/// Every figure in seconds that a latency's name has, the most typical first.
fn latencies(dataset: &Dataset) -> Vec<&str> {
    let names = dataset.observations.iter().flat_map(|observation| observation.figures.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let mut names: Vec<&str> = names.into_iter().filter(|name| is_latency(dataset, name)).collect();
    names.sort_by_key(|name| (!TYPICAL.contains(name), name.contains('.')));
    names
}

fn is_latency(dataset: &Dataset, name: &str) -> bool {
    let name_of = name.to_lowercase();
    let mut words = name_of.split(|letter: char| !letter.is_alphanumeric());
    dataset.unit_of(name) == Unit::Seconds
        && (PARTS.iter().any(|part| name_of.contains(part)) || words.any(|word| WORDS.contains(&word)))
}

/// What one condition shows: medians over its observations.
struct Shown {
    condition: String,
    first: usize,
    latencies: BTreeMap<String, f64>,
    rate: Option<f64>,
}

/// Whether two conditions differ as two units do. A slow device is slow in its rate as well, and a device that can no
/// longer follow its arrivals has a mean a thousand times longer, but not a maximum; a slip shifts all figures alike.
fn in_two_units(low: &Shown, high: &Shown) -> bool {
    let rates = low.rate.zip(high.rate).map(|(one, other)| (one / other).max(other / one));
    let shared = low.latencies.iter().filter_map(|(name, one)| Some(high.latencies.get(name)? / one));
    rates.is_none_or(|rates| rates < RATES_APART)
        && shared.into_iter().all(|ratio| is_prefix_off(ratio, AROUND_TAILS))
}

fn by_condition(dataset: &Dataset) -> Vec<Shown> {
    let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        let key = (observation.table.clone(), condition(dataset, observation));
        groups.entry(key).or_default().push(index);
    }
    let shown = |((_, condition), indices): ((String, String), Vec<usize>)| {
        let observations = || indices.iter().filter_map(|index| dataset.observations.get(*index));
        // Each name once: a file of thousands of runs has it as often.
        let names: BTreeSet<&String> =
            observations().flat_map(|observation| observation.figures.keys()).collect();
        let latencies = names
            .into_iter()
            .filter(|name| name.starts_with("latency_") || is_latency(dataset, name))
            .filter_map(|name| {
                let typical = median(observations().filter_map(|observation| observation.value(name)))?;
                (typical > 0.0).then(|| (name.clone(), typical))
            })
            .collect();
        let rate = observations().filter_map(|observation| {
            let known = ["iops", "throughput", "events"].iter().find_map(|name| observation.value(name));
            let of_rates = || {
                let rates = [Unit::PerSecond, Unit::BytesPerSecond];
                let mut figures = observation.figures.iter();
                figures
                    .find(|(name, _)| rates.contains(&dataset.unit_of(name)))
                    .map(|(_, figure)| figure.value)
            };
            known.or_else(of_rates)
        });
        let rate = median(rate).filter(|rate| *rate > 0.0);
        Some(Shown { condition, first: *indices.first()?, latencies, rate })
    };
    groups.into_iter().filter_map(shown).collect()
}

/// How many operations its labels say are in flight.
fn depth(observation: &Observation) -> Option<f64> {
    // Large operations beside small ones take part in what is in flight, and have another latency.
    if observation.labels.get("large").is_some_and(|large| large != "0") {
        return None;
    }
    let numbers = DEPTHS.iter().filter_map(|name| observation.labels.get(*name)?.parse::<f64>().ok());
    let depth = numbers.filter(|number| *number >= 1.0).reduce(|one, other| one * other)?;
    Some(depth)
}

/// Whether a ratio, or its inverse, is about a thousand or a million.
fn is_prefix_off(ratio: f64, around: f64) -> bool {
    let ratio = if ratio < 1.0 { ratio.recip() } else { ratio };
    [1e3, 1e6].iter().any(|prefix| (prefix / around..=prefix * around).contains(&ratio))
}

fn plain(value: f64) -> String {
    if value < 0.01 { format!("{value:.4}") } else { three_digits(value) }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, only, silent};
    use super::*;

    fn observed(labels: &[(&str, &str)], iops: f64, latency: f64) -> Observation {
        super::super::made_up::observation(labels, &[("iops", iops), ("latency_mean", latency)])
    }

    #[test]
    fn microseconds_read_as_milliseconds_break_littles_law() {
        let set = dataset(vec![observed(&[("small", "4"), ("large", "0")], 4398.0, 0.905)]);
        let found = only(&LatencyUnit, &set);
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "latencies are about a thousand times off: 4\u{202f}398 /s at 905 ms each keep 3980 in flight, but 4.00 were (rate \
             times latency is what is in flight)"
        );
        let held_back = dataset(vec![observed(&[("iodepth", "32")], 100.0, 0.3e-3)]);
        assert_eq!(only(&LatencyUnit, &held_back).severity, Severity::Note);
        let right = dataset(vec![observed(&[("iodepth", "4"), ("numjobs", "2")], 8000.0, 0.001)]);
        assert!(findings(&LatencyUnit, &right).is_empty());
    }

    #[test]
    fn latencies_a_thousand_times_apart_at_like_rates_are_two_units() {
        let set = dataset(vec![
            observed(&[("version", "11.1")], 2302.0, 0.43e-3),
            observed(&[("version", "12.2")], 2500.0, 0.40),
        ]);
        let found = only(&LatencyUnit, &set);
        assert_eq!(found.severity, Severity::Warning);
        assert!(
            found
                .message
                .starts_with("latency_mean is 430 µs under version=11.1 and 400 ms under version=12.2")
        );
    }

    #[test]
    fn latencies_of_any_name_and_tails_are_looked_at() {
        for name in
            ["p99_latency", "max_latency", "latency_max", "clat", "lat", "response_time", "r_await", "rtt"]
        {
            let row = |version: &str, latency: f64| {
                super::super::made_up::observation(
                    &[("version", version)],
                    &[("throughput", 1e8), (name, latency)],
                )
            };
            let mut set = dataset(vec![row("1", 0.43e-3), row("2", 0.40)]);
            let note = set.metrics["throughput"].clone();
            let note = iostone_model::dataset::MetricNote { unit: Unit::Seconds, ..note };
            set.metrics.insert(name.to_owned(), note);
            assert_eq!(only(&LatencyUnit, &set).severity, Severity::Warning, "{name}");
        }
        let row = |latency: f64| super::super::made_up::observation(&[], &[("translation_time", latency)]);
        assert!(silent(&LatencyUnit, &dataset(vec![row(1e-3), row(1.0)])));
    }

    #[test]
    fn a_slow_device_is_slow_in_its_rate_too() {
        let set = dataset(vec![
            observed(&[("device", "nvme")], 100_000.0, 10e-6),
            observed(&[("device", "tape")], 100.0, 10e-3),
        ]);
        assert!(findings(&LatencyUnit, &set).is_empty());
    }

    #[test]
    fn a_queue_that_grows_has_a_longer_mean_but_no_such_maximum() {
        let mut set = dataset(vec![
            observed(&[("rate", "1000")], 1000.0, 0.2e-3),
            observed(&[("rate", "1200")], 1100.0, 0.2),
        ]);
        for (observation, longest) in set.observations.iter_mut().zip([0.03, 0.9]) {
            observation.figures.insert("latency_max".to_owned(), longest.into());
        }
        assert!(findings(&LatencyUnit, &set).is_empty());
    }

    #[test]
    fn one_condition_without_depth_is_not_looked_at() {
        assert!(silent(&LatencyUnit, &dataset(vec![observed(&[("a", "x")], 100.0, 1e-3)])));
    }
}
