//! What is known of every unit: which generation was submitted last, which was acknowledged, which made durable.
//!
//! The ledger lies in memory, or in a file that is mapped and shared, so that it survives the process that wrote it,
//! `SIGKILL` in the middle included: a generation is in the file's pages before its write is submitted. It does not
//! survive the machine's loss of power; for that it must lie on another machine.
//!
//! A file is, little-endian: a head of whole pages (see [`head`]) and then, unit after unit and target after target,
//! three 32-bit numbers per unit: the generation submitted last, the one acknowledged last, and the one that a sync
//! made durable last; 0 is none. A generation that has reached 2^32 - 1 stays there.
//!
//! Twelve bytes per unit: 3 GiB for each TiB of 4 KiB units, of which memory and disk hold what was touched.

pub(crate) mod head;
mod map;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use iostone_model::units::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use crate::error::EngineError;
use crate::job::Job;
use crate::pins::Pins;
use crate::source::{Part, Request};
use head::{Head, LARGEST_HEAD_BYTES};
use map::Mapping;

/// The most units of one ledger: 48 GiB of it, and 16 TiB of units of 4 KiB.
pub(crate) const MOST_UNITS: u64 = 1 << 32;
/// Bytes per unit.
const ENTRY_BYTES: u64 = 12;

/// What is known of one unit. Each is changed by one thread alone; numbers are stored little-endian.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Entry {
    issued: AtomicU32,
    acknowledged: AtomicU32,
    durable: AtomicU32,
}

