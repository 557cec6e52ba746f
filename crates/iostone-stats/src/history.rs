//! Many runs of one configuration over time: where its figures changed, and whether the runs let that be said.
//!
//! [`watch`] follows the runs in order of time with a change-point monitor on normal scores of ranks (van der Waerden 1952;
//! Hawkins and Deng 2010 for the sequence of limits): of the last 1 to 8 runs of the present segment it asks whether they differ
//! from those before. Its limits hold for runs that are exchangeable, whatever the shape of their noise. They do not hold for
//! runs that depend on each other, and nothing that only looks at figures does: [`dependence`] says where they seem to, and
//! [`replay`] is how an alarm is confirmed, by running the last accepted state again beside the new one.

mod change;
pub mod dependence;
mod limits;
pub mod replay;

pub use change::{Change, Monitor, Segment, Watched, watch};
pub use limits::Hazard;

#[cfg(test)]
mod tests;
