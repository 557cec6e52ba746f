//! ORION's output files: summary, tables, trace, histograms, under its names and in the layouts of 11.1 and of 12.
//!
//! All of them are written from the record of a test, at any time and in either layout. The layout of 11.1 is that of
//! published files, byte for byte: its tables are what scripts of that time cut apart. What iostone has to say besides stands
//! where no such script looks: above the maxima of the summary, which stay its last lines.
//!
//! ORION's KB is 1024 bytes, the MB of its cache size 2^20 bytes, and a MBPS is 10^6 bytes a second here, which Oracle leaves
//! open. Latencies are in milliseconds in the layout of 11.1 and in microseconds in that of 12, as ORION changed it.

mod cells;
mod histogram;
mod places;
mod results;
mod summary;
mod tables;
mod trace;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use iostone_model::orion::OrionRecord;

pub use histogram::histogram;
pub use places::paths;
pub use results::{announcement, console};
pub use summary::summary;
pub use tables::{iops_csv, lat_csv, mbps_csv};
pub use trace::trace;

/// A layout of ORION's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// That of 11.1: bare tables, milliseconds, five files.
    #[default]
    V11_1,
    /// That of 12: tables that say what they hold, microseconds, histograms.
    V12,
}

impl Format {
    /// As it is given on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::V11_1 => "11.1",
            Self::V12 => "12",
        }
    }

    /// The version that its banner names, by which readers tell the unit of latencies.
    fn banner_version(self) -> &'static str {
        match self {
            Self::V11_1 => "11.1.0.7.0",
            Self::V12 => "12.2.0.1.0",
        }
    }

    /// So many of its units of latency are a second.
    fn per_second(self) -> f64 {
        match self {
            Self::V11_1 => 1e3,
            Self::V12 => 1e6,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// No layout of that version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no layout `{word}`; `11.1` and `12` are those that there are")]
pub struct UnknownFormat {
    /// As it was given.
    pub word: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    /// `11.1` or `12`; also a full version such as `12.2.0.1.0` or `11.1.0.7.0`.
    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        let is_of = |version: &str| word == version || word.starts_with(&format!("{version}."));
        match word {
            _ if is_of("11.1") => Ok(Self::V11_1),
            _ if is_of("12") => Ok(Self::V12),
            _ => Err(UnknownFormat { word: word.to_owned() }),
        }
    }
}

/// The texts of all files of a layout, each with its path under that prefix, the summary first.
pub fn files_of(record: &OrionRecord, prefix: &Path, format: Format) -> Vec<(PathBuf, String)> {
    let texts = [
        (places::SUMMARY, summary(record, format)),
        (places::MBPS, mbps_csv(record, format)),
        (places::IOPS, iops_csv(record, format)),
        (places::LAT, lat_csv(record, format)),
        (places::TRACE, trace(record)),
        (places::HIST, histogram(record)),
    ];
    let of_format = places::endings(format);
    let texts = texts.into_iter().filter(|(ending, _)| of_format.contains(ending));
    texts.map(|(ending, text)| (places::with_ending(prefix, ending), text)).collect()
}
