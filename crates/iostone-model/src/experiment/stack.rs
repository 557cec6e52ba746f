//! The stack of an experiment: what is built under the workload, bottom up.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::Governor;
use crate::units::{ByteRate, Bytes};

mod array;
mod container;
mod emulated;
mod limit;
mod limits;
mod link;
mod mount_words;
mod processors;
mod queue;
mod sysctl;

pub use array::*;
pub use container::*;
pub use emulated::*;
pub use limit::{
    CpuLimit, CpuQuota, DEFAULT_PERIOD, LEAST_EXACT_PERIOD, LEAST_MEMORY, LONGEST_PERIOD, Limit, MOST_MEMORY,
    SHORTEST_PERIOD,
};
pub use limits::{DirectionLimits, LIMIT_KEYS, Limits};
pub use link::Link;
pub(super) use mount_words::{default_of_all, is_shared};
pub use mount_words::{mount_default, mount_setting};
pub use processors::ProcessorSet;
pub use queue::{Queue, WriteCache, is_possible_in_queue};
pub use sysctl::{Sysctl, SysctlRow, VmSettings};

/// Everything under the workload, bottom up; every layer but the volume may be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Where the bytes lie.
    pub volume: Volume,
    /// What joins several volumes.
    #[serde(default, skip_serializing_if = "Array::is_none")]
    pub array: Array,
    /// Settings of the volume's request queue.
    #[serde(default, skip_serializing_if = "Queue::is_empty")]
    pub queue: Queue,
    /// The filesystem made on the volume.
    #[serde(default)]
    pub filesystem: Filesystem,
    /// How it is mounted.
    #[serde(default, skip_serializing_if = "Mount::is_empty")]
    pub mount: Mount,
    /// What stands between the filesystem and the workload: an overlay, or a container.
    #[serde(default, skip_serializing_if = "Container::is_none")]
    pub container: Container,
    /// Settings of the kernel's memory management, machine-wide for the length of a trial.
    #[serde(default, skip_serializing_if = "Sysctl::is_empty")]
    pub sysctl: Sysctl,
    /// What the workload may use of processors, memory and the device.
    #[serde(default, skip_serializing_if = "Limit::is_empty")]
    pub limit: Limit,
    /// What caps all emulated volumes together: `machine.link`, which is where a file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub link: Option<Link>,
    /// The emulated CPU allowance of `machine.cpu`, settled when the plan is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub governor: Option<Box<Governor>>,
}

fn is_barrier(option: &str) -> bool {
    matches!(option, "barrier" | "nobarrier" | "barrier=0" | "barrier=1")
}

impl Stack {
    /// The mount option by which the filesystem compresses what it stores, the last of them as mount(8) takes them; none
    /// where none does. Btrfs (`btrfs(5)`): `compress` and `compress-force`, unless `no` or `none`, and not with
    /// `nodatacow` or `nodatasum`. F2FS (Documentation/filesystems/f2fs.rst): `compress_extension`.
    pub fn compression(&self) -> Option<&str> {
        let mut found = None;
        for option in &self.mount.options {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match (&self.filesystem, name) {
                (Filesystem::Btrfs(_), "compress" | "compress-force") => {
                    found = (!matches!(value, "no" | "none")).then_some(option.as_str());
                }
                (Filesystem::Btrfs(_), "nodatacow" | "nodatasum") => found = None,
                (Filesystem::F2fs(_), "compress_extension") => found = Some(option.as_str()),
                _ => {}
            }
        }
        found
    }

    /// Whether and by which mount option flushes are off: `nobarrier`, `barrier=0`, the last of them.
    pub fn barriers_off(&self) -> Option<&str> {
        let said = self.mount.options.iter().rfind(|option| is_barrier(option));
        said.map(String::as_str).filter(|option| matches!(*option, "nobarrier" | "barrier=0"))
    }

