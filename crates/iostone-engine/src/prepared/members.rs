//! The members of a volume: how long they are, what of them is used, and whether a queue holds the pieces of requests.

use std::path::Path;

use iostone_model::units::Bytes;

use crate::error::EngineError;
use crate::job::{DEEPEST_QUEUE, Job, Volume};
use crate::pins::Pins;
use crate::source::Part;
use crate::target::{self, TargetKind};
use crate::volume::VolumeMap;

/// A volume and its members.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) map: VolumeMap,
    /// What the job uses of the volume.
    pub(super) part: Part,
    /// What it uses of each member, from its start on.
    pub(super) parts: Vec<Part>,
}

/// Looks at the members of the job's volume; None without one.
///
/// # Errors
/// A member that is missing or too small, or a span that does not fit.
pub(super) fn survey(job: &Job, pins: &Pins) -> Result<Option<Members>, EngineError> {
    let Some(volume) = job.volume else { return Ok(None) };
    let lengths: Vec<u64> =
        job.targets.iter().map(|path| measure(volume, path, pins)).collect::<Result<_, _>>()?;
    let map = VolumeMap::new(volume, &lengths);
    check_depth(job, volume, &map)?;
    let part = resolve_span(job, volume, map.length_bytes())?;
    let used = map.member_ends(part.offset_bytes + part.length_bytes);
    let parts = used.into_iter().map(|length_bytes| Part { offset_bytes: 0, length_bytes }).collect();
    Ok(Some(Members { map, part, parts }))
}

/// The length of a member in bytes.
fn measure(volume: Volume, path: &Path, pins: &Pins) -> Result<u64, EngineError> {
    let refuse = |state: &str| EngineError::Invalid {
        field: "volume",
        value: volume.word().into(),
        reason: format!(
            "its member `{}` {state}, and what lies where depends on the members' lengths",
            path.display()
        ),
    };
    let (kind, metadata) = target::inspect(path, pins)?;
    let length = match (kind, &metadata) {
        (TargetKind::BlockDevice, _) => target::read_device_size(path, pins)?,
        (TargetKind::RegularFile, Some(metadata)) => metadata.len(),
        (TargetKind::RegularFile, None) => return Err(refuse("does not exist")),
        (TargetKind::MemoryDevice, _) => return Err(refuse("has no size of its own")),
    };
    let least = crate::volume::unit_bytes(volume);
    if length < least {
        return Err(refuse(&format!("has {} where {} are needed at least", Bytes(length), Bytes(least))));
    }
    Ok(length)
}

/// What the job uses of a volume of `length_bytes`.
fn resolve_span(job: &Job, volume: Volume, length_bytes: u64) -> Result<Part, EngineError> {
    let refuse =
        |field, value: Bytes, reason| Err(EngineError::Invalid { field, value: value.to_string(), reason });
    let (has, offset, largest) = (Bytes(length_bytes), job.offset, job.largest_block());
    let word = volume.word();
    let Some(rest) = length_bytes.checked_sub(offset.0).filter(|rest| *rest >= largest.0) else {
        let reason = format!("no block of {largest} follows there in the {word} volume of {has}");
        return refuse("offset", offset, reason);
    };
    match job.size {
        Some(size) if size.0 > rest => {
            let reason = format!("the {word} volume has {has}, and {} of it from `offset` on", Bytes(rest));
            refuse("size", size, reason)
        }
        Some(size) if size < largest => {
            refuse("size", size, format!("it is smaller than one block of {largest}"))
        }
        size => Ok(Part { offset_bytes: offset.0, length_bytes: size.map_or(rest, |size| size.0) }),
    }
}

/// All pieces of all requests in flight must fit into a ring.
fn check_depth(job: &Job, volume: Volume, map: &VolumeMap) -> Result<(), EngineError> {
    let pieces = map.most_pieces(job.largest_block().0);
    if pieces.saturating_mul(job.iodepth.into()) <= DEEPEST_QUEUE.into() {
        return Ok(());
    }
    let remedy = match u64::from(DEEPEST_QUEUE) / pieces {
        0 => "use larger members or chunks, or smaller blocks".to_owned(),
        most => format!("`iodepth` may be at most {most}"),
    };
    Err(EngineError::Invalid {
        field: "iodepth",
        value: job.iodepth.to_string(),
        reason: format!(
            "a block of {} can be {pieces} pieces of the {} volume, and {DEEPEST_QUEUE} can be in flight: {remedy}",
            job.largest_block(),
            volume.word(),
        ),
    })
}
