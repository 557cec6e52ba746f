//! fio's language and its output, beside the installed fio where there is one.

mod command_line;
mod examples;
mod job_files;
mod like_fio;
mod output;
mod plans;
mod properties;
mod reference_page;
mod same_work;
#[path = "support/in_memory.rs"]
mod support;
