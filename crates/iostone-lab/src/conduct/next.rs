//! What a run does next: stop, and why, or which configurations the next block holds.

use std::time::Duration;

use iostone_model::run::{BlockRecord, Plan, PlannedComparison};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Span;
use iostone_stats::judge::Next;
use iostone_stats::race::Outcome;

use super::{Conductor, Ending};
use crate::conclude;
use crate::directory::block_records;
use crate::error::LabError;
use crate::sweep::PlannedSweep;

/// Whether to stop, and which configurations the next block holds.
pub(super) type Decision = (Option<Ending>, Vec<usize>);

impl Conductor<'_> {
    /// Whether to stop, or which configurations the next block holds.
    pub(super) fn decide(&mut self) -> Result<Decision, LabError> {
        let plan = self.plan;
        let blocks = block_records(self.directory.entries());
        let everything: Vec<usize> = (0..plan.experiment.configurations.len()).collect();
        if !blocks.iter().any(|block| block.counted) {
            return Ok((None, everything));
        }
        if plan.quick {
            return Ok((Some(Ending::Rehearsed), everything));
        }
        let trials = self.directory.trials()?;
        // In an unfit environment blocks count whatever became of them. What lies beyond the budget is not judged, so
        // figures that its blocks lack never come.
        let spent = BlockRecord::count_complete(&blocks) >= plan.experiment.decide.blocks.max;
        if plan.experiment.sweep().is_some() {
            return self.decide_sweep(&trials, &blocks, spent);
        }
        let figures = conclude::Subject::of(plan).figures(plan, &trials, &blocks, &self.covariates);
        if figures.is_empty() && spent {
            return Ok((Some(Ending::BlocksSpent), everything));
        }
        if figures.is_empty() {
            return Ok((None, everything));
        }
        let next = figures.next_step(&conclude::rules(plan, &self.covariates))?;
        // What makes a curve flat may take more blocks than the metric that is decided.
        let waiting = conclude::waiting(plan, &trials, &blocks);
        if spent || waiting.is_empty() {
            match &next {
                Next::Decided => return Ok((Some(Ending::Decided), everything)),
                Next::BudgetSpent => return Ok((Some(Ending::BlocksSpent), everything)),
                Next::Futile => return Ok((Some(Ending::Futile), everything)),
                Next::Continue { .. } if spent => return Ok((Some(Ending::BlocksSpent), everything)),
                Next::Continue { .. } => {}
            }
        }
        if self.time_is_up(&blocks) {
            let ending = match next {
                Next::Decided => Ending::Decided,
                Next::Futile => Ending::Futile,
                Next::BudgetSpent | Next::Continue { .. } => Ending::TimeSpent,
            };
            return Ok((Some(ending), everything));
        }
        Ok((None, active(plan, &next, waiting)))
    }

    /// The same for a sweep, whose configurations are its levels.
    fn decide_sweep(
        &mut self,
        trials: &[TrialRecord],
        blocks: &[BlockRecord],
        spent: bool,
    ) -> Result<Decision, LabError> {
        let everything: Vec<usize> = (0..self.plan.experiment.configurations.len()).collect();
        let sweep = PlannedSweep::of(self.plan, trials, blocks)?;
        let status = sweep.filter(|sweep| sweep.blocks() > 0).map(|sweep| sweep.status());
        let active = status.as_ref().map_or(everything, |status| status.active.clone());
        self.next_trials = active.len();
        let ending = match status.and_then(|status| status.outcome) {
            // More blocks do not make an effect steady that has changed.
            Some(Outcome::Unique(_) | Outcome::WithinMargin(_) | Outcome::Unstable) => Some(Ending::Decided),
            None if spent => Some(Ending::BlocksSpent),
            None if self.time_is_up(blocks) => Some(Ending::TimeSpent),
            None => None,
        };
        Ok((ending, active))
    }

    /// Whether another block would, at the pace of this session, end after the time that the run may take.
    fn time_is_up(&self, blocks: &[BlockRecord]) -> bool {
        let Some(Span(limit)) = self.plan.experiment.decide.time else { return false };
        let spent = self.earlier + self.session_started.elapsed();
        let a_block = match self.blocks_this_session {
            0 => self.earlier / blocks.iter().map(BlockRecord::count).sum::<u32>().max(1),
            _ => self.pace_of_blocks(),
        };
        spent + a_block > limit
    }

    /// What a block takes at the pace of this session: of a sweep, by its trials, because the first block holds every level
    /// and those after it a few.
    pub(super) fn pace_of_blocks(&self) -> Duration {
        let time = self.blocks_started.map(|started| started.elapsed()).unwrap_or_default();
        if self.plan.experiment.sweep().is_some() && self.trials_this_session > 0 {
            let next = u32::try_from(self.next_trials).unwrap_or(u32::MAX);
            return time / self.trials_this_session * next;
        }
        time / self.blocks_this_session.max(1)
    }
}

/// The configurations of the next block: those of comparisons that are open, and those that wait for more blocks.
fn active(plan: &Plan, next: &Next, waiting: Vec<usize>) -> Vec<usize> {
    let mut active = waiting;
    if let Next::Continue { open, .. } = next {
        let is_open = |comparison: &PlannedComparison| {
            open.iter().any(|(stratum, level)| *stratum == comparison.stratum && *level == comparison.level)
        };
        let of_open = plan.comparisons().into_iter().filter(is_open);
        active.extend(of_open.flat_map(|comparison| [comparison.configuration, comparison.baseline]));
    }
    active.sort_unstable();
    active.dedup();
    active
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::read;

    use super::*;
    use crate::plan::{PlanOptions, make_plan};

    #[test]
    fn a_block_holds_what_is_open_and_what_waits() {
        let text = include_str!("../../../../experiments/flat-writes.toml");
        let plan = make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap();
        let [first, second] = &plan.comparisons()[..] else { panic!("two comparisons") };
        let open =
            Next::Continue { open: vec![(first.stratum.clone(), first.level.clone())], next_look_at: 9 };
        let mut of_first = vec![first.configuration, first.baseline];
        of_first.sort_unstable();
        assert_eq!(active(&plan, &open, Vec::new()), of_first);
        assert_eq!(active(&plan, &Next::Decided, vec![second.configuration]), [second.configuration]);
        let waiting = vec![second.configuration, second.baseline, first.baseline];
        assert_eq!(active(&plan, &open, waiting), [0, 1, 2, 3]);
    }
}
