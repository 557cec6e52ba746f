//! Whether a foreign tool can be asked for what an experiment asks of it.

use super::Findings;
use crate::experiment::{
    BonnieWorkload, Configuration, DbenchWorkload, DdDirection, DdWorkload, Filesystem, FioWorkload,
    IopingWorkload, SysbenchTest, SysbenchWorkload, Volume, Workload,
};
use crate::units::Bytes;

/// Checks the workload of a foreign tool.
pub(super) fn check(workload: &Workload, configuration: &Configuration, findings: &mut Findings<'_>) {
    let stack = &configuration.stack;
    let bare = stack.filesystem == Filesystem::None && !matches!(stack.volume, Volume::Directory(_));
    if bare {
        let message =
            format!("{} works in a directory, but the stack ends in a bare device", workload.kind());
        findings.value("workload.kind", message, "add `filesystem = { kind = \"ext4\" }` to the stack");
    }
    match workload {
        Workload::Io(_) | Workload::Command(_) => {}
        Workload::Dbench(dbench) => check_dbench(dbench, findings),
        Workload::Bonnie(bonnie) => check_bonnie(bonnie, findings),
        Workload::Fio(fio) => check_fio(fio, findings),
        Workload::Dd(dd) => check_dd(dd, findings),
        Workload::Sysbench(sysbench) => check_sysbench(sysbench, findings),
        Workload::Ioping(ioping) => check_ioping(ioping, findings),
    }
    if let (Volume::Loop(volume), Some(room)) = (&stack.volume, workload.room())
        && room > volume.size
    {
        let message = format!("{} needs {room} on a volume of {}", workload.kind(), volume.size);
        findings.value(
            "stack.volume.size",
            message,
            "make the volume larger, or the workload's files smaller",
        );
    }
}

fn check_dbench(dbench: &DbenchWorkload, findings: &mut Findings<'_>) {
    if dbench.clients == 0 {
        findings.value("workload.clients", "no clients do nothing", "at least 1");
    }
    if dbench.seconds < 10 {
        let message =
            format!("{} s are too short: dbench's figure is that of the last whole second", dbench.seconds);
        findings.value("workload.seconds", message, "at least 10");
    }
    if dbench
        .clients_per_process
        .is_some_and(|clients| clients == 0 || !dbench.clients.is_multiple_of(clients))
    {
        let message = "the clients do not divide into such processes";
        findings.value("workload.clients_per_process", message, "a divisor of `clients`");
    }
    if dbench.target_rate.is_some_and(|rate| rate.0 == 0 || !rate.0.is_multiple_of(1_000_000)) {
        findings.value("workload.target_rate", "dbench takes whole MB/s", "as in `10MB/s`");
    }
    if dbench.loadfile.as_ref().is_some_and(|path| !path.is_absolute()) {
        findings.value("workload.loadfile", "the loadfile is not an absolute path", "start it with /");
    }
}

fn check_bonnie(bonnie: &BonnieWorkload, findings: &mut Findings<'_>) {
    let chunk = |bytes: &Bytes| bytes.0.is_power_of_two() && (256..=1 << 20).contains(&bytes.0);
    if bonnie.chunk.is_some_and(|bytes| !chunk(&bytes)) {
        findings.value("workload.chunk", "bonnie++ cannot use such a chunk", "a power of two, 256B to 1MiB");
    }
    let mebibytes = |bytes: Option<Bytes>| bytes.is_none_or(|bytes| bytes.0.is_multiple_of(1 << 20));
    if !mebibytes(bonnie.size) {
        findings.value("workload.size", "bonnie++ takes its size in whole MiB", "as in `4GiB`");
    }
    if !mebibytes(bonnie.memory) {
        findings.value("workload.memory", "bonnie++ takes memory in whole MiB", "as in `512MiB`");
    }
    if let (Some(size), Some(memory)) = (bonnie.size, bonnie.memory)
        && size.0 > 0
        && size.0 < memory.0.saturating_mul(2)
    {
        let message =
            format!("a file of {size} is smaller than twice {memory}; the page cache would serve it");
        findings.value("workload.size", message, "at least twice `memory`");
    }
    if bonnie.size == Some(Bytes(0)) && bonnie.files == Some(0) {
        findings.value(
            "workload.files",
            "neither a file nor small files: nothing would be done",
            "at least 1",
        );
    }
    if bonnie.direct && !bonnie.fast {
        let message = "bonnie++ cannot write single bytes with O_DIRECT and dies of it";
        findings.value("workload.direct", message, "add `fast = true`");
    }
    if bonnie.runs == 0 {
        findings.value("workload.runs", "no runs do nothing", "at least 1");
    }
    if bonnie.seeks == Some(0) || bonnie.seekers == Some(0) {
        findings.key(
            "workload",
            "bonnie++ needs at least one seek and one seeker",
            "leave them out, or 1 and more",
        );
    }
    let (largest, smallest) = (bonnie.file_max.unwrap_or_default(), bonnie.file_min.unwrap_or_default());
    if smallest > largest {
        findings.value(
            "workload.file_min",
            "the smallest file is larger than the largest",
            "at most `file_max`",
        );
    }
}

