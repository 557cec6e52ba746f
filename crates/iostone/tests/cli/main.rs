//! What people and programs see of the binary, wherever no root is needed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "in tests brevity counts for more than a copy"
)]

mod casebook;
mod catalog;
mod compare;
mod credits;
mod disk;
mod disk_statistics;
mod dry_run;
mod earlier_runs;
mod emulate;
mod everything;
mod explain;
mod fleet;
mod gate;
mod history;
mod hostile;
mod image;
mod import;
mod io;
mod judge;
mod judge_order;
mod judge_sources;
mod manual;
mod many_runs;
mod one_screen;
mod orion;
mod outputs;
mod predict;
mod recommend;
mod registry;
mod runs;
mod serve;
mod support;
mod wrong_files;
