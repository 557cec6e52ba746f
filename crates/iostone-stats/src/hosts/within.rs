//! An effect that every host measured, on hosts like these: the exact signed rank over hosts (Wilcoxon 1945).
//!
//! A host counts as one number, the typical log ratio of its blocks (Hodges-Lehmann). The interval holds if effects scatter
//! symmetrically over hosts; where a minority reacts quite differently no single number describes the hosts.

use iostone_model::verdict::Verdict;

use crate::boundary::LARGEST_BUDGET;
use crate::hosts::{HostComparison, HostRules, bounded};
use crate::order_effect::RunOrder;
use crate::sequential::{Design, Looks, Ssr};
use crate::walsh::WalshAverages;

/// The one number that a host counts as: the Hodges-Lehmann estimate of its blocks' log ratios.
pub fn host_value(blocks: &[f64]) -> Option<f64> {
    let blocks: Vec<f64> = blocks.iter().copied().map(bounded).collect();
    WalshAverages::of(&blocks).estimate()
}

/// How the number of hosts came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// It was declared, and they are looked at together.
    Declared,
    /// They are added one at a time, until there is a verdict or so many; the values are in the order in which hosts were added.
    Added(u32),
}

/// Judges an effect by each host's value, over hosts like these.
pub fn compare(values: &[f64], hosts: Hosts, rules: &HostRules) -> HostComparison {
    let all = crate::count(values.len());
    let (budget, looks) = match hosts {
        Hosts::Declared => (all.min(LARGEST_BUDGET), Looks::Once),
        Hosts::Added(most) => (most.max(all).min(LARGEST_BUDGET), Looks::Sequential),
    };
    let mut procedure = Ssr::new(Design {
        alpha: crate::boundary::alpha(rules.confidence),
        margin: rules.margin,
        budget,
        minimum: 1,
        rounding: 0.0,
        adjust_order: false,
        family: rules.comparisons.max(1),
        looks,
    });
    for value in values {
        procedure.push(bounded(*value), RunOrder::Unknown);
    }
    let (difference, equivalence) = procedure.intervals();
    let bounded = difference.lower.is_finite() || equivalence.lower.is_finite();
    let found = procedure.last_look().and_then(|look| look.verdict);
    HostComparison {
        hosts: [all; 2],
        estimate: procedure.estimate(),
        difference,
        equivalence,
        verdict: bounded.then(|| found.unwrap_or(Verdict::Undecided)),
    }
}

/// The fewest hosts of a declared number with which an effect can be shown, and equivalence.
pub fn fewest_hosts(rules: &HostRules) -> [u32; 2] {
    let fewest =
        |level: f64| (1..=LARGEST_BUDGET).find(|hosts| (-f64::from(*hosts)).exp2() <= level * (1.0 + 1e-9));
    [rules.of_difference(), rules.of_equivalence()].map(|level| fewest(level).unwrap_or(LARGEST_BUDGET))
}
