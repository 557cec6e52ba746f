//! `superlinear`: a rate that grows more than in proportion to the resources given to it.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::scaling::{Curve, Point, curves};
use crate::{Outcome, Rule, finding};

/// Averages and single runs must exceed proportion by this much to be doubted.
const EXCESS_OF_SINGLES: f64 = 1.10;
/// Repeated runs by so much, and every run of the one against every run of the other.
const EXCESS_OF_ALL: f64 = 1.02;
/// So many repetitions count as repeated.
const REPEATED: usize = 3;

pub(super) struct Superlinear;

impl Rule for Superlinear {
    fn name(&self) -> &'static str {
        "superlinear"
    }

    fn looks_for(&self) -> &'static str {
        "rates that grow more than in proportion to disks, threads, clients or machines"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let curves = curves(dataset);
        if curves.is_empty() {
            return Outcome::NotApplicable;
        }
        Outcome::Looked(curves.iter().filter_map(|curve| describe(self, dataset, curve)).collect())
    }
}

fn describe(rule: &dyn Rule, dataset: &Dataset, curve: &Curve<'_>) -> Option<Finding> {
    let mut steps: Vec<(f64, &Point, &Point)> = Vec::new();
    for (index, low) in curve.points.iter().enumerate() {
        for high in curve.points.iter().skip(index + 1) {
            let proportion = high.count / low.count;
            let repeated = low.places.len() >= REPEATED && high.places.len() >= REPEATED;
            let doubted = if repeated {
                high.range[0] > low.range[1] * proportion * EXCESS_OF_ALL
            } else {
                high.middle > low.middle * proportion * EXCESS_OF_SINGLES
            };
            if doubted && (high.middle / low.middle).is_finite() {
                steps.push((high.middle / low.middle / proportion, low, high));
            }
        }
    }
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (_, low, high) = steps.first()?;
    let unit = dataset.unit_of(curve.metric);
    let setting = if curve.setting.is_empty() { String::new() } else { format!(" with {}", curve.setting) };
    let step = |low: &Point, high: &Point| {
        format!(
            "{} grows by a factor of {:.2} from {label}={} to {label}={}, {} to {}",
            curve.metric,
            high.middle / low.middle,
            low.count,
            high.count,
            unit.format(low.middle),
            unit.format(high.middle),
            label = curve.label
        )
    };
    let message = format!(
        "{}{setting}: more than in proportion, so the figure at {}={} is too low or another limit changed as well",
        step(low, high),
        curve.label,
        low.count
    );
    Some(Finding {
        evidence: steps.iter().map(|(_, low, high)| step(low, high)).take(4).collect(),
        observations: low.places.iter().chain(&high.places).copied().collect(),
        ..finding(
            rule,
            Severity::Warning,
            message,
            "Measure the smallest configuration again (untouched blocks, a slow volume, a cache that grew with it).",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{dataset, findings, observation};
    use iostone_model::dataset::Order;

    fn writes(figures: &[(&str, &str, f64)]) -> Dataset {
        let row = |(instance, disks, rate): &(&str, &str, f64)| {
            observation(&[("instance", instance), ("disks", disks)], &[("throughput", rate * 1000.0)])
        };
        dataset(&["instance", "disks"], Order::Unknown, figures.iter().map(row).collect())
    }

    #[test]
    fn a_factor_of_more_than_two_for_two_disks_is_found() {
        let found = findings(
            &Superlinear,
            &writes(&[
                ("m1.large", "1", 40685.0),
                ("m1.large", "2", 78498.0),
                ("m1.xlarge", "1", 34706.0),
                ("m1.xlarge", "2", 81722.0),
                ("m1.xlarge", "4", 113_565.0),
            ]),
        );
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        let start = "throughput grows by a factor of 2.35 from disks=1 to disks=2, 34.7 MB/s to 81.7 MB/s with instance=m1.xlarge";
        assert!(found[0].message.starts_with(start), "{}", found[0].message);
    }

    #[test]
    fn proportion_with_noise_is_clear() {
        let row = |disks: &'static str, rate: f64| ("m1", disks, rate);
        let runs = [
            row("1", 95.0),
            row("1", 100.0),
            row("1", 90.0),
            row("2", 205.0),
            row("2", 190.0),
            row("2", 210.0),
        ];
        assert!(findings(&Superlinear, &writes(&runs)).is_empty());
        assert!(findings(&Superlinear, &writes(&[row("1", 100.0), row("2", 205.0)])).is_empty());
    }

    #[test]
    fn labels_that_count_nothing_cannot_be_looked_at() {
        assert_eq!(Superlinear.look(&writes(&[("a", "x", 1.0), ("a", "y", 9.0)])), Outcome::NotApplicable);
    }
}
