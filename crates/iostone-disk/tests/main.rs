//! The emulated disk: its models, and its server over a socket.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod models;
mod serve;
mod served;
