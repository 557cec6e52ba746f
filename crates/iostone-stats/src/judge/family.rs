//! All comparisons that are made together, and what Holm's rule decides of them.

use iostone_model::verdict::Flag;

use super::pair::Pair;
use super::sequence::Sequence;
use super::table::Table;
use super::{JudgeError, Judgement, Rules};
use crate::boundary::LARGEST_BUDGET;

/// The comparisons of all tables of blocks.
pub(super) struct Family<'a> {
    pub(super) pairs: Vec<Placed<'a>>,
    /// For each comparison, the number open when it was decided; those without a figure come last.
    decided: Vec<Option<u32>>,
    /// The budget in force.
    pub(super) budget: u32,
}

/// A comparison and where it belongs.
pub(super) struct Placed<'a> {
    pub(super) pair: Pair<'a>,
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
        let longest = places.iter().map(|(_, table, stratum, level)| table.count_blocks(*stratum, *level));
        let longest = longest.max().unwrap_or(0);
        if longest > LARGEST_BUDGET as usize {
            return Err(JudgeError::TooManyBlocks { blocks: longest });
        }
        let budget = rules.budget.max(crate::count(longest));
        let size = places.len().max(declared);
        let pairs: Vec<Placed<'a>> = places
            .into_iter()
            .map(|(set, table, stratum, level)| {
                let pair = Pair::judge(table, stratum, level, rules, budget, crate::count(size));
                let ran = sequence.count_meetings(pair.stratum, pair.baseline, pair.level);
                Placed { pair, set, ran }
            })
            .collect();
        let without_figures = std::iter::repeat_n(0, size - pairs.len());
        let strengths: Vec<u32> =
            pairs.iter().map(|placed| placed.pair.strength()).chain(without_figures).collect();
        Ok(Self { decided: crate::holm::decide(&strengths), pairs, budget })
    }

    /// The family size at which a comparison stands: that of its decision, or what is open at the end.
    pub(super) fn open_for(&self, index: usize) -> u32 {
        let still_open = crate::holm::count_open(&self.decided);
        self.decided.get(index).copied().flatten().unwrap_or(still_open)
    }

    /// What the comparisons of one table came to.
    pub(super) fn describe(&self, set: usize, rules: &Rules) -> Judgement {
        let size = crate::count(self.decided.len());
        let own = || self.pairs.iter().enumerate().filter(move |(_, placed)| placed.set == set);
        let comparisons = own()
            .map(|(index, placed)| placed.pair.describe(rules, self.open_for(index), size, self.budget))
            .collect();
        let pairs: Vec<&Pair<'a>> = own().map(|(_, placed)| &placed.pair).collect();
        Judgement { comparisons, flags: self.flags(&pairs, rules) }
    }

    fn flags(&self, pairs: &[&Pair<'a>], rules: &Rules) -> Vec<Flag> {
        let mut flags = Vec::new();
        let blocks: usize = pairs.iter().map(|pair| pair.blocks()).sum();
        let unknown: usize = pairs.iter().map(|pair| pair.unknown_orders()).sum();
        if unknown > 0 {
            let share = if unknown == blocks { "any block" } else { "some blocks" };
            let message = format!(
                "which trial ran first is not known for {share}: an effect of running second is not removed there, \
                 and carry-over cannot be seen"
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
