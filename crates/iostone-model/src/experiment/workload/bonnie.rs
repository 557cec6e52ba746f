//! What bonnie++ is asked to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_false, one, sentence};
use crate::units::Bytes;

/// bonnie++ 1.98 or 2.00: writing, rewriting, reading and seeking in one file, then many small files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BonnieWorkload {
    /// Size of the file, `-s`; twice the memory when left out, because the page cache would serve a smaller one. `0B`
    /// leaves the file part out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Size of each read and write, a power of two from 256 B to 1 MiB; 8 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Seeks in all; 8192 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<u32>,
    /// Threads that seek; 5 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seekers: Option<u32>,
    /// Small files, in units of 1024, `-n`; 16 when left out, 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Largest of the small files; empty files when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_max: Option<Bytes>,
    /// Smallest of the small files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_min: Option<Bytes>,
    /// Directories that the small files are spread over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<u32>,
    /// Memory that bonnie++ is told of, `-r`; the machine's when left out. A `size` below twice this is refused, as
    /// bonnie++ does; `0B` turns the check off, and the audit then says what that means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Repetitions within a trial, `-x`; the trial's figures are their medians.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub runs: u32,
    /// The user, or `user:group`, to run as, `-u`; the one that iostone runs as when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Leaves out reading and writing by the byte, `-f`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fast: bool,
    /// fsync(2) after creating and deleting each small file, and after the writes among the seeks, `-b`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_write_buffering: bool,
    /// `O_DIRECT` for the block writes, `-D`; needs `fast`. bonnie++ reads through the page cache all the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub direct: bool,
    /// The seed of its seeks and names, `-z`; the trial's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
}

impl BonnieWorkload {
    /// In a line for people.
    pub fn summary(&self) -> String {
        let size = match self.size {
            Some(Bytes(0)) => "no file".to_owned(),
            Some(size) => format!("a file of {size}"),
            None => "a file of twice the memory".to_owned(),
        };
        let files = match self.files {
            Some(0) => "no small files".to_owned(),
            files => format!("{} small files", files.unwrap_or(16) * 1024),
        };
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        sentence([
            Some(format!("bonnie++, {size}, {files}")),
            self.chunk.map(|chunk| format!("chunks of {chunk}")),
            self.file_max.map(|largest| format!("up to {largest} each")),
            (self.runs > 1).then(|| format!("median of {}", self.runs)),
            set(self.fast, "not by the byte"),
            set(self.no_write_buffering, "fsync after every file"),
            set(self.direct, "O_DIRECT writes"),
        ])
    }
}
