//! Ceilings: what holds work on its way to a volume, and how long work takes below all of them.
//!
//! Each ceiling is a [`Lane`]: units that it passes a second, more for a while out of a bucket, and what a byte of the work
//! costs there. [`simulate`] lets work flow through a [`Path`] of them, from one event to the next and without steps of time.

mod accounting;
mod joined;
mod path;
mod room;
mod simulate;
#[cfg(test)]
mod tests;

use std::ops::Deref;

use iostone_model::cloud::CeilingKind;

use crate::allowance::LawState;

pub use accounting::{Accounting, Io};
pub use joined::Joined;
pub use path::{Cpu, Parts, path};
pub use room::{FilesystemKind, filesystem_room, inode_tables};
pub use simulate::{Load, LoadPart, Outcome, Stretch, simulate, simulate_with};

/// The most ceilings that a path has.
pub const MOST_LANES: usize = 12;

/// What a ceiling counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Bytes.
    Bytes,
    /// I/Os.
    Ios,
    /// Seconds of one processor.
    CpuSeconds,
    /// Seconds that I/Os are under way, one I/O for a second: as many a second as there are places in the queue.
    IoSeconds,
}

/// One ceiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lane {
    /// What it is one of.
    pub kind: CeilingKind,
    /// What it counts.
    pub counted: Counted,
    /// Units a second in the long run; of a bucket also what refills it, used or not.
    pub base: f64,
    /// More for a while.
    pub burst: Option<LaneBurst>,
    /// Units that a byte read costs.
    pub read_cost: f64,
    /// Units that a byte written costs.
    pub write_cost: f64,
}

/// A bucket of a ceiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneBurst {
    /// Units a second while it holds anything.
    pub rate: f64,
    /// Units that it holds.
    pub capacity: f64,
    /// Units in it at the start.
    pub level: f64,
}

impl Lane {
    /// Units that a byte of the work costs, of which that share is written.
    pub fn cost(&self, written: f64) -> f64 {
        self.read_cost * (1.0 - written) + self.write_cost * written
    }

    /// Bytes of such work a second in the long run; infinite where it costs nothing here.
    pub fn sustained(&self, written: f64) -> f64 {
        over(self.base, self.cost(written))
    }

    /// Bytes of such work a second while the bucket lasts.
    pub fn burst(&self, written: f64) -> Option<f64> {
        self.burst.map(|burst| over(burst.rate.max(self.base), self.cost(written)))
    }
}

/// Units over what a byte of them costs.
fn over(units: f64, cost: f64) -> f64 {
    if cost > 0.0 { units / cost } else { f64::INFINITY }
}

/// The ceilings between work and its medium, in the order in which ties are named: volumes, link, processors, source, queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    lanes: [Lane; MOST_LANES],
    used: usize,
    /// An allowance that no bucket describes, and the lane in whose place it stands.
    law: Option<(usize, Box<LawState>)>,
}

impl Default for Path {
    fn default() -> Self {
        let nothing = Lane {
            kind: CeilingKind::Source,
            counted: Counted::Bytes,
            base: f64::INFINITY,
            burst: None,
            read_cost: 0.0,
            write_cost: 0.0,
        };
        Self { lanes: [nothing; MOST_LANES], used: 0, law: None }
    }
}

impl Deref for Path {
    type Target = [Lane];

    fn deref(&self) -> &[Lane] {
        self.lanes.get(..self.used).unwrap_or_default()
    }
}

impl Path {
    /// Adds a ceiling. False where there are [`MOST_LANES`] already, and nothing is added.
    pub fn push(&mut self, lane: Lane) -> bool {
        let Some(place) = self.lanes.get_mut(self.used) else { return false };
        *place = lane;
        self.used += 1;
        true
    }

    /// Adds a processor whose allowance goes by a law that is no bucket; the lane says what it gives in the long run at most.
    fn push_law(&mut self, lane: Lane, law: LawState) {
        let at = self.used;
        if self.push(lane) {
            self.law = Some((at, Box::new(law)));
        }
    }

    /// The same with the buckets of volumes and link divided by `speed`, full or not as they were; rates stay. Processors have
    /// the speed of their governor.
    #[must_use]
    pub fn faster(mut self, speed: f64) -> Self {
        let lanes = self.lanes.iter_mut().filter(|lane| lane.kind != CeilingKind::Cpu);
        for burst in lanes.filter_map(|lane| lane.burst.as_mut()) {
            burst.capacity /= speed;
            burst.level /= speed;
        }
        self
    }

    /// The same with the ceilings of a kind at that share of what they are.
    #[must_use]
    pub fn at_share(mut self, kinds: &[CeilingKind], share: f64) -> Self {
        for lane in self.lanes.iter_mut().filter(|lane| kinds.contains(&lane.kind)) {
            lane.base *= share;
            if let Some(burst) = &mut lane.burst {
                burst.rate *= share;
            }
        }
        self
    }

    /// The same with the ceilings at those places holding nothing: a byte costs nothing there.
    #[must_use]
    pub fn without(mut self, places: &[usize]) -> Self {
        for place in places {
            if let Some(lane) = self.lanes.get_mut(*place) {
                (lane.read_cost, lane.write_cost) = (0.0, 0.0);
            }
        }
        self
    }

    /// The same with the buckets of a kind holding so many times as much, full or not as they were.
    #[must_use]
    pub fn with_buckets(mut self, kind: CeilingKind, factor: f64) -> Self {
        let lanes = self.lanes.iter_mut().filter(|lane| lane.kind == kind);
        for burst in lanes.filter_map(|lane| lane.burst.as_mut()) {
            burst.capacity *= factor;
            burst.level *= factor;
        }
        self
    }

    /// The allowance that no bucket describes, with the index of its ceiling.
    pub(crate) fn law(&self) -> Option<(usize, &LawState)> {
        self.law.as_ref().map(|(at, law)| (*at, law.as_ref()))
    }
}
