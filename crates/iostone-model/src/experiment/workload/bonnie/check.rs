//! Whether bonnie++ can be asked for such a test.

use crate::experiment::BonnieWorkload;
use crate::experiment::check::Findings;
use crate::units::Bytes;

pub(super) fn check(bonnie: &BonnieWorkload, findings: &mut Findings<'_>) {
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
    if bonnie.direct_read.is_some_and(|size| size.0 == 0 || !size.0.is_multiple_of(1 << 20)) {
        let message = "what is read with O_DIRECT goes 1 MiB at a time";
        findings.value("workload.direct_read", message, "whole MiB, as `256MiB`");
    }
    if bonnie.runs == 0 {
        findings.value("workload.runs", "no runs do nothing", "at least 1");
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
                "this is more than bonnie++ can be asked for",
                &format!("at most {most}"),
            );
        }
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
