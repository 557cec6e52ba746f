//! Results in fio's forms, of a made-up outcome and of real runs, beside those of the installed fio.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "tests: what fails is a failed test, what is skipped is told, and the figures compared are whole numbers"
)]

#[path = "output/against_fio.rs"]
mod against_fio;
#[path = "output/benchmark.rs"]
mod benchmark;
#[path = "output/cases.rs"]
mod cases;
#[path = "output/forms.rs"]
mod forms;
#[path = "output/logs.rs"]
mod logs;
#[path = "output/made_up.rs"]
mod made_up;
#[path = "output/merged.rs"]
mod merged;
#[path = "output/ordered.rs"]
mod ordered;
