//! What people and programs see of the binary, wherever no root is needed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "in tests brevity counts for more than a copy"
)]

mod casebook;
mod credits;
mod disk;
mod dry_run;
mod everything;
mod hostile;
mod import;
mod io;
mod judge;
mod orion;
mod runs;
mod support;
mod wrong_files;
