//! Which part of a target a job uses, and whether there is memory for it.

use std::path::Path;

use iostone_model::units::Bytes;

use crate::arena::ArenaPlan;
use crate::error::EngineError;
use crate::job::{Job, Preparation};
use crate::source::Part;
use crate::target::TargetKind;

/// Buffers are written to before they are used, so what is asked for is taken; a job that takes most of the memory
/// would push out the page cache, or other programs.
pub(super) fn check_memory(job: &Job) -> Result<(), EngineError> {
    let needed = needed_bytes(job);
    let Some(available) = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(read_available)
    else {
        return Ok(());
    };
    if needed <= available / 2 {
        return Ok(());
    }
    Err(EngineError::TooMuchMemory { needed: Bytes(needed), available: Bytes(available) })
}

/// Memory that the buffers of all threads take.
fn needed_bytes(job: &Job) -> u64 {
    let per_thread = ArenaPlan::of(job).used_bytes().and_then(|bytes| u64::try_from(bytes).ok());
    per_thread.map_or(u64::MAX, |bytes| bytes.saturating_mul(u64::from(job.numjobs)))
}

/// `MemAvailable` of `/proc/meminfo` in bytes (`proc_meminfo(5)`).
fn read_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The part of the target that the job uses.
pub(super) fn resolve_part(
    job: &Job,
    path: &Path,
    kind: TargetKind,
    existing_bytes: Option<u64>,
) -> Result<Part, EngineError> {
    let unknown = |state| EngineError::SizeUnknown { path: path.to_owned(), state };
    let offset = job.offset.0;
    let too_small = |needs, why_not_extended| EngineError::TooSmall {
        path: path.to_owned(),
        has: Bytes(existing_bytes.unwrap_or(0)),
        needs,
        why_not_extended,
    };
    let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
    let fixed = match kind {
        TargetKind::BlockDevice => Some("a block device is never extended"),
        // What a check finds missing is its finding.
        TargetKind::RegularFile
            if job.preparation == Preparation::Leave && !job.rw.writes() && !only_checks =>
        {
            Some("it is to be left as it is")
        }
        TargetKind::RegularFile | TargetKind::MemoryDevice => None,
    };
    let block = job.smallest_block();
    let length_bytes = match (job.size, existing_bytes) {
        (Some(wanted), existing) => {
            let end =
                offset.checked_add(wanted.0).filter(|end| i64::try_from(*end).is_ok()).ok_or_else(|| {
                    EngineError::Invalid {
                        field: "offset",
                        value: job.offset.to_string(),
                        reason: "with `size` it lies beyond what a file can hold".into(),
                    }
                })?;
            match fixed {
                Some(why) if existing.is_none_or(|existing| existing < end) => {
                    return Err(too_small(Bytes(end), why));
                }
                _ => wanted.0,
            }
        }
        (None, Some(0)) => return Err(unknown("is empty")),
        (None, Some(existing)) if existing < offset.saturating_add(block.0) => {
            let needs = Bytes(offset.saturating_add(block.0));
            return Err(too_small(needs, fixed.unwrap_or("no `size` was given")));
        }
        (None, Some(existing)) => existing - offset,
        (None, None) if kind == TargetKind::MemoryDevice => return Err(unknown("has no size of its own")),
        (None, None) => return Err(unknown("does not exist")),
    };
    let largest = job.largest_block();
    if length_bytes < largest.0 {
        return Err(EngineError::Invalid {
            field: "size",
            value: Bytes(length_bytes).to_string(),
            reason: format!("it is smaller than one block of {largest}"),
        });
    }
    Ok(Part { offset_bytes: offset, length_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::Rw;

    #[test]
    fn a_mix_needs_memory_for_its_reads_and_for_its_writes() {
        let needed = |rw| {
            let mut job = Job::new("/dev/null", rw);
            (job.bs, job.iodepth, job.numjobs) = (Bytes(1 << 20).into(), 32, 3);
            needed_bytes(&job)
        };
        assert_eq!((needed(Rw::RandRead), needed(Rw::RandWrite)), (96 << 20, 96 << 20));
        assert_eq!(needed(Rw::RandRw), 192 << 20);
    }
}
