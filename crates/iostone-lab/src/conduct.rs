//! Conducts a run: warm-ups, then randomised blocks of trials until the answer is certain or a budget is spent.

mod common_figures;
mod fitness;
mod next;
mod observer;
mod pilots;
mod reboot;
mod served_in_time;
mod taken;
mod trial;
mod unrecorded;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use iostone_machine::toolbox::tools_of_runs;
use iostone_machine::{Begin, Failure, FailureKind, Machine, StopFlag};
use iostone_model::covariate::DeclaredCovariate;
use iostone_model::environment::{Environment, Kernel};
use iostone_model::experiment::Configuration;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Span;
use iostone_model::verdict::Verdicts;
use iostone_model::warm_up::DeclaredRamp;
use iostone_stats::schedule::{block_order, superblock_order};

use crate::boot;
use crate::conclude;
use crate::directory::{RunDirectory, WAITS_FOR_REBOOT, block_records};
use crate::error::LabError;
use crate::journal::JournalEvent;
use crate::link::Link;
use crate::pilot::settled;
use crate::plan::plan_notes;

pub use observer::{Observer, Progress};

/// Why a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every comparison has its verdict.
    Decided,
    /// The most blocks have been run.
    BlocksSpent,
    /// The time is up.
    TimeSpent,
    /// More blocks would hardly bring a verdict.
    Futile,
    /// A rehearsal is over.
    Rehearsed,
}

impl Ending {
    fn reason(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::BlocksSpent => "budget of blocks spent",
            Self::TimeSpent => "budget of time spent",
            Self::Futile => "futile",
            Self::Rehearsed => "rehearsed",
        }
    }
}

/// A block that is being run.
struct Block<'a> {
    number: u32,
    order: Vec<&'a Configuration>,
    /// The places in the order that have their trial already.
    done: Vec<u32>,
}

/// Everything that a run needs while it goes on.
pub struct Conductor<'a> {
    plan: &'a Plan,
    directory: &'a mut RunDirectory,
    link: Link<'a>,
    observer: &'a mut dyn Observer,
    stop: StopFlag,
    session: u32,
    session_started: Instant,
    /// Time that earlier sessions spent on trials.
    earlier: Duration,
    next_trial: u32,
    blocks_this_session: u32,
    /// Trials of blocks, in this session.
    trials_this_session: u32,
    /// Configurations that the next block of a sweep holds.
    next_trials: usize,
    /// When the first block of this session began: what came before it is no measure of a block.
    blocks_started: Option<Instant>,
    /// What pilots led to; none where the file leaves nothing to them.
    declared: Option<DeclaredRamp>,
    /// What verdicts are adjusted for, settled with the ramp; nothing where the experiment asks for nothing.
    covariates: Vec<DeclaredCovariate>,
    /// The kernel of this host.
    kernel: Kernel,
    /// Whether the metadata service of a cloud must not be asked.
    no_metadata: bool,
}

impl<'a> Conductor<'a> {
    /// Prepares to conduct, or to go on conducting, the run of a directory.
    ///
    /// # Errors
    /// A damaged directory.
    pub fn new(
        plan: &'a Plan,
        directory: &'a mut RunDirectory,
        machine: &'a mut dyn Machine,
        observer: &'a mut dyn Observer,
        stop: StopFlag,
    ) -> Result<Self, LabError> {
        let trials = directory.trials()?;
        let pilots = directory.pilots()?;
        let sessions = directory
            .entries()
            .iter()
            .filter(|entry| matches!(entry.event, JournalEvent::SessionBegun { .. }));
        let session = u32::try_from(sessions.count()).unwrap_or(u32::MAX);
        Ok(Self {
            plan,
            link: Link(machine),
            observer,
            stop,
            session,
            session_started: Instant::now(),
            earlier: Duration::from_secs_f64(
                trials
                    .iter()
                    .map(|trial| trial.total_seconds)
                    .chain(pilots.iter().map(|pilot| pilot.total_seconds))
                    .map(|seconds| seconds.max(0.0))
                    .sum(),
            ),
            next_trial: trials.last().map_or(1, |trial| trial.number + 1),
            blocks_this_session: 0,
            trials_this_session: 0,
            next_trials: plan.experiment.configurations.len(),
            blocks_started: None,
            declared: None,
            covariates: Vec::new(),
            kernel: Kernel::default(),
            no_metadata: false,
            directory,
        })
    }

    /// The same, but the metadata service of a cloud is not asked if `no_metadata`.
    #[must_use]
    pub fn without_metadata(mut self, no_metadata: bool) -> Self {
        self.no_metadata = no_metadata;
        self
    }

