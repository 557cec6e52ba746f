//! Results in fio's forms, of a made-up outcome and of real runs, beside those of the installed fio.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "tests: what fails is a failed test, what is skipped is told, and the figures compared are whole numbers"
)]

mod against_fio;
mod benchmark;
mod cases;
mod forms;
mod logs;
mod made_up;
mod merged;
mod ordered;
