//! Where the CPU time of a trial went: the machine's, the workload's, and what was withheld from it.

use serde::{Deserialize, Serialize};

use crate::experiment::Governor;

/// Where the CPU time went between the start and the end of the workload. Seconds; what cannot be told is none, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuAccount {
    /// Wall time.
    pub wall_seconds: f64,
    /// Processors of the machine; its times below add up to so many times the wall time, up to ticks of the kernel's clock
    /// (1/100 s) and to what the kernel did not see go by: a guest that its hypervisor does not let run gets no ticks.
    pub processors: u32,
    /// Of the whole machine, in user mode.
    pub machine_user_seconds: f64,
    /// Of the whole machine, in the kernel, interrupts included.
    pub machine_system_seconds: f64,
    /// Of the whole machine, idle while I/O was outstanding.
    pub machine_iowait_seconds: f64,
    /// Of the whole machine, idle.
    pub machine_idle_seconds: f64,
    /// Taken by the hypervisor for others; none where the kernel cannot see that.
    pub machine_steal_seconds: Option<f64>,
    /// The workload's own in user mode, its ended descendants included.
    pub user_seconds: Option<f64>,
    /// The workload's own in the kernel, likewise.
    pub system_seconds: Option<f64>,
    /// Its group stood still because its own quota was used up (`throttled_time` of the limit's group, or of the tightest
    /// quota on iostone itself); none without one. The kernel sums over processors: two that stand still for a second are
    /// two seconds, so this may exceed the wall time.
    pub throttled_seconds: Option<f64>,
    /// Its group stood still because the emulated allowance was used up, as steal would on the instance; summed over
    /// processors likewise, and none without one.
    pub governed_seconds: Option<f64>,
    /// Some task of its group waited for I/O (PSI); none where groups have no such figure, as in version 1.
    pub io_wait_seconds: Option<f64>,
    /// Some task of the whole machine, anybody's, waited for I/O (PSI); none without PSI.
    pub machine_io_pressure_seconds: Option<f64>,
    /// Of a guest: what its processors waited for one of the host's, or what was stolen from the host, as seen from there.
    /// A guest that cannot see that books part of it as user and system time. None on a host, and where nobody looked.
    pub host_steal_seconds: Option<f64>,
}

impl CpuAccount {
    /// User and system time of the workload.
    pub fn used_seconds(&self) -> Option<f64> {
        Some(self.user_seconds? + self.system_seconds?)
    }
}

/// What an emulated CPU allowance gave in a trial, and how exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GovernorRecord {
    /// The law, its figures and the speed.
    pub governor: Governor,
    /// CPU seconds that the law allowed from start to end, along the way that the workload went.
    pub allowed_cpu_seconds: f64,
    /// CPU seconds that the workload's group used.
    pub used_cpu_seconds: f64,
    /// CPU seconds used beyond what the law allowed at the time, as a share of all that was used: the emulation's error.
    pub excess_share: f64,
    /// How often the law went from full speed to slow.
    pub throttled_times: u32,
    /// Seconds that the law was slow.
    pub slow_seconds: f64,
    /// What the allowance held over time: `(seconds since the start, CPU seconds of this machine's time)`, where it
    /// changed its course and at least ten times a second.
    pub balance: Vec<(f64, f64)>,
    /// Times between two looks at the group, seconds: the median and the longest.
    pub step_seconds: (f64, f64),
    /// How much later than the law had it the quota was moved, seconds: the longest, told by the use that was possible at
    /// most. About a step, unless something held the governor up.
    #[serde(default)]
    pub late_seconds: f64,
    /// Wall seconds that the other known laws of the type would have given the same work and limit, by name. The law in
    /// force is among them, so that a simulation can be held against what was measured. Empty for a workload that works for
    /// a fixed time: it does less under another law, and takes no longer.
    pub other_laws: Vec<(String, f64)>,
}
