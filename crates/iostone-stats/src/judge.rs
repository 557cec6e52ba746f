//! The single door to a judgement: figures and rules in, comparisons with verdicts and flags out.

mod adjustment;
mod coins;
mod decision;
mod error;
mod family;
mod next;
mod pair;
mod sequence;
mod table;
mod unblocked;

use iostone_model::covariate::{Covariate, Exposure};
use iostone_model::experiment::Claim;
use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, Flag};

pub use crate::sequential::Looks;
pub use error::JudgeError;
use family::Family;
pub use next::{Next, next_step, next_step_together};
use sequence::Sequence;
use table::Table;

/// The log ratio of a block in which only one of the two runs ended: it counts by rank alone.
pub const CENSORED_LOG_RATIO: f64 = 1e9;

/// One measured figure.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// What its trial was exposed to, of that for which verdicts are adjusted.
    pub exposure: Exposure,
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
    /// The most blocks, from 1 to [`LARGEST_BUDGET`](crate::LARGEST_BUDGET).
    pub budget: u32,
    /// No verdict before that many blocks.
    pub minimum: u32,
    /// The step to which figures were rounded, in their own unit; 0 for full precision.
    pub resolution: f64,
    /// Whether a constant effect of running second in a block is estimated and removed.
    pub adjust_order: bool,
    /// Whether the blocks are looked at on the way, or once when the budget is there; and whether the first of them is a
    /// superblock.
    pub looks: Looks,
    /// Whether the caller vouches that the order of trials was drawn by lot. Without that a table whose order is not known gets
    /// no verdict; one whose order no lot would have drawn gets none either way.
    pub randomised: bool,
    /// Whether each trial followed an unrecorded one of its own level, so that there is no carry-over to be checked.
    pub conditioned: bool,
    /// What ln (1 - share) of each covariate is worth in the logarithm of a figure (larger is better), fixed before the first
    /// block; 0 for none.
    pub slopes: [f64; Covariate::ALL.len()],
    /// The seed of what is drawn where points share their coins.
    pub seed: u64,
    /// What closes a comparison.
    pub claim: Claim,
}

impl Rules {
    /// The usual rules: a margin of 3 %, 95 % confidence, 40 blocks looked at from the sixth on, full precision.
    pub fn new(baseline: &str, direction: Direction) -> Self {
        Self {
            baseline: baseline.to_owned(),
            direction,
            margin: 0.03,
            confidence: 0.95,
            budget: 40,
            minimum: crate::FEWEST_BLOCKS,
            resolution: 0.0,
            adjust_order: true,
            looks: Looks::Sequential,
            randomised: false,
            conditioned: false,
            slopes: [0.0; Covariate::ALL.len()],
            seed: 0,
            claim: Claim::Difference,
        }
    }
}

/// Figures of one metric, to be judged by themselves or together with those of others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureSet<'a> {
    /// The figures.
    pub figures: &'a [Figure],
    /// Which way is better; it stands for [`Rules::direction`].
    pub direction: Direction,
}

/// What the figures came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Each level against the baseline of its stratum, in order of first appearance.
    pub comparisons: Vec<Comparison>,
    /// What holds for the figures as a whole.
    pub flags: Vec<Flag>,
}

/// Judges all levels against the baseline.
///
/// Blocked figures are taken in ascending order of block, by the sequential signed-rank procedure. The verdict is that of the
/// first look that bears one out; ratio and interval are those of all blocks, which hold at whatever block one stops. A block
/// without either side of a comparison does not count for it. After a superblock ([`Looks::AfterSuperblock`]) its differences
/// decide together with the blocks; for a comparison that lacks one of its figures the blocks decide alone (flag
/// `superblock-incomplete`).
/// The budget is raised to the number of blocks where there are
/// more (flag `budget-exceeded`). The chance of error is shared among all comparisons; one leaves its share to the others
/// where its difference is shown to be real and within the margin (flag `step-down` on what only that bears out). A verdict
/// is withheld (undecided, flags `withheld` and what forbids it) where the order of trials could have made it. Unblocked
/// figures get no verdict but an exact unpaired test. See [`JudgeError`] for what cannot be judged.
pub fn judge(figures: &[Figure], rules: &Rules) -> Result<Judgement, JudgeError> {
    let judgements = judge_together(&[FigureSet { figures, direction: rules.direction }], 0, rules)?;
    judgements.into_iter().next().ok_or(JudgeError::NoFigures)
}

/// Judges several sets of figures of the same trials: the points of a curve for each level.
///
/// The levels share the chance of error evenly. The points of a level are shown to differ by the coins that they share, and to
/// be equivalent all together; a point by itself is shown to be equivalent, and intervals are printed, as one comparison
/// among all. `declared` is the number of comparisons that were planned: those that no figure was measured for stay open, so
/// that what happened to be measured does not make the others easier to decide. Fewer than there are figures for mean
/// nothing. What runs before what is read from all sets, and a figure that is missing in one set takes its block from that
/// set alone. One judgement for each set, in order; see [`judge`] for the rest. The first set that cannot be judged is the
/// error, as is a mixture of sets with and without blocks.
pub fn judge_together(
    sets: &[FigureSet<'_>],
    declared: usize,
    rules: &Rules,
) -> Result<Vec<Judgement>, JudgeError> {
    let (tables, sequence) = read(sets, rules)?;
    let comparisons: usize = tables.iter().map(|table| table.pairs().len()).sum();
    if !tables.iter().any(Table::is_blocked) {
        return Ok(tables.iter().map(|table| unblocked::compare(table, rules, comparisons)).collect());
    }
    let family = Family::judge(&tables, declared, rules, &sequence)?;
    Ok((0..tables.len()).map(|set| family.describe(set, rules)).collect())
}

fn read<'a>(sets: &[FigureSet<'a>], rules: &Rules) -> Result<(Vec<Table<'a>>, Sequence<'a>), JudgeError> {
    if rules.looks.superblock() > 0 && sets.len() > 1 {
        return Err(JudgeError::SuperblockOfCurve { sets: sets.len() });
    }
    let sequence = Sequence::of(sets);
    let tables = sets.iter().map(|set| Table::read(*set, rules, &sequence)).collect::<Result<Vec<_>, _>>()?;
    let blocked = tables.iter().filter(|table| table.is_blocked()).count();
    match (tables.len(), blocked) {
        (0, _) => Err(JudgeError::NoFigures),
        (all, some) if some > 0 && some < all => Err(JudgeError::NotBlocked),
        _ => Ok((tables, sequence)),
    }
}

#[cfg(test)]
mod tests;
