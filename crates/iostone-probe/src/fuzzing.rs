//! Doors for the fuzz targets to the readers of kernel text; hidden, because nothing else should use them.

use iostone_model::sample::DiskCounters;

use crate::fields::split_fields;
use crate::hierarchy::parse_memberships;
use crate::signal::{cpu, disk, group, memory, pressure, throttling};

/// Reads a text as each file that is sampled, and as the list of control groups; true if it passes for any of them.
pub fn read_samples(text: &[u8]) -> bool {
    // 100 ticks a second are the common USER_HZ.
    let as_cpu = cpu::parse_cpu_line(text, 10_000_000).is_some();
    let as_memory = memory::parse_levels(text).is_some();
    let as_pressure = pressure::parse_total(text, b"some").is_some();
    let as_throttling = throttling::parse_cpu_stat(text).is_some();
    let as_use = group::parse_usage(text).is_some()
        || group::parse_acct_stat(text).is_some()
        || group::parse_usage_lines(text).is_some();
    let as_groups = !parse_memberships(&String::from_utf8_lossy(text)).is_empty();
    as_cpu || as_memory || as_pressure || as_throttling || as_use || as_groups
}

/// The counters in a device's line of numbers, as in `/sys/class/block/NAME/stat`.
pub fn read_counters(line: &[u8]) -> Option<DiskCounters> {
    disk::parse_counters(split_fields(line)).map(|(counters, _)| counters)
}

/// What a device served between two readings.
pub fn subtract_counters(before: &DiskCounters, after: &DiskCounters) -> DiskCounters {
    disk::subtract_counters(before, after)
}
