//! What a live run should do next: go on with which levels, or stop and why.

use iostone_model::verdict::Verdict;

use super::table::Table;
use super::{Family, Figure, JudgeError, Rules};

/// For a live run: which levels still need blocks, whether to stop, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Run another block.
    Continue {
        /// The (stratum, level) that still need blocks; the baseline of each such stratum runs with them.
        open: Vec<(String, String)>,
        /// The smallest number of blocks at which one of them is looked at again.
        next_look_at: u32,
    },
    /// Every comparison has its verdict.
    Decided,
    /// What is open would most likely stay undecided to the end of the budget.
    Futile,
    /// What is open has used up the budget.
    BudgetSpent,
}

/// Says what to do after the blocks so far.
///
/// A comparison is closed by a verdict (unstable included), by the budget and, with `futility`, where the rest of
/// the budget would most likely be spent for nothing. A withheld verdict leaves it open: an order that never changed
/// by chance soon changes, and evidence of carry-over from few blocks may fade. Where several comparisons closed for
/// different reasons, the budget is named before futility and futility before decisions.
pub fn next_step(figures: &[Figure], rules: &Rules, futility: bool) -> Result<Next, JudgeError> {
    let table = Table::read(figures, rules)?;
    if !table.is_blocked() {
        return Err(JudgeError::NotBlocked);
    }
    let family = Family::judge(&table, rules)?;
    let mut open = Vec::new();
    let mut next_look_at = family.budget;
    let (mut spent, mut futile) = (false, false);
    for (index, pair) in family.pairs.iter().enumerate() {
        if pair.verdict(family.open_for(index)) != Verdict::Undecided {
            continue;
        }
        if pair.whole.blocks() >= family.budget {
            spent = true;
        } else if futility && pair.whole.is_futile() {
            futile = true;
        } else {
            open.push((pair.stratum.to_owned(), pair.level.to_owned()));
            next_look_at = next_look_at.min(pair.whole.next_look().unwrap_or(family.budget));
        }
    }
    Ok(if !open.is_empty() {
        Next::Continue { open, next_look_at }
    } else if spent {
        Next::BudgetSpent
    } else if futile {
        Next::Futile
    } else {
        Next::Decided
    })
}
