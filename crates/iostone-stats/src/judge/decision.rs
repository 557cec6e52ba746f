//! What comparisons come to as members of a family: one figure at several levels, or all points of curves.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::verdict::Verdict;

use super::Rules;
use super::coins::Coins;
use super::pair::Pair;
use crate::boundary::alpha;
use crate::sequential::{Found, Strengths};
use crate::step_down;

/// The verdict on a comparison and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    /// The verdict and its look; none while it is open, or withheld.
    pub(super) found: Option<Found>,
    /// Whether it was found together with the other points of a curve.
    pub(super) joint: bool,
}

impl Decision {
    pub(super) fn verdict(&self) -> Verdict {
        self.found.map_or(Verdict::Undecided, |found| found.verdict)
    }
}

/// Decides comparisons of one figure, of which `absent` more were planned: each with its share of the chance of error.
pub(super) fn decide_levels(pairs: &[&Pair<'_>], absent: usize, rules: &Rules) -> Vec<Decision> {
    let strengths = pairs.iter().map(|pair| pair.strengths());
    let strengths: Vec<_> = strengths.chain(std::iter::repeat_n(Strengths::default(), absent)).collect();
    let open = step_down::share(&strengths, rules.margin > 0.0);
    let found = |(pair, open): (&&Pair<'_>, u32)| pair.ssr.found_within(open).filter(|_| pair.is_fit());
    pairs.iter().zip(open).map(|pair| Decision { found: found(pair), joint: false }).collect()
}

/// The levels that have a curve, in all strata.
pub(super) fn count_places(pairs: &[&Pair<'_>]) -> usize {
    pairs.iter().map(|pair| (pair.stratum, pair.level)).collect::<BTreeSet<_>>().len()
}

/// Decides the points of so many curves, of which `absent` have no figure.
///
/// Each curve has an even share of the chance of error. Its points are shown to differ by the coins that they share, and to be
/// equivalent all together: that claim is false if it is false of one of them, so each is held at the curve's share
/// (intersection-union; Berger 1982). A point by itself is shown to be equivalent at the share of a point.
pub(super) fn decide_curves(
    pairs: &[&Pair<'_>],
    curves: usize,
    absent: usize,
    rules: &Rules,
) -> Vec<Decision> {
    let mut places = BTreeMap::<(&str, &str), Vec<usize>>::new();
    for (index, pair) in pairs.iter().enumerate() {
        places.entry((pair.stratum, pair.level)).or_default().push(index);
    }
    let size = crate::count(pairs.len() + absent);
    let mut decisions = vec![Decision { found: None, joint: false }; pairs.len()];
    for members in places.into_values() {
        let points: Vec<&Pair<'_>> = members.iter().filter_map(|index| pairs.get(*index).copied()).collect();
        let decided = decide_curve(&points, crate::count(curves), size, absent == 0, rules);
        for (index, decision) in members.into_iter().zip(decided) {
            if let Some(own) = decisions.get_mut(index) {
                *own = decision;
            }
        }
    }
    decisions
}

fn decide_curve(points: &[&Pair<'_>], curves: u32, size: u32, whole: bool, rules: &Rules) -> Vec<Decision> {
    let decisions = decide_points(points, curves, size, rules);
    let Some(blocks) = equivalent_throughout(points, curves).filter(|_| whole) else { return decisions };
    // A run whose points were all decided before had ended by then.
    if decisions.iter().all(|decision| decision.found.is_some_and(|found| found.blocks < blocks)) {
        return decisions;
    }
    let found = Some(Found { verdict: Verdict::Equivalent, blocks });
    points.iter().map(|_| Decision { found, joint: true }).collect()
}

fn decide_points(points: &[&Pair<'_>], curves: u32, size: u32, rules: &Rules) -> Vec<Decision> {
    let fit: Vec<&Pair<'_>> = points.iter().copied().filter(|point| point.is_fit()).collect();
    let ratios: Vec<BTreeMap<u64, f64>> = fit.iter().map(|point| point.rounded_ratios()).collect();
    let blocks: BTreeSet<u64> = ratios.iter().flat_map(|ratios| ratios.keys().copied()).collect();
    let in_blocks =
        |ratios: &BTreeMap<u64, f64>| blocks.iter().map(|block| ratios.get(block).copied()).collect();
    let looks: Vec<u32> = fit.first().map(|point| point.ssr.looks().collect()).unwrap_or_default();
    let coins = Coins::new(
        ratios.iter().map(in_blocks).collect(),
        alpha(rules.confidence) / f64::from(curves),
        rules.seed,
    );
    let mut different = coins.find_different(&looks).into_iter();
    points
        .iter()
        .map(|point| {
            if !point.is_fit() {
                return Decision { found: None, joint: false };
            }
            let different = different.next().flatten();
            let own = point.ssr.found_within(size);
            let equivalent = point
                .ssr
                .equivalent_within(size)
                .map(|blocks| Found { verdict: Verdict::Equivalent, blocks });
            let unstable = own.filter(|found| found.verdict == Verdict::Unstable);
            // Of the same look equivalence wins: a difference below the margin does not matter.
            let found =
                [equivalent, different, unstable].into_iter().flatten().min_by_key(|found| found.blocks);
            Decision { found, joint: found.is_some() && found == different }
        })
        .collect()
}

/// The look at which the last point of a curve was shown to be equivalent at the share of the curve.
fn equivalent_throughout(points: &[&Pair<'_>], curves: u32) -> Option<u32> {
    let at = |point: &&Pair<'_>| point.ssr.equivalent_within(curves).filter(|_| point.is_fit());
    points.iter().map(at).collect::<Option<Vec<u32>>>()?.into_iter().max()
}
