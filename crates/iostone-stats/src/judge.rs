//! The single door to a judgement: figures and rules in, comparisons with verdicts and flags out.

mod next;
mod pair;
mod table;
mod unblocked;

use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, Flag};

use crate::boundary::LARGEST_BUDGET;
pub use next::{Next, next_step};
use pair::Pair;
use table::Table;

/// The log ratio of a block in which only one of the two runs ended: it counts by rank alone.
pub const CENSORED_LOG_RATIO: f64 = 1e9;

/// One measured figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The level of the factor in question.
    pub level: String,
    /// The levels of the other factors; empty with one factor. Levels are compared within a stratum.
    pub stratum: String,
    /// The figure, in any unit, above zero. Infinite for a run that never ended: the worst of all, whatever the
    /// direction.
    pub value: f64,
    /// The block it was measured in. Successive blocks have successive numbers (in steps of the smallest gap); a
    /// missing number means that something unknown ran in between.
    pub block: Option<u64>,
    /// Its position within the block (over all strata), or the time at which it ran: larger is later.
    pub order: Option<f64>,
}

/// What was declared before the first trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The level that all others are compared with.
    pub baseline: String,
    /// Which way is better.
    pub direction: Direction,
    /// The equivalence margin as a fraction: 0.03 for 3 %. Zero where no difference is small enough.
    pub margin: f64,
    /// The confidence of all verdicts together, from 0.5 to below 1.
    pub confidence: f64,
    /// The most blocks, from 1 to [`LARGEST_BUDGET`].
    pub budget: u32,
    /// No verdict before that many blocks.
    pub minimum: u32,
    /// The step to which figures were rounded, in their own unit; 0 for full precision.
    pub resolution: f64,
    /// Whether a constant effect of running second in a block is estimated and removed.
    pub adjust_order: bool,
}

/// What the figures came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Each level against the baseline of its stratum, in order of first appearance.
    pub comparisons: Vec<Comparison>,
    /// What holds for the figures as a whole.
    pub flags: Vec<Flag>,
}

/// Why figures cannot be judged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// There is nothing to judge.
    #[error("there are no figures to judge")]
    NoFigures,
    /// A rule makes no sense.
    #[error("`{rule}` is {value}, but must be {expected}")]
    BadRule {
        /// The rule's name.
        rule: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        expected: String,
    },
    /// The baseline is not among the levels.
    #[error("no figure has the baseline `{baseline}`; the levels are {levels}")]
    UnknownBaseline {
        /// The baseline asked for.
        baseline: String,
        /// The levels there are.
        levels: String,
    },
    /// A stratum has no baseline to compare with.
    #[error("no figure within `{stratum}` has the baseline `{baseline}`; the levels there are {levels}")]
    MissingBaseline {
        /// The stratum.
        stratum: String,
        /// The baseline.
        baseline: String,
        /// The levels in that stratum.
        levels: String,
    },
    /// All figures are of one level.
    #[error("all figures have the level `{level}`; a comparison needs at least one more")]
    SingleLevel {
        /// That level.
        level: String,
    },
    /// Some figures have a block and some have none.
    #[error(
        "figure {number} (`{level}`, {value}) has no block, but others have; give every figure one, or none"
    )]
    MissingBlock {
        /// The figure's number, from 1.
        number: usize,
        /// Its level.
        level: String,
        /// Its value.
        value: f64,
    },
    /// Two figures claim the same place.
    #[error("block {block} has two figures of `{level}`{}", write_stratum(.stratum))]
    Duplicate {
        /// The block.
        block: u64,
        /// The level.
        level: String,
        /// The stratum, empty with one factor.
        stratum: String,
    },
    /// A figure without a logarithm.
    #[error("figure {number} (`{level}`{}) is {value}; ratios need figures above zero", write_block(*.block))]
    NotPositive {
        /// The figure's number, from 1.
        number: usize,
        /// Its level.
        level: String,
        /// Its block.
        block: Option<u64>,
        /// Its value.
        value: f64,
    },
    /// A figure's order cannot be compared.
    #[error("the order of figure {number} (`{level}`{}) is not a number", write_block(*.block))]
    BadOrder {
        /// The figure's number, from 1.
        number: usize,
        /// Its level.
        level: String,
        /// Its block.
        block: Option<u64>,
    },
    /// More blocks than limits can be computed for.
    #[error("there are {blocks} blocks; at most {LARGEST_BUDGET} can be judged together")]
    TooManyBlocks {
        /// The blocks of the longest comparison.
        blocks: usize,
    },
    /// A live run is made of blocks.
    #[error("the figures have no blocks, so no next block can be planned")]
    NotBlocked,
}

