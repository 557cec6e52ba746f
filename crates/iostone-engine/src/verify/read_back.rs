//! Reads back what was written, in large pieces, and checks it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use iostone_model::load::Direction;
use rustix::fs::{Advice, fadvise, fdatasync};
use rustix::io::Errno;

use super::Verifier;
use super::check::{Finding, MismatchKind};
use crate::arena::Arena;
use crate::source::Request;

/// Read at a time, unless a single unit is larger.
const PIECE_BYTES: u64 = 1 << 20;
/// Pieces are whole multiples of this where units allow it, since files may be open with `O_DIRECT`.
const PAGE_BYTES: u64 = 4096;

/// A read that failed while reading back.
#[derive(Debug)]
pub(crate) struct ReadFault {
    pub(crate) request: Request,
    pub(crate) source: io::Error,
}

impl ReadFault {
    /// The errno, where the kernel gave one.
    pub(crate) fn raw_os_error(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

impl Verifier {
    /// Reads and checks every unit of this thread that was ever written, or with a backlog what was written since it
    /// was last read back. Nothing may be in flight. What is cached is dropped first, as fio does it, so that the
    /// device is asked.
    ///
    /// # Errors
    /// The first read that failed. Stopping early, and a mismatch where it is fatal, are none.
    pub(crate) fn read_back(&mut self, files: &[File], stop: &AtomicBool) -> Result<(), ReadFault> {
        if self.backlog > 0 {
            return self.read_back_recent(files, stop);
        }
        self.check_all(files, stop)
    }

    /// Reads and checks every unit of this thread of which anything is to be expected: with a ledger those that it
    /// knows, without one all.
    ///
    /// # Errors
    /// As [`read_back`](Self::read_back).
    pub(crate) fn check_all(&mut self, files: &[File], stop: &AtomicBool) -> Result<(), ReadFault> {
        let begun = Instant::now();
        let result = self.drop_cached(files).and_then(|()| self.read_parts(files, stop));
        self.report.took.0 += begun.elapsed();
        result
    }

    /// Reads and checks what was written since the last time, through the page cache if the job goes through it.
    /// Nothing may be in flight.
    ///
    /// # Errors
    /// As [`read_back`](Self::read_back).
    pub(crate) fn read_back_recent(&mut self, files: &[File], stop: &AtomicBool) -> Result<(), ReadFault> {
        let begun = Instant::now();
        let recent = std::mem::take(&mut self.recent);
        let mut result = Ok(());
        for request in &recent {
            let units = self.ledger.units_of_request(request);
            result = self.read_run(files, stop, request.target, units);
            if result.is_err() || self.is_over(stop) {
                break;
            }
        }
        // Keeps the memory of the list.
        self.recent = recent;
        self.recent.clear();
        self.report.took.0 += begun.elapsed();
        result
    }

    fn is_over(&self, stop: &AtomicBool) -> bool {
        self.is_fatal() || stop.load(Ordering::Relaxed)
    }

    fn drop_cached(&self, files: &[File]) -> Result<(), ReadFault> {
        if self.direct {
            return Ok(());
        }
        for (target, file) in (0..).zip(files) {
            let synced = match fdatasync(file) {
                // What cannot be synced, a character device, has no pages either.
                Err(Errno::INVAL) | Ok(()) => fadvise(file, 0, None, Advice::DontNeed),
                failed => failed,
            };
            match synced {
                Ok(()) | Err(Errno::SPIPE | Errno::INVAL) => {}
                Err(errno) => return Err(fault(target, 0, 0, errno)),
            }
        }
        Ok(())
    }

    fn read_parts(&mut self, files: &[File], stop: &AtomicBool) -> Result<(), ReadFault> {
        for (target, part) in (0..).zip(self.parts.clone()) {
            let units = self.ledger.units_of(target, part.offset_bytes, part.length_bytes);
            let mut next = units.start;
            while next < units.end && !self.is_over(stop) {
                let run = self.find_run(next..units.end);
                self.report.units_skipped += run.start - next;
                next = run.end;
                self.read_run(files, stop, target, run)?;
            }
        }
        Ok(())
    }

    /// The first units in a row of which something is to be expected.
    fn find_run(&self, units: Range<u64>) -> Range<u64> {
        let is_wanted = |unit: &u64| {
            self.ledger.entry(*unit).is_some_and(|entry| self.rule.generations_of(entry).is_some())
        };
        let start = units.clone().find(is_wanted).unwrap_or(units.end);
        let end = (start..units.end).find(|unit| !is_wanted(unit)).unwrap_or(units.end);
        start..end
    }

    /// Reads and judges units that lie one after the other.
    fn read_run(
        &mut self,
        files: &[File],
        stop: &AtomicBool,
        target: u32,
        run: Range<u64>,
    ) -> Result<(), ReadFault> {
        let Some(file) = files.get(target as usize) else { return Ok(()) };
        let unit_bytes = self.ledger.unit_bytes();
        let units_per_piece = units_per_piece(unit_bytes);
        let piece_bytes = u32::try_from(units_per_piece * unit_bytes).unwrap_or(u32::MAX);
        let mut arena = match self.arena.take() {
            Some(arena) => arena,
            None => Arena::map(1, piece_bytes, false).map_err(|source| {
                let offset_bytes = self.ledger.offset_of(target, run.start);
                ReadFault { request: read_of(target, offset_bytes, piece_bytes), source }
            })?,
        };
        let place = arena.place(0, 0);
        let mut result = Ok(());
        let mut next = run.start;
        while next < run.end && result.is_ok() && !self.is_over(stop) {
            let units = units_per_piece.min(run.end - next);
            let offset_bytes = self.ledger.offset_of(target, next);
            let length = usize::try_from(units * unit_bytes).unwrap_or(0);
            let buffer = arena.block_mut(place).get_mut(..length).unwrap_or_default();
            result = read_piece(file, buffer, offset_bytes)
                .map(|done| self.judge_piece(target, offset_bytes, buffer, done))
                .map_err(|errno| fault(target, offset_bytes, units * unit_bytes, errno));
            next += units;
        }
        self.arena = Some(arena);
        result
    }

    /// Judges what was read, and what could not be since the target ends before.
    fn judge_piece(&mut self, target: u32, offset_bytes: u64, buffer: &[u8], done_bytes: usize) {
        let unit_bytes = super::step_of(self.ledger.unit_bytes());
        let whole = done_bytes / unit_bytes * unit_bytes;
        let (read, missing) = buffer.split_at_checked(whole).unwrap_or((buffer, &[]));
        self.judge_all(target, offset_bytes, read);
        let offsets = (offset_bytes + whole as u64..).step_by(unit_bytes);
        for (offset_bytes, _) in offsets.zip(missing.chunks_exact(unit_bytes)) {
            self.miss(target, offset_bytes);
        }
    }

    /// A unit that is not there at all.
    fn miss(&mut self, target: u32, offset_bytes: u64) {
        let unit = self.ledger.units_of(target, offset_bytes, self.ledger.unit_bytes()).start;
        let generations = self.ledger.entry(unit).and_then(|entry| self.rule.generations_of(entry));
        match generations {
            Some(generations) if *generations.start() > 0 => {
                self.report.units_checked += 1;
                let expected = format!("a unit of {} bytes", self.ledger.unit_bytes());
                let found = "the end before it".into();
                self.note(
                    target,
                    offset_bytes,
                    Finding { kind: MismatchKind::Missing, at: 0, expected, found },
                );
            }
            _ => self.report.units_skipped += 1,
        }
    }
}

fn read_of(target: u32, offset_bytes: u64, length_bytes: u32) -> Request {
    Request { direction: Direction::Read, target, offset_bytes, length_bytes }
}

fn fault(target: u32, offset_bytes: u64, length_bytes: u64, errno: Errno) -> ReadFault {
    let length_bytes = u32::try_from(length_bytes).unwrap_or(u32::MAX);
    ReadFault { request: read_of(target, offset_bytes, length_bytes), source: errno.into() }
}

/// How many units are read at once: so many that they end at a page where that is possible.
fn units_per_piece(unit_bytes: u64) -> u64 {
    let most = (PIECE_BYTES / unit_bytes).max(1);
    // The fewest units that fill whole pages.
    let paged = PAGE_BYTES / greatest_common_divisor(unit_bytes, PAGE_BYTES);
    if paged <= most { most / paged * paged } else { most }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Fills `buffer` from a file; how many bytes there were.
fn read_piece(file: &File, buffer: &mut [u8], offset_bytes: u64) -> Result<usize, Errno> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, offset_bytes + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            // With O_DIRECT the end of a file leaves a rest that cannot be asked for.
            Err(Errno::INVAL) if done > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_whole_units_and_where_possible_whole_pages() {
        assert_eq!(units_per_piece(4096), 256);
        assert_eq!(units_per_piece(512), 2048);
        // 3 pages: 85 of them.
        assert_eq!(units_per_piece(12_288), 85);
        // 8 make three pages.
        assert_eq!(units_per_piece(1536) % 8, 0);
        assert_eq!(units_per_piece(4 << 20), 1);
        // No number of units below a piece ends at a page.
        assert_eq!(units_per_piece(1001), 1047);
    }
}
