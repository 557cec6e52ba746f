//! The snapshot of a machine whose `/proc`, `/sys` and `/etc` say anything at all.
#![no_main]

use std::fs;
use std::path::Path;

use iostone_fuzz::assert_survives_json;
use iostone_probe::{Root, describe, snapshot_in};
use libfuzzer_sys::fuzz_target;

/// What a tree may hold; an input has sections of these names.
const FILES: &[&str] = &[
    "etc/os-release",
    "etc/system-release",
    "proc/1/environ",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/sys/kernel/arch",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/io_uring_disabled",
    "proc/sys/kernel/osrelease",
    "proc/sys/vm/dirty_bytes",
    "proc/sys/vm/dirty_ratio",
    "sys/class/block/sda/dev",
    "sys/class/block/sda/device/model",
    "sys/class/block/sda/device/vpd_pg80",
    "sys/class/block/sda/queue/nr_requests",
    "sys/class/block/sda/queue/rotational",
    "sys/class/block/sda/queue/scheduler",
    "sys/class/block/sda/size",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/net/eth0/speed",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/online",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/io.max",
    "sys/fs/cgroup/memory.max",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

fuzz_target!(|bytes: &[u8]| {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let tree = tempfile::tempdir_in(place).expect("a directory for the tree");
    for (name, content) in sections(bytes) {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().expect("it lies in the tree")).expect("a directory in the tree");
        fs::write(path, content).expect("a file in the tree");
    }
    let environment = snapshot_in(&Root::at(tree.path()), &[]);
    assert_survives_json(&environment);
    for (label, value) in describe(&environment) {
        assert!(!value.chars().any(char::is_control), "{label}: {value:?}");
    }
});

/// `=== name` on a line of its own, and the content up to the next.
fn sections(bytes: &[u8]) -> Vec<(&'static str, &[u8])> {
    const MARK: &[u8] = b"=== ";
    let starts: Vec<usize> = bytes
        .windows(MARK.len())
        .enumerate()
        .filter(|(at, window)| *window == MARK && (*at == 0 || bytes[at - 1] == b'\n'))
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let mut found: Vec<(&'static str, &[u8])> = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let section = &bytes[start + MARK.len()..end];
        let Some(line) = section.iter().position(|byte| *byte == b'\n') else { continue };
        if let Some(name) = FILES.iter().find(|name| name.as_bytes() == &section[..line]) {
            found.push((*name, &section[line + 1..]));
        }
    }
    found
}
