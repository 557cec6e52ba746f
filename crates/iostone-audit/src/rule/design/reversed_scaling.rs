//! `reversed-scaling`: a rate that falls where more resources were given to it.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::scaling::{Curve, curves};
use super::wording::percent;
use crate::{Outcome, Rule, finding};

/// A fall by less is within what single runs scatter by.
const SMALLEST_FALL: f64 = 0.15;

pub(super) struct ReversedScaling;

impl Rule for ReversedScaling {
    fn name(&self) -> &'static str {
        "reversed-scaling"
    }

    fn looks_for(&self) -> &'static str {
        "rates that fall as disks, threads, clients or machines are added"
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
    let falls = curve.points.windows(2).filter_map(|pair| {
        let [low, high] = pair else { return None };
        let change = (high.middle / low.middle).ln();
        // Every run of the one below every run of the other, so that scatter alone is no fall.
        let apart = high.range[1] < low.range[0];
        (apart && change < (1.0 - SMALLEST_FALL).ln()).then_some((change, low, high))
    });
    let (change, low, high) = falls.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let unit = dataset.unit_of(curve.metric);
    let setting = if curve.setting.is_empty() { String::new() } else { format!(" with {}", curve.setting) };
    let runs = match (low.executions, high.executions) {
        (Some(a), Some(b)) => format!("{a} against {b} runs"),
        _ => "averages of an unstated number of runs".to_owned(),
    };
    let message = format!(
        "{} falls by {} from {label}={} to {label}={}{setting}, {} to {} ({runs})",
        curve.metric,
        percent(change).trim_start_matches('-'),
        low.count,
        high.count,
        unit.format(low.middle),
        unit.format(high.middle),
        label = curve.label
    );
    Some(Finding {
        observations: low.places.iter().chain(&high.places).copied().collect(),
        ..finding(
            rule,
            Severity::Note,
            message,
            "Say why, or measure both again: contention, a smaller stripe per request, and chance all look like this.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{dataset, findings, observation};
    use iostone_model::dataset::Order;

    fn seeks(figures: &[(&str, f64)]) -> Dataset {
        let row = |(disks, rate): &(&str, f64)| observation(&[("disks", disks)], &[("random_seeks", *rate)]);
        dataset(&["disks"], Order::Unknown, figures.iter().map(row).collect())
    }

    #[test]
    fn seeks_that_fall_with_more_disks_are_noted() {
        let found = findings(&ReversedScaling, &seeks(&[("1", 7528.0), ("2", 4549.0), ("4", 4507.0)]));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        assert!(
            found[0].message.starts_with(
                "random_seeks falls by 39.6 % from disks=1 to disks=2, 7\u{202f}528 /s to 4\u{202f}549 /s"
            ),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn growth_and_scatter_are_clear() {
        assert!(findings(&ReversedScaling, &seeks(&[("1", 100.0), ("2", 97.0)])).is_empty());
        let scattered =
            seeks(&[("1", 100.0), ("1", 60.0), ("1", 120.0), ("2", 70.0), ("2", 65.0), ("2", 110.0)]);
        assert!(findings(&ReversedScaling, &scattered).is_empty());
    }
}
