//! What a workload tells of itself: how much it worked on, through the page cache or past it, with which data.

use iostone_model::dataset::Facts;
use iostone_model::environment::Environment;
use iostone_model::evidence::RunEvidence;
use iostone_model::experiment::{Configuration, Ends, Filesystem, Limit, Stack, WorkingSet, Workload};
use iostone_model::trial::{Check, TrialRecord, WorkloadReport};

/// Adds what the workload and the stack of a configuration tell.
pub(super) fn facts(configuration: &Configuration, environment: &Environment, known: Facts) -> Facts {
    let stack = &configuration.stack;
    let profile = configuration.workload.profile();
    let volume_bytes = stack.volume.size().map(|size| size.0);
    Facts {
        work: serde_json::to_string(&configuration.workload).ok(),
        command: profile.command,
        volume_bytes,
        working_set_bytes: match profile.working_set {
            WorkingSet::Unknown => None,
            WorkingSet::Bytes(bytes) => Some(bytes.0),
            WorkingSet::Device => volume_bytes.filter(|_| stack.filesystem == Filesystem::None),
            WorkingSet::TwiceMemory(told) => {
                let memory = told.map_or(environment.memory.total_bytes, |memory| memory.0);
                Some(memory.saturating_mul(2)).filter(|size| *size > 0)
            }
        },
        direct: profile.direct,
        flushed: profile.flushed,
        data: profile.data,
        source: profile.source,
        ..known
    }
}

/// The flushes that the device completed, and whether it has a volatile cache, of work that calls fsync(2) or fdatasync(2):
/// what is written through with `O_SYNC` may need none (FUA), and what is memory has none to need. Records of before the cache
/// was recorded have it where it was asked for.
pub(super) fn flushes(configuration: &Configuration, trial: &TrialRecord) -> Option<(u64, bool)> {
    let Workload::Io(io) = &configuration.workload else { return None };
    if !io.rw.writes() || (io.fsync == 0 && io.fdatasync == 0) || trial.works_in_memory() {
        return None;
    }
    let device = trial.signals.device_under_test()?;
    let is_cache = |check: &&Check| check.layer == "queue" && check.asked.contains("write_cache");
    let asked = || trial.checks.iter().find(is_cache).map(|check| check.read_back.contains("write back"));
    Some((device.flushes?, device.volatile_cache.or_else(asked)?))
}

/// Calls of fsync(2) and fdatasync(2) in a second; none where the workload does not time its syncs.
pub(super) fn syncs_per_second(report: &WorkloadReport) -> Option<f64> {
    let syncs: u64 = report.sync_latency_histogram.iter().map(|(_, count)| count).sum();
    (syncs > 0 && report.measured_seconds > 0.0).then(|| syncs as f64 / report.measured_seconds)
}

/// CPU time in user mode and in the kernel of work that is the same however long it takes. Where others do the same work on
/// another stack the kernel's part is theirs to differ in, and none is given.
pub(super) fn cpu_seconds(
    run: &RunEvidence<'_>,
    configuration: &Configuration,
    trial: &TrialRecord,
) -> [Option<f64>; 2] {
    let Some(account) =
        trial.signals.cpu.as_ref().filter(|_| configuration.workload.profile().ends == Ends::ByWork)
    else {
        return [None; 2];
    };
    let bare = |one: &Configuration| Stack { limit: Limit::default(), governor: None, ..one.stack.clone() };
    let own = bare(configuration);
    let same_work = |one: &&Configuration| {
        one.workload == configuration.workload && one.machine.guest() == configuration.machine.guest()
    };
    let mut others = run.groups.iter().map(|group| group.configuration).filter(same_work);
    [account.user_seconds, account.system_seconds.filter(|_| others.all(|other| bare(other) == own))]
}
