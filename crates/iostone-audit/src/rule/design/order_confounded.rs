//! `order-confounded`: conditions run one after another, so that time and condition cannot be told apart.

use std::collections::HashMap;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;
use iostone_stats::series::{Drift, drift};

use super::conditions::{Condition, Table, metrics, prominence, tables, values};
use super::timeline::in_time;
use super::wording::{condition_name, in_table, list, percent};
use crate::{Outcome, Rule, finding};

/// Of the intervals in the evidence.
const CONFIDENCE: f64 = 0.95;
/// Runs of a stretch within which a drift that matters shows.
const LONG: usize = 10;
/// So many lines of evidence at most.
const MOST_LINES: usize = 6;

pub(super) struct OrderConfounded;

impl Rule for OrderConfounded {
    fn name(&self) -> &'static str {
        "order-confounded"
    }

    fn looks_for(&self) -> &'static str {
        "conditions measured one after another, each in one stretch, and whether a steady drift could make their \
         difference"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let tables = tables(dataset);
        let mut applies = false;
        let mut findings = Vec::new();
        for table in tables.iter().filter(|table| table.compares && table.conditions.len() > 1) {
            // Where every condition was run once, nothing but one after another is possible.
            let repeated = table.conditions.iter().any(|condition| condition.members.len() > 1);
            let Some(timeline) = in_time(dataset, &table.members).filter(|_| repeated) else { continue };
            applies = true;
            findings.extend(
                stretches(table, &timeline).map(|order| describe(self, dataset, table, &timeline, &order)),
            );
        }
        if applies { Outcome::Looked(findings) } else { Outcome::NotApplicable }
    }
}

/// The conditions in the order of time, if each of them is one contiguous stretch.
fn stretches<'a>(table: &'a Table<'_>, timeline: &[usize]) -> Option<Vec<&'a Condition>> {
    let numbered = table.conditions.iter().enumerate();
    let of: HashMap<usize, usize> = numbered
        .flat_map(|(index, condition)| condition.members.iter().map(move |place| (*place, index)))
        .collect();
    let mut order: Vec<usize> = Vec::new();
    for place in timeline {
        let condition = *of.get(place)?;
        if order.last() != Some(&condition) {
            order.push(condition);
        }
        if order.len() > table.conditions.len() {
            // Some condition came back.
            return None;
        }
    }
    order.into_iter().map(|condition| table.conditions.get(condition)).collect()
}

/// What a steady drift leaves of the difference of two conditions in one figure.
struct Comparison<'a> {
    metric: &'a str,
    pair: [String; 2],
    drift: Drift,
}

impl Comparison<'_> {
    /// Whether the difference may be the drift's.
    fn explained(&self) -> bool {
        self.drift.p_value >= 1.0 - CONFIDENCE
    }

    /// Whether it may be, and a drift shows within the conditions.
    fn drifted(&self) -> bool {
        self.explained() && self.drift.slope_p_value < 1.0 - CONFIDENCE
    }

    fn describe(&self) -> String {
        format!(
            "{}, {} against {}: {} as it stands, {} from run to run within them; with a steady drift taken out, between {} and {}",
            self.metric,
            self.pair[1],
            self.pair[0],
            percent(self.drift.difference),
            percent(self.drift.slope),
            percent(self.drift.interval[0]),
            percent(self.drift.interval[1])
        )
    }
}

