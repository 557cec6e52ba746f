//! Where the CPU time went, and what an emulated allowance gave, as the report for machines has them.

use std::collections::BTreeMap;

use iostone_model::trial::GovernorRecord;
use serde::Serialize;

use crate::cpu_split::{CpuTimes, Part, Split, Whole};

/// Where the CPU time went; null where a part is not observable, or nothing limits it.
#[derive(Serialize)]
pub(super) struct CpuPart {
    /// `wall` or `processors`: what `whole_seconds` is.
    whole: &'static str,
    /// `workload` or `machine`: whose user and system time it is.
    of: &'static str,
    wall_seconds: f64,
    whole_seconds: f64,
    user_seconds: Option<f64>,
    system_seconds: Option<f64>,
    throttled_seconds: Option<f64>,
    governed_seconds: Option<f64>,
    steal_seconds: Option<f64>,
    /// Whether `steal_seconds` was seen from the host of a guest.
    steal_of: Option<&'static str>,
    /// Of the workload's group, or of the machine where `of` says so.
    io_wait_seconds: Option<f64>,
    /// Of anybody on the machine: no part of the whole.
    machine_io_pressure_seconds: Option<f64>,
    other_seconds: Option<f64>,
}

impl CpuPart {
    pub(super) fn of(times: &CpuTimes<'_>, split: &Split) -> Self {
        Self {
            whole: if times.whole == Whole::Wall { "wall" } else { "processors" },
            of: if times.of_machine { "machine" } else { "workload" },
            wall_seconds: split.wall,
            whole_seconds: split.whole,
            user_seconds: split.seconds(Part::User),
            system_seconds: split.seconds(Part::System),
            throttled_seconds: split.seconds(Part::Throttled),
            governed_seconds: split.seconds(Part::Governed),
            steal_seconds: split.seconds(Part::Steal),
            steal_of: split
                .seconds(Part::Steal)
                .map(|_| if split.steal_from_host { "host" } else { "machine" }),
            machine_io_pressure_seconds: split.seconds(Part::Pressure),
            io_wait_seconds: split.seconds(Part::IoWait),
            other_seconds: split.seconds(Part::Other),
        }
    }
}

/// What an emulated CPU allowance gave in a trial. What it held over time is in the trial's record.
#[derive(Serialize)]
pub(super) struct GovernorPart<'a> {
    instance: &'a str,
    law: &'a str,
    speed: f64,
    allowed_cpu_seconds: f64,
    used_cpu_seconds: f64,
    excess_fraction: f64,
    throttled_times: u32,
    slow_seconds: f64,
    step_median_seconds: f64,
    step_longest_seconds: f64,
    /// Wall seconds by law, simulated for the same work and limit.
    wall_seconds_by_law: BTreeMap<&'a str, f64>,
}

impl<'a> GovernorPart<'a> {
    pub(super) fn of(record: &'a GovernorRecord) -> Self {
        let allowance = &record.governor.allowance;
        Self {
            instance: &allowance.instance,
            law: &allowance.name,
            speed: record.governor.speed,
            allowed_cpu_seconds: record.allowed_cpu_seconds,
            used_cpu_seconds: record.used_cpu_seconds,
            excess_fraction: record.excess_share,
            throttled_times: record.throttled_times,
            slow_seconds: record.slow_seconds,
            step_median_seconds: record.step_seconds.0,
            step_longest_seconds: record.step_seconds.1,
            wall_seconds_by_law: record.other_laws.iter().map(|(law, wall)| (law.as_str(), *wall)).collect(),
        }
    }
}
