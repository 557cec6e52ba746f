//! What touching the files of a container's image for the first time is asked to cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omitted::is_default;
use crate::units::Bytes;

/// The large file's name below the directory that the workload works in.
pub const LARGE_FILE: &str = "large";

/// The name of a small file, counted from 0.
pub fn small_file(number: u32) -> String {
    format!("small-{number:05}")
}

/// First touches: files that lie in the image (or, without a container, were laid out beforehand) are opened, and a large
/// one is written to, which a layered filesystem copies up whole (Documentation/filesystems/overlayfs.rst, "Non-directories").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CopyUpWorkload {
    /// The large file's size.
    #[serde(default = "default_size")]
    pub size: Bytes,
    /// Small files that are looked up and opened once each.
    #[serde(default = "default_files")]
    pub files: u32,
    /// The size of each of them.
    #[serde(default = "default_file_size")]
    pub file_size: Bytes,
    /// Bytes of the first write, and of the second.
    #[serde(default = "default_write")]
    pub write: Bytes,
    /// Whether each write is made durable (fdatasync) within its time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: bool,
}

/// Files that lie in the lowest layer when the workload begins, of incompressible data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowerFiles {
    /// The size of the one called [`LARGE_FILE`].
    pub large: Bytes,
    /// How many are called as [`small_file`] says.
    pub small_count: u32,
    /// The size of each of those.
    pub small: Bytes,
}

impl CopyUpWorkload {
    /// What must lie in the lowest layer.
    pub fn lower_files(&self) -> LowerFiles {
        LowerFiles { large: self.size, small_count: self.files, small: self.file_size }
    }

    /// The room that its files take: a copied-up file lies there twice.
    pub fn room(&self) -> Bytes {
        let small = self.file_size.0.saturating_mul(u64::from(self.files));
        Bytes(self.size.0.saturating_mul(2).saturating_add(small))
    }

    /// In a line for people.
    pub fn summary(&self) -> String {
        format!(
            "copy-up: {} files of {} opened, {} written into a file of {}{}",
            self.files,
            self.file_size,
            self.write,
            self.size,
            if self.sync { ", synced" } else { "" }
        )
    }
}

fn default_size() -> Bytes {
    Bytes(200 << 20)
}

fn default_files() -> u32 {
    200
}

fn default_file_size() -> Bytes {
    Bytes(4096)
}

fn default_write() -> Bytes {
    Bytes(4096)
}
