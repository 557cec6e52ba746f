//! Text of the kernel and of util-linux: mount tables, counters, swap areas, process states, what is on a device.
#![no_main]

use iostone_model::sample::DiskCounters;
use iostone_probe::mountinfo::{Mount, parse_mountinfo};
use iostone_stack::fuzzing::{read_foreign, read_mounts, read_start_time, read_swaps};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mounts = parse_mountinfo(&text);
    for mount in &mounts {
        mount.options();
    }
    // Two readers of one table, of which one is stricter: each mount that it sees, the other sees too.
    for (target, source) in read_mounts(text.as_bytes()) {
        let same = |mount: &Mount| {
            mount.target == target.to_string_lossy() && mount.source == source.to_string_lossy()
        };
        assert!(mounts.iter().any(same), "{} is missed by the probe", target.display());
    }
    read_mounts(bytes);
    iostone_probe::fuzzing::read_samples(bytes);
    let served: Vec<DiskCounters> =
        bytes.split(|byte| *byte == b'\n').filter_map(iostone_probe::fuzzing::read_counters).collect();
    for pair in served.windows(2) {
        iostone_probe::fuzzing::subtract_counters(&pair[0], &pair[1]);
    }
    read_swaps(bytes);
    read_start_time(&text);
    read_foreign(&text);
});
