//! What a live run should do next: go on with which levels, or stop and why.

use iostone_model::experiment::Claim;
use iostone_model::verdict::Verdict;

use super::family::{Family, Placed};
use super::{Figure, FigureSet, JudgeError, Rules, read};

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
/// different reasons, the budget is named before futility and futility before decisions. With [`Claim::NotWorse`] the answer to
/// the question of a gate closes it instead, and nothing is futile.
pub fn next_step(figures: &[Figure], rules: &Rules, futility: bool) -> Result<Next, JudgeError> {
    next_step_together(&[FigureSet { figures, direction: rules.direction }], 0, rules, futility)
}

/// The same for sets that are judged together, see [`super::judge_together`].
///
/// A (stratum, level) needs blocks while one of its comparisons in any set does. It needs no more once one of them is
/// faster and another slower: the curves cross, and no further verdict changes what that comes to.
pub fn next_step_together(
    sets: &[FigureSet<'_>],
    declared: usize,
    rules: &Rules,
    futility: bool,
) -> Result<Next, JudgeError> {
    let (tables, sequence) = read(sets, rules)?;
    if !tables.iter().any(super::Table::is_blocked) {
        return Err(JudgeError::NotBlocked);
    }
    let family = Family::judge(&tables, declared, rules, &sequence)?;
    // What is futile for a difference may be in reach for a gate, which asks on one side only.
    let is_gate = rules.claim == Claim::NotWorse;
    let mut open = Vec::new();
    let mut next_look_at = family.budget;
    let (mut spent, mut futile) = (false, false);
    for ((stratum, level), members) in by_place(&family) {
        let has = |verdict: Verdict| members.iter().any(|(_, found)| *found == verdict);
        if has(Verdict::Faster) && has(Verdict::Slower) && !is_gate {
            continue;
        }
        let mut goes_on = false;
        for (placed, _) in members.iter().filter(|(placed, verdict)| placed.pair.is_open(*verdict, rules)) {
            if placed.ran >= family.budget as usize {
                spent = true;
            } else if futility && !is_gate && placed.pair.ssr.is_futile() {
                futile = true;
            } else {
                goes_on = true;
                next_look_at = next_look_at.min(placed.pair.ssr.next_look().unwrap_or(family.budget));
            }
        }
        if goes_on {
            open.push((stratum.to_owned(), level.to_owned()));
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

/// The comparisons of one (stratum, level), with their verdicts.
type Members<'f, 'a> = Vec<(&'f Placed<'a>, Verdict)>;

/// Every (stratum, level), in order of first appearance.
fn by_place<'f, 'a>(family: &'f Family<'a>) -> Vec<((&'a str, &'a str), Members<'f, 'a>)> {
    let mut places: Vec<((&'a str, &'a str), Members<'f, 'a>)> = Vec::new();
    for placed in &family.pairs {
        let place = (placed.pair.stratum, placed.pair.level);
        let member = (placed, placed.decision.verdict());
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, members)) => members.push(member),
            None => places.push((place, vec![member])),
        }
    }
    places
}
