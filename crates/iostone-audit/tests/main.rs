//! The rules of the audit, on made-up figures and on those of other tools.

#[path = "synthetic/chance.rs"]
mod chance;
#[path = "synthetic/clean.rs"]
mod clean;
mod design;
mod false_alarms;
mod foreign;
mod physics;
