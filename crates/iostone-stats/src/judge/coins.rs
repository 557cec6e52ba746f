//! Points that share the coins of their blocks: which of them differ, without splitting the chance of error among them.
//!
//! All points of a curve are measured in the same trials, so one coin a block decides for all of them which level ran first.
//! If no point differs, turning that coin over turns all signs of the block, whatever the points have in common. So all coins
//! are turned over together in every way there is, and the point that then looks most lopsided gives the law that the
//! figures are held against (max-T; Westfall and Young 1993, chapter 2). For up to [`ENUMERATED`] blocks that is exact by
//! enumeration, beyond it by [`DRAWS`] draws among which the figures themselves are one (Dwass 1957).
//!
//! Over the looks the chance of error is spent as it is by the limits of a single comparison: 65 % of it by the first look,
//! all of it by the last.

use std::cmp::Ordering;
use std::sync::Arc;

use iostone_model::verdict::Verdict;

use crate::boundary::FIRST_LOOK_SHARE;
use crate::rank::doubled_ranks;
use crate::schedule::SplitMix64;
use crate::sequential::Found;

/// Up to so many blocks all ways to turn the coins are tried: 2048.
const ENUMERATED: usize = 11;
/// Beyond that, so many of them.
const DRAWS: usize = 3000;

/// The points of one level against its baseline.
pub(super) struct Coins {
    /// For each point, its log ratio in each block of the group; none where it lacks a figure.
    points: Vec<Vec<Option<f64>>>,
    alpha: f64,
    seed: u64,
}

/// What one look sees.
struct Glance {
    blocks: usize,
    ways: Ways,
    /// For each point, how rarely fair coins are as lopsided, for each way to turn them; the first way is that of the figures.
    rarity: Vec<Vec<f64>>,
    /// For each point, the side that its figures favour.
    sides: Vec<Verdict>,
    /// The chance that may be spent up to this look.
    allowed: f64,
}

impl Coins {
    /// `points` holds for each point the log ratio of each block, in the order in which the blocks ran.
    pub(super) fn new(points: Vec<Vec<Option<f64>>>, alpha: f64, seed: u64) -> Self {
        Self { points, alpha, seed }
    }

    /// For each point that differs, which way and at which of the `looks` that was shown.
    ///
    /// The points found so leave, and the others are held against the law of those that are left, until nothing changes.
    /// That the limits of fewer points are no stricter at any look is so but for rounding to whole ways of turning coins.
    pub(super) fn find_different(&self, looks: &[u32]) -> Vec<Option<Found>> {
        let glances = self.glance(looks);
        let mut found = vec![None; self.points.len()];
        loop {
            let open: Vec<usize> = (0..found.len()).filter(|point| found[*point].is_none()).collect();
            let shown = reject(&glances, &open);
            if shown.is_empty() {
                return found;
            }
            for (point, verdict) in shown {
                found[point] = Some(verdict);
            }
        }
    }

    fn glance(&self, looks: &[u32]) -> Vec<Glance> {
        let all = self.points.iter().map(Vec::len).max().unwrap_or(0);
        let draws = Ways::draw(all, self.seed);
        let last = looks.len().saturating_sub(1).max(1) as f64;
        let seen = looks.iter().enumerate().filter(|(_, blocks)| **blocks as usize <= all);
        seen.map(|(number, blocks)| {
            let blocks = *blocks as usize;
            let spent = FIRST_LOOK_SHARE + (1.0 - FIRST_LOOK_SHARE) * number as f64 / last;
            let ways = if blocks <= ENUMERATED { Ways::enumerate(blocks) } else { draws.clone() };
            let turned = self.points.iter().map(|point| turn(point.get(..blocks).unwrap_or(point), &ways));
            let (rarity, sides) = turned.unzip();
            Glance { blocks, ways, rarity, sides, allowed: self.alpha * spent }
        })
        .collect()
    }
}

/// Ways to turn the coins of all blocks: for each, a bit for each block, set where its signs are turned.
#[derive(Clone)]
struct Ways {
    enumerated: bool,
    /// Of each way, the words of its bits.
    bits: Arc<Vec<Vec<u64>>>,
}

impl Ways {
    fn enumerate(blocks: usize) -> Self {
        Self { enumerated: true, bits: Arc::new((0..1u64 << blocks).map(|way| vec![way]).collect()) }
    }

