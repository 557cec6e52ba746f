//! The machine beside the figures: what a run was measured on, as the kernel and the tools told it.
//!
//! Everything that may be absent (no DMI in a container, no PSI in an old kernel) is an `Option`: null in
//! the record means "not there", never "not looked at".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::platform::Platform;

/// The version of [`Environment`] as JSON.
pub const ENVIRONMENT_SCHEMA: &str = "iostone/environment/1";

/// A snapshot taken at the start of a run (and of each session that resumes it).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// [`ENVIRONMENT_SCHEMA`].
    pub schema: String,
    /// iostone's own version.
    pub iostone_version: String,
    /// When, RFC 3339 in UTC.
    pub taken_at: String,
    /// The host's name.
    pub host: String,
    /// DMI: vendor, product, board.
    pub dmi: BTreeMap<String, String>,
    /// The cloud that it is on; none where nothing speaks for one, and in records of before it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What the machine runs in.
    pub virtualisation: Virtualisation,
    /// Processors.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// Kernel.
    pub kernel: Kernel,
    /// Operating system as /etc/os-release names it.
    pub os: Option<String>,
    /// Network interfaces with their drivers (whether an instance has enhanced networking shows here).
    pub network: Vec<NetworkInterface>,
    /// Every block device with its queue.
    pub block_devices: Vec<BlockDevice>,
    /// The mount table, as in /proc/self/mountinfo.
    pub mounts: Vec<MountEntry>,
    /// Control groups.
    pub cgroup: Cgroup,
    /// Versions of every tool that the run used or could use, by name; null where the tool is missing.
    pub tools: BTreeMap<String, Option<String>>,
    /// Which clock source the kernel keeps time by.
    pub clocksource: Option<String>,
    /// Whether the kernel has pressure stall information.
    pub pressure_stall_information: bool,
    /// Whether the process ran as root.
    pub root: bool,
}

/// What the machine runs in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Virtualisation {
    /// "none", or the hypervisor: "kvm", "xen", "vmware", "microsoft", "amazon", "qemu (TCG)", "unknown hypervisor".
    pub hypervisor: String,
    /// The container, if in one: "docker", "podman", "lxc", "kubernetes", ...
    pub container: Option<String>,
    /// Whether the kernel can see time that a hypervisor gave to others; null in records of before it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<StealSight>,
}

/// Whether stolen time can be seen: where it cannot, a steal of 0 says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StealSight {
    /// Whether it can.
    pub observable: bool,
    /// Why, or why not, as a clause: `there is no hypervisor`.
    pub because: String,
}

/// Processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name.
    pub model: String,
    /// Architecture, as uname(2) names it.
    pub architecture: String,
    /// Logical processors online.
    pub logical: u32,
    /// Physical cores, where known.
    pub cores: Option<u32>,
    /// Sockets, where known.
    pub sockets: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Frequency governor of cpu0.
    pub governor: Option<String>,
    /// Vulnerability mitigations switched off or on, from the kernel command line (`mitigations=`).
    pub mitigations: Option<String>,
}

/// Memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Total bytes.
    pub total_bytes: u64,
    /// Available bytes at the time.
    pub available_bytes: u64,
    /// Swap bytes.
    pub swap_bytes: u64,
    /// `vm.dirty_ratio`, percent of available memory that may be dirty before writers must write back.
    pub dirty_ratio_percent: Option<u32>,
    /// `vm.dirty_background_ratio`.
    pub dirty_background_ratio_percent: Option<u32>,
    /// `vm.dirty_bytes` where it is in force; the ratio is null then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_limit_bytes: Option<u64>,
    /// `vm.dirty_background_bytes` where it is in force; its ratio is null then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_limit_bytes: Option<u64>,
    /// Transparent huge pages setting.
    pub transparent_hugepages: Option<String>,
}

/// Kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Release, as `uname -r`.
    pub release: String,
    /// Version, as `uname -v`.
    pub version: String,
    /// The command line it was started with.
    pub command_line: Option<String>,
    /// `kernel.io_uring_disabled`, where the kernel has it.
    pub io_uring_disabled: Option<u32>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkInterface {
    /// Name.
    pub name: String,
    /// Driver module, where it has a device.
    pub driver: Option<String>,
    /// Speed in Mbit/s, where the driver tells.
    pub speed_mbit: Option<u64>,
}

/// A block device and the settings of its queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name: `nvme0n1`, `loop3`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// The device it is a partition of.
    pub parent: Option<String>,
    /// The devices directly below it (dm, md): their kernel names.
    pub slaves: Vec<String>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Model, serial and firmware where the device has them.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// The scheduler in force.
    pub scheduler: Option<String>,
    /// "write back" or "write through".
    pub write_cache: Option<String>,
    /// Whether it says it rotates.
    pub rotational: Option<bool>,
    /// Logical block size in bytes.
    pub logical_block_bytes: Option<u32>,
    /// Physical block size in bytes.
    pub physical_block_bytes: Option<u32>,
    /// Read-ahead in KiB.
    pub read_ahead_kib: Option<u32>,
    /// Queue depth (`nr_requests`).
    pub nr_requests: Option<u32>,
    /// Largest request in KiB.
    pub max_sectors_kib: Option<u32>,
    /// Whether it takes FUA writes.
    pub fua: Option<bool>,
}

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MountEntry {
    /// Where.
    pub target: String,
    /// What: device or pseudo filesystem.
    pub source: String,
    /// Filesystem type.
    pub filesystem: String,
    /// Mount and superblock options.
    pub options: String,
}

/// Control groups.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cgroup {
    /// "v1", "v2", "hybrid" or "none".
    pub mode: String,
    /// This process's group: path by controller (key "" for v2).
    pub paths: BTreeMap<String, String>,
    /// Limits in force on it and its ancestors, by file: `cpu.max`, `cpu.cfs_quota_us`, `memory.max`, `io.max`, ...
    pub limits: BTreeMap<String, String>,
}
