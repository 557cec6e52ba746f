//! Arrays: several volumes made into one device, or into one filesystem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What joins the volumes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Array {
    /// Nothing: there is one volume.
    #[default]
    None,
    /// Linux software RAID, made by mdadm(8).
    Md(MdArray),
    /// Several devices below one btrfs, as mkfs.btrfs(8) joins them; the filesystem has to be btrfs.
    Btrfs(BtrfsArray),
    /// One logical volume striped over a volume group of its own, made by lvcreate(8).
    Lvm(LvmArray),
}

impl Array {
    /// Whether nothing is joined.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Software RAID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MdArray {
    /// The level.
    pub level: MdLevel,
    /// Bytes on one member before the next follows (`--chunk`); mdadm's own default is 512KiB. RAID1 has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Version of the superblock (`--metadata`); mdadm's own default is 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MdMetadata>,
}

/// Levels of md(4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdLevel {
    /// Striping.
    Raid0,
    /// Mirrors.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// Distributed parity; made with `--assume-clean`, since a resync would run beside the trial.
    Raid5,
}

impl MdLevel {
    /// As the kernel and mdadm name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
            Self::Raid5 => "raid5",
        }
    }

    /// The fewest members that it takes.
    pub fn fewest_members(self) -> u32 {
        match self {
            // md takes a RAID0 of one member with `--force`, which is the baseline of a comparison of counts.
            Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
        }
    }
}

/// Versions of the md superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MdMetadata {
    /// At the end, at most 2 TiB a member.
    #[serde(rename = "0.90")]
    V090,
    /// At the end.
    #[serde(rename = "1.0")]
    V10,
    /// At the start.
    #[serde(rename = "1.1")]
    V11,
    /// 4 KiB from the start.
    #[serde(rename = "1.2")]
    V12,
}

impl MdMetadata {
    /// As mdadm names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V090 => "0.90",
            Self::V10 => "1.0",
            Self::V11 => "1.1",
            Self::V12 => "1.2",
        }
    }
}

/// Several devices below one btrfs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BtrfsArray {
    /// The profile of data (`--data`) and metadata (`--metadata`).
    pub level: BtrfsProfile,
    /// The profile of metadata where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BtrfsProfile>,
}

/// Profiles of mkfs.btrfs(8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BtrfsProfile {
    /// One copy, not striped.
    Single,
    /// Striping.
    Raid0,
    /// Two copies on two devices.
    Raid1,
    /// Striped mirrors.
    Raid10,
}

impl BtrfsProfile {
    /// As mkfs.btrfs names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
        }
    }

    /// The fewest members that it takes.
    pub fn fewest_members(self) -> u32 {
        match self {
            Self::Single | Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
        }
    }
}

/// A striped logical volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmArray {
    /// Members that a stripe goes over (`--stripes`); all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripes: Option<u32>,
    /// Bytes on one member before the next follows (`--stripesize`), a power of two; lvcreate's own default is 64KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_size: Option<Bytes>,
}
