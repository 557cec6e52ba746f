//! Rates and times of served volumes, by the clock of this machine: `cargo test --test real`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod caps;
#[path = "../served.rs"]
mod served;
mod stalls;
