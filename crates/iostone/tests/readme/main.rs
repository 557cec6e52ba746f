//! README.md and docs are true: their examples run, and what they name exists. CONTRIBUTING.md gives the rules.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod compare;
mod credits;
mod examples;
mod names;
mod pages;
mod tables;