    /// Runs to an end, or until something stops it; then nothing of it is left on the machine, and what was
    /// recorded is kept.
    ///
    /// # Errors
    /// What stopped it; the run can be resumed.
    pub fn run(&mut self) -> Result<(Ending, Verdicts), LabError> {
        let stacks = self.plan.experiment.configurations.iter().map(|configuration| &configuration.stack);
        let tools = tools_of_runs(stacks);
        let environment = self.link.describe(self.no_metadata, Some(tools))?;
        self.directory.check_same_machine(&environment, boot::is_asked(self.plan))?;
        self.kernel.clone_from(&environment.kernel);
        self.mend_trials()?;
        self.directory.log(JournalEvent::SessionBegun {
            session: self.session,
            pid: std::process::id(),
            iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
            plan_digest: self.directory.plan_digest()?,
        })?;
        let ended = self.run_session(&environment);
        // The stack goes first: whatever happened, the machine is left as it was found.
        let finished = self.link.finish();
        let result = ended.and_then(|ending| finished.map(|()| ending));
        match result {
            Ok(ending) => {
                let verdicts = self.conclude(Some(ending))?;
                self.directory.log(JournalEvent::Finished { reason: ending.reason().to_owned() })?;
                self.summarize();
                Ok((ending, verdicts))
            }
            Err(error) => {
                let reason = if error.is_interrupt() {
                    "interrupted".to_owned()
                } else if error.is_reboot() {
                    format!("{WAITS_FOR_REBOOT}: {error}")
                } else {
                    error.to_string()
                };
                // The directory itself may be what failed; the first error is the one to report.
                let _ = self.directory.log(JournalEvent::SessionEnded { reason });
                let _ = self.conclude(None);
                self.summarize();
                Err(error)
            }
        }
    }

    /// Keeps a summary. Whoever finds none, or one of before, makes it of the records, so that a failure takes nothing from
    /// the run.
    fn summarize(&self) {
        let _ = self.directory.write_summary();
    }

    /// A crash between a trial's record and the journal's line for it leaves the line missing.
    fn mend_trials(&mut self) -> Result<(), LabError> {
        let known: Vec<u32> = self
            .directory
            .entries()
            .iter()
            .filter_map(|entry| match entry.event {
                JournalEvent::TrialRecorded { trial, .. } => Some(trial),
                _ => None,
            })
            .collect();
        for trial in self.directory.trials()?.iter().filter(|trial| !known.contains(&trial.number)) {
            self.directory.log(recorded(trial))?;
        }
        Ok(())
    }

    fn run_session(&mut self, environment: &Environment) -> Result<Ending, LabError> {
        let plan = self.plan;
        self.directory.write_environment(self.session, environment)?;
        let work_directory = self.directory.path().to_owned();
        let checked = self.link.preflight(&plan.experiment, work_directory.clone(), plan.destroy.clone())?;
        let mut notes: Vec<String> = plan_notes(plan);
        for note in checked.into_iter().flat_map(|preflight| preflight.notes) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        self.observer.observe(Progress::Checked { notes: &notes });
        self.link.begin(Begin {
            run_token: plan.run_id.clone(),
            run_directory: work_directory.clone(),
            work_directory,
            destroy: plan.destroy.clone(),
        })?;
        self.check_waiting_block()?;
        self.warm_up()?;
        self.settle_ramp()?;
        loop {
            let (ending, active) = self.decide()?;
            if let Some(ending) = ending {
                return Ok(ending);
            }
            self.run_block(&active)?;
        }
    }

    fn warm_up(&mut self) -> Result<(), LabError> {
        let plan = self.plan;
        for _ in 0..plan.experiment.trials.warmups {
            // Those of another kernel have theirs in the session after the reboot.
            let here = |configuration: &&Configuration| self.lacks_boot(configuration).is_none();
            let here: Vec<&Configuration> = plan.experiment.configurations.iter().filter(here).collect();
            for configuration in here {
                self.check_stop()?;
                self.observer.observe(Progress::WarmUp { configuration: &configuration.name });
                // What a pilot will find is not known yet.
                let as_run = settled(configuration, self.declared.as_ref());
                let outcome = self.carry_out_unrecorded(&as_run)?;
                let report = outcome.measured.report;
                if let Some(reason) = report.error {
                    let mut remark = "in the warm-up".to_owned();
                    if configuration.machine.guest().is_some() {
                        let kept = self.directory.keep_failed_warm_up(&outcome.measured.raw)?;
                        remark = format!(
                            "in the warm-up: all that it printed is in `{}`; `--set trials.warmups=0` begins without one",
                            kept.display()
                        );
                    }
                    let reason = fitness::with_remark(&reason, &remark);
                    let reason = fitness::with_last_words(reason, report.stderr_tail.as_deref());
                    return Err(LabError::Workload { configuration: configuration.name.clone(), reason });
                }
                self.directory.log(JournalEvent::WarmedUp { configuration: configuration.name.clone() })?;
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), LabError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted").into());
        }
        Ok(())
    }

