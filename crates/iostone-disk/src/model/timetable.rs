//! A token bucket whose tokens are promised out of order: which parts of its filling are taken already.
//!
//! A position is the rate times nanoseconds, in which `c` units are exactly `c * 10^9` long, so positions are what flows in,
//! one after the other. Whoever needs units takes positions that nobody has; those of the last while, as long as the bucket
//! takes to fill, may be taken late, and older ones have overflowed. Where requests come in the order of time this is a
//! [`Bucket`](crate::bucket::Bucket) to the nanosecond. Where one is to begin later, others take what lies before it, and its
//! promise stands.

use std::collections::BTreeMap;

use crate::bucket::PARTS;

/// The parts of a unit, as positions count.
const UNIT_PARTS: u128 = PARTS.unsigned_abs();

/// A bucket with promises.
#[derive(Debug, Clone)]
pub(super) struct Timetable {
    /// Units a second.
    rate: u64,
    /// Positions that may be taken late: what the full bucket holds.
    capacity: u128,
    /// What it holds before the first use, from which on it fills; none afterwards.
    at_first: Option<u128>,
    /// Positions that are taken: from, to; neither overlapping nor touching.
    busy: BTreeMap<u128, u128>,
}

impl Timetable {
    /// A bucket that paces: full, and holding the rate of so many nanoseconds, or one unit where that is more.
    pub(super) fn pacing(rate: u64, pace_ns: u64) -> Self {
        let rate = rate.max(1);
        let capacity = (u128::from(rate) * u128::from(pace_ns)).max(UNIT_PARTS);
        Self { rate, capacity, at_first: Some(capacity), busy: BTreeMap::new() }
    }

    /// A bucket that holds `capacity` units, fills at `rate` a second, and holds `level` of them at first.
    pub(super) fn credits(rate: u64, capacity: u64, level: u64) -> Self {
        let capacity_parts = u128::from(capacity) * UNIT_PARTS;
        let level = u128::from(level.min(capacity)) * UNIT_PARTS;
        Self { rate: rate.max(1), capacity: capacity_parts, at_first: Some(level), busy: BTreeMap::new() }
    }

    /// Takes note of the time: what has overflowed by then is forgotten.
    pub(super) fn note_time(&mut self, now_ns: u64) {
        if let Some(level) = self.at_first.take() {
            self.hold(level, now_ns);
        }
        let oldest = self.position(now_ns).saturating_sub(self.capacity);
        while let Some(entry) = self.busy.first_entry() {
            if *entry.get() > oldest {
                break;
            }
            entry.remove();
        }
    }