// Relaxed throughout: one thread writes an entry, and what a process has stored in a shared mapping is in the page
// cache whatever becomes of the process. That the store is not moved behind the system call that submits the write
// is seen to by the call itself, which the compiler must assume to read memory, or by the release store of a ring's
// tail.
impl Entry {
    #[inline]
    pub(crate) fn issued(&self) -> u32 {
        u32::from_le(self.issued.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn acknowledged(&self) -> u32 {
        u32::from_le(self.acknowledged.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn durable(&self) -> u32 {
        u32::from_le(self.durable.load(Ordering::Relaxed))
    }

    /// Notes that another write is about to be submitted; its generation.
    #[inline]
    pub(crate) fn issue(&self) -> u32 {
        let generation = self.issued().saturating_add(1);
        self.issued.store(generation.to_le(), Ordering::Relaxed);
        generation
    }

    /// Notes that the write submitted last has completed.
    #[inline]
    pub(crate) fn acknowledge(&self) {
        self.acknowledged.store(self.issued.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes that what was acknowledged is durable.
    #[inline]
    pub(crate) fn make_durable(&self) {
        self.durable.store(self.acknowledged.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes which of several possible generations was found on the target.
    pub(crate) fn settle(&self, generation: u32) {
        self.acknowledged.store(generation.to_le(), Ordering::Relaxed);
    }
}

/// The units of one target.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    offset_bytes: u64,
    units: u64,
    /// Number of its first unit among those of all targets.
    first: u64,
}

/// The generations of all units of a job. Threads share it and own disjoint parts of it.
#[derive(Debug)]
pub(crate) struct Ledger {
    mapping: Mapping,
    unit_bytes: u64,
    stretches: Vec<Stretch>,
    /// Keeps the lock on the file.
    _file: Option<File>,
}

impl Ledger {
    /// Opens the ledger of a job, or makes it; `parts` are the spans of its targets, one each.
    ///
    /// A job that only reads needs a ledger that is there: an empty one would let everything pass.
    ///
    /// # Errors
    /// [`EngineError::Ledger`] when there is no memory or space for it, when another process uses it, or when it was
    /// made for other targets, spans, units or another seed; [`EngineError::Invalid`] when there are too many units
    /// or I/O can fall between them.
    pub(crate) fn open(job: &Job, parts: &[Part], pins: &Pins) -> Result<Arc<Self>, EngineError> {
        let unit_bytes = job.verify_unit().0.max(1);
        let stretches = lay_out(job, unit_bytes, parts)?;
        let units = stretches.last().map_or(0, |last| last.first + last.units);
        let path = job.verify.as_ref().and_then(|verify| verify.ledger.as_deref());
        let Some(path) = path else {
            let mapping = Mapping::in_memory(units).map_err(|error| {
                let needed = Bytes(units * ENTRY_BYTES).approximate();
                let reason =
                    format!("remembering {units} units takes {needed} of memory: {error}; take larger ones");
                invalid("verify_interval", job.verify_unit(), reason)
            })?;
            return Ok(Arc::new(Self { mapping, unit_bytes, stretches, _file: None }));
        };
        let must_exist = job.verify.as_ref().is_some_and(|verify| verify.only) || !job.rw.writes();
        let head = Head::of(job, parts);
        let (file, head_bytes) = open_file(path, pins, &head, units, must_exist)?;
        let fail = |error: io::Error| refuse_file(path, format!("it cannot be mapped: {error}"));
        let mapping = Mapping::of_file(&file, head_bytes, units).map_err(fail)?;
        Ok(Arc::new(Self { mapping, unit_bytes, stretches, _file: Some(file) }))
    }

    /// Bytes per unit.
    pub(crate) fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// The numbers of the whole units within a span of a target. Both ends should lie between units.
    #[inline]
    pub(crate) fn units_of(&self, target: u32, offset_bytes: u64, length_bytes: u64) -> std::ops::Range<u64> {
        let Some(stretch) = self.stretches.get(target as usize) else { return 0..0 };
        let Some(begin) = offset_bytes.checked_sub(stretch.offset_bytes) else { return 0..0 };
        let first = (begin / self.unit_bytes).min(stretch.units);
        let end = (begin.saturating_add(length_bytes) / self.unit_bytes).min(stretch.units);
        stretch.first + first..stretch.first + end
    }

    /// The numbers of a request's units.
    #[inline]
    pub(crate) fn units_of_request(&self, request: &Request) -> std::ops::Range<u64> {
        self.units_of(request.target, request.offset_bytes, request.length_bytes.into())
    }

    /// Where a unit lies in its target.
    pub(crate) fn offset_of(&self, target: u32, unit: u64) -> u64 {
        let stretch = self.stretches.get(target as usize);
        stretch
            .map_or(0, |stretch| stretch.offset_bytes + unit.saturating_sub(stretch.first) * self.unit_bytes)
    }

    /// What is known of a unit.
    #[inline]
    pub(crate) fn entry(&self, unit: u64) -> Option<&Entry> {
        self.mapping.entries().get(usize::try_from(unit).ok()?)
    }
}

/// Numbers the units of all targets.
fn lay_out(job: &Job, unit_bytes: u64, parts: &[Part]) -> Result<Vec<Stretch>, EngineError> {
    if let Some(align) = job.walk.align
        && !align.0.is_multiple_of(unit_bytes)
    {
        let reason = format!("it must be a multiple of `verify_interval` = {}", job.verify_unit());
        return Err(invalid("blockalign", align, reason));
    }
    let mut first = 0;
    let mut stretches = Vec::with_capacity(parts.len());
    for part in parts {
        let units = part.length_bytes / unit_bytes;
        stretches.push(Stretch { offset_bytes: part.offset_bytes, units, first });
        first += units;
    }
    if first > MOST_UNITS {
        let reason = format!(
            "{first} units would have to be remembered, and {MOST_UNITS} is the most; take larger ones"
        );
        return Err(invalid("verify_interval", job.verify_unit(), reason));
    }
    Ok(stretches)
}

fn invalid(field: &'static str, value: Bytes, reason: String) -> EngineError {
    EngineError::Invalid { field, value: value.to_string(), reason }
}

fn refuse_file(path: &Path, reason: impl Into<String>) -> EngineError {
    EngineError::Ledger { path: path.to_owned(), reason: reason.into() }
}

/// Reads the head of a ledger's file, given the file's first bytes; its length.
///
/// # Errors
/// A clause that says why it is none.
pub fn check_ledger_head(bytes: &[u8]) -> Result<u64, String> {
    Head::parse(bytes).map(|(_, head_bytes)| head_bytes)
}

/// Opens, locks and if need be makes a ledger's file; also how long its head is.
fn open_file(
    path: &Path,
    pins: &Pins,
    head: &Head,
    units: u64,
    must_exist: bool,
) -> Result<(File, u64), EngineError> {
    let fail = |action: &str, error: io::Error| refuse_file(path, format!("it cannot be {action}: {error}"));
    let creates = !must_exist && pins.get(path).is_none();
    let opened =
        OpenOptions::new().read(true).write(true).create(creates).truncate(false).open(pins.way_to(path));
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if must_exist => refuse_file(
            path,
            "it does not exist, and a job that writes nothing has nothing to check without it",
        ),
        _ => fail("opened", error),
    })?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => refuse_file(path, "another process is using it"),
        errno => fail("locked", errno.into()),
    })?;
    let metadata = file.metadata().map_err(|error| fail("looked at", error))?;
    if !metadata.is_file() {
        return Err(refuse_file(path, "it is no regular file"));
    }
    if metadata.len() == 0 && !must_exist {
        let encoded = head.encode();
        let head_bytes = encoded.len() as u64;
        reserve(&file, head_bytes + units * ENTRY_BYTES).map_err(|error| fail("made", error))?;
        // The head comes last: a file that was not finished has none.
        file.write_all_at(&encoded, 0).map_err(|error| fail("written", error))?;
        return Ok((file, head_bytes));
    }
    let mut start = Vec::new();
    (&mut file).take(LARGEST_HEAD_BYTES).read_to_end(&mut start).map_err(|error| fail("read", error))?;
    let (found, head_bytes) = Head::parse(&start)
        .map_err(|error| refuse_file(path, format!("{error}; remove it to begin anew")))?;
    head.compare(&found).map_err(|reason| refuse_file(path, reason))?;
    let wanted = head_bytes + units * ENTRY_BYTES;
    if metadata.len() < wanted {
        return Err(refuse_file(path, format!("it has {} bytes where {wanted} are needed", metadata.len())));
    }
    Ok((file, head_bytes))
}

/// Makes a file this long, all zeros. Its blocks are allocated where that can be done, since a store to a mapping has
/// no way to report a full disk but `SIGBUS`.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => Ok(()),
        result => result.map_err(|errno| {
            // Nothing was there before, and what cannot be used must not be mistaken for a ledger.
            let _ = file.set_len(0);
            errno.into()
        }),
    }
}

#[cfg(test)]
mod tests;