    /// Whether two stacks differ in nothing but whether ext4 sends flushes.
    pub fn differs_in_barriers_alone(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(|stack| {
            let mut stack = stack.clone();
            stack.mount.options.retain(|option| !is_barrier(option));
            stack
        });
        self != other && one == two
    }

    /// A stack of that volume alone.
    pub fn of(volume: Volume) -> Self {
        Self {
            volume,
            array: Array::None,
            queue: Queue::default(),
            filesystem: Filesystem::None,
            mount: Mount::default(),
            container: Container::None,
            sysctl: Sysctl::default(),
            limit: Limit::default(),
            link: None,
            governor: None,
        }
    }

    /// The bytes that the volumes hold together as the array joins them, where the experiment says their size. What the
    /// array and the filesystem keep for themselves is not taken off.
    pub fn capacity(&self) -> Option<Bytes> {
        self.volume.size().map(|size| self.capacity_of(size))
    }

    /// What its array leaves of members of that size, the smallest of them.
    pub fn capacity_of(&self, Bytes(size): Bytes) -> Bytes {
        let members = u64::try_from(self.volume.members()).unwrap_or(u64::MAX);
        let with_data = match &self.array {
            Array::None => 1,
            Array::Md(md) => match md.level {
                MdLevel::Raid0 => members,
                MdLevel::Raid1 => 1,
                MdLevel::Raid10 => (members / 2).max(1),
                MdLevel::Raid5 => members.saturating_sub(1),
            },
            Array::Btrfs(btrfs) => match btrfs.level {
                BtrfsProfile::Single | BtrfsProfile::Raid0 => members,
                BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => (members / 2).max(1),
            },
            Array::Lvm(_) => members,
        };
        Bytes(size.saturating_mul(with_data))
    }
}

/// A value that the kernel does not take, or takes for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// The key within its layer: `cpu` of `limit`, `nr_requests` of `queue`.
    pub key: &'static str,
    /// What is wrong: "the kernel takes no period of 2s".
    pub message: String,
    /// What would be right: "1ms to 1s".
    pub expected: String,
}

/// Where the bytes lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Volume {
    /// A loop device over a file that iostone makes, fills and removes.
    Loop(LoopVolume),
    /// A whole block device, whose content is destroyed; the guard refuses one that is in use or not empty.
    Block(BlockVolume),
    /// A directory on a filesystem that is already there; needs no root.
    Directory(DirectoryVolume),
    /// Volumes with the limits of a cloud's, over files that iostone makes, fills and removes.
    Emulated(EmulatedVolume),
}

/// A loop device over a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopVolume {
    /// The file's size, and so the device's.
    pub size: Bytes,
    /// How the loop driver reads and writes the file below: through the page cache or past it. Left out, it is
    /// `direct` for a volume with limits, whose reads would otherwise come from memory, and `buffered` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_io: Option<BackingIo>,
    /// Where the file is made; the run directory if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Fill the file with incompressible data before each trial, so that reads are real.
    #[serde(default = "yes")]
    pub fill: bool,
    /// Requests a second that the device serves at most: so many reads and, counted apart, so many writes, because
    /// the kernel has a limit for each direction and none for their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u32>,
    /// Bytes a second that the device serves at most, for each direction apart, as with `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
    /// Reads a second, in place of `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u32>,
    /// Writes a second, in place of `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u32>,
    /// Bytes read a second, in place of `throughput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_throughput: Option<ByteRate>,
    /// Bytes written a second, in place of `throughput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_throughput: Option<ByteRate>,
    /// The limits of a second loop device between the file and this one, as an instance has limits beside those of
    /// its volumes: every volume on it shares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Limits>,
}

impl LoopVolume {
    /// A volume of that size without limits, filled, in the run directory.
    pub fn new(size: Bytes) -> Self {
        Self {
            size,
            backing_io: None,
            directory: None,
            fill: true,
            iops: None,
            throughput: None,
            read_iops: None,
            write_iops: None,
            read_throughput: None,
            write_throughput: None,
            instance: None,
        }
    }

