//! Work as a fluid below ceilings: it flows at the rate that the tightest lets through, until a bucket is empty or full.

use super::{MOST_LANES, Path};
use crate::allowance::LawState;
use crate::prediction::{Amount, Order, Work};

/// Two ceilings this near to each other, as a share, bind together.
const TIE: f64 = 1e-9;
/// Of a bucket: less than this is empty, or full but for this.
const NOTHING: f64 = 1e-12;
/// After this many phase changes a steady cycle is assumed: the rest is extrapolated from the last half.
const EVENTS_FOLLOWED: u32 = 8192;

/// How much is to flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// One part, or two after each other.
    pub parts: [LoadPart; 2],
    /// It ends then, in seconds, whatever is left.
    pub until: f64,
}

/// Work of one mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPart {
    /// Bytes, both ways together; may be infinite where time ends it.
    pub bytes: f64,
    /// The share of them that is written.
    pub written: f64,
}

impl Load {
    /// So many bytes, of which that share is written, mixed evenly.
    pub fn mixed(bytes: f64, written: f64) -> Self {
        let nothing = LoadPart { bytes: 0.0, written };
        Self { parts: [LoadPart { bytes, written }, nothing], until: f64::INFINITY }
    }

    /// The load of some work.
    pub fn of(work: &Work) -> Self {
        match work.amount {
            Amount::Bytes { read, write } => {
                let (read, write) = (read.0 as f64, write.0 as f64);
                let reads = LoadPart { bytes: read, written: 0.0 };
                let writes = LoadPart { bytes: write, written: 1.0 };
                let parts = match work.order {
                    Order::Together => {
                        let all = read + write;
                        return Self::mixed(all, if all > 0.0 { write / all } else { 0.0 });
                    }
                    Order::ReadFirst => [reads, writes],
                    Order::WriteFirst => [writes, reads],
                };
                Self { parts, until: f64::INFINITY }
            }
            Amount::Time { span, written_per_mille } => {
                let written = f64::from(written_per_mille.min(1000)) / 1000.0;
                Self { until: span.0.as_secs_f64(), ..Self::mixed(f64::INFINITY, written) }
            }
        }
    }

    /// Bytes in all; infinite where time ends it.
    pub fn bytes(&self) -> f64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// The share of all bytes that is written.
    pub fn written(&self) -> f64 {
        let [one, other] = self.parts;
        if other.bytes == 0.0 {
            return one.written;
        }
        (one.bytes * one.written + other.bytes * other.written) / self.bytes()
    }
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// From start to end; infinite where nothing flows.
    pub seconds: f64,
    /// Bytes that flowed, both ways together.
    pub bytes: f64,
    /// Of them, written.
    pub written_bytes: f64,
    /// The ceiling that bound longest, by its index in the path; none where there is no ceiling.
    pub binds: Option<usize>,
    /// For how long each bound, in seconds; of several that did together, the first.
    pub bound_seconds: [f64; MOST_LANES],
    /// What each bucket held at the end.
    pub levels: [f64; MOST_LANES],
    /// What full buckets had no room for.
    pub spilled: [f64; MOST_LANES],
    /// From when on a law that goes slow and fast in turns was taken to go on as before.
    pub averaged_from: Option<f64>,
}

/// A stretch of time in which nothing changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// From when, in seconds.
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// Bytes a second.
    pub rate: f64,
    /// The share of writes.
    pub written: f64,
    /// The ceiling that binds; of several, the first.
    pub binds: usize,
    /// All that bind, a bit each by its index.
    pub tied: u32,
    /// What each bucket holds at the beginning.
    pub levels_from: [f64; MOST_LANES],
    /// And at the end.
    pub levels_to: [f64; MOST_LANES],
}

/// Lets work flow through a path. Allocates nothing unless an allowance goes by a law that is no bucket.
pub fn simulate(path: &Path, load: &Load) -> Outcome {
    simulate_with(path, load, |_| {})
}