    /// The way of the figures themselves, and others by lot.
    fn draw(blocks: usize, seed: u64) -> Self {
        let words = blocks.div_ceil(64).max(1);
        let mut generator = SplitMix64::new(seed);
        let others = (1..DRAWS).map(|_| (0..words).map(|_| generator.next_u64()).collect());
        Self { enumerated: false, bits: Arc::new(std::iter::once(vec![0; words]).chain(others).collect()) }
    }

    fn len(&self) -> usize {
        self.bits.len()
    }
}

impl Glance {
    /// Where a way of this look stands in an earlier one: its first blocks are turned as here.
    fn place_in(&self, earlier: &Self, way: usize) -> usize {
        if !earlier.ways.enumerated {
            return way;
        }
        let word = self.ways.bits.get(way).and_then(|bits| bits.first()).copied().unwrap_or(0);
        usize::try_from(word & ((1 << earlier.blocks) - 1)).unwrap_or(0)
    }

    /// How rare the rarest of the `open` points is, for each way.
    fn rarest(&self, open: &[usize]) -> Vec<f64> {
        let mut rarest = vec![1.0; self.ways.len()];
        for rarity in open.iter().filter_map(|point| self.rarity.get(*point)) {
            for (least, own) in rarest.iter_mut().zip(rarity) {
                *least = f64::min(*least, *own);
            }
        }
        rarest
    }
}

/// How rarely fair coins are as lopsided as a point's, for each way to turn them, and the side that the point favours.
fn turn(ratios: &[Option<f64>], ways: &Ways) -> (Vec<f64>, Verdict) {
    let known: Vec<(usize, f64)> =
        ratios.iter().enumerate().filter_map(|(block, ratio)| Some((block, (*ratio)?))).collect();
    let sizes: Vec<f64> = known.iter().map(|(_, ratio)| ratio.abs()).collect();
    let (ranks, _) = doubled_ranks(&sizes);
    // The rank of a block that adds to the negative ranks as it is, and turned. A tie adds half of its rank either way.
    let weights: Vec<(usize, [u32; 2])> = known
        .iter()
        .zip(ranks)
        .map(|((block, ratio), rank)| {
            let [as_it_is, turned] = match ratio.partial_cmp(&0.0) {
                Some(Ordering::Less) => [rank, 0],
                Some(Ordering::Greater) => [0, rank],
                _ => [rank / 2; 2],
            };
            (*block, [as_it_is, turned])
        })
        .collect();
    let whole: u32 = weights.iter().map(|(_, [as_it_is, turned])| as_it_is + turned).sum();
    let law = cumulative_law(known.len());
    let negative = |bits: &[u64]| -> u32 {
        let of_block = |(block, [as_it_is, turned]): &(usize, [u32; 2])| {
            let is_turned = bits.get(block / 64).is_some_and(|word| (word >> (block % 64)) & 1 == 1);
            if is_turned { *turned } else { *as_it_is }
        };
        weights.iter().map(of_block).sum()
    };
    let rare = |bits: &Vec<u64>| {
        let sum = negative(bits);
        law.get(sum.min(whole - sum) as usize / 2).copied().unwrap_or(1.0)
    };
    let side = if 2 * negative(&[]) <= whole { Verdict::Faster } else { Verdict::Slower };
    (ways.bits.iter().map(rare).collect(), side)
}

/// P(W <= w) of Wilcoxon's signed-rank sum over so many blocks, for w up to its middle.
fn cumulative_law(blocks: usize) -> Vec<f64> {
    let mut law = vec![0.0; blocks * (blocks + 1) / 4 + 1];
    law[0] = 1.0;
    for rank in 1..=blocks {
        crate::boundary::add_rank(&mut law, rank);
    }
    law.iter()
        .scan(0.0, |total, chance| {
            *total += chance;
            Some(*total)
        })
        .collect()
}