    /// Asks for `units` of a request that is ready at `ready_ns`. Nothing is taken before the claim is paid.
    pub(super) fn claim(&mut self, units: u64, ready_ns: u64) -> Claim<'_> {
        let needed = u128::from(units) * UNIT_PARTS;
        let from = self.position(ready_ns).saturating_sub(self.capacity);
        let end = self.end_of(needed, from);
        Claim { table: self, needed, oldest: from, from, end }
    }

    /// Units in it at `now_ns`.
    pub(super) fn balance(&self, now_ns: u64) -> f64 {
        self.level(now_ns) as f64 / UNIT_PARTS as f64
    }

    /// Fills, or empties, it to `units`, but not above its capacity. Promises stand.
    pub(super) fn set_balance(&mut self, units: u64, now_ns: u64) {
        self.at_first = None;
        self.hold((u128::from(units) * UNIT_PARTS).min(self.capacity), now_ns);
    }

    /// Another bucket, in the state that this one is in at `now_ns`: what is in it stays, and what is promised and has not
    /// flowed in is paid at the other's rate.
    pub(super) fn changed_to(&self, mut other: Self, now_ns: u64) -> Self {
        if self.at_first.is_some() {
            return other;
        }
        let now = self.position(now_ns);
        let owed = self.busy.iter().map(|(&from, &to)| to.saturating_sub(from.max(now))).sum::<u128>();
        other.at_first = None;
        other.hold(self.level(now_ns).min(other.capacity), now_ns);
        other.occupy_upward(other.position(now_ns), owed);
        other
    }

    fn level(&self, now_ns: u64) -> u128 {
        if let Some(level) = self.at_first {
            return level;
        }
        let now = self.position(now_ns);
        self.free_between(now.saturating_sub(self.capacity), now)
    }

    fn free_between(&self, oldest: u128, newest: u128) -> u128 {
        let taken = |(&from, &to): (&u128, &u128)| to.min(newest).saturating_sub(from.max(oldest));
        newest.saturating_sub(oldest).saturating_sub(self.busy.range(..newest).map(taken).sum())
    }

    /// Lets what flowed in up to `now_ns` be `level`, whatever it was.
    fn hold(&mut self, level: u128, now_ns: u64) {
        let now = self.position(now_ns);
        let promised = self.busy.split_off(&now);
        let straddling = self.busy.last_key_value().map(|(_, &to)| to).filter(|&to| to > now);
        self.busy = promised;
        if let Some(to) = straddling {
            self.busy.insert(now, to);
        }
        let taken = self.capacity.saturating_sub(level);
        // Before the clock began there is room too: the positions of a bucket of hours reach below zero.
        self.occupy_upward(now.saturating_sub(self.capacity), taken);
    }

    fn position(&self, at_ns: u64) -> u128 {
        // The clock begins at zero, and a bucket may hold what flows in within hours.
        self.capacity + u128::from(self.rate) * u128::from(at_ns)
    }

    fn nanoseconds_at(&self, position: u128) -> u64 {
        let since = position.saturating_sub(self.capacity);
        u64::try_from(since.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }

    /// The first free position from `from` on, and the start of the entry that ends there, if one does.
    fn first_free(&self, from: u128) -> (u128, u128) {
        match self.busy.range(..=from).next_back() {
            Some((&start, &to)) if to >= from => (start, to),
            _ => (from, from),
        }
    }

    /// Where the first `needed` free positions from `from` on end.
    fn end_of(&self, needed: u128, from: u128) -> u128 {
        let mut left = needed;
        let (_, mut cursor) = self.first_free(from);
        for (&start, &to) in self.busy.range(cursor..) {
            let gap = start - cursor;
            if gap >= left {
                break;
            }
            left -= gap;
            cursor = to;
        }
        cursor.saturating_add(left)
    }

    /// Takes the first `needed` free positions from `from` on.
    fn occupy_upward(&mut self, from: u128, needed: u128) {
        if needed == 0 {
            return;
        }
        let (first, mut cursor) = self.first_free(from);
        let mut left = needed;
        // All that lies between the first and the last position taken is busy afterwards, so it becomes one entry.
        while let Some((&start, &to)) = self.busy.range(cursor..).next() {
            let gap = start - cursor;
            if gap > left {
                break;
            }
            left -= gap;
            cursor = to;
            self.busy.remove(&start);
            if left == 0 {
                break;
            }
        }
        self.busy.insert(first, cursor.saturating_add(left));
    }

    #[cfg(test)]
    pub(super) fn busy(&self) -> &BTreeMap<u128, u128> {
        &self.busy
    }
}

/// What a request needs of one bucket, while it is looked for when all of its buckets can give it.
#[derive(Debug)]
pub(super) struct Claim<'t> {
    table: &'t mut Timetable,
    needed: u128,
    /// The first position that it could have taken when it was ready.
    oldest: u128,
    /// The first position that it may take.
    from: u128,
    /// Where those that it would take end.
    end: u128,
}

impl Claim<'_> {
    /// When all that it needs has flowed in.
    pub(super) fn ready_ns(&self) -> u64 {
        self.table.nanoseconds_at(self.end)
    }

    /// Something else lets the request wait until `start_ns`. Then the bucket has what flowed in lately, as much as it holds or
    /// as this request needs, and what came before has overflowed. Tells whether the request now waits for this bucket.
    pub(super) fn wait_until(&mut self, start_ns: u64) -> bool {
        let start = self.table.position(start_ns);
        // It is this bucket that it waits for: whatever was over within the nanosecond of the start stays.
        if start.saturating_sub(self.end) < u128::from(self.table.rate) {
            return false;
        }
        let from = start.saturating_sub(self.table.capacity.max(self.needed));
        if from <= self.from {
            return false;
        }
        self.from = from;
        self.end = self.table.end_of(self.needed, from);
        self.ready_ns() > start_ns
    }

    /// Takes what it needs. What overflowed while it waited for something else is lost to those behind it too.
    pub(super) fn pay(self) {
        let lost = self.table.free_between(self.oldest, self.from);
        self.table.occupy_upward(self.oldest, lost);
        self.table.occupy_upward(self.from, self.needed);
    }
}

#[cfg(test)]
mod tests;
