//! What to do next: a source of requests, drawn from the shape of a job.
//!
//! The loop in [`driver`](crate::driver) is compiled once for the plain source, whose draw is a few instructions, and
//! once for the shaped one, which knows every option.

mod chance;
mod cover;
mod mix;
pub(crate) mod permutation;
mod places;
pub(crate) mod plain;
mod rules;
pub(crate) mod shaped;
mod sizes;
mod turns;
mod visits;
mod walk;

use iostone_model::load::Direction;

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) direction: Direction,
    /// Which of the job's targets.
    pub(crate) target: u32,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u32,
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
}

/// A stream of requests that ends only where the job's targets end and each is visited once.
pub(crate) trait Source {
    /// The next request: in direction `wanted` where a rate chooses it, else in whichever the mix draws.
    fn next(&mut self, wanted: Option<Direction>) -> Option<Request>;
}
