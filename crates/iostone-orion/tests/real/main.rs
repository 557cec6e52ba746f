//! Limits that are found by measuring: `cargo test --test real`.

mod ceilings;
