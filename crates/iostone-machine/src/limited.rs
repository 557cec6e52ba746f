//! One program in the foreground under limits, and what became of its CPU time: the machine's part of `iostone limit`.

use std::ffi::OsString;
use std::path::PathBuf;

use iostone_model::experiment::{Governor, Limit};
use iostone_model::sample::{Sample, Throttling};
use iostone_model::trial::{Check, CpuAccount, GovernorRecord};
use iostone_probe::{DEFAULT_INTERVAL, Probe, ProbePlan, Recording, Root};
use iostone_stack::{AppliedLimits, Registry, Session, SessionOptions, StackError, TrialGroups};
use iostone_workload::WorkloadError;
use iostone_workload::foreground::{Dispositions, Foreground, Ran};

use crate::agent::probe_failure;
use crate::cpu;
use crate::{Failure, FailureKind, StopFlag};

/// A program and what it may use.
#[derive(Debug, Clone)]
pub struct LimitedProgram {
    /// The program, as a path or a name in `PATH`, and its arguments.
    pub argv: Vec<OsString>,
    /// What it may use.
    pub limit: Limit,
    /// An emulated CPU allowance beside it.
    pub governor: Option<Governor>,
    /// What it writes to its standard output goes to our standard error.
    pub stdout_to_stderr: bool,
    /// The signals that it is to ignore, as whoever started us wished.
    pub dispositions: Dispositions,
    /// An absolute directory for what may have to be made.
    pub work_directory: PathBuf,
}

/// What came of it.
#[derive(Debug)]
pub struct LimitedRun {
    /// How it ended and what it used, or why it could not be started.
    pub ran: Result<Ran, WorkloadError>,
    /// Where the CPU time went, of the machine and of the program with what it started and waited for.
    pub account: CpuAccount,
    /// CPU seconds of everything that was in its group, also of processes that nobody waited for; none without a group.
    pub group_cpu_seconds: Option<f64>,
    /// Periods of its quota, and those of them in which it was used up; none without a quota.
    pub periods: Option<Throttling>,
    /// How long the group above with the smallest quota held back all that is in it, seconds summed over processors; none
    /// without one, or without an own quota: then it is that group's time that the account has as throttled.
    pub throttled_above_seconds: Option<f64>,
    /// The most memory that its group held at once, page cache included, bytes; none where the kernel does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// How many processes of its group the kernel killed for want of memory; none where that is not counted.
    pub memory_kills: Option<u64>,
    /// How many processes it left running, which were then ended with its group.
    pub left_running: usize,
    /// Every limit, asked and read back.
    pub checks: Vec<Check>,
    /// What is worth knowing of the limits.
    pub notes: Vec<String>,
    /// What the emulated allowance gave; none without one.
    pub governor: Option<Box<GovernorRecord>>,
    /// What went wrong after the program had begun: the governor died, or something is left on the machine.
    pub trouble: Vec<Failure>,
}

/// Makes the groups, runs the program in them, and takes them away again. `stop` ends what is done before the program
/// begins; from then on signals are the program's.
///
/// # Errors
/// What keeps it from being begun: the limits cannot be had here. The machine is as it was then.
pub fn run_limited(what: &LimitedProgram, stop: &StopFlag) -> Result<LimitedRun, Failure> {
    Session::preflight_limits(&what.limit, what.governor.as_ref()).map_err(missing)?;
    if what.limit.is_empty() && what.governor.is_none() {
        // Nothing is made, so nothing has to be written down first, and whoever may run it may have it measured.
        return run_in(
            None,
            AppliedLimits { groups: None, checks: Vec::new(), notes: Vec::new() },
            what,
            stop,
        );
    }
    let options = SessionOptions {
        run_token: "limit".to_owned(),
        run_directory: what.work_directory.clone(),
        work_directory: what.work_directory.clone(),
        interrupt: Some(StopFlag::clone(stop)),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&Registry::open()?, options)?;
    let applied = session.apply_limits(&what.limit, what.governor.as_ref()).map_err(as_typed)?;
    let mut run = run_in(Some(&mut session), applied, what, stop)?;
    if let Err(error) = session.finish() {
        run.trouble.push(error.into());
    }
    Ok(run)
}

/// What a look at the machine finds is missing there: nothing was done that could have failed.
fn missing(error: StackError) -> Failure {
    let failure = as_typed(error);
    match failure.kind {
        FailureKind::Failed => Failure { kind: FailureKind::Missing, ..failure },
        _ => failure,
    }
}

/// Names a limit by its option: there is no experiment file that would have a key for it.
fn as_typed(error: StackError) -> Failure {
    match error {
        StackError::Usage { object, reason } => {
            let object = match object.as_str() {
                "stack.limit.cpu" => "SHARE".to_owned(),
                "stack.limit.memory" => "--memory".to_owned(),
                "stack.limit.cpuset" => "--cpuset".to_owned(),
                _ => object,
            };
            StackError::Usage { object, reason }.into()
        }
        other => other.into(),
    }
}

