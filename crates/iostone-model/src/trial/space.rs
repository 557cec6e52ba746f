//! What a trial's workload took up on its filesystem, and in what state it found and left it.

use serde::{Deserialize, Serialize};

/// More files are not looked at: what is left out is said.
pub const MOST_FILES: u64 = 100_000;

/// Room on the stack's own filesystem, read with statfs(2), FIEMAP (Documentation/filesystems/fiemap.rst) and, where the
/// filesystem has it, `FS_IOC_GETFSMAP` (`ioctl_getfsmap(2)`). Everything is synced before it is read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SpaceRecord {
    /// Its kind: `ext4`.
    pub filesystem: String,
    /// Bytes in all, as statfs tells.
    pub capacity_bytes: u64,
    /// Bytes in use as it was made, before the workload laid anything out; 0 where it could not be read, as each time.
    pub used_made_bytes: u64,
    /// Bytes in use once the workload's files were laid out.
    pub used_prepared_bytes: u64,
    /// Bytes in use after the workload.
    pub used_after_bytes: u64,
    /// The workload's files after it.
    pub files: FileSpace,
    /// The same before it.
    pub files_prepared: FileSpace,
    /// The free room before the workload; none where the filesystem does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_prepared: Option<FreeSpace>,
    /// The free room after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_after: Option<FreeSpace>,
    /// What could not be read, in sentences without their points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
}

/// Files below the directory that the workload works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileSpace {
    /// How many.
    pub count: u64,
    /// Their sizes added up, bytes.
    pub bytes: u64,
    /// What they occupy, `st_blocks` times 512, bytes.
    pub allocated_bytes: u64,
    /// Extents; null where the filesystem has no FIEMAP.
    pub extents: Option<u64>,
    /// Extents that are compressed (`FIEMAP_EXTENT_ENCODED`).
    pub encoded_extents: u64,
    /// Extents that are shared with another file or snapshot (`FIEMAP_EXTENT_SHARED`).
    pub shared_extents: u64,
}

/// The free room of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Runs of free blocks.
    pub extents: u64,
    /// The longest of them, bytes.
    pub longest_bytes: u64,
    /// All of them, bytes.
    pub bytes: u64,
}
