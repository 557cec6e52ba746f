//! Ends a block: counted, or discarded for a gate; and watches whether too many are.

use iostone_stats::flags::environment_unfit;

use super::{Conductor, Progress};
use crate::directory::block_records;
use crate::error::LabError;
use crate::journal::{BlockEnd, JournalEvent};

/// The share of failed blocks is not judged on fewer blocks than these.
const UNFIT_FROM_BLOCKS: u32 = 5;
/// Blocks in a row whose workload failed: it will not work the next time either.
const FAILURES_IN_A_ROW: u32 = 3;

/// How the blocks of a run went, its earlier sessions included.
#[derive(Default)]
struct Fitness {
    begun: u32,
    failed: u32,
    workload_failed: u32,
    workload_failed_in_a_row: u32,
    already_unfit: bool,
}

impl Conductor<'_> {
    /// Writes down what becomes of a block, and ends the run if its workload fails too often.
    pub(super) fn end_block(
        &mut self,
        number: u32,
        failures: &[(String, String)],
        workload_failed: bool,
    ) -> Result<(), LabError> {
        // A rehearsal claims no verdict, so that what a gate finds is said and nothing is repeated for it.
        let failures = if self.plan.quick && !workload_failed { &[] } else { failures };
        let end = match failures.first() {
            None => BlockEnd::Counted,
            Some((configuration, message)) => BlockEnd::Discarded {
                reason: format!("{configuration}: {message}"),
                configurations: failures.iter().map(|(configuration, _)| configuration.clone()).collect(),
                workload_failed,
            },
        };
        self.directory.log(JournalEvent::BlockEnded { block: number, end })?;
        if let Some((configuration, message)) = failures.first() {
            let watched = self.watch_fitness(configuration, message);
            // In an unfit environment it counts nevertheless, so that none takes its place.
            let counts =
                block_records(self.directory.entries()).iter().any(|b| b.number == number && b.counted);
            if !counts {
                self.observer.observe(Progress::BlockDiscarded { reason: message });
            }
            watched?;
        }
        if block_records(self.directory.entries()).iter().any(|block| block.counted) {
            let verdicts = self.conclude(None)?;
            self.observer.observe(Progress::Looked { verdicts: &verdicts });
        }
        Ok(())
    }

    /// Once too many blocks have failed a gate, repeating stops and all of them are kept. A workload that fails has no
    /// figure to keep, so there the run itself ends.
    fn watch_fitness(&mut self, configuration: &str, message: &str) -> Result<(), LabError> {
        let Fitness { begun, failed, workload_failed, workload_failed_in_a_row, already_unfit } =
            self.fitness();
        let too_many =
            |failed: u32| begun >= UNFIT_FROM_BLOCKS && environment_unfit(begun - failed, failed).is_some();
        let enough = if self.plan.quick { 1 } else { FAILURES_IN_A_ROW };
        if workload_failed_in_a_row >= enough || too_many(workload_failed) {
            let trials = self.directory.trials()?;
            let said = trials.iter().rev().find_map(|trial| trial.workload.stderr_tail.as_deref());
            let count = with_remark(message, &format!("it failed in {workload_failed} of {begun} blocks"));
            return Err(LabError::Workload {
                configuration: configuration.to_owned(),
                reason: with_last_words(count, said),
            });
        }
        let by_environment = failed - workload_failed;
        if !already_unfit && too_many(by_environment) {
            self.directory.log(JournalEvent::Unfit { failed: by_environment, begun })?;
            self.observer.observe(Progress::Unfit { failed: by_environment, begun });
        }
        Ok(())
    }

    fn fitness(&self) -> Fitness {
        let mut fitness = Fitness::default();
        for entry in self.directory.entries() {
            match &entry.event {
                // A new session is a new attempt: what made the workload fail may have been mended.
                JournalEvent::SessionBegun { .. } => fitness.workload_failed_in_a_row = 0,
                JournalEvent::Unfit { .. } => fitness.already_unfit = true,
                JournalEvent::BlockEnded { end, .. } => {
                    fitness.begun += 1;
                    let workload = matches!(end, BlockEnd::Discarded { workload_failed: true, .. });
                    fitness.failed += u32::from(matches!(end, BlockEnd::Discarded { .. }));
                    fitness.workload_failed += u32::from(workload);
                    fitness.workload_failed_in_a_row =
                        if workload { fitness.workload_failed_in_a_row + 1 } else { 0 };
                }
                _ => {}
            }
        }
        fitness
    }
}

/// A failure with a remark in parentheses: at its end, or, where the last lines of a guest's console follow, before
/// these are announced.
pub(super) fn with_remark(message: &str, remark: &str) -> String {
    match message.split_once('\n') {
        None => format!("{message} ({remark})"),
        Some((sentence, lines)) => match sentence.rsplit_once("; ").filter(|_| sentence.ends_with(':')) {
            Some((what, announced)) => format!("{what} ({remark}); {announced}\n{lines}"),
            None => format!("{sentence} ({remark})\n{lines}"),
        },
    }
}

/// What stands between a failure and the program's own words about it.
const SAYING: &str = ", saying: ";

/// A failure's reason with the last line that the program wrote to its standard error.
pub(super) fn with_last_words(reason: String, stderr_tail: Option<&str>) -> String {
    if reason.contains(SAYING) {
        // A foreign tool's words were already chosen from all that it said.
        return reason;
    }
    match stderr_tail.and_then(|tail| tail.lines().rev().map(str::trim).find(|line| !line.is_empty())) {
        Some(line) => format!("{reason}{SAYING}{line}"),
        None => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_stands_before_the_lines_of_a_console() {
        assert_eq!(with_remark("it failed", "twice"), "it failed (twice)");
        assert_eq!(
            with_remark(
                "the guest did not boot: timeout; the last lines of its console:\npanic\nend",
                "twice"
            ),
            "the guest did not boot: timeout (twice); the last lines of its console:\npanic\nend"
        );
    }
}