    /// The volume's own limits.
    pub fn limits(&self) -> Limits {
        Limits {
            iops: self.iops,
            throughput: self.throughput,
            read_iops: self.read_iops,
            write_iops: self.write_iops,
            read_throughput: self.read_throughput,
            write_throughput: self.write_throughput,
        }
    }

    /// Whether it, or the instance below it, has a limit.
    pub fn is_throttled(&self) -> bool {
        !self.limits().is_empty() || self.instance.is_some_and(|instance| !instance.is_empty())
    }

    /// How the loop driver reaches the file, with the default in its place.
    pub fn effective_backing_io(&self) -> BackingIo {
        let default = if self.is_throttled() { BackingIo::Direct } else { BackingIo::Buffered };
        self.backing_io.unwrap_or(default)
    }
}

/// How a loop device reads and writes its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackingIo {
    /// Through the page cache of the host; a flush of the device syncs the file.
    Buffered,
    /// With `O_DIRECT`.
    Direct,
}

/// A whole block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockVolume {
    /// The devices, best by a stable name: `/dev/disk/by-id/...`, `serial:...` (as /sys/block/NAME/serial or
    /// NAME/device/serial tells it), or the id of an EBS volume, `vol-0123456789abcdef0`. One, unless an array is built.
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

impl Volume {
    /// Whether it, or an instance below it, has a limit.
    pub fn is_throttled(&self) -> bool {
        match self {
            Self::Loop(volume) => volume.is_throttled(),
            Self::Emulated(volume) => volume.iops.is_some() || volume.throughput.is_some(),
            Self::Block(_) | Self::Directory(_) => false,
        }
    }

    /// The size of one volume, where the experiment says it.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Self::Loop(volume) => Some(volume.size),
            Self::Emulated(volume) => Some(volume.size),
            Self::Block(_) | Self::Directory(_) => None,
        }
    }

    /// The number of devices that it comes to; none for a directory.
    pub fn members(&self) -> usize {
        match self {
            Self::Loop(_) => 1,
            Self::Block(volume) => volume.devices.len(),
            Self::Emulated(volume) => usize::try_from(volume.count).unwrap_or(usize::MAX),
            Self::Directory(_) => 0,
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
    /// XFS, made anew for every trial.
    Xfs(Xfs),
    /// btrfs, made anew for every trial.
    Btrfs(Btrfs),
    /// ext2, without a journal, made anew for every trial.
    Ext2(Ext2),
    /// F2FS, made anew for every trial.
    F2fs(F2fs),
}

impl Filesystem {
    /// As mount(8) names it; none without one.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Ext4(_) => Some("ext4"),
            Self::Xfs(_) => Some("xfs"),
            Self::Btrfs(_) => Some("btrfs"),
            Self::Ext2(_) => Some("ext2"),
            Self::F2fs(_) => Some("f2fs"),
        }
    }

    /// Further arguments to mkfs, as the file has them.
    pub fn mkfs(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::Ext4(Ext4 { mkfs })
            | Self::Xfs(Xfs { mkfs })
            | Self::Btrfs(Btrfs { mkfs })
            | Self::Ext2(Ext2 { mkfs })
            | Self::F2fs(F2fs { mkfs }) => mkfs,
        }
    }
}

/// XFS. Over an array, its stripe unit and width go to mkfs.xfs as `-d su=,sw=` unless these arguments say other ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xfs {
    /// Further arguments to mkfs.xfs: `["-i", "size=1024"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
}

/// btrfs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Btrfs {
    /// Further arguments to mkfs.btrfs: `["--nodesize", "16k"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
}

/// ext4. Over an array, its chunk and width go to mkfs.ext4 as `-E stride=,stripe-width=` unless these arguments say
/// other ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ext4 {
    /// Further arguments to mkfs.ext4: `["-O", "^has_journal"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
}

/// ext2: as ext4, with the journal and all that came after it left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ext2 {
    /// Further arguments to mkfs.ext2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
}

/// F2FS, where the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct F2fs {
    /// Further arguments to mkfs.f2fs.
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