    fn run_block(&mut self, active: &[usize]) -> Result<(), LabError> {
        self.blocks_started.get_or_insert_with(Instant::now);
        let Block { number, order, done } = match self.waiting_block()? {
            Some(block) => {
                self.directory.log(JournalEvent::BlockContinued { block: block.number })?;
                block
            }
            None => self.begin_block(active)?,
        };
        for (position, configuration) in (0..).zip(order) {
            if done.contains(&position) {
                continue;
            }
            self.check_stop()?;
            self.require_boot(configuration, Some(number))?;
            self.observer
                .observe(Progress::TrialBegun { block: number + 1, configuration: &configuration.name });
            let ran = self.run_trial(configuration, number, position);
            self.note_reboot(ran, configuration, number)?;
        }
        let own = block_records(self.directory.entries()).into_iter().find(|block| block.number == number);
        self.blocks_this_session += own.map_or(1, |block| block.count());
        // Of earlier sessions too, where the block waited for a reboot.
        let trials = self.directory.trials()?;
        let own = trials.iter().filter(|trial| trial.block == number);
        let failed: Vec<_> = own
            .flat_map(|trial| trial.gates.iter().filter(|gate| !gate.passed).map(move |gate| (trial, gate)))
            .collect();
        let failures: Vec<(String, String)> =
            failed.iter().map(|(trial, gate)| (trial.configuration.clone(), gate.message.clone())).collect();
        self.end_block(number, &failures, failed.iter().any(|(_, gate)| gate.gate == "workload"))
    }

    /// Draws the order of the next block and writes it down.
    fn begin_block(&mut self, active: &[usize]) -> Result<Block<'a>, LabError> {
        let plan = self.plan;
        let configurations = &plan.experiment.configurations;
        let begun = block_records(self.directory.entries());
        let number = begun.last().map_or(0, |block| block.number + 1);
        // The order is drawn for all configurations, so that it is the same function of seed and number whatever
        // has been decided; those that are decided are passed over.
        let drawn = if plan.superblock > 0 && !begun.iter().any(|block| block.counted) {
            superblock_order(plan.seed, u64::from(number), configurations.len(), plan.superblock)
        } else {
            block_order(plan.seed, u64::from(number), configurations.len())
        };
        let drawn: Vec<&Configuration> = drawn
            .into_iter()
            .filter(|index| active.contains(index))
            .filter_map(|index| configurations.get(index))
            .collect();
        let before = begun.last().map(|block| block.order.as_slice());
        let order = boot::group(plan, drawn, before, &self.kernel);
        let names = order.iter().map(|configuration| configuration.name.clone()).collect();
        self.directory.log(JournalEvent::BlockBegun { block: number, order: names })?;
        Ok(Block { number, order, done: Vec::new() })
    }

    fn run_trial(
        &mut self,
        configuration: &Configuration,
        block: u32,
        position: u32,
    ) -> Result<TrialRecord, LabError> {
        let number = self.next_trial;
        let configuration = &settled(configuration, self.declared.as_ref());
        let conditioned = self.condition(configuration)?;
        let place = trial::Place { number, block, position, session: self.session, conditioned };
        let outcome = trial::carry_out(&mut self.link, self.plan, configuration, number)?;
        let (mut record, samples, raw) =
            outcome.into_record(self.plan, configuration, &place, &self.covariates);
        record.checks.extend(boot::checks(configuration, &self.kernel));
        self.directory.write_trial(&record, &samples, &raw)?;
        self.directory.log(recorded(&record))?;
        self.next_trial += 1;
        self.trials_this_session += 1;
        let counted = BlockRecord::count_complete(&block_records(self.directory.entries()));
        let budget = self.plan.experiment.decide.blocks.max;
        let left = budget.saturating_sub(counted).saturating_sub(1);
        let a_block = (self.blocks_this_session > 0).then(|| self.pace_of_blocks());
        let at_most =
            a_block.map(|a_block| a_block * left).map(|by_blocks| match self.plan.experiment.decide.time {
                Some(Span(limit)) => {
                    by_blocks.min(limit.saturating_sub(self.earlier + self.session_started.elapsed()))
                }
                None => by_blocks,
            });
        self.observer.observe(Progress::TrialRecorded {
            record: &record,
            blocks: counted,
            budget,
            at_most,
            a_block,
        });
        Ok(record)
    }

    /// Writes what the trials so far say.
    fn conclude(&mut self, ending: Option<Ending>) -> Result<Verdicts, LabError> {
        let verdicts = conclude::conclude(
            self.plan,
            &self.directory.trials()?,
            self.directory.entries(),
            &self.directory.environment()?,
            ending == Some(Ending::Futile),
        )?;
        self.directory.write_verdicts(&verdicts)?;
        Ok(verdicts)
    }
}

fn recorded(trial: &TrialRecord) -> JournalEvent {
    JournalEvent::TrialRecorded {
        trial: trial.number,
        block: trial.block,
        configuration: trial.configuration.clone(),
        valid: trial.valid,
    }
}
