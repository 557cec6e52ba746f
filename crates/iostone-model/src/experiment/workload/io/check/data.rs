//! Durability, flags of requests, what writes carry, and whether it can be checked.

use crate::experiment::check::Findings;
use crate::experiment::{IoEngine, IoWorkload, RequestFlag, SyncMode};

/// Checks what becomes of the data of a workload.
pub(super) fn check(io: &IoWorkload, findings: &mut Findings<'_>) {
    if !io.rw.writes() {
        check_unwritten(io, findings);
    }
    if io.fsync > 0 && io.fdatasync > 0 {
        findings.value("workload.fdatasync", "both `fsync` and `fdatasync` are set", "choose one of them");
    }
    check_flags(io, findings);
    check_content(io, findings);
    if io.verifies() {
        check_verify(io, findings);
    }
}

/// What has a meaning for writes only.
fn check_unwritten(io: &IoWorkload, findings: &mut Findings<'_>) {
    let does = if io.rw.trims() { "discards" } else { "reads" };
    let flag = io.flags.iter().position(|flag| flag.is_durable() || *flag == RequestFlag::Atomic);
    let of_flags = flag.map(|index| format!("flags[{index}]"));
    let asked = [
        ("fsync", io.fsync > 0),
        ("fdatasync", io.fdatasync > 0),
        ("sync_file_range", io.sync_file_range.is_some()),
        ("sync", io.sync != SyncMode::None),
        ("buffer_compress_percentage", io.buffer_compress_percentage.is_some_and(|percent| percent > 0)),
        ("dedupe_percentage", io.dedupe_percentage > 0),
        ("verify", io.verifies() && !io.rw.trims()),
        (of_flags.as_deref().unwrap_or_default(), flag.is_some()),
    ];
    for (key, _) in asked.into_iter().filter(|(_, set)| *set) {
        let name = flag
            .filter(|_| key.starts_with("flags"))
            .and_then(|index| io.flags.get(index))
            .map_or(key, |flag| flag.word());
        let message = format!("`{name}` has no effect in a workload that only {does}");
        findings.value(&format!("workload.{key}"), message, "leave it out, or write");
    }
}

fn check_flags(io: &IoWorkload, findings: &mut Findings<'_>) {
    let syncs = io.fsync > 0 || io.fdatasync > 0 || io.sync_file_range.is_some();
    let on_a_ring = io.engine == IoEngine::IoUring || io.iodepth > 1;
    for (index, flag) in io.flags.iter().enumerate() {
        let earlier = io.flags.get(..index).unwrap_or_default();
        let refused = match flag {
            _ if earlier.contains(flag) => Some(("stands there twice", "once is enough")),
            RequestFlag::Hipri | RequestFlag::Atomic if !io.direct => {
                Some(("needs direct I/O", "add `direct = true`"))
            }
            RequestFlag::Hipri if syncs && on_a_ring => Some((
                "polls for completions, and polled rings do not support syncs",
                "leave it or the syncs out",
            )),
            RequestFlag::Atomic if io.rw.reads() => Some(("applies to writes only", "leave out the reads")),
            RequestFlag::Dontcache if io.direct => {
                Some(("drops pages from the page cache, which `direct` bypasses", "leave one of them out"))
            }
            _ => None,
        };
        if let Some((reason, label)) = refused {
            let message = format!("the flag `{}` {reason}", flag.word());
            findings.value(&format!("workload.flags[{index}]"), message, label);
        }
    }
}

fn check_content(io: &IoWorkload, findings: &mut Findings<'_>) {
    let percentages = [
        ("buffer_compress_percentage", io.buffer_compress_percentage.unwrap_or_default()),
        ("dedupe_percentage", io.dedupe_percentage),
    ];
    for (key, percent) in percentages {
        if percent > 100 {
            findings.value(&format!("workload.{key}"), "the percentage is out of range", "0 to 100");
        }
    }
    if let Some(chunk) = io.buffer_compress_chunk {
        if io.buffer_compress_percentage.is_none() {
            let message = "`buffer_compress_chunk` needs `buffer_compress_percentage`";
            findings.value(
                "workload.buffer_compress_chunk",
                message,
                "add `buffer_compress_percentage = 50`",
            );
        } else if chunk.0 == 0 {
            findings.value("workload.buffer_compress_chunk", "a chunk needs a length", "at least 1B");
        }
    }
}

/// A sealed block begins with a header of 64 bytes, and a block of another size must be divisible into such.
fn check_verify(io: &IoWorkload, findings: &mut Findings<'_>) {
    if io.rw.trims() {
        let message = "discarded blocks cannot be verified";
        findings.value("workload.verify", message, "leave it out, or do not discard");
        return;
    }
    let blocks = io.block_sizes();
    let unit = blocks.smallest();
    let path = format!("workload.{}", blocks.key());
    if unit.0 < 128 {
        let message = format!("a block of {unit} is too small for the header that `verify` writes");
        findings.value(&path, message, "at least 128B");
    } else if let Some(wrong) = blocks.written().into_iter().find(|bytes| !bytes.0.is_multiple_of(unit.0)) {
        let message = format!("blocks of {wrong} cannot be verified in units of {unit}, the smallest");
        findings.value(&path, message, "every size must be a multiple of the smallest");
    }
    if io.dedupe_percentage > 0 {
        let message = "each verified block contains its offset, so no block repeats another";
        findings.value("workload.dedupe_percentage", message, "leave it or `verify` out");
    }
}
