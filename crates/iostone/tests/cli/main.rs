//! What people and programs see of the binary, wherever no root is needed.

mod dry_run;
mod everything;
mod io;
mod judge;
mod runs;
mod support;
mod wrong_files;
