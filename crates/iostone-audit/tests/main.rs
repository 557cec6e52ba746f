//! The rules of the audit, on made-up figures and on those of other tools.

#[allow(clippy::unwrap_used, reason = "made-up figures")]
#[path = "synthetic/chance.rs"]
mod chance;
#[allow(clippy::unwrap_used, reason = "made-up figures")]
#[path = "synthetic/clean.rs"]
mod clean;
mod design;
mod false_alarms;
mod foreign;
mod physics;