fn describe(
    rule: &dyn Rule,
    dataset: &Dataset,
    table: &Table<'_>,
    timeline: &[usize],
    order: &[&Condition],
) -> Finding {
    let moments: HashMap<usize, usize> =
        timeline.iter().enumerate().map(|(moment, place)| (*place, moment)).collect();
    let points = |condition: &Condition, metric: &str| -> Vec<(f64, f64)> {
        let of = values(dataset, &condition.members, metric);
        of.into_iter().filter_map(|(place, value)| Some((*moments.get(&place)? as f64, value))).collect()
    };
    let mut comparisons = Vec::new();
    for metric in metrics(dataset, &table.members) {
        for pair in order.windows(2) {
            let [first, second] = pair else { continue };
            if let Some(drift) = drift(&points(first, metric), &points(second, metric), CONFIDENCE) {
                let pair = [condition_name(table, first), condition_name(table, second)];
                comparisons.push(Comparison { metric, pair, drift });
            }
        }
    }
    // What the comparison rests on decides; that a latency scatters widely does not explain a rate away.
    let nearest = comparisons.iter().map(|one| prominence(dataset, one.metric)).min().unwrap_or_default();
    let (leading, others): (Vec<_>, Vec<_>) =
        comparisons.iter().partition(|one| prominence(dataset, one.metric) == nearest);
    let explained = leading.iter().filter(|one| one.explained()).count();
    let drifted = leading.iter().any(|one| one.drifted());
    // A drift that matters shows within long stretches; within short ones it hides.
    let long = order.iter().all(|condition| condition.members.len() >= LONG);
    let (severity, tail) = match (leading.len(), explained) {
        (0, _) => (Severity::Warning, "too few runs to say what a drift in time would do"),
        (_, 0) => (
            Severity::Warning,
            "a steady drift like that within the conditions does not explain the difference, but whatever else \
             changed between them would",
        ),
        (all, some) => (
            if drifted || (all == some && !long) { Severity::Serious } else { Severity::Warning },
            if all == some {
                "a steady drift like that within the conditions could make, or hide, the difference"
            } else {
                "for some of them a steady drift like that within the conditions could make, or hide, the difference"
            },
        ),
    };
    let names: Vec<String> = order.iter().map(|condition| condition_name(table, condition)).collect();
    let message = format!(
        "the conditions{} were measured one after another, {}, each in one stretch: {tail}",
        in_table(table),
        list(&names)
    );
    let lines = leading.iter().chain(&others).take(MOST_LINES).map(|comparison| comparison.describe());
    Finding {
        evidence: lines.collect(),
        observations: timeline.to_vec(),
        ..finding(
            rule,
            severity,
            message,
            "Run them again in blocks, one run of each condition in random order, so that a drift meets all alike.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, interleave, two_conditions};
    use iostone_model::dataset::Order;

    const ON: [f64; 5] = [198.832, 198.525, 197.24, 198.003, 193.24];
    const OFF: [f64; 5] = [195.168, 196.525, 196.241, 197.79, 195.378];

    #[test]
    fn five_of_one_then_five_of_the_other_are_serious_where_a_drift_explains_them() {
        let found = findings(&OrderConfounded, &two_conditions(&ON, &OFF));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert!(
            found[0].message.contains("`barrier=1` and `barrier=0`, each in one stretch"),
            "{}",
            found[0].message
        );
        assert!(found[0].evidence[0].contains("-0.5 % as it stands"), "{}", found[0].evidence[0]);
    }

    #[test]
    fn a_difference_beyond_any_drift_is_a_warning() {
        let found =
            findings(&OrderConfounded, &two_conditions(&[58.7519, 60.9603, 58.7519, 63.2337, 61.4362], &OFF));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    }

    #[test]
    fn interleaved_conditions_are_clear() {
        let mut dataset = two_conditions(&ON, &OFF);
        interleave(&mut dataset);
        assert!(findings(&OrderConfounded, &dataset).is_empty());
    }

    #[test]
    fn unknown_order_and_single_runs_cannot_be_looked_at() {
        let mut dataset = two_conditions(&ON, &OFF);
        dataset.order = Order::Unknown;
        assert_eq!(OrderConfounded.look(&dataset), Outcome::NotApplicable);
        assert_eq!(OrderConfounded.look(&two_conditions(&[1.0], &[2.0])), Outcome::NotApplicable);
        assert_eq!(OrderConfounded.look(&two_conditions(&ON, &[])), Outcome::NotApplicable);
    }
}
