//! All comparisons that are made together.

use iostone_model::verdict::Flag;

use super::decision::{Decision, count_places, decide_curves, decide_levels};
use super::error::LARGEST_FAMILY;
use super::pair::Pair;
use super::sequence::Sequence;
use super::table::Table;
use super::{JudgeError, Judgement, Rules};
use crate::boundary::LARGEST_BUDGET;

/// The comparisons of all tables of blocks.
pub(super) struct Family<'a> {
    pub(super) pairs: Vec<Placed<'a>>,
    pub(super) size: FamilySize,
    /// The budget in force.
    pub(super) budget: u32,
}

/// How many are decided together, those without a figure too.
#[derive(Debug, Clone, Copy)]
pub(super) struct FamilySize {
    /// Comparisons, among which the printed intervals are one each.
    pub(super) comparisons: u32,
    /// Shares of the chance of error: a curve has one, however many points.
    pub(super) shares: u32,
}

/// A comparison and where it belongs.
pub(super) struct Placed<'a> {
    pub(super) pair: Pair<'a>,
    pub(super) decision: Decision,
    /// The number of its table.
    set: usize,
    /// Blocks in which both its trials ran, whether or not they have this table's figure.
    pub(super) ran: usize,
}

impl<'a> Family<'a> {
    pub(super) fn judge(
        tables: &[Table<'a>],
        declared: usize,
        rules: &Rules,
        sequence: &Sequence<'a>,
    ) -> Result<Self, JudgeError> {
        let places: Vec<(usize, &Table<'a>, usize, usize)> = tables
            .iter()
            .enumerate()
            .flat_map(|(set, table)| {
                table.pairs().into_iter().map(move |(stratum, level)| (set, table, stratum, level))
            })
            .collect();
        let comparisons = places.len() / tables.len().max(1);
        if comparisons > LARGEST_FAMILY {
            return Err(JudgeError::TooManyComparisons { comparisons });
        }
        let superblock = rules.looks.superblock() as usize;
        let longest = places.iter().map(|(_, table, stratum, level)| table.count_blocks(*stratum, *level));
        let longest = longest.max().unwrap_or(0) + superblock;
        if longest > LARGEST_BUDGET as usize {
            return Err(JudgeError::TooManyBlocks { blocks: longest });
        }
        let budget = rules.budget.max(crate::count(longest));
        let size = places.len().max(declared);
        let judged: Vec<(usize, Pair<'a>)> = places
            .into_iter()
            .map(|(set, table, stratum, level)| {
                (set, Pair::judge(table, stratum, level, rules, budget, crate::count(size)))
            })
            .collect();
        let pairs: Vec<&Pair<'a>> = judged.iter().map(|(_, pair)| pair).collect();
        let absent = size - pairs.len();
        let (decisions, shares) = match tables.len() {
            1 => (decide_levels(&pairs, absent, rules), size),
            points => {
                let curves = declared.div_ceil(points).max(count_places(&pairs));
                (decide_curves(&pairs, curves, absent, rules), curves)
            }
        };
        let pairs = judged.into_iter().zip(decisions).map(|((set, pair), decision)| {
            let ran = sequence.count_meetings(pair.stratum, pair.baseline, pair.level)
                + superblock.saturating_sub(1);
            Placed { pair, decision, set, ran }
        });
        let size = FamilySize { comparisons: crate::count(size), shares: crate::count(shares) };
        Ok(Self { pairs: pairs.collect(), size, budget })
    }

    /// What the comparisons of one table came to.
    pub(super) fn describe(&self, set: usize, rules: &Rules) -> Judgement {
        let own = || self.pairs.iter().filter(move |placed| placed.set == set);
        let comparisons = own()
            .map(|placed| placed.pair.describe(rules, &placed.decision, self.size, self.budget))
            .collect();
        let pairs: Vec<&Pair<'a>> = own().map(|placed| &placed.pair).collect();
        Judgement { comparisons, flags: self.flags(&pairs, rules) }
    }

    fn flags(&self, pairs: &[&Pair<'a>], rules: &Rules) -> Vec<Flag> {
        let mut flags = Vec::new();
        let blocks: usize = pairs.iter().map(|pair| pair.blocks()).sum();
        let unknown: usize = pairs.iter().map(|pair| pair.unknown_orders()).sum();
        // Without that word it forbids the verdicts, and is told of each.
        if unknown > 0 && rules.randomised {
            let share = if unknown == blocks { "any block" } else { "some blocks" };
            let message = format!(
                "which trial ran first is not known for {share}, only that it was drawn by lot: an effect of running second \
                 is not removed there, and carry-over cannot be seen"
            );
            flags.push(Flag::new("order-unknown", message));
        }
        if self.budget > rules.budget {
            let message = format!(
                "there are {} blocks, more than the budget of {}: the limits are those of {} blocks, valid only if \
                 that number was not chosen by looking at the figures",
                self.budget, rules.budget, self.budget
            );
            flags.push(Flag::new("budget-exceeded", message));
        }
        flags
    }
}
