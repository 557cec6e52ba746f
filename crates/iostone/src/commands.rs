//! The commands, one file a verb.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod casebook;
pub(crate) mod cleanup;
pub(crate) mod credits;
pub(crate) mod demo;
pub(crate) mod disk;
pub(crate) mod doctor;
mod dry_run;
pub(crate) mod export;
pub(crate) mod governor;
pub(crate) mod guest;
pub(crate) mod import;
pub(crate) mod io;
pub(crate) mod judge;
pub(crate) mod limit;
pub(crate) mod list;
pub(crate) mod orion;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
mod target;
