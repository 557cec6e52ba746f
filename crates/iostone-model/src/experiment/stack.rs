//! The stack of an experiment: what is built under the workload, bottom up.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Everything under the workload, bottom up; every layer but the volume may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Where the bytes lie.
    pub volume: Volume,
    /// Settings of the volume's request queue.
    #[serde(default, skip_serializing_if = "Queue::is_empty")]
    pub queue: Queue,
    /// The filesystem made on the volume.
    #[serde(default)]
    pub filesystem: Filesystem,
    /// How it is mounted.
    #[serde(default, skip_serializing_if = "Mount::is_empty")]
    pub mount: Mount,
}

/// Where the bytes lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Volume {
    /// A loop device over a file that iostone makes, fills and removes.
    Loop(LoopVolume),
    /// A whole block device, whose content is destroyed; the guard refuses one that is in use or carries anything.
    Block(BlockVolume),
    /// A directory on a filesystem that is already there; needs no root.
    Directory(DirectoryVolume),
}

/// A loop device over a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopVolume {
    /// The file's size, and so the device's.
    pub size: Bytes,
    /// How the loop driver reads and writes the file below: through the page cache or past it.
    #[serde(default)]
    pub backing_io: BackingIo,
    /// Where the file is made; the run directory if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Fill the file with incompressible data before each trial, so that reads are real.
    #[serde(default = "yes")]
    pub fill: bool,
}

/// How a loop device reads and writes its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackingIo {
    /// Through the page cache of the host; a flush of the device syncs the file.
    #[default]
    Buffered,
    /// With `O_DIRECT`.
    Direct,
}

/// A whole block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockVolume {
    /// The device, best by a stable name: `["/dev/disk/by-id/..."]`. One, as long as no array is built.
    pub devices: Vec<PathBuf>,
}

/// A directory on a mounted filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectoryVolume {
    /// The directory; iostone works in a new subdirectory and removes it afterwards. The run directory if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Settings of a request queue, as under /sys/block/NAME/queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Whether the kernel takes the device for one with a volatile cache, which it must flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
}

impl Queue {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.write_cache.is_none()
    }
}

/// `queue/write_cache` (Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WriteCache {
    /// Volatile: the kernel sends flushes.
    #[serde(rename = "write back")]
    WriteBack,
    /// None: the kernel sends no flush, whatever the filesystem asks.
    #[serde(rename = "write through")]
    WriteThrough,
}

impl WriteCache {
    /// The text that sysfs takes and gives.
    pub fn as_sysfs(self) -> &'static str {
        match self {
            Self::WriteBack => "write back",
            Self::WriteThrough => "write through",
        }
    }
}

/// The filesystem made on the volume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Filesystem {
    /// None: the workload has the device itself, or the directory.
    #[default]
    None,
    /// ext4, made anew for every trial.
    Ext4(Ext4),
}

/// ext4.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ext4 {
    /// Further arguments to mkfs.ext4: `["-O", "^has_journal"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
}

/// How the filesystem is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Options as in fstab. A factor's level adds to these, and replaces an option of the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Mount {
    /// Whether no option is asked for.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }
}

fn yes() -> bool {
    true
}