/// The same, telling every step.
pub fn simulate_with(path: &Path, load: &Load, mut tell: impl FnMut(&Stretch)) -> Outcome {
    let mut flow = Flow::begin(path, load.until);
    for part in &load.parts {
        if part.bytes > 0.0 && !flow.is_over() {
            flow.run(part, &mut tell);
        }
    }
    flow.outcome.levels = flow.levels;
    let mut longest = 0.0;
    for (index, seconds) in flow.outcome.bound_seconds.iter().enumerate() {
        if *seconds > longest {
            (longest, flow.outcome.binds) = (*seconds, Some(index));
        }
    }
    flow.outcome
}

struct Flow<'a> {
    path: &'a Path,
    law: Option<(usize, LawState)>,
    levels: [f64; MOST_LANES],
    until: f64,
    events: u32,
    /// Seconds and bytes when half of the events that are followed were over.
    half_way: (f64, f64),
    outcome: Outcome,
}

impl<'a> Flow<'a> {
    fn begin(path: &'a Path, until: f64) -> Self {
        let mut levels = [0.0; MOST_LANES];
        for (level, lane) in levels.iter_mut().zip(path.iter()) {
            *level = lane.burst.map_or(0.0, |burst| burst.level.clamp(0.0, burst.capacity));
        }
        let law = path.law().map(|(at, law)| (at, law.clone()));
        if let Some((at, law)) = &law
            && let Some(level) = levels.get_mut(*at)
        {
            *level = law.balance_seconds();
        }
        Self {
            path,
            law,
            levels,
            until,
            events: 0,
            half_way: (0.0, 0.0),
            outcome: Outcome {
                seconds: 0.0,
                bytes: 0.0,
                written_bytes: 0.0,
                binds: None,
                bound_seconds: [0.0; MOST_LANES],
                levels,
                spilled: [0.0; MOST_LANES],
                averaged_from: None,
            },
        }
    }

    fn is_over(&self) -> bool {
        !self.outcome.seconds.is_finite() || self.outcome.seconds >= self.until
    }

    /// Bytes a second now, the first ceiling that lets no more through, and all that do.
    fn rate(&self, written: f64) -> (f64, usize, u32) {
        let (mut rate, mut binds, mut tied) = (f64::INFINITY, 0, 0u32);
        let mut hold = |index: usize, allowed: f64| {
            if allowed < rate * (1.0 - TIE) {
                (rate, binds, tied) = (allowed, index, 1 << index);
            } else if allowed <= rate * (1.0 + TIE) && allowed.is_finite() {
                tied |= 1 << index;
                // Of two that are alike but for rounding, the lower holds and the first is named.
                rate = rate.min(allowed);
                binds = binds.min(index);
            }
        };
        let law_at = self.law.as_ref().map(|(at, _)| *at);
        for (index, (lane, level)) in self.path.iter().zip(self.levels).enumerate() {
            if Some(index) == law_at {
                continue;
            }
            let cost = lane.cost(written);
            if cost > 0.0 {
                let units = match lane.burst {
                    Some(burst) if level > NOTHING * burst.capacity => burst.rate.max(lane.base),
                    _ => lane.base,
                };
                hold(index, units / cost);
            }
        }
        if let Some((at, law)) = &self.law
            && let Some(lane) = self.path.get(*at)
        {
            let cost = lane.cost(written);
            if cost > 0.0 {
                let others = rate;
                let wanted = (others * cost).min(lane.burst.map_or(lane.base, |burst| burst.rate));
                let allowed = law.rate(wanted) / cost;
                // What the others leave it is no limit of its own.
                if allowed < others * (1.0 - TIE) {
                    (rate, binds, tied) = (allowed, *at, 1 << *at);
                }
            }
        }
        (rate, binds, tied)
    }

    /// Seconds until a bucket is empty or full, or the law changes, at that rate.
    fn lasts(&self, rate: f64, written: f64) -> f64 {
        let mut lasts = f64::INFINITY;
        for (index, (lane, level)) in self.path.iter().zip(self.levels).enumerate() {
            if let Some((at, law)) = &self.law
                && *at == index
            {
                lasts = lasts.min(law.lasts(rate * lane.cost(written)));
            } else if let Some(burst) = lane.burst {
                let net = lane.base - rate * lane.cost(written);
                let least = NOTHING * burst.capacity;
                if net < 0.0 && level > least {
                    lasts = lasts.min(level / -net);
                } else if net > 0.0 && burst.capacity - level > least {
                    lasts = lasts.min((burst.capacity - level) / net);
                }
            }
        }
        lasts
    }

