//! The pace of a load: arrival rates of an open loop, pauses, and when a job is steady.

use iostone_model::load::{PerDirection, RateProcess};
use iostone_model::units::{BytesPerSecond, Span};
use serde::Serialize;

use super::form;

/// The rate at which I/Os arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// I/Os per second; fio's `rate_iops`.
    Iops(f64),
    /// Bytes per second; fio's `rate`.
    Bytes(BytesPerSecond),
}

/// An open loop: I/Os arrive by the clock, whether or not those before them have completed. Up to `iodepth` are in
/// flight; those that find no room wait, and their wait is part of their response time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Pace {
    /// Per direction; a direction without one is not bounded. Per thread.
    pub rate: PerDirection<Option<Rate>>,
    /// How arrivals follow each other.
    #[serde(serialize_with = "form::arrivals")]
    pub arrivals: RateProcess,
}

impl Pace {
    /// Whether any direction has a rate.
    pub fn is_open_loop(&self) -> bool {
        self.rate.read.is_some() || self.rate.write.is_some() || self.rate.trim.is_some()
    }
}

/// Pauses between I/Os; fio's `thinktime` and its companions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Think {
    /// How long.
    pub time: Span,
    /// How much of it keeps the processor busy; the rest sleeps.
    pub spin: Span,
    /// After this many I/Os: with more than one, bursts.
    pub every: u32,
    /// After this long instead, measured from the end of the last pause; fio's `thinktime_iotime`.
    pub io_time: Option<Span>,
}

/// Ends a job once its rate is steady; fio's `steadystate`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SteadyRule {
    /// What is looked at.
    pub of: SteadyOf,
    /// The limit.
    pub limit: SteadyLimit,
    /// Over this long; fio's `ss_dur`.
    pub over: Span,
    /// I/O goes on for this long before it is looked at; fio's `ss_ramp`.
    pub ramp: Span,
    /// How often it is looked at; fio's `ss_interval`.
    pub interval: Span,
}

/// What must be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyOf {
    /// Largest deviation of I/Os per second from their mean.
    Iops,
    /// Slope of a least-squares line through I/Os per second, per second.
    IopsSlope,
    /// As `Iops`, of bytes per second.
    Bandwidth,
    /// As `IopsSlope`, of bytes per second.
    BandwidthSlope,
}

/// The limit of a steady rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLimit {
    /// Percent of the mean.
    Percent(f64),
    /// In the unit of what is looked at.
    Absolute(f64),
}

/// Ends a job that falls short; fio's `rate_min` and `rate_iops_min`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeastRate {
    /// Per direction.
    pub rate: PerDirection<Option<Rate>>,
    /// Averaged over this long; fio's `rate_cycle`.
    pub cycle: Span,
}
