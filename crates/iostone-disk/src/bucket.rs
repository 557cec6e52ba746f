//! A token bucket that counts exactly: whole units against whole nanoseconds, so that nothing drifts over hours.
//!
//! The level is held in units times 10^9, in which a rate of `r` units a second adds exactly `r` each nanosecond.
//! A request begins when the level covers its cost, and pays when it begins. For a request larger than the bucket the
//! level may rise to its cost, so over any time of length `T` no more than `rate * T + max(capacity, one request)` is
//! granted, and a client that always has a request waiting is granted exactly the rate.
//!
//! The same type is a pacer (a capacity of 10 ms) and a bucket of credits (a capacity of hours): "A token bucket
//! ... algorithm" of the EBS user guide's page on gp2, where `duration = credits / (burst - base)`.

/// Parts of a unit: one nanosecond at one unit a second.
pub(crate) const PARTS: i128 = 1_000_000_000;

/// What a pacer grants at once: the rate of so many nanoseconds.
pub(crate) const PACE_NS: u64 = 10_000_000;

/// A bucket that fills at a steady rate up to its capacity.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Units a second.
    rate: u64,
    /// The most that it holds, in parts.
    capacity: i128,
    /// What it holds, in parts; never negative.
    level: i128,
    /// When that was so; none before the first use, as a bucket does not fill before.
    at_ns: Option<u64>,
}

impl Bucket {
    /// A bucket that paces: full, with a capacity of 10 ms, or of one unit where that is more.
    pub(crate) fn pacing(rate: u64) -> Self {
        let rate = rate.max(1);
        let capacity = pacing_capacity(rate);
        Self { rate, capacity, level: capacity, at_ns: None }
    }

    /// A bucket of `capacity` credits that fills at `rate` a second and holds `level` of them at first.
    pub(crate) fn credits(rate: u64, capacity: u64, level: u64) -> Self {
        let level = i128::from(level) * PARTS;
        let capacity = i128::from(capacity) * PARTS;
        Self { rate: rate.max(1), capacity, level: level.min(capacity), at_ns: None }
    }

    /// When a request of `cost` units, whose turn comes at `turn_ns`, can be paid for: then, or later. Nothing is
    /// taken yet.
    pub(crate) fn ready_ns(&mut self, cost: u64, turn_ns: u64) -> u64 {
        self.advance(turn_ns, self.capacity);
        let missing = (i128::from(cost) * PARTS).saturating_sub(self.level);
        if missing <= 0 {
            return turn_ns;
        }
        let wait = missing.unsigned_abs().div_ceil(u128::from(self.rate));
        turn_ns.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Takes `cost` units for a request that begins at `start_ns`, when it was ready or later. For it alone, the bucket
    /// held more than its capacity, if it needed more; what came in during the nanosecond of its start stays.
    pub(crate) fn pay(&mut self, cost: u64, start_ns: u64) {
        let cost = i128::from(cost) * PARTS;
        self.advance(start_ns, self.capacity.max(cost.saturating_add(i128::from(self.rate))));
        self.level = self.level.saturating_sub(cost);
    }

    /// Units in it at `now_ns`.
    pub(crate) fn balance(&self, now_ns: u64) -> f64 {
        let mut then = self.clone();
        then.advance(now_ns, self.capacity);
        then.level as f64 / PARTS as f64
    }

    /// Fills, or empties, it to `units`, but not above its capacity.
    pub(crate) fn set_balance(&mut self, units: u64, now_ns: u64) {
        self.advance(now_ns, self.capacity);
        self.level = (i128::from(units) * PARTS).min(self.capacity);
    }

    /// From now on it fills at `rate`; what is in it, and what it can hold, stay.
    pub(crate) fn set_rate(&mut self, rate: u64, now_ns: u64) {
        self.advance(now_ns, self.capacity);
        self.rate = rate.max(1);
    }

    /// As [`set_rate`](Self::set_rate) for a pacer, whose capacity goes with its rate.
    pub(crate) fn set_pace(&mut self, rate: u64, now_ns: u64) {
        self.set_rate(rate, now_ns);
        self.capacity = pacing_capacity(self.rate);
        self.level = self.level.min(self.capacity);
    }

    /// Forgets what was paid for requests that were to begin after `now_ns` and never will.
    pub(crate) fn abandon(&mut self, now_ns: u64) {
        if self.at_ns.is_some_and(|at_ns| at_ns > now_ns) {
            self.at_ns = Some(now_ns);
        }
    }

    fn advance(&mut self, now_ns: u64, most: i128) {
        let then_ns = self.at_ns.unwrap_or(now_ns);
        let elapsed = i128::from(now_ns.saturating_sub(then_ns));
        let filled = self.level.saturating_add(i128::from(self.rate).saturating_mul(elapsed));
        self.level = filled.min(most);
        self.at_ns = Some(then_ns.max(now_ns));
    }
}

/// Units that a bucket of `capacity` holds when so large a share of it (0 to 1) does.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a capacity is neither above it nor below zero"
)]
pub(crate) fn share_of(capacity: u64, share: f64) -> u64 {
    (capacity as f64 * share.clamp(0.0, 1.0)).round() as u64
}

fn pacing_capacity(rate: u64) -> i128 {
    (i128::from(rate) * i128::from(PACE_NS)).max(PARTS)
}

#[cfg(test)]
mod tests;
