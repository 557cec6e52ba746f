//! Text of the kernel and of util-linux: mount tables, counters, swap areas, process states, what is on a device.
#![no_main]

use iostone_model::sample::DiskCounters;
use iostone_model::mountinfo;
use iostone_stack::fuzzing::{read_foreign, read_start_time, read_swaps};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for mount in mountinfo::parse(bytes) {
        mount.all_options();
    }
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
