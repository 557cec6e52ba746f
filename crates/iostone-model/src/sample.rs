//! What the probe sees ten times a second during a trial.
//!
//! Counters are kept as the kernel gives them, cumulative; differences are taken when they are read, so that a
//! lost sample loses nothing.

mod nvme;

use serde::{Deserialize, Serialize};

pub use nvme::{
    NvmeActivity, NvmeCounters, NvmeKind, NvmeLatencyBin, NvmeSizeClass, NvmeStatistics, nvme_percentile,
};

/// One sample of all signals.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Nanoseconds of `CLOCK_MONOTONIC` since the probe started.
    pub at_ns: u64,
    /// CPU time of the whole machine.
    pub cpu: CpuTimes,
    /// One entry a watched device, in the probe's order of devices.
    pub disks: Vec<DiskCounters>,
    /// Dirty page cache in bytes.
    pub dirty_bytes: u64,
    /// Bytes under writeback.
    pub writeback_bytes: u64,
    /// Pressure stall totals, where the kernel has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// Throttling of the workload's control group by its CPU quota, or of this process's where it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// Throttling of the workload's group by the emulated allowance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governed: Option<Throttling>,
    /// CPU time of the workload's group, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_cpu_ns: Option<u64>,
}

/// Cumulative CPU times in nanoseconds, summed over all processors (`proc_stat(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// User and nice.
    pub user_ns: u64,
    /// System, irq and softirq.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Waiting for I/O.
    pub iowait_ns: u64,
    /// Stolen by the hypervisor for others.
    pub steal_ns: u64,
}

/// Cumulative counters of a block device (Documentation/admin-guide/iostats.rst); a sector is 512 bytes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flush requests completed (since Linux 5.5; zero before, see `Probe`).
    pub flushes: u64,
    /// Milliseconds that reads took, summed over them.
    #[serde(default)]
    pub read_ms: u64,
    /// Milliseconds that writes took, summed over them.
    #[serde(default)]
    pub write_ms: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Requests in flight at the moment.
    pub in_flight: u64,
}

/// Cumulative stall times in microseconds (Documentation/accounting/psi.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task waited for a CPU.
    pub cpu_some_us: u64,
    /// Some task waited for I/O.
    pub io_some_us: u64,
    /// All tasks waited for I/O.
    pub io_full_us: u64,
    /// Some task waited for memory.
    pub memory_some_us: u64,
}

/// `cpu.stat` of the control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Throttling {
    /// Enforcement periods elapsed.
    pub periods: u64,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// Time throttled.
    pub throttled_ns: u64,
}
