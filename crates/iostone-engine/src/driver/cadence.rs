//! What interrupts the flow of a load: syncs that fall due, and pauses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_model::load::SyncFileRange;

use crate::clock::Clock;
use crate::engine::SyncKind;
use crate::job::Think;
use crate::source::Request;

/// How often syncs and pauses fall due.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cadence {
    /// Syncs after every this many writes; 0 is never.
    pub(crate) fsync: u32,
    pub(crate) fdatasync: u32,
    pub(crate) range: Option<SyncFileRange>,
    /// One fsync of each target at the end.
    pub(crate) end_fsync: bool,
    /// Read back after every this many blocks written; 0 is never.
    pub(crate) backlog: u32,
    pub(crate) think: Option<Think>,
}

/// Where a due sync stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// None is due.
    Clear,
    /// Waits for the writes before it.
    Draining(SyncKind),
    /// Handed over at this time.
    Syncing { kind: SyncKind, since_ns: u64 },
}

/// Syncs, and what has to be synced.
#[derive(Debug)]
pub(crate) struct Barrier {
    state: State,
    /// Targets written since they were synced.
    dirty: Vec<u32>,
    /// Writes submitted so far.
    writes: u64,
    /// When the last write was submitted.
    pub(crate) last_submitted_ns: u64,
    /// First and last byte written since the last sync of a range.
    range: Option<(u64, u64)>,
}

impl Barrier {
    pub(crate) fn new() -> Self {
        Self { state: State::Clear, dirty: Vec::new(), writes: 0, last_submitted_ns: 0, range: None }
    }

    /// Writes submitted so far.
    #[inline]
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Whether nothing is due.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.state == State::Clear
    }

    /// Counts a write; true when a sync is due now.
    #[inline]
    pub(crate) fn note_write(&mut self, cadence: &Cadence, request: &Request) -> bool {
        self.writes += 1;
        if self.dirty.last() != Some(&request.target) && !self.dirty.contains(&request.target) {
            self.dirty.push(request.target);
        }
        let due = |every: u32| every > 0 && self.writes.is_multiple_of(u64::from(every));
        if cadence.range.is_some() {
            let (begin, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.length_bytes));
            let (first, last) = self.range.unwrap_or((begin, end));
            self.range = Some((first.min(begin), last.max(end)));
        }
        let kind = if due(cadence.fsync) {
            SyncKind::All
        } else if due(cadence.fdatasync) {
            SyncKind::Data
        } else if let Some(sync) = cadence.range.filter(|sync| due(sync.every)) {
            self.take_range(sync)
        } else {
            return false;
        };
        self.state = State::Draining(kind);
        true
    }

    fn take_range(&mut self, sync: SyncFileRange) -> SyncKind {
        let (first, end) = self.range.take().unwrap_or((0, 0));
        let chosen = [
            (sync.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
            (sync.write, libc::SYNC_FILE_RANGE_WRITE),
            (sync.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER),
        ];
        let flags = chosen.into_iter().filter(|(asked, _)| *asked).fold(0, |flags, (_, flag)| flags | flag);
        // A length of 0 means to the end of the file, which also covers a range that has no number.
        SyncKind::Range { flags, offset_bytes: first, length_bytes: u32::try_from(end - first).unwrap_or(0) }
    }

    /// Makes a sync of every dirty target due.
    pub(crate) fn demand(&mut self, kind: SyncKind) {
        if !self.dirty.is_empty() {
            self.state = State::Draining(kind);
        }
    }

    /// The sync to be handed over now that nothing is in flight; None while one is under way.
    pub(crate) fn begin_sync(&mut self, now: u64) -> Option<(u32, SyncKind)> {
        let State::Draining(kind) = self.state else { return None };
        let Some(target) = self.dirty.pop() else {
            self.state = State::Clear;
            return None;
        };
        self.state = State::Syncing { kind, since_ns: now };
        Some((target, kind))
    }

    /// A sync has completed: what it was, when it began, and whether it was the last.
    pub(crate) fn end_sync(&mut self) -> Option<(SyncKind, u64, bool)> {
        let State::Syncing { kind, since_ns } = self.state else { return None };
        let last = self.dirty.is_empty();
        self.state = if last { State::Clear } else { State::Draining(kind) };
        Some((kind, since_ns, last))
    }

    /// Gives up whatever is due.
    pub(crate) fn clear(&mut self) {
        self.state = State::Clear;
    }
}

