//! Why figures cannot be judged.

use crate::boundary::LARGEST_BUDGET;

/// The most comparisons that are judged together: each has one part in as many of the chance of error.
pub(crate) const LARGEST_FAMILY: usize = 2000;

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
    /// Points share the coin of a block, and a superblock has none.
    #[error("a run that begins with a superblock compares one figure, not {sets} points of a curve")]
    SuperblockOfCurve {
        /// The points.
        sets: usize,
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
    #[error(
        "there are {blocks} blocks; at most {LARGEST_BUDGET} can be judged together. Average neighbouring blocks, or judge a part"
    )]
    TooManyBlocks {
        /// The blocks of the longest comparison.
        blocks: usize,
    },
    /// More comparisons than are worth their share of the chance of error.
    #[error(
        "there are {comparisons} comparisons; at most {LARGEST_FAMILY} can be judged together. Judge a part"
    )]
    TooManyComparisons {
        /// The comparisons of each table.
        comparisons: usize,
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