fn run_in(
    mut session: Option<&mut Session>,
    applied: AppliedLimits,
    what: &LimitedProgram,
    stop: &StopFlag,
) -> Result<LimitedRun, Failure> {
    let groups = applied.groups;
    let program = Foreground {
        argv: what.argv.clone(),
        marker: session.as_ref().map(|session| session.processes_marker()),
        environment: Vec::new(),
        directory: None,
        groups: groups.as_ref().map(|groups| groups.enter.clone()).unwrap_or_default(),
        stdout_to_stderr: what.stdout_to_stderr,
        dispositions: what.dispositions,
    };
    let plan = ProbePlan {
        devices: Vec::new(),
        interval: DEFAULT_INTERVAL,
        groups: cpu::watched(groups.as_ref()),
        root: Root::live(),
    };
    let probe = Probe::start_with(&plan).map_err(|error| probe_failure(&error))?;
    if let Some(session) = &mut session {
        session.begin_workload()?;
    }
    let above = || groups.as_ref().and_then(TrialGroups::throttled_above_ns);
    let before = above();
    probe.mark_start();
    let ran = program.run(stop);
    probe.mark_end();
    let after = above();
    let ended = session.map_or(Ok(None), Session::governor_end);
    let recording = probe.stop();
    let mut run = conclude(ran, &recording, groups.as_ref(), ended, (applied.checks, applied.notes));
    run.throttled_above_seconds =
        before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / 1e9);
    Ok(run)
}

fn conclude(
    ran: Result<Ran, WorkloadError>,
    recording: &Recording,
    groups: Option<&TrialGroups>,
    governor: Result<Option<GovernorRecord>, StackError>,
    (checks, notes): (Vec<Check>, Vec<String>),
) -> LimitedRun {
    let mut account = recording.summary.cpu.clone().unwrap_or_default();
    if let Ok(ran) = &ran {
        account.wall_seconds = ran.wall.as_secs_f64();
        account.user_seconds = Some(ran.cpu.user_seconds);
        account.system_seconds = Some(ran.cpu.system_seconds);
    }
    let (governor, trouble) = match governor {
        Ok(record) => (record.map(Box::new), Vec::new()),
        Err(error) => (None, vec![Failure::from(error)]),
    };
    LimitedRun {
        ran,
        account,
        group_cpu_seconds: growth(recording, |sample| sample.group_cpu_ns).map(|ns| ns as f64 / 1e9),
        periods: periods(recording),
        throttled_above_seconds: None,
        peak_memory_bytes: groups.and_then(TrialGroups::peak_memory_bytes),
        memory_kills: groups.and_then(TrialGroups::memory_kills),
        left_running: groups.map(TrialGroups::processes).unwrap_or_default(),
        checks,
        notes,
        governor,
        trouble,
    }
}

/// What a counter grew by: the groups are as old as the probe, so that its first sample is the beginning.
fn growth(recording: &Recording, counter: impl Fn(&Sample) -> Option<u64>) -> Option<u64> {
    let (first, last) = recording.samples.first().zip(recording.samples.last())?;
    Some(counter(last)?.saturating_sub(counter(first)?))
}

fn periods(recording: &Recording) -> Option<Throttling> {
    let of = |part: fn(&Throttling) -> u64| growth(recording, |sample| sample.throttling.as_ref().map(part));
    Some(Throttling {
        periods: of(|throttling| throttling.periods)?,
        throttled_periods: of(|throttling| throttling.throttled_periods)?,
        throttled_ns: of(|throttling| throttling.throttled_ns)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_stack::CgroupVersion;
    use iostone_workload::CpuUse;
    use iostone_workload::foreground::Ending;
    use std::time::Duration;

    fn sample(group_cpu_ns: u64, throttled_periods: u64) -> Sample {
        let throttling = Throttling { periods: 10 * throttled_periods, throttled_periods, throttled_ns: 5 };
        Sample { group_cpu_ns: Some(group_cpu_ns), throttling: Some(throttling), ..Sample::default() }
    }

    fn recording(samples: Vec<Sample>) -> Recording {
        Recording {
            samples,
            summary: iostone_model::trial::SignalSummary::default(),
            devices: Vec::new(),
            measured_ns: (0, 0),
            interval: DEFAULT_INTERVAL,
            missed: 0,
            losses: Vec::new(),
        }
    }

    #[test]
    fn counters_are_told_by_what_they_grew_and_the_programs_own_time_goes_before_the_groups() {
        let ran = Ran {
            ending: Ending::Status(0),
            wall: Duration::from_secs(2),
            cpu: CpuUse { user_seconds: 0.5, system_seconds: 0.25 },
            largest_process_bytes: 0,
        };
        let recording = recording(vec![sample(100, 1), sample(2_000_000_100, 4)]);
        let run = conclude(Ok(ran), &recording, None, Ok(None), (Vec::new(), Vec::new()));
        assert_eq!(run.group_cpu_seconds, Some(2.0));
        assert_eq!(run.periods.map(|periods| (periods.periods, periods.throttled_periods)), Some((30, 3)));
        assert_eq!(run.account.used_seconds(), Some(0.75));
        assert!(run.trouble.is_empty() && run.left_running == 0);
    }

    #[test]
    fn groups_that_are_gone_tell_nothing() {
        let gone = TrialGroups {
            version: CgroupVersion::One,
            enter: vec![PathBuf::from("/nowhere/cgroup.procs")],
            quota: None,
            above: None,
            governed: None,
            usage: None,
        };
        assert_eq!((gone.peak_memory_bytes(), gone.processes()), (None, 0));
    }
}
