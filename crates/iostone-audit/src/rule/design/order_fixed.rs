//! `order-fixed`: the same order in every block, which no coin would give.

use std::collections::BTreeMap;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Order};

use super::conditions::{Table, at, tables};
use super::wording::{in_table, list};
use crate::{Outcome, Rule, finding};

/// A dataset that says its blocks are randomised is believed until the chance of its orders is below this.
const BELIEVED: f64 = 1e-4;
/// One that does not say so is not, from this chance on.
const UNSAID: f64 = 0.05;

pub(super) struct OrderFixed;

impl Rule for OrderFixed {
    fn name(&self) -> &'static str {
        "order-fixed"
    }

    fn looks_for(&self) -> &'static str {
        "blocks that run their conditions in the same order each time, or in strict turns"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let largest = if dataset.order == Order::RandomisedBlocks { BELIEVED } else { UNSAID };
        let mut applies = false;
        let mut findings = Vec::new();
        for table in tables(dataset).iter().filter(|table| table.compares) {
            let Some(orders) = block_orders(dataset, table) else { continue };
            applies = true;
            findings.extend(describe(self, table, &orders, largest));
        }
        if applies { Outcome::Looked(findings) } else { Outcome::NotApplicable }
    }
}

/// The order of conditions in each complete block, the blocks in their own order; none where it is not told.
fn block_orders(dataset: &Dataset, table: &Table<'_>) -> Option<Vec<Vec<usize>>> {
    let mut blocks: BTreeMap<u64, Vec<(f64, usize)>> = BTreeMap::new();
    for (index, condition) in table.conditions.iter().enumerate() {
        for observation in condition.members.iter().filter_map(|place| at(dataset, *place)) {
            blocks.entry(observation.block?).or_default().push((observation.order?, index));
        }
    }
    let count = table.conditions.len();
    let orders = blocks.into_values().filter_map(|mut block| {
        block.sort_by(|a, b| a.0.total_cmp(&b.0));
        let distinct = block.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let order: Vec<usize> = block.into_iter().map(|(_, condition)| condition).collect();
        let complete = (0..count).all(|condition| order.contains(&condition)) && order.len() == count;
        (distinct && complete).then_some(order)
    });
    let orders: Vec<Vec<usize>> = orders.collect();
    (orders.len() > 1 && count > 1).then_some(orders)
}

fn describe(rule: &dyn Rule, table: &Table<'_>, orders: &[Vec<usize>], largest: f64) -> Option<Finding> {
    let first = orders.first()?;
    let mut arrangements = 1.0;
    for size in 1..=first.len() {
        arrangements *= size as f64;
    }
    // Any order may be the one that is kept.
    let chance = 1.0 / arrangements.powf(orders.len() as f64 - 1.0);
    if chance > largest {
        return None;
    }
    let names: Vec<String> = first
        .iter()
        .filter_map(|condition| table.conditions.get(*condition))
        .map(|condition| format!("`{}`", condition.name))
        .collect();
    let fixed = orders.iter().all(|order| order == first);
    let turns = first.len() == 2 && orders.windows(2).all(|pair| pair[0] != pair[1]);
    let message = if fixed {
        format!(
            "all {} blocks{} run in the order {}: what running later does cannot be told from what the conditions do",
            orders.len(),
            in_table(table),
            list(&names)
        )
    } else if turns {
        format!(
            "{} took strict turns at going first in all {} blocks{}: a disturbance of the same rhythm cannot be told \
             from a difference",
            list(&names),
            orders.len(),
            in_table(table)
        )
    } else {
        return None;
    };
    Some(finding(rule, Severity::Warning, message, "Let chance decide the order anew in every block."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};

    fn blocks(firsts: &[usize]) -> Dataset {
        let figures: Vec<f64> = (0..firsts.len()).map(|index| 100.0 + index as f64).collect();
        let mut dataset = two_conditions(&figures, &figures);
        for (index, observation) in dataset.observations.iter_mut().enumerate() {
            let (level, block) = (index / firsts.len(), index % firsts.len());
            observation.block = Some(block as u64);
            observation.order = Some(if firsts[block] == level { 1.0 } else { 2.0 });
        }
        dataset
    }

    #[test]
    fn a_fixed_or_alternating_order_is_found() {
        let found = findings(&OrderFixed, &blocks(&[0; 6]));
        assert!(found[0].message.starts_with("all 6 blocks run in the order `barrier=1` and `barrier=0`"));
        assert!(findings(&OrderFixed, &blocks(&[0, 1, 0, 1, 0, 1]))[0].message.contains("strict turns"));
    }

    #[test]
    fn coins_are_believed() {
        assert!(findings(&OrderFixed, &blocks(&[0, 1, 1, 0, 1, 0])).is_empty());
        assert!(findings(&OrderFixed, &blocks(&[0; 4])).is_empty(), "four alike are no wonder");
        let mut said = blocks(&[1; 8]);
        said.order = Order::RandomisedBlocks;
        assert!(findings(&OrderFixed, &said).is_empty());
        assert_eq!(OrderFixed.look(&two_conditions(&[1.0, 2.0], &[3.0, 4.0])), Outcome::NotApplicable);
    }
}
