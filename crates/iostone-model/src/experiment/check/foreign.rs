//! Whether a foreign tool can be asked for what an experiment asks of it.

mod copy_up;
mod dd;
mod fio;
mod ioping;
mod sysbench;

use super::Findings;
use crate::experiment::{BonnieWorkload, Configuration, DbenchWorkload, Filesystem, Volume, Workload};
use crate::units::Bytes;

/// Checks the workload of a foreign tool.
pub(super) fn check(workload: &Workload, configuration: &Configuration, findings: &mut Findings<'_>) {
    let stack = &configuration.stack;
    let bare = stack.filesystem == Filesystem::None && !matches!(stack.volume, Volume::Directory(_));
    if bare {
        let message = format!("{} needs a directory, but the stack ends in a raw device", workload.kind());
        findings.value("workload.kind", message, "add `filesystem = { kind = \"ext4\" }` to the stack");
    }
    match workload {
        Workload::Io(_) | Workload::Command(_) | Workload::Orion(_) => {}
        Workload::CopyUp(touches) => copy_up::check(touches, stack, findings),
        Workload::Dbench(dbench) => check_dbench(dbench, findings),
        Workload::Bonnie(bonnie) => check_bonnie(bonnie, findings),
        Workload::Fio(fio) => fio::check(fio, findings),
        Workload::Dd(dd) => dd::check(dd, findings),
        Workload::Sysbench(sysbench) => sysbench::check(sysbench, findings),
        Workload::Ioping(ioping) => ioping::check(ioping, findings),
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

#[cfg(test)]
mod tests;

fn check_dbench(dbench: &DbenchWorkload, findings: &mut Findings<'_>) {
    if dbench.clients == 0 {
        findings.value("workload.clients", "at least one client is needed", "at least 1");
    }
    if dbench.seconds < 10 {
        let message = format!("{} s is too short: dbench reports the last whole second", dbench.seconds);
        findings.value("workload.seconds", message, "at least 10");
    }
    if dbench
        .clients_per_process
        .is_some_and(|clients| clients == 0 || !dbench.clients.is_multiple_of(clients))
    {
        let message = "the clients cannot be divided evenly into such processes";
        findings.value("workload.clients_per_process", message, "a divisor of `clients`");
    }
    if dbench.target_rate.is_some_and(|rate| rate.0 == 0 || !rate.0.is_multiple_of(1_000_000)) {
        findings.value("workload.target_rate", "dbench accepts whole MB/s", "as in `10MB/s`");
    }
    if dbench.loadfile.as_ref().is_some_and(|path| !path.is_absolute()) {
        findings.value("workload.loadfile", "the loadfile is not an absolute path", "start it with /");
    }
}

fn check_bonnie(bonnie: &BonnieWorkload, findings: &mut Findings<'_>) {
    let chunk = |bytes: &Bytes| bytes.0.is_power_of_two() && (256..=1 << 20).contains(&bytes.0);
    if bonnie.chunk.is_some_and(|bytes| !chunk(&bytes)) {
        findings.value(
            "workload.chunk",
            "bonnie++ does not accept this chunk size",
            "a power of two, 256B to 1MiB",
        );
    }
    let mebibytes = |bytes: Option<Bytes>| bytes.is_none_or(|bytes| bytes.0.is_multiple_of(1 << 20));
    if !mebibytes(bonnie.size) {
        findings.value("workload.size", "bonnie++ accepts sizes in whole MiB", "as in `4GiB`");
    }
    if !mebibytes(bonnie.memory) {
        findings.value("workload.memory", "bonnie++ accepts memory in whole MiB", "as in `512MiB`");
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
            "there is nothing to do: neither a file nor small files",
            "at least 1",
        );
    }
    if bonnie.direct && !bonnie.fast {
        let message = "bonnie++ crashes when it writes single bytes with O_DIRECT";
        findings.value("workload.direct", message, "add `fast = true`");
    }
    if bonnie.direct_read.is_some_and(|size| size.0 == 0 || !size.0.is_multiple_of(1 << 20)) {
        let message = "O_DIRECT reads use 1 MiB blocks";
        findings.value("workload.direct_read", message, "whole MiB, as `256MiB`");
    }
    if bonnie.runs == 0 {
        findings.value("workload.runs", "at least one run is needed", "at least 1");
    }
    for (key, number, most) in [
        ("directories", bonnie.directories, 99_999),
        ("seekers", bonnie.seekers, 1024),
        ("runs", Some(bonnie.runs), 1000),
        ("files", bonnie.files, 65_536),
    ] {
        if number.is_some_and(|number| number > most) {
            findings.value(
                &format!("workload.{key}"),
                "this exceeds what bonnie++ accepts",
                &format!("at most {most}"),
            );
        }
    }
    if bonnie.seeks == Some(0) || bonnie.seekers == Some(0) {
        findings.key(
            "workload",
            "bonnie++ needs at least one seek and one seeker",
            "leave them out, or give at least 1",
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
