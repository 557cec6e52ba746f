//! `order-unrecorded`: nobody can tell any more whether the conditions took turns.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::conditions::{at, tables};
use super::timeline::{blocked, in_time};
use super::wording::in_table;
use crate::{Outcome, Rule, finding};

pub(super) struct OrderUnrecorded;

impl Rule for OrderUnrecorded {
    fn name(&self) -> &'static str {
        "order-unrecorded"
    }

    fn looks_for(&self) -> &'static str {
        "comparisons whose order of runs is not recorded, nor the blocks they stood in"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let tables = tables(dataset);
        let compared: Vec<_> = tables.iter().filter(|table| table.compares).collect();
        if compared.is_empty() {
            return Outcome::NotApplicable;
        }
        let findings = compared.into_iter().filter_map(|table| {
            // Jobs of one execution may share its time.
            let timed = || table.members.iter().all(|place| at(dataset, *place).is_some_and(|row| row.order.is_some()));
            if blocked(dataset, &table.members) || timed() || in_time(dataset, &table.members).is_some() {
                return None;
            }
            let known = |label: &str| {
                table.members.iter().any(|place| at(dataset, *place).is_some_and(|row| row.labels.contains_key(label)))
            };
            let unknown: Vec<&str> =
                [("host", "the host"), ("date", "the day")].iter().filter(|(label, _)| !known(label)).map(|(_, name)| *name).collect();
            let beside = if unknown.is_empty() { String::new() } else { format!(", nor {}", unknown.join(" or ")) };
            let message = format!(
                "the order of the runs{} is not recorded{beside}: whether a drift in time met the conditions alike \
                 cannot be checked",
                in_table(table)
            );
            Some(Finding {
                observations: table.members.clone(),
                ..finding(self, Severity::Note, message, "Keep the order, the host and the day with each run.")
            })
        });
        Outcome::Looked(findings.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::Order;

    #[test]
    fn an_unknown_order_is_noted_and_a_known_one_is_not() {
        let mut dataset = two_conditions(&[1.0, 2.0], &[3.0, 4.0]);
        assert!(findings(&OrderUnrecorded, &dataset).is_empty());
        dataset.order = Order::Unknown;
        let found = findings(&OrderUnrecorded, &dataset);
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].message.contains("not recorded, nor the host or the day:"), "{}", found[0].message);
        for (index, observation) in dataset.observations.iter_mut().enumerate() {
            observation.block = Some(index as u64 % 2);
        }
        assert!(findings(&OrderUnrecorded, &dataset).is_empty());
        assert_eq!(OrderUnrecorded.look(&two_conditions(&[1.0], &[])), Outcome::NotApplicable);
    }
}
