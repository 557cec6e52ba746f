//! The link that all volumes of a server share: a timetable of what was promised to whom.
//!
//! The volumes' own limits decide when a request is ready for the link, so requests do not come to it in the order
//! of time: one that waits for a slow volume must not keep the link from another. The link therefore gives each the
//! earliest time that is still free, in order of arrival, and never moves a promise.

use std::collections::BTreeMap;

use iostone_model::units::ByteRate;

use crate::bucket::{PACE_NS, PARTS};

/// The parts of a byte, as the timetable counts.
const BYTE_PARTS: u128 = PARTS.unsigned_abs();

/// The shared bucket of one server: the bytes of all volumes, reads and writes.
#[derive(Debug, Clone, Default)]
pub struct LinkState {
    timetable: Option<Timetable>,
    bytes: u64,
}

impl LinkState {
    /// The link of that rate in bytes a second; no limit without one.
    pub fn new(rate: Option<ByteRate>) -> Self {
        Self { timetable: rate.map(|rate| Timetable::new(rate.0)), bytes: 0 }
    }

    /// The rate in bytes a second, if there is one.
    pub fn rate(&self) -> Option<ByteRate> {
        self.timetable.as_ref().map(|timetable| ByteRate(timetable.rate))
    }

    /// Bytes that were let through, or promised, since the start or the last reset.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn reset_counters(&mut self) {
        self.bytes = 0;
    }

    /// From `now_ns` on another rate holds. What was promised stays promised, and what is not yet paid for is paid
    /// at the new rate.
    pub(crate) fn set_rate(&mut self, rate: Option<ByteRate>, now_ns: u64) {
        self.timetable = rate.map(|rate| match &self.timetable {
            Some(timetable) => timetable.at_rate(rate.0, now_ns),
            None => Timetable::new(rate.0),
        });
    }

    /// When `bytes`, which are ready at `ready_ns`, are through.
    pub(crate) fn take(&mut self, bytes: u64, ready_ns: u64, now_ns: u64) -> u64 {
        self.bytes = self.bytes.saturating_add(bytes);
        match &mut self.timetable {
            Some(timetable) => timetable.take(bytes, ready_ns, now_ns),
            None => ready_ns,
        }
    }
}

/// Which parts of the time are promised. A position is the rate times nanoseconds, in which `c` bytes are exactly
/// `c * 10^9` long.
#[derive(Debug, Clone)]
struct Timetable {
    rate: u64,
    /// From, to; neither overlapping nor touching.
    busy: BTreeMap<u128, u128>,
}

impl Timetable {
    fn new(rate: u64) -> Self {
        Self { rate: rate.max(1), busy: BTreeMap::new() }
    }

    fn position(&self, at_ns: u64) -> u128 {
        u128::from(self.rate) * u128::from(at_ns)
    }

    /// Takes the first free positions from 10 ms before `ready_ns` on: as much may be sent at once.
    fn take(&mut self, bytes: u64, ready_ns: u64, now_ns: u64) -> u64 {
        self.forget_before(self.position(now_ns.saturating_sub(PACE_NS)));
        if bytes == 0 {
            return ready_ns;
        }
        let mut cursor = self.position(ready_ns.saturating_sub(PACE_NS));
        let mut first = cursor;
        if let Some((&from, &to)) = self.busy.range(..=cursor).next_back()
            && to >= cursor
        {
            (first, cursor) = (from, to);
        }
        let mut left = u128::from(bytes) * BYTE_PARTS;
        // All that lies between the first and the last position taken is busy afterwards, so it becomes one entry.
        while let Some((&from, &to)) = self.busy.range(cursor..).next() {
            let gap = from - cursor;
            if gap > left {
                break;
            }
            left -= gap;
            cursor = to;
            self.busy.remove(&from);
            if left == 0 {
                // The end lies at the end of this gap, not behind what follows it.
                self.busy.insert(first, to);
                return self.nanoseconds_at(from).max(ready_ns);
            }
        }
        let end = cursor.saturating_add(left);
        self.busy.insert(first, end);
        self.nanoseconds_at(end).max(ready_ns)
    }

    fn nanoseconds_at(&self, position: u128) -> u64 {
        u64::try_from(position.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }

    fn forget_before(&mut self, position: u128) {
        while let Some(entry) = self.busy.first_entry() {
            if *entry.get() > position {
                break;
            }
            entry.remove();
        }
    }

    /// The same promises at another rate, as one stretch from 10 ms before now on.
    fn at_rate(&self, rate: u64, now_ns: u64) -> Self {
        let now = self.position(now_ns);
        let owed = self.busy.iter().map(|(&from, &to)| to.saturating_sub(from.max(now))).sum::<u128>();
        let mut changed = Self::new(rate);
        let from = changed.position(now_ns.saturating_sub(PACE_NS));
        let to = changed.position(now_ns).saturating_add(owed);
        if to > from {
            changed.busy.insert(from, to);
        }
        changed
    }
}

#[cfg(test)]
mod tests;