fn write_stratum(stratum: &str) -> String {
    if stratum.is_empty() { String::new() } else { format!(" within `{stratum}`") }
}

fn write_block(block: Option<u64>) -> String {
    block.map_or_else(String::new, |block| format!(", block {block}"))
}

/// Judges all levels against the baseline.
///
/// Blocked figures are taken in ascending order of block, by the sequential signed-rank procedure, which ends with
/// its verdict: where more blocks are given (flag `decided-early`) they speak through the other flags alone. A block
/// without either side of a comparison does not count for it. The budget is raised to the number of blocks where there are
/// more (flag `budget-exceeded`). Verdicts are Holm's over all comparisons, printed intervals Bonferroni's; a verdict
/// that only the step-down bears out carries the flag `step-down`. A verdict is withheld (undecided, flags
/// `withheld` and `carry-over` or `fixed-order`) where the order of trials could have made it. Unblocked figures get
/// no verdict but an exact unpaired test. See [`JudgeError`] for what cannot be judged.
pub fn judge(figures: &[Figure], rules: &Rules) -> Result<Judgement, JudgeError> {
    let table = Table::read(figures, rules)?;
    if !table.is_blocked() {
        return Ok(unblocked::compare(&table, rules));
    }
    let family = Family::judge(&table, rules)?;
    let comparisons = (0..family.pairs.len()).map(|index| family.describe(index, rules)).collect();
    Ok(Judgement { comparisons, flags: family.flags(rules) })
}

/// The largest difference either way, as a fraction, that a comparison's interval leaves possible.
///
/// What an undecided comparison still says: larger differences are ruled out at its confidence. None where the
/// interval is unbounded or empty.
pub fn largest_possible_difference(comparison: &Comparison) -> Option<f64> {
    let [low, high] = comparison.ratio_interval;
    let (low, high) = low.zip(high).filter(|(low, high)| low <= high)?;
    Some(low.ln().abs().max(high.ln().abs()).exp_m1())
}

/// Confidence as the chance of error; rounded, so that 0.95 gives the very number 0.05.
fn alpha(rules: &Rules) -> f64 {
    ((1.0 - rules.confidence) * 1e12).round() / 1e12
}

/// All comparisons of a table of blocks, and what Holm's rule decides of them.
struct Family<'a> {
    pairs: Vec<Pair<'a>>,
    /// For each comparison, the number open when it was decided.
    decided: Vec<Option<u32>>,
    /// The budget in force.
    budget: u32,
}

impl<'a> Family<'a> {
    fn judge(table: &Table<'a>, rules: &Rules) -> Result<Self, JudgeError> {
        let places = table.pairs();
        let longest =
            places.iter().map(|(stratum, level)| table.count_blocks(*stratum, *level)).max().unwrap_or(0);
        if longest > LARGEST_BUDGET as usize {
            return Err(JudgeError::TooManyBlocks { blocks: longest });
        }
        let budget = rules.budget.max(crate::count(longest));
        let size = crate::count(places.len());
        let pairs: Vec<Pair<'a>> = places
            .into_iter()
            .map(|(stratum, level)| Pair::judge(table, stratum, level, rules, budget, size))
            .collect();
        let strengths: Vec<u32> = pairs.iter().map(Pair::strength).collect();
        Ok(Self { decided: crate::holm::decide(&strengths), pairs, budget })
    }

    /// The family size at which a comparison stands: that of its decision, or what is open at the end.
    fn open_for(&self, index: usize) -> u32 {
        let still_open = crate::holm::count_open(&self.decided);
        self.decided.get(index).copied().flatten().unwrap_or(still_open)
    }

    fn describe(&self, index: usize, rules: &Rules) -> Comparison {
        self.pairs[index].describe(rules, self.open_for(index), crate::count(self.pairs.len()), self.budget)
    }

    fn flags(&self, rules: &Rules) -> Vec<Flag> {
        let mut flags = Vec::new();
        let blocks: usize = self.pairs.iter().map(Pair::blocks).sum();
        let unknown: usize = self.pairs.iter().map(Pair::unknown_orders).sum();
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

#[cfg(test)]
mod tests;
