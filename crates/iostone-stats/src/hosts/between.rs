//! Levels that run on different hosts: an exact rank test on hosts, within zones or batches where there are such.
//!
//! A host counts as one number, the median of its log figures. Hosts of one zone are compared with hosts of that zone only, so
//! that a zone with more hosts of one level does not look like an effect of the level (van Elteren 1960). The number of hosts
//! is declared, and they are looked at once.

use iostone_model::verdict::Verdict;

use crate::hosts::rank_law::{limit, weights};
use crate::hosts::{HostComparison, HostRules, bounded};
use crate::median::median;
use crate::schedule::SplitMix64;
use crate::walsh::Interval;

/// The hosts of one zone or launch batch, each by its value: [`host_value`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stratum {
    /// Those of the baseline.
    pub baseline: Vec<f64>,
    /// Those of the level.
    pub level: Vec<f64>,
}

/// The one number that a host counts as: the median of its log figures, signed so that larger is better.
pub fn host_value(figures: &[f64]) -> Option<f64> {
    median(figures)
}

/// Compares a level with the baseline over all strata. Strata without a host of either side say nothing.
pub fn compare(strata: &[Stratum], rules: &HostRules) -> HostComparison {
    let strata: Vec<&Stratum> =
        strata.iter().filter(|stratum| !stratum.baseline.is_empty() && !stratum.level.is_empty()).collect();
    let sizes: Vec<(usize, usize)> =
        strata.iter().map(|stratum| (stratum.baseline.len(), stratum.level.len())).collect();
    let weights = weights(&sizes);
    let mut differences: Vec<(f64, u64)> = strata
        .iter()
        .zip(&weights)
        .flat_map(|(stratum, weight)| {
            stratum.level.iter().flat_map(move |level| {
                stratum.baseline.iter().map(move |base| (bounded(*level) - bounded(*base), *weight))
            })
        })
        .collect();
    differences.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let limit = |level: f64| if sizes.is_empty() { None } else { limit(&sizes, &weights, level) };
    let (of_difference, of_equivalence) = (limit(rules.of_difference()), limit(rules.of_equivalence()));
    let interval = |limit: Option<u64>| limit.map_or(Interval::ALL, |limit| cut(&differences, limit));
    let (difference, equivalence) = (interval(of_difference), interval(of_equivalence));
    let count = |side: fn(&(usize, usize)) -> usize| crate::count(sizes.iter().map(side).sum());
    HostComparison {
        hosts: [count(|size| size.0), count(|size| size.1)],
        estimate: weighted_median(&differences),
        difference,
        equivalence,
        verdict: (of_difference.is_some() || of_equivalence.is_some())
            .then(|| rules.verdict(difference, equivalence)),
    }
}

/// The differences with more than `limit` of weight on either side.
fn cut(sorted: &[(f64, u64)], limit: u64) -> Interval {
    let beyond = |mut from: Box<dyn Iterator<Item = &(f64, u64)> + '_>| {
        let mut weight = 0;
        from.find(|(_, of)| {
            weight += of;
            weight > limit
        })
        .map(|(value, _)| *value)
    };
    let lower = beyond(Box::new(sorted.iter())).unwrap_or(f64::NEG_INFINITY);
    let upper = beyond(Box::new(sorted.iter().rev())).unwrap_or(f64::INFINITY);
    Interval { lower, upper }
}

fn weighted_median(sorted: &[(f64, u64)]) -> Option<f64> {
    let all: u64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut weight = 0;
    for (index, (value, of)) in sorted.iter().enumerate() {
        weight += of;
        if 2 * weight > all {
            return Some(*value);
        }
        if 2 * weight == all {
            return sorted.get(index + 1).map(|(next, _)| f64::midpoint(*value, *next));
        }
    }
    None
}

/// The fewest hosts of one level beside `others` of the other, with which a question can be decided at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewestHosts {
    /// To be shown faster or slower.
    pub difference: u32,
    /// To be shown equivalent.
    pub equivalence: u32,
}

/// The fewest hosts beside `others` of the other level; none where `others` is 0.
pub fn fewest_hosts(others: u32, rules: &HostRules) -> Option<FewestHosts> {
    /// With one host of the other level, 5 % takes 39.
    const MOST: u32 = 100_000;
    let fewest = |level: f64| {
        let mut ways = 1.0;
        (1..=MOST).find(|hosts| {
            // C(others + hosts, hosts), built up host by host.
            ways *= f64::from(others + hosts) / f64::from(*hosts);
            1.0 / ways <= level * (1.0 + 1e-9)
        })
    };
    if others == 0 {
        return None;
    }
    Some(FewestHosts {
        difference: fewest(rules.of_difference())?,
        equivalence: fewest(rules.of_equivalence())?,
    })
}

/// How many hosts of each level would decide a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostsNeeded {
    /// Hosts of each level.
    pub each: u32,
    /// The chance that so many decide it.
    pub chance: f64,
}

/// The fewest hosts of each level that decide with a chance of 80 %, from fleets simulated with normal hosts of that spread
/// (as log) whose levels are `effect` (log ratio) apart. None where even 64 of each would not.
pub fn hosts_needed(effect: f64, host_spread: f64, rules: &HostRules) -> Option<HostsNeeded> {
    const FLEETS: u32 = 200;
    const MOST: u32 = 64;
    let decided = |each: u32| {
        let mut generator = SplitMix64::new(u64::from(each));
        let mut fleet = |centre: f64| -> Vec<f64> {
            (0..each).map(|_| centre + host_spread * generator.next_normal()).collect()
        };
        let settled = (0..FLEETS).filter(|_| {
            let stratum = Stratum { baseline: fleet(0.0), level: fleet(effect) };
            let verdict = compare(&[stratum], rules).verdict;
            verdict.is_some_and(|verdict| verdict != Verdict::Undecided)
        });
        settled.count() as f64 / f64::from(FLEETS)
    };
    let enough = |each: u32| Some(HostsNeeded { each, chance: decided(each) }).filter(|of| of.chance >= 0.8);
    let mut found = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, MOST].into_iter().find_map(enough)?;
    while let Some(fewer) = found.each.checked_sub(1).and_then(enough) {
        found = fewer;
    }
    Some(found)
}
