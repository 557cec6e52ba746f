//! What a workload tells of itself: how much it worked on, through the page cache or past it, with which data.

use iostone_model::dataset::{DataKind, Facts};
use iostone_model::environment::Environment;
use iostone_model::evidence::RunEvidence;
use iostone_model::experiment::{
    BonnieWorkload, Configuration, DdDirection, DdWorkload, Filesystem, IoWorkload, IopingWorkload, Limit,
    OrionWorkload, Stack, SysbenchWorkload, Workload,
};
use iostone_model::orion::FileData;
use iostone_model::trial::{Check, TrialRecord, WorkloadReport};

/// From this share on data is what that share is.
const MOSTLY_PERCENT: u32 = 50;

/// Adds what the workload and the stack of a configuration tell.
pub(super) fn facts(configuration: &Configuration, environment: &Environment, known: Facts) -> Facts {
    let workload = &configuration.workload;
    let volume_bytes = configuration.stack.volume.size().map(|size| size.0);
    let known = Facts { work: serde_json::to_string(workload).ok(), volume_bytes, ..known };
    match workload {
        Workload::Io(io) => of_io(io, configuration, known),
        Workload::Command(command) => Facts { command: Some(quoted(&command.argv)), ..known },
        // Its clients write zeros, calloc(3), into some 25 MB each; how much of it a run touches nothing tells.
        Workload::Dbench(_) => Facts { data: Some(DataKind::Zeros), ..known },
        Workload::Bonnie(bonnie) => of_bonnie(bonnie, environment, known),
        Workload::Dd(dd) => of_dd(dd, known),
        Workload::Sysbench(sysbench) => of_sysbench(sysbench, known),
        Workload::Ioping(ioping) => of_ioping(ioping, known),
        Workload::Orion(orion) => of_orion(orion, known),
        // Each of its writes is made durable within its time, if that is asked for.
        Workload::CopyUp(touches) => Facts { flushed: Some(touches.sync), ..known },
        Workload::Fio(_) => known,
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
    let footing = trial.signals.footing()?;
    let is_cache = |check: &&Check| check.layer == "queue" && check.asked.contains("write_cache");
    let asked = || trial.checks.iter().find(is_cache).map(|check| check.read_back.contains("write back"));
    Some((footing.flushes?, footing.volatile_cache.or_else(asked)?))
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
    let Some(account) = trial.signals.cpu.as_ref().filter(|_| is_fixed(&configuration.workload)) else {
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

/// Whether a workload does the same however long it takes.
fn is_fixed(workload: &Workload) -> bool {
    match workload {
        Workload::Command(_) | Workload::Dd(_) | Workload::Bonnie(_) | Workload::CopyUp(_) => true,
        Workload::Io(io) => io.runtime.is_none(),
        // fio's job file is not read here; the others work for a time.
        Workload::Fio(_)
        | Workload::Dbench(_)
        | Workload::Sysbench(_)
        | Workload::Ioping(_)
        | Workload::Orion(_) => false,
    }
}

fn of_io(io: &IoWorkload, configuration: &Configuration, known: Facts) -> Facts {
    // Without a filesystem the whole device is worked on where no size is given.
    let whole = known.volume_bytes.filter(|_| configuration.stack.filesystem == Filesystem::None);
    let compressible = io.buffer_compress_percentage.unwrap_or(0);
    let data = match (compressible, io.dedupe_percentage) {
        (0, 0) => Some(DataKind::Random),
        (100.., _) => Some(DataKind::Zeros),
        (zeros, _) if zeros >= MOSTLY_PERCENT => Some(DataKind::Compressible),
        (_, repeated) if repeated >= MOSTLY_PERCENT => Some(DataKind::Repeated),
        // As compressible as was asked for, which is none of these.
        _ => None,
    };
    Facts {
        working_set_bytes: io.size.map(|size| size.0).or(whole),
        direct: Some(io.direct),
        flushed: io.rw.writes().then(|| io.syncs()),
        data,
        ..known
    }
}

/// bonnie++ works on twice the memory where no size is given, and increments one byte of each block of zeros.
fn of_bonnie(bonnie: &BonnieWorkload, environment: &Environment, known: Facts) -> Facts {
    let memory = bonnie.memory.map(|memory| memory.0).filter(|memory| *memory > 0);
    let memory = memory.unwrap_or(environment.memory.total_bytes);
    let size = bonnie.size.map_or(memory.saturating_mul(2), |size| size.0);
    Facts {
        working_set_bytes: (size > 0).then_some(size),
        // Each phase that writes ends with fsync(2), and what it reads comes through the page cache whatever is asked.
        direct: Some(false),
        flushed: Some(true),
        data: Some(DataKind::Zeros),
        ..known
    }
}

fn of_dd(dd: &DdWorkload, known: Facts) -> Facts {
    let has = |flags: &[String], flag: &str| flags.iter().any(|one| one == flag);
    let known = Facts { working_set_bytes: Some(dd.size.0), ..known };
    match dd.direction {
        DdDirection::Read => Facts {
            direct: Some(has(&dd.iflag, "direct")),
            // Its file is laid out with incompressible data.
            data: Some(DataKind::Random),
            ..known
        },
        DdDirection::Write => Facts {
            direct: Some(has(&dd.oflag, "direct")),
            flushed: Some(dd.syncs()),
            data: (dd.source() == "generated").then_some(DataKind::Random),
            source: Some(dd.source().to_owned()),
            ..known
        },
    }
}

fn of_sysbench(sysbench: &SysbenchWorkload, known: Facts) -> Facts {
    let Some(room) = sysbench.room().filter(|room| room.0 > 0) else { return known };
    let reads_only = sysbench.file_test_mode.as_deref().is_some_and(|mode| matches!(mode, "seqrd" | "rndrd"));
    Facts {
        working_set_bytes: Some(room.0),
        direct: Some(sysbench.file_extra_flags.iter().any(|flag| flag == "direct")),
        flushed: (!reads_only).then(|| sysbench.syncs()),
        ..known
    }
}

/// ioping drops what it reads from the page cache before each request unless told not to, `posix_fadvise(2)`.
fn of_ioping(ioping: &IopingWorkload, known: Facts) -> Facts {
    let past_the_cache = ioping.direct || !ioping.cached;
    Facts {
        working_set_bytes: Some(ioping.working_set.map_or(1 << 20, |size| size.0)),
        direct: (!ioping.write || ioping.direct).then_some(past_the_cache),
        flushed: ioping.write.then_some(ioping.sync),
        ..known
    }
}

/// Its data files are filled with incompressible data unless zeros are asked for, and so is what it writes; it never syncs. A bare device is worked on
/// as a whole.
fn of_orion(orion: &OrionWorkload, known: Facts) -> Facts {
    let writes = orion.test().is_ok_and(|test| test.writes());
    let files = orion.size.and_then(|_| orion.room()).map(|room| room.0);
    Facts {
        working_set_bytes: files.or(known.volume_bytes),
        direct: Some(orion.direct),
        flushed: writes.then_some(false),
        data: Some(match orion.data {
            FileData::Random => DataKind::Random,
            FileData::Zeros => DataKind::Zeros,
        }),
        ..known
    }
}

/// A command line as one would type it.
fn quoted(argv: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c))
    };
    let words = argv
        .iter()
        .map(|word| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_quoted_where_it_must_be() {
        let argv = ["sh", "-c", "cd x; curl 'a'", ""].map(str::to_owned);
        assert_eq!(quoted(&argv), r"sh -c 'cd x; curl '\''a'\''' ''");
    }
}
