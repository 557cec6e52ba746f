//! The controllers that layers use, with their names in either version and what proves that a kernel has them.

/// What a control group can count or limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    /// CPU time.
    Cpu,
    /// What was used of it; version 2 counts it in every group.
    Cpuacct,
    /// Memory, page cache included.
    Memory,
    /// Which processors.
    Cpuset,
    /// Devices.
    Io,
}

impl Controller {
    /// Those of version 2 that a group has to hand down before its children have their files.
    pub(super) const OF_VERSION_2: [Self; 4] = [Self::Cpu, Self::Memory, Self::Cpuset, Self::Io];

    /// As version 1 names it in `/proc/cgroups` and in mount options.
    pub(super) fn name_1(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cpuacct => "cpuacct",
            Self::Memory => "memory",
            Self::Cpuset => "cpuset",
            Self::Io => "blkio",
        }
    }

    /// As version 2 names it in `cgroup.controllers`; none where every group has it.
    pub(crate) fn name_2(self) -> Option<&'static str> {
        match self {
            Self::Cpu => Some("cpu"),
            Self::Cpuacct => None,
            Self::Memory => Some("memory"),
            Self::Cpuset => Some("cpuset"),
            Self::Io => Some("io"),
        }
    }

    /// What it is for, to follow "which".
    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time is limited by",
            Self::Cpuacct => "CPU time is counted by",
            Self::Memory => "memory is limited by",
            Self::Cpuset => "processors are chosen by",
            Self::Io => "volumes are limited by",
        }
    }

    /// Present in version 1 wherever the kernel was built with what the layers use, in the root group too.
    pub(super) fn file_1(self) -> &'static str {
        match self {
            Self::Cpu => "cpu.cfs_quota_us",
            Self::Cpuacct => "cpuacct.usage",
            Self::Memory => "memory.limit_in_bytes",
            Self::Cpuset => "cpuset.cpus",
            Self::Io => "blkio.throttle.read_bps_device",
        }
    }

    /// The option that a kernel is built with for it (init/Kconfig, block/Kconfig).
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Cpu => "CONFIG_CFS_BANDWIDTH",
            Self::Cpuacct => "CONFIG_CGROUP_CPUACCT",
            Self::Memory => "CONFIG_MEMCG",
            Self::Cpuset => "CONFIG_CPUSETS",
            Self::Io => "CONFIG_BLK_DEV_THROTTLING",
        }
    }

    /// Files of a group of version 2 that show whether somebody relies on the controller there, each with what it says
    /// as long as nobody does.
    pub(super) fn untouched_2(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Cpu => &[("cpu.max", "max 100000"), ("cpu.weight", "100"), ("cpu.idle", "0")],
            Self::Cpuacct => &[],
            Self::Memory => &[
                ("memory.max", "max"),
                ("memory.high", "max"),
                ("memory.swap.max", "max"),
                ("memory.min", "0"),
                ("memory.low", "0"),
            ],
            Self::Cpuset => &[("cpuset.cpus", ""), ("cpuset.mems", "")],
            Self::Io => &[("io.max", "")],
        }
    }
}
