//! Verdicts on simulated tables, and vectors of other programs.

#[allow(dead_code, reason = "the benchmark simulates more")]
#[path = "../benches/truth/broken.rs"]
mod broken;
#[allow(dead_code, clippy::expect_used, clippy::indexing_slicing, reason = "part of a benchmark")]
#[path = "../benches/truth/design.rs"]
mod design;
#[allow(dead_code, reason = "the benchmark simulates more")]
#[path = "../benches/truth/models.rs"]
mod models;
#[allow(dead_code, reason = "the benchmark simulates more")]
#[path = "../benches/truth/rates.rs"]
mod rates;

mod families;
mod flag_rates;
mod sweeps;
mod trial_lengths;
mod truth;
mod warm_up;
