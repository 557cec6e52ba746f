//! Finds blocks that were never written: storage answers reads of them without touching its medium.
//!
//! A hole or an unwritten extent of a file is answered by the filesystem from nothing. Blocks of zeros are answered likewise
//! by thin, compressing and deduplicating storage. Both make a benchmark measure memory, so both are found before it begins:
//! the first from the file's map, the second by reading a sample of blocks.

mod buffer;
mod extents;
mod prefill;
mod sample;

use std::fs::File;
use std::ops::Range;

use iostone_model::orion::{LunKind, shortened};
use iostone_model::units::Bytes;

use crate::error::OrionError;
use crate::lun::Lun;

pub use prefill::{Prefill, prefill};

/// How it was found what was never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By the filesystem's map of extents (`FS_IOC_FIEMAP`, Documentation/filesystems/fiemap.rst).
    Fiemap,
    /// By looking for holes (`SEEK_HOLE` and `SEEK_DATA` of lseek(2)).
    SeekHole,
    /// Only by reading a sample: a block device tells of no holes.
    Sample,
}

impl Method {
    fn words(self) -> &'static str {
        match self {
            Self::Fiemap => "the filesystem's map of its extents",
            Self::SeekHole => "its holes (`SEEK_HOLE`)",
            Self::Sample => "reading a sample of its blocks",
        }
    }
}

/// What is known of the blocks of a LUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The LUN, as the `.lun` file names it.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Bytes in holes and in extents that were allocated but never written.
    pub unwritten_bytes: u64,
    /// How those were found.
    pub method: Method,
    /// Blocks of 4 KiB read, all of them outside of what was never written.
    pub sampled: u32,
    /// How many of them hold nothing but zeros.
    pub zeros: u32,
}

impl Written {
    /// Whether it may be measured: nothing of it was never written, and at most half of the sampled blocks are zeros.
    ///
    /// # Errors
    /// [`Unwritten`], with what to do.
    pub fn verdict(&self) -> Result<(), Unwritten> {
        let name = self.name.clone();
        if self.unwritten_bytes > 0 {
            let share = self.unwritten_bytes as f64 / self.bytes.max(1) as f64;
            return Err(Unwritten::Holes {
                name,
                unwritten: Bytes(self.unwritten_bytes),
                bytes: Bytes(self.bytes),
                percent: share * 100.0,
                method: self.method,
            });
        }
        if u64::from(self.zeros) * 2 > u64::from(self.sampled) {
            return Err(Unwritten::Zeros { name, sampled: self.sampled, zeros: self.zeros });
        }
        Ok(())
    }
}

/// A LUN of which a part was never written, or was written with zeros.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unwritten {
    /// Holes, or extents that were never written.
    #[error(
        "{} were never written, by {}, and are answered without touching the medium; `--prefill` fills them with random \
         data and keeps what is there, `--allow-unwritten` measures all the same",
        part_of(.name, *.unwritten, *.bytes, *.percent), .method.words()
    )]
    Holes {
        /// The LUN.
        name: String,
        /// How much.
        unwritten: Bytes,
        /// Of how much.
        bytes: Bytes,
        /// That in percent.
        percent: f64,
        /// How it was found.
        method: Method,
    },
    /// Zeros.
    #[error(
        "`{name}` was never written, or was written with zeros: {zeros} of {sampled} blocks read are nothing but zeros, \
         which thin, sparse, compressing or deduplicating storage answers without touching the medium; `--prefill` \
         replaces them with random data and keeps what else is there, `--allow-unwritten` measures all the same"
    )]
    Zeros {
        /// The LUN.
        name: String,
        /// Blocks of 4 KiB read.
        sampled: u32,
        /// Blocks of zeros among them.
        zeros: u32,
    },
}

/// `2 MiB of the 8 MiB of x (25.0 %)`, or `all 8 MiB of x`.
fn part_of(name: &str, unwritten: Bytes, bytes: Bytes, percent: f64) -> String {
    let (name, whole) = (shortened(name), bytes.in_words());
    if unwritten == bytes {
        return format!("all {whole} of `{name}`");
    }
    format!("{} of the {whole} of `{name}` ({percent:.1} %)", unwritten.in_words())
}

/// Looks at which of its blocks were ever written. The same seed samples the same blocks of a LUN.
///
/// # Errors
/// That it cannot be opened or read.
pub fn examine(lun: &Lun, seed: u64) -> Result<Written, OrionError> {
    let file = File::open(lun.way()).map_err(|error| OrionError::file("open", &lun.path, error))?;
    let (unwritten, method) = find_unwritten(lun, &file)?;
    let blocks = sample::choose(&extents::complement(&unwritten, lun.bytes), seed);
    let zeros = sample::count_zeros(lun, &file, &blocks)?;
    Ok(Written {
        name: lun.name.clone(),
        bytes: lun.bytes,
        unwritten_bytes: unwritten.iter().map(|range| range.end - range.start).sum(),
        method,
        sampled: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
        zeros,
    })
}

/// The ranges of bytes that were never written, ascending.
fn find_unwritten(lun: &Lun, file: &File) -> Result<(Vec<Range<u64>>, Method), OrionError> {
    match lun.kind {
        LunKind::Device => Ok((Vec::new(), Method::Sample)),
        LunKind::File => extents::find_unwritten(file, lun.bytes)
            .map_err(|error| OrionError::file("read the extents of", &lun.path, error)),
    }
}
