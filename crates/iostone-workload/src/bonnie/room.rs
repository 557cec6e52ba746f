//! How much room bonnie++ takes, and how many bytes it moves: both follow from what it is asked to do.

use std::fs;
use std::path::Path;

use iostone_model::experiment::BonnieWorkload;
use iostone_model::units::Bytes;

use super::{CHUNK, FILES, SEEKS};
use crate::WorkloadError;

/// What it writes and reads byte by byte (`DefaultByteIO` in bonnie.h).
const BY_THE_BYTE: u64 = 3 << 20;

fn unsuitable(reason: String) -> WorkloadError {
    WorkloadError::Unsuitable { program: "bonnie++", reason }
}

/// Memory of this machine, from `MemTotal` of /proc/meminfo.
pub(super) fn memory() -> Result<Bytes, WorkloadError> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kibibytes.map(|kibibytes| Bytes(kibibytes << 10)).ok_or_else(|| {
        unsuitable(
            "/proc/meminfo does not tell the memory of this machine; set `workload.size` and `workload.memory`"
                .to_owned(),
        )
    })
}

/// The room that it needs on a machine with that memory.
///
/// # Errors
/// A file that the page cache would serve, which bonnie++ refuses too.
pub(super) fn needed(spec: &BonnieWorkload, memory: Bytes) -> Result<Bytes, WorkloadError> {
    let size = spec.file_size(memory);
    // In whole MiB, as bonnie++ reckons.
    if spec.memory.is_none() && size.0 > 0 && size.0 >> 20 < (memory.0 >> 20) * 2 {
        return Err(unsuitable(format!(
            "a file of {size} is smaller than twice this machine's memory of {}, so that the page cache would serve its \
             reads; leave `workload.size` out, or say `workload.memory = \"0B\"` where only writes are the question",
            memory.approximate()
        )));
    }
    Ok(size.max(spec.small_files_room()).max(spec.direct_read.unwrap_or_default()))
}

/// Refuses a place that is too small, before anything is written.
pub(super) fn check(
    spec: &BonnieWorkload,
    needed: Bytes,
    room: Bytes,
    has: &str,
) -> Result<(), WorkloadError> {
    if needed <= room {
        return Ok(());
    }
    let why = match (spec.size, spec.memory) {
        (Some(_), _) => "",
        (None, None) => " (twice this machine's memory, because the page cache would serve a smaller one)",
        (None, Some(_)) => " (twice `workload.memory`)",
    };
    // A filesystem keeps some of its volume for itself.
    let volume = Bytes((needed.0 + needed.0 / 16).next_multiple_of(1 << 30));
    let smaller = if needed.0 > 2 << 30 {
        ", or, where only writes are the question, a smaller file (`--set workload.size=1GiB --set workload.memory=0B`)"
    } else {
        ", or a smaller `workload.size`"
    };
    Err(unsuitable(format!(
        "its files take {}{why}, but {has} {}; use a larger volume (`--set stack.volume.size={volume}`){smaller}",
        needed.approximate(),
        room.approximate()
    )))
}

/// Free room below a directory, for whoever bonnie++ runs as: a filesystem keeps some for root.
pub(super) fn free(directory: &Path, spec: &BonnieWorkload) -> Result<Bytes, WorkloadError> {
    let facts = rustix::fs::statvfs(directory)
        .map_err(|source| WorkloadError::Make { path: directory.to_owned(), source: source.into() })?;
    let as_root = spec.user.is_none() && rustix::process::geteuid().is_root();
    let blocks = if as_root { facts.f_bfree } else { facts.f_bavail };
    Ok(Bytes(blocks.saturating_mul(facts.f_frsize)))
}

/// Bytes that it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) read: u64,
    pub(super) written: u64,
}

/// Bytes that all its runs read and write (bonnie++.cpp): the file is written, then read and written again, then read;
/// each seek reads a chunk, and one in ten writes it back; small files are written, and read where they are looked up,
/// in order and at random. Their sizes are drawn evenly between the smallest and the largest.
pub(super) fn claimed(spec: &BonnieWorkload, file_size: Bytes) -> Claimed {
    let runs = u64::from(spec.runs);
    let (mut read, mut written) = (0u64, 0u64);
    if file_size.0 > 0 {
        let by_the_byte = if spec.fast { 0 } else { BY_THE_BYTE };
        let chunk = spec.chunk.unwrap_or(CHUNK).0;
        let seeks = u64::from(spec.seeks.unwrap_or(SEEKS));
        let twice = file_size.0.saturating_mul(2);
        read = twice.saturating_add(by_the_byte).saturating_add(seeks * chunk);
        written = twice.saturating_add(by_the_byte).saturating_add(seeks.div_ceil(10) * chunk);
    }
    let size = |bytes: Option<Bytes>| bytes.unwrap_or_default().0;
    let mean = u64::midpoint(size(spec.file_max), size(spec.file_min));
    let small = u64::from(spec.files.unwrap_or(FILES)).saturating_mul(1024).saturating_mul(mean);
    let both = small.saturating_mul(2);
    Claimed {
        read: read.saturating_add(both).saturating_mul(runs),
        written: written.saturating_add(both).saturating_mul(runs),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::*;

    const GIB: Bytes = Bytes(1 << 30);

    #[test]
    fn a_file_is_written_and_read_twice() {
        let gib = Bytes(1 << 30);
        let moved = claimed(&spec("fast = true\nfiles = 0"), gib);
        let seeks = 8192 * 8192;
        assert_eq!(moved, Claimed { read: (2 << 30) + seeks, written: (2 << 30) + 820 * 8192 });
        let moved = claimed(&spec("size = \"0B\"\nfiles = 1\nfile_max = \"3KiB\"\nruns = 2"), Bytes(0));
        assert_eq!(moved, Claimed { read: 2 * 2 * 1024 * 1536, written: 2 * 2 * 1024 * 1536 });
    }

    #[test]
    fn a_place_that_is_too_small_is_refused_with_both_sizes_and_a_way_out() {
        let spec = spec("");
        let error = check(&spec, Bytes(48 << 30), Bytes(4 << 30), "the volume has").unwrap_err().to_string();
        for part in ["48.0 GiB", "4.00 GiB", "twice this machine's memory", "stack.volume.size=51GiB"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        check(&spec, Bytes(48 << 30), Bytes(48 << 30), "the volume has").unwrap();
    }

    #[test]
    fn a_file_that_memory_holds_is_refused_unless_memory_is_said_to_be_less() {
        let error = needed(&spec("size = \"16MiB\""), GIB).unwrap_err().to_string();
        assert!(error.contains("smaller than twice this machine's memory"), "{error}");
        assert_eq!(needed(&spec("size = \"16MiB\"\nmemory = \"8MiB\""), GIB).unwrap(), Bytes(16 << 20));
        assert_eq!(needed(&spec("size = \"16MiB\"\nmemory = \"0B\""), GIB).unwrap(), Bytes(16 << 20));
        assert!(needed(&spec(""), GIB).unwrap() >= Bytes(300 << 20));
    }
}