/// Pauses between bursts.
#[derive(Debug)]
pub(crate) struct Pause {
    think: Option<Think>,
    /// I/Os since the last pause.
    ios: u32,
    /// When the burst began.
    since_ns: u64,
    due: bool,
    /// When the pause ends, once it has begun.
    until_ns: Option<u64>,
}

impl Pause {
    pub(crate) fn new(think: Option<Think>, begins_ns: u64) -> Self {
        Self { think, ios: 0, since_ns: begins_ns, due: false, until_ns: None }
    }

    /// Whether nothing may be submitted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.due
    }

    /// Counts an I/O; true when a pause is due now.
    #[inline]
    pub(crate) fn note(&mut self, clock: Clock, now: u64) -> bool {
        let Some(think) = &self.think else { return false };
        self.ios += 1;
        self.due = match think.io_time {
            Some(span) => {
                u128::from(clock.now_ns().max(now).saturating_sub(self.since_ns)) >= span.0.as_nanos()
            }
            None => self.ios >= think.every,
        };
        self.due
    }

    /// Goes on with a pause that has everything behind it completed: how long to sleep, or None when it is over.
    pub(crate) fn wait(&mut self, clock: Clock, now: u64, stop: &AtomicBool) -> Option<Duration> {
        let Think { time, spin, .. } = self.think?;
        let length = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let until = *self.until_ns.get_or_insert(now.saturating_add(length(time.0)));
        let sleep_until = until.saturating_sub(length(spin.0));
        if now < sleep_until {
            return Some(Duration::from_nanos(sleep_until - now));
        }
        while clock.now_ns() < until && !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        (self.ios, self.due, self.until_ns, self.since_ns) = (0, false, None, clock.now_ns());
        Some(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::Direction;

    fn write(target: u32, offset_bytes: u64) -> Request {
        Request { direction: Direction::Write, target, offset_bytes, length_bytes: 512 }
    }

    #[test]
    fn the_stronger_sync_covers_the_weaker() {
        let cadence = Cadence { fsync: 6, fdatasync: 3, ..Cadence::default() };
        let mut barrier = Barrier::new();
        let kinds: Vec<(u64, SyncKind)> = (1..=12)
            .filter(|n| barrier.note_write(&cadence, &write(0, n * 512)))
            .collect::<Vec<u64>>()
            .into_iter()
            .zip([SyncKind::Data, SyncKind::All, SyncKind::Data, SyncKind::All])
            .collect();
        assert_eq!(kinds.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [3, 6, 9, 12]);
        assert_eq!(barrier.begin_sync(1), Some((0, SyncKind::All)));
        assert_eq!(barrier.end_sync(), Some((SyncKind::All, 1, true)));
    }

    #[test]
    fn every_target_that_was_written_is_synced() {
        let cadence = Cadence { fdatasync: 3, ..Cadence::default() };
        let mut barrier = Barrier::new();
        assert!(!barrier.note_write(&cadence, &write(0, 0)));
        assert!(!barrier.note_write(&cadence, &write(2, 0)));
        assert!(barrier.note_write(&cadence, &write(0, 512)));
        assert_eq!(barrier.begin_sync(5).map(|(target, _)| target), Some(2));
        assert_eq!(barrier.begin_sync(6), None);
        assert_eq!(barrier.end_sync().map(|(_, since, last)| (since, last)), Some((5, false)));
        assert_eq!(barrier.begin_sync(7).map(|(target, _)| target), Some(0));
        assert_eq!(barrier.end_sync().map(|(_, _, last)| last), Some(true));
        assert!(barrier.is_clear());
    }

    #[test]
    fn a_range_sync_covers_what_was_written_since_the_last() {
        let range = "write,wait_after:2".parse().ok();
        let cadence = Cadence { range, ..Cadence::default() };
        let mut barrier = Barrier::new();
        barrier.note_write(&cadence, &write(0, 8192));
        assert!(barrier.note_write(&cadence, &write(0, 1024)));
        let flags = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let expected = SyncKind::Range { flags, offset_bytes: 1024, length_bytes: 8192 + 512 - 1024 };
        assert_eq!(barrier.begin_sync(0), Some((0, expected)));
    }
}
