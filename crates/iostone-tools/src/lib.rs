//! Reads what other tools print: logs, tables, CSV, JSON and XML become observations, one file per format.
//!
//! A [`Format`] knows a tool's output by its content and reads it without ever holding the whole file. What it reads
//! goes into [`Observation`]s in base units; what is not in the file is left absent, never guessed.

mod bonnie;
pub mod by;
mod csv_table;
mod dbench;
mod dd;
pub mod described;
pub mod detect;
mod elbencho;
mod error;
mod exported;
mod fio;
mod fio_json;
mod hyperfine;
pub mod import;
mod input;
mod ioping;
mod iostat;
mod json_stream;
mod orion;
mod phoronix;
mod samples;
mod sar;
mod sysbench;
mod sysstat;
mod time;
mod transcript;
mod units;
mod vmstat;

use std::collections::BTreeMap;

use iostone_model::dataset::{MetricNote, Observation, Order};

pub use bonnie::bonnie_csv;
pub use csv_table::{Choice, ChosenRows, LARGEST_TABLE_BYTES, Role, Table};
pub use error::{Malformed, ReadError};
pub use fio_json::fio_json;
pub use input::{Head, Input, Line};
pub use orion::join as join_orion_points;

/// How sure a format is that a file is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// It is not.
    No,
    /// It could be, if nothing else claims it: a plain CSV.
    Perhaps,
    /// It has the form, but so may others.
    Likely,
    /// Nothing else prints this.
    Certain,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// What it holds, in its order. [`Observation::file`] is filled in by the caller.
    pub observations: Vec<Observation>,
    /// Its figures: for those in [`iostone_model::metric::tables`] nothing need be said here.
    pub metrics: BTreeMap<String, MetricNote>,
    /// The labels that its observations differ in on purpose (`operation`, `small`), as far as the format tells.
    pub factors: Vec<String>,
    /// What the file tells of the order of its observations.
    pub order: Order,
}

/// What one tool prints.
pub trait Format: Sync {
    /// The word that names it on the command line: `dbench`.
    fn name(&self) -> &'static str;
    /// What it reads, for people: `dbench 3, 4 and 5 logs`.
    fn title(&self) -> &'static str;
    /// Whether a file that begins so is its own.
    fn recognise(&self, head: &Head<'_>) -> Likeness;
    /// Reads a file.
    ///
    /// # Errors
    /// The system's, or the line that is not as expected; nothing of such a file is used.
    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError>;
}

/// Every format, in the order in which they are listed for people.
pub const FORMATS: &[&dyn Format] = &[
    &dbench::Dbench,
    &bonnie::Bonnie,
    &fio::Fio,
    &dd::Dd,
    &time::Time,
    &vmstat::Vmstat,
    &iostat::Iostat,
    &sar::Sar,
    &sysbench::Sysbench,
    &ioping::Ioping,
    &orion::Orion,
    &elbencho::Elbencho,
    &hyperfine::Hyperfine,
    &phoronix::Phoronix,
    &exported::Exported,
    &csv_table::CsvTable,
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.name() == name).copied()
}