/// The points of `open` that the looks show to differ, each with the first look that does.
fn reject(glances: &[Glance], open: &[usize]) -> Vec<(usize, Found)> {
    let mut shown: Vec<(usize, Found)> = Vec::new();
    // For each earlier look, which of its ways were within its limit.
    let mut crossings: Vec<Vec<bool>> = Vec::new();
    for (number, glance) in glances.iter().enumerate() {
        let rarest = glance.rarest(open);
        let crossed_before = |way: &usize| {
            glances.iter().take(number).zip(&crossings).any(|(earlier, crossed)| {
                crossed.get(glance.place_in(earlier, *way)).copied().unwrap_or(false)
            })
        };
        let fresh: Vec<usize> = (0..rarest.len()).filter(|way| !crossed_before(way)).collect();
        let spent = rarest.len() - fresh.len();
        let allowed = glance.allowed * rarest.len() as f64 * (1.0 + 1e-12);
        let left = (1..=rarest.len()).take_while(|ways| *ways as f64 <= allowed).count();
        let fresh: Vec<f64> = fresh.iter().filter_map(|way| rarest.get(*way).copied()).collect();
        let limit = left.checked_sub(spent).and_then(|ways| largest_limit(fresh, ways));
        let is_within = |rarity: f64| limit.is_some_and(|limit| rarity <= limit);
        for point in open {
            let own = glance.rarity.get(*point).and_then(|ways| ways.first()).copied();
            if own.is_some_and(is_within) && !shown.iter().any(|(known, _)| known == point) {
                let verdict = glance.sides.get(*point).copied().unwrap_or(Verdict::Undecided);
                shown.push((*point, Found { verdict, blocks: crate::count(glance.blocks) }));
            }
        }
        crossings.push(rarest.into_iter().map(is_within).collect());
    }
    shown
}

/// The largest of the values that at most so many do not exceed.
fn largest_limit(mut values: Vec<f64>, at_most: usize) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let next = values.get(at_most).copied().unwrap_or(f64::INFINITY);
    let within = values.partition_point(|value| *value < next);
    within.checked_sub(1).and_then(|last| values.get(last).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(signs: &[f64], points: usize) -> Vec<Vec<Option<f64>>> {
        let ratio = |point: usize, block: usize, sign: f64| {
            sign * (0.1 + 0.001 * ((7 * point + 3 * block) % 11) as f64)
        };
        (0..points)
            .map(|point| {
                signs.iter().enumerate().map(|(block, sign)| Some(ratio(point, block, *sign))).collect()
            })
            .collect()
    }

    const LOOKS: [u32; 16] = [6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32, 37, 40];

    #[test]
    fn points_that_all_favour_one_side_are_shown_at_the_first_look_however_many_they_are() {
        for many in [1, 28] {
            let found = Coins::new(points(&[1.0; 6], many), 0.05, 1).find_different(&LOOKS);
            let first = Some(Found { verdict: Verdict::Faster, blocks: 6 });
            assert!(found.iter().all(|found| *found == first), "{found:?}");
            let slower = Coins::new(points(&[-1.0; 8], many), 0.05, 1).find_different(&LOOKS);
            assert!(slower.iter().all(|found| found.is_some_and(|found| found.verdict == Verdict::Slower)));
        }
        // 2 of 64 ways are as lopsided: more than 65 % of 4 %.
        assert_eq!(Coins::new(points(&[1.0; 6], 1), 0.04, 1).find_different(&LOOKS), [None]);
        assert_eq!(Coins::new(Vec::new(), 0.05, 1).find_different(&LOOKS), []);
    }

    #[test]
    fn a_point_that_lacks_blocks_or_ties_shows_nothing_by_itself() {
        let mut some = points(&[1.0; 8], 3);
        some[1] = vec![Some(0.0); 8];
        some[2].iter_mut().take(5).for_each(|ratio| *ratio = None);
        let found = Coins::new(some, 0.05, 1).find_different(&LOOKS);
        assert!(found[0].is_some() && found[1].is_none() && found[2].is_none(), "{found:?}");
    }

    /// How often any of some points without an effect is shown to differ; points have a part in common.
    fn false_rate(many: usize, blocks: usize, common: f64, runs: u64) -> f64 {
        let mut wrong = 0;
        for run in 0..runs {
            let mut generator = SplitMix64::new(run);
            let mut points = vec![Vec::new(); many];
            for _ in 0..blocks {
                let shared = common * generator.next_normal();
                for point in &mut points {
                    point.push(Some(shared + 0.01 * generator.next_normal()));
                }
            }
            wrong +=
                u32::from(Coins::new(points, 0.05, run).find_different(&LOOKS).iter().any(Option::is_some));
        }
        f64::from(wrong) / runs as f64
    }

    #[test]
    fn equal_points_are_rarely_told_apart() {
        for (many, common) in [(1, 0.0), (5, 0.0), (5, 0.02)] {
            let rate = false_rate(many, 14, common, 400);
            // Three standard errors above the promise.
            assert!(rate <= 0.083, "{many} points, {common} in common: {rate}");
            println!("{many} points, {common} in common: {rate}");
        }
    }
}
