//! Ceilings: what lets so much through and no more, how a measured figure stands to one, and the thresholds of that.

use serde::{Deserialize, Serialize};

use crate::cloud::CeilingKind;
use crate::experiment::Basis;
use crate::omitted::is_default;

/// A ceiling of which this share is used binds.
pub const BINDS: f64 = 0.95;
/// Beyond this share, and a slice more ([`exceeded_from`]), a ceiling of a run was not what held the rate.
const EXCEEDED: f64 = 1.03;
/// Beyond this share a published ceiling was exceeded: limits are published in round numbers, and bursts go a little beyond them.
pub const ALLOWANCE: f64 = 1.02;
/// A buffered rate beyond this share of a ceiling did not come through it.
pub const FROM_MEMORY: f64 = 1.10;
/// A copy within this share of what its source gives by itself may be the source's rate, not the device's.
pub const NEAR_SOURCE: f64 = 0.10;
/// The kernel grants I/O in slices of 100 ms (`throtl_slice`, block/blk-throttle.c).
const SLICE_SECONDS: f64 = 0.1;

/// The share of a measured time by which one slice of the kernel's makes it longer: it may hold one more than its length.
pub fn slice(seconds: f64) -> f64 {
    SLICE_SECONDS / seconds.max(SLICE_SECONDS)
}

/// The share of a ceiling from which on it cannot have held what was measured for so many seconds.
pub fn exceeded_from(seconds: f64) -> f64 {
    EXCEEDED + slice(seconds)
}

/// A ceiling in what it lets a figure be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// What it is one of; null where only its name is known.
    pub kind: Option<CeilingKind>,
    /// Its name: `the link of c4.large`.
    pub name: String,
    /// What it lets through in the long run, in the figure's unit.
    pub at_most: f64,
    /// What it lets through while its bucket lasts; null without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// What its bucket holds at the start, in the figure's unit times seconds; null where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// Whether the bucket held as much at the start for certain; else a full one is the best case.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start_known: bool,
    /// What the ceiling rests on.
    pub basis: Basis,
    /// Who says so, and as of when.
    pub source: String,
}

impl Ceiling {
    /// One without a bucket.
    pub fn constant(
        kind: Option<CeilingKind>,
        name: impl Into<String>,
        at_most: f64,
        basis: Basis,
        source: impl Into<String>,
    ) -> Self {
        let (burst, capacity, start_known) = (None, None, false);
        Self { kind, name: name.into(), at_most, burst, capacity, start_known, basis, source: source.into() }
    }

    /// The most that it lets through on average over a time, out of its bucket; while the bucket lasts where the time or the
    /// capacity is not known.
    pub fn at_best(&self, seconds: Option<f64>) -> f64 {
        let Some(burst) = self.burst else { return self.at_most };
        match (self.capacity, seconds.filter(|seconds| *seconds > 0.0)) {
            (Some(capacity), Some(seconds)) => burst.min(self.at_most + capacity / seconds).max(self.at_most),
            _ => burst.max(self.at_most),
        }
    }

    /// Holds a figure that covers so many seconds against it; from that share on it counts as exceeded.
    pub fn hold(self, value: f64, seconds: Option<f64>, exceeded_from: f64) -> Held {
        let at_best = self.at_best(seconds);
        let share = value / self.at_most;
        let beyond_long_run = self.burst.is_some() && share > exceeded_from;
        let state = if value > at_best * exceeded_from {
            HeldState::Exceeded
        } else if value >= BINDS * at_best {
            if beyond_long_run { HeldState::BindsInBurst } else { HeldState::Binds }
        } else if beyond_long_run {
            HeldState::OnCredits
        } else if share >= BINDS && !self.start_known {
            // A bucket that is known to be full would have let more through; another may have been spent before.
            HeldState::BindsInLongRun
        } else {
            HeldState::Free
        };
        Held { ceiling: self, at_best, share, state }
    }
}

/// A ceiling with a figure held against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The ceiling.
    #[serde(flatten)]
    pub ceiling: Ceiling,
    /// The most that it can have let through on average over the time measured, out of a full bucket: `at_most` without one.
    pub at_best: f64,
    /// The measured figure as a share of `at_most`.
    pub share: f64,
    /// How it stands to the figure.
    pub state: HeldState,
}

impl Held {
    /// What held the figure, if this did: the long run, or all that it can have let through.
    pub fn holds_at(&self) -> f64 {
        if self.state == HeldState::BindsInLongRun { self.ceiling.at_most } else { self.at_best }
    }

    /// Whether it will hold the figure once its bucket is empty, and does not yet.
    pub fn binds_when_spent(&self) -> bool {
        self.state == HeldState::Free && self.share >= BINDS
    }

    /// Whether it is what held the figure, unless another did.
    pub fn binds(&self) -> bool {
        matches!(self.state, HeldState::Binds | HeldState::BindsInBurst | HeldState::BindsInLongRun)
    }
}

/// How a ceiling stands to a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldState {
    /// At least 95 % of it was used, and it had no credits left to let more through: it is what held the rate.
    Binds,
    /// At least 95 % of what its burst lets through was used.
    BindsInBurst,
    /// At least 95 % of what it lets through in the long run was used, and no more: its credits were spent before.
    BindsInLongRun,
    /// More than the long run lets through, within what credits allow.
    OnCredits,
    /// More was measured than it lets through even at its best.
    Exceeded,
    /// Less than 95 % of what it can have let through was used.
    Free,
}

/// The queue depth that held a rate: each I/O waited for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QueueDepth {
    /// I/Os under way at once.
    pub depth: u32,
    /// The mean time of one, in seconds.
    pub seconds: f64,
}
