//! fio's language: job files and the command line, read into typed options that say what work is meant.
//!
//! Nothing here does I/O to a target. [`read`] takes job files and arguments and returns a [`JobFile`]: the sections in
//! order, their options after inheritance, what was dropped, and what deserves a remark. [`plan()`] makes jobs of the
//! load engine from it. Every option of fio is known (see [`options()`]); one that is not honoured is an error that
//! names its line, or is listed where the caller is lenient, and is never ignored.
//!
//! The behaviour is that of fio 3.42, read from its manual (`HOWTO.rst`) and tried against the program. Where fio takes
//! a value for something else than it says (`1.5g` is one byte to it), the value is refused with what to write instead.

mod arithmetic;
mod command_line;
mod ini;
mod job_file;
mod number;
mod options;
pub mod output;
mod place;
mod plan;
mod problem;
mod raw;
mod reference;
mod resolve;
mod substitute;
mod table;
pub mod values;
mod world;

pub use command_line::{Argument, split_arguments};
pub use ini::{RawLine, RawSection, read_sections};
pub use job_file::{Dropped, Given, JobFile, Remark, Request, Section, read};
pub use number::bytes_of;
pub use options::{FioOptions, Log};
pub use place::Place;
pub use plan::{Look, Phase, Plan, PlannedJob, Planning, Targets, plan};
pub use problem::{Problem, Reason};
pub use reference::write_reference;
pub use table::{FioOption, Group, Kind, Treatment, find, groups, options};
pub use world::{Files, MachineFacts, OnDisk, World};
