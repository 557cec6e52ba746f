//! What `iostone limit` says of a command, as one document.

use iostone_machine::{LimitedProgram, LimitedRun};
use iostone_model::experiment::Limit;
use iostone_model::trial::{Check, GovernorRecord};
use iostone_workload::foreground::Ending;
use serde::Serialize;

/// The version of [`LimitDocument`] as JSON.
const LIMIT_SCHEMA: &str = "iostone/limit/1";

/// Where a command's time went. What was not limited, or cannot be observed, is null, never 0.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LimitDocument {
    pub(super) schema: &'static str,
    /// The command and its arguments.
    pub(super) command: Vec<String>,
    /// What it may use.
    pub(super) limit: Limit,
    /// Its status as a shell tells it: 128 and the number of a signal.
    pub(super) exit_code: u8,
    /// The number of the signal that ended it.
    pub(super) signal: Option<u8>,
    /// From its start to its end.
    pub(super) wall_seconds: f64,
    /// CPU time in user mode, descendants that were waited for included.
    pub(super) user_seconds: f64,
    /// CPU time in the kernel, likewise.
    pub(super) system_seconds: f64,
    /// CPU time of everything that ran in its control group.
    pub(super) group_cpu_seconds: Option<f64>,
    /// The share of one processor that was asked for.
    pub(super) share_asked: Option<f64>,
    /// The share of one processor that was used.
    pub(super) share_used: f64,
    /// Time for which its quota held it back, summed over processors as the kernel does.
    pub(super) throttled_seconds: Option<f64>,
    /// Time for which the quota of a group above held it back, with whatever else is in that group; null unless both it and
    /// the command have one.
    pub(super) throttled_above_seconds: Option<f64>,
    /// Periods of the quota in which it had something to do.
    pub(super) periods: Option<u64>,
    /// Those of them in which it was held back.
    pub(super) throttled_periods: Option<u64>,
    /// Time for which the emulated allowance held it back, likewise.
    pub(super) governed_seconds: Option<f64>,
    /// CPU time that the hypervisor took from the whole machine meanwhile.
    pub(super) steal_seconds: Option<f64>,
    /// Processors of the machine.
    pub(super) processors: u32,
    /// The most memory that its group held, page cache included.
    pub(super) peak_memory_bytes: Option<u64>,
    /// Processes that the kernel killed for want of memory.
    pub(super) memory_kills: Option<u64>,
    /// The most memory that one of its processes held.
    pub(super) largest_process_bytes: u64,
    /// Every limit as it was read back from the kernel.
    pub(super) checks: Vec<Check>,
    /// What is worth knowing of the limits.
    pub(super) notes: Vec<String>,
    /// What the emulated allowance gave.
    pub(super) governor: Option<Box<GovernorRecord>>,
}

/// The document of a run; one that could not be begun has none of its times.
pub(super) fn document(program: &LimitedProgram, run: &LimitedRun) -> LimitDocument {
    let account = &run.account;
    let ran = run.ran.as_ref().ok();
    let (user, system) =
        (account.user_seconds.unwrap_or_default(), account.system_seconds.unwrap_or_default());
    let wall = account.wall_seconds;
    let all = run.group_cpu_seconds.unwrap_or(user + system);
    LimitDocument {
        schema: LIMIT_SCHEMA,
        command: program.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        limit: program.limit.clone(),
        exit_code: ran.map_or(0, |ran| ran.ending.exit_code()),
        signal: ran.and_then(|ran| match ran.ending {
            Ending::Status(_) => None,
            Ending::Signal(signal) => Some(signal),
        }),
        wall_seconds: wall,
        user_seconds: user,
        system_seconds: system,
        group_cpu_seconds: run.group_cpu_seconds,
        share_asked: program.limit.cpu.quota().map(|quota| quota.share()),
        share_used: if wall > 0.0 { all / wall } else { 0.0 },
        throttled_seconds: account.throttled_seconds,
        throttled_above_seconds: run.throttled_above_seconds,
        periods: run.periods.map(|periods| periods.periods),
        throttled_periods: run.periods.map(|periods| periods.throttled_periods),
        governed_seconds: account.governed_seconds,
        steal_seconds: account.machine_steal_seconds,
        processors: account.processors,
        peak_memory_bytes: run.peak_memory_bytes,
        memory_kills: run.memory_kills,
        largest_process_bytes: ran.map_or(0, |ran| ran.largest_process_bytes),
        checks: run.checks.clone(),
        notes: run.notes.clone(),
        governor: run.governor.clone(),
    }
}