fn check_fio(fio: &FioWorkload, findings: &mut Findings<'_>) {
    match (&fio.job_file, &fio.job) {
        (Some(_), Some(_)) => {
            findings.key("workload.job", "the job is given twice", "either `job_file` or `job`");
        }
        (None, None) => findings.key(
            "workload",
            "there is no job for fio",
            "add `job_file = \"/path\"` or `job = \"\"\"...\"\"\"`",
        ),
        _ => {}
    }
    if fio.job_file.as_ref().is_some_and(|path| !path.is_absolute()) {
        findings.value("workload.job_file", "the job file is not an absolute path", "start it with /");
    }
    if fio.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        findings.value("workload.timeout", "no program ends in no time", "longer than the job takes");
    }
}

fn check_dd(dd: &DdWorkload, findings: &mut Findings<'_>) {
    if dd.bs.0 == 0 || dd.bs.0 > 1 << 30 {
        findings.value("workload.bs", "dd cannot be asked for such blocks here", "1B to 1GiB");
    } else if dd.size.0 == 0 || !dd.size.0.is_multiple_of(dd.bs.0) {
        let message = format!("{} is not a whole number of blocks of {}", dd.size, dd.bs);
        findings.value("workload.size", message, "a multiple of `bs`");
    }
    if dd.direction == DdDirection::Read {
        if dd.source.is_some() {
            findings.value("workload.source", "reads come from a file of iostone's own", "leave this out");
        }
        if dd.conv.is_some() || !dd.oflag.is_empty() {
            findings.key(
                "workload",
                "`conv` and `oflag` are about what is written",
                "leave them out of a read",
            );
        }
    }
    if dd.source.as_ref().is_some_and(|source| source != "generated" && !source.starts_with('/')) {
        findings.value(
            "workload.source",
            "the source is neither `generated` nor an absolute path",
            "as in `/dev/zero`",
        );
    }
    let plain =
        |word: &String| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    for (key, words) in
        [("conv", dd.conv.as_deref().unwrap_or_default()), ("oflag", &dd.oflag), ("iflag", &dd.iflag)]
    {
        if let Some(index) = words.iter().position(|word| !plain(word)) {
            findings.value(
                &format!("workload.{key}[{index}]"),
                "this is not one of dd's words",
                "one word an entry",
            );
        }
    }
}

fn check_sysbench(sysbench: &SysbenchWorkload, findings: &mut Findings<'_>) {
    const MODES: &[&str] = &["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];
    if sysbench.threads == 0 {
        findings.value("workload.threads", "no threads do nothing", "at least 1");
    }
    if sysbench.seconds == 0 {
        findings.value("workload.seconds", "sysbench would run for ever", "at least 1");
    }
    match (&sysbench.file_test_mode, sysbench.test) {
        (None, SysbenchTest::Fileio) => {
            findings.key(
                "workload",
                "sysbench's fileio test needs a mode",
                "add `file_test_mode = \"rndrw\"`",
            );
        }
        (Some(mode), SysbenchTest::Fileio) if !MODES.contains(&mode.as_str()) => {
            let message = format!("`{mode}` is not one of sysbench's modes");
            findings.value(
                "workload.file_test_mode",
                message,
                "seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw",
            );
        }
        (Some(_), SysbenchTest::Cpu) => {
            findings.value("workload.file_test_mode", "the cpu test has no files", "leave this out");
        }
        _ => {}
    }
    if let Some(mode) = &sysbench.file_io_mode
        && !["sync", "async", "mmap"].contains(&mode.as_str())
    {
        findings.value(
            "workload.file_io_mode",
            format!("`{mode}` is not one of sysbench's ways"),
            "sync, async or mmap",
        );
    }
    for (index, flag) in sysbench.file_extra_flags.iter().enumerate() {
        if !["sync", "dsync", "direct"].contains(&flag.as_str()) {
            let path = format!("workload.file_extra_flags[{index}]");
            findings.value(
                &path,
                format!("`{flag}` is not one of sysbench's flags"),
                "sync, dsync or direct",
            );
        }
    }
    if sysbench.file_num == Some(0) {
        findings.value("workload.file_num", "no files can hold nothing", "at least 1");
    }
}

fn check_ioping(ioping: &IopingWorkload, findings: &mut Findings<'_>) {
    if ioping.count == Some(0) {
        findings.value("workload.count", "no requests measure nothing", "at least 1");
    }
    if ioping.runtime.is_some_and(|runtime| runtime.0.is_zero()) {
        findings.value("workload.runtime", "no time measures nothing", "longer than a request");
    }
    if ioping.size.is_some_and(|size| size.0 == 0) {
        findings.value("workload.size", "a request of no bytes measures nothing", "at least 1B");
    }
    if ioping.direct && ioping.cached {
        findings.value(
            "workload.cached",
            "`direct` goes past the cache that `cached` asks for",
            "one of them",
        );
    }
    if ioping.working_set.is_some_and(|set| set < ioping.size.unwrap_or(Bytes(4096))) {
        findings.value("workload.working_set", "it is smaller than one request", "at least `size`");
    }
}