    fn advance(&mut self, elapsed: f64, rate: f64, written: f64) {
        let lanes = self.path.iter().zip(&mut self.levels).zip(&mut self.outcome.spilled);
        for (index, ((lane, level), spilled)) in lanes.enumerate() {
            let cost = lane.cost(written);
            if let Some((at, law)) = &mut self.law
                && *at == index
            {
                law.advance(elapsed, rate * cost * elapsed);
                *level = law.balance_seconds();
            } else if let Some(burst) = lane.burst {
                let sum = *level + (lane.base - rate * cost) * elapsed;
                *spilled += (sum - burst.capacity).max(0.0);
                let least = NOTHING * burst.capacity;
                *level = match sum {
                    sum if sum <= least => 0.0,
                    sum if sum >= burst.capacity - least => burst.capacity,
                    sum => sum,
                };
            }
        }
    }

    fn run(&mut self, part: &LoadPart, tell: &mut impl FnMut(&Stretch)) {
        let written = part.written.clamp(0.0, 1.0);
        let mut remaining = part.bytes;
        while remaining > 0.0 && !self.is_over() {
            let (rate, binds, tied) = self.rate(written);
            let needed = (remaining / rate).min(self.until - self.outcome.seconds);
            let lasts = self.lasts(rate, written);
            if rate.is_infinite() || (needed.is_infinite() && lasts.is_infinite()) {
                // Nothing holds it, or nothing flows and nothing will ever change.
                self.outcome.seconds = if rate.is_infinite() { self.outcome.seconds } else { f64::INFINITY };
                return;
            }
            self.events += 1;
            if self.events == EVENTS_FOLLOWED / 2 {
                self.half_way = (self.outcome.seconds, self.outcome.bytes);
            } else if self.events >= EVENTS_FOLLOWED && needed > lasts {
                self.go_on_as_before(remaining, written, binds, tell);
                return;
            }
            let elapsed = lasts.min(needed);
            let moved = if elapsed < needed { rate * elapsed } else { remaining.min(rate * elapsed) };
            let levels_from = self.levels;
            self.advance(elapsed, rate, written);
            let from = self.outcome.seconds;
            self.book(elapsed, moved, written, binds);
            let (to, levels_to) = (self.outcome.seconds, self.levels);
            tell(&Stretch { from, to, rate, written, binds, tied, levels_from, levels_to });
            remaining = if elapsed < needed { remaining - moved } else { 0.0 };
        }
    }

    fn book(&mut self, elapsed: f64, moved: f64, written: f64, binds: usize) {
        self.outcome.seconds += elapsed;
        self.outcome.bytes += moved;
        self.outcome.written_bytes += moved * written;
        if let Some(seconds) = self.outcome.bound_seconds.get_mut(binds) {
            *seconds += elapsed;
        }
    }

    /// Thousands of rounds are in the last half of the events, so that the part of a round at either end is nothing.
    fn go_on_as_before(
        &mut self,
        remaining: f64,
        written: f64,
        binds: usize,
        tell: &mut impl FnMut(&Stretch),
    ) {
        let (seconds, bytes) = self.half_way;
        let rate = (self.outcome.bytes - bytes) / (self.outcome.seconds - seconds);
        let elapsed = (remaining / rate).min(self.until - self.outcome.seconds);
        let binds = self.law.as_ref().map_or(binds, |(at, _)| *at);
        let from = self.outcome.seconds;
        self.outcome.averaged_from = Some(from);
        self.book(elapsed, rate * elapsed, written, binds);
        tell(&Stretch {
            from,
            to: self.outcome.seconds,
            rate,
            written,
            binds,
            tied: 1 << binds,
            levels_from: self.levels,
            levels_to: self.levels,
        });
    }
}
