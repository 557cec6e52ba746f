//! Files whose volumes, arrays or machines cannot be.

use super::{Case, barrier, complaints};
use crate::support::assert_text;

const LOOP: &str = "volume = { kind = \"loop\", size = \"1GiB\", backing_io = \"buffered\" }";

fn volume(name: &'static str, volume: &str) -> Case {
    barrier(name, LOOP, volume)
}

/// An emulated volume of 1 GiB with these keys.
fn emulated(name: &'static str, keys: &str) -> Case {
    volume(name, &format!("volume = {{ kind = \"emulated\", size = \"1GiB\", {keys} }}"))
}

fn machine(name: &'static str, keys: &str) -> Case {
    barrier(name, "[decide]", &format!("[machine]\n{keys}\n\n[decide]"))
}

#[test]
fn emulated_volumes_that_cannot_be_are_refused() {
    assert_text(
        "wrong_emulated",
        &complaints(vec![
            volume("a volume that is too small", "volume = { kind = \"emulated\", size = \"1MiB\" }"),
            emulated("no volume", "count = 0"),
            emulated("too many volumes", "count = 100, iops = 100"),
            emulated("several volumes without an array", "count = 2"),
            emulated("a volume that never answers", "iops = 0"),
            emulated("merging up to nothing", "merge = true"),
            emulated("control groups asked for latency", "by = \"cgroup\", latency = \"2ms\""),
            emulated("a burst without limits", "iops = 100, burst = {}"),
            emulated("a burst without credits", "iops = 100, burst = { iops = 3000 }"),
            emulated("a burst without a rate of the long run", "burst = { iops = 3000, credits = 1000 }"),
            emulated("a burst below the rate", "iops = 100, burst = { iops = 50, credits = 1000 }"),
            emulated("a spread of nothing", "latency_spread = \"uniform\""),
            emulated("a fault beyond the end", "faults = [{ kind = \"error\", offset = \"2GiB\" }]"),
            emulated(
                "a stall without an end",
                "faults = [{ kind = \"stall\", every = \"1s\", lasts = \"2s\" }]",
            ),
            emulated("a mistyped fault", "faults = [{ kind = \"stal\", every = \"1s\", lasts = \"100ms\" }]"),
        ]),
    );
}

#[test]
fn arrays_that_cannot_be_are_refused() {
    let array = |name: &'static str, count: u32, keys: &str| {
        let volume = format!("volume = {{ kind = \"emulated\", size = \"1GiB\", count = {count} }}");
        barrier(name, LOOP, &format!("{volume}\narray = {{ {keys} }}"))
    };
    let block = |name: &'static str, devices: &str| {
        let volume = format!("volume = {{ kind = \"block\", devices = [{devices}] }}");
        barrier(name, LOOP, &format!("{volume}\narray = {{ kind = \"md\", level = \"raid0\" }}"))
    };
    assert_text(
        "wrong_arrays",
        &complaints(vec![
            array("a parity of two", 2, "kind = \"md\", level = \"raid5\""),
            array("an uneven chunk", 2, "kind = \"md\", level = \"raid0\", chunk = \"3KB\""),
            array("a chunk of mirrors", 2, "kind = \"md\", level = \"raid1\", chunk = \"64KiB\""),
            array("an unknown level", 2, "kind = \"md\", level = \"raid7\""),
            array("a btrfs array below ext4", 2, "kind = \"btrfs\", level = \"raid0\""),
            array("more stripes than volumes", 2, "kind = \"lvm\", stripes = 3"),
            array("an uneven stripe", 2, "kind = \"lvm\", stripe_size = \"96KiB\""),
            block("a member twice", "\"/dev/sdb\", \"/dev/sdb\""),
            block("a member without a path", "\"/dev/sdb\", \"sdc\""),
            block("a member with an empty id", "\"/dev/sdb\", \"serial:\""),
        ]),
    );
}

#[test]
fn machines_that_cannot_be_are_refused() {
    assert_text(
        "wrong_machines",
        &complaints(vec![
            machine("a guest without a kernel", "kind = \"guest\""),
            machine("a guest of no memory", "kind = \"guest\"\nkernel = \"host\"\nmemory = \"1MiB\""),
            machine("a guest of no processor", "kind = \"guest\"\nkernel = \"host\"\ncpus = 0"),
            machine("two words in one", "kind = \"guest\"\nkernel = \"host\"\nkernel_arguments = [\"a b\"]"),
            machine("a relative root", "kind = \"guest\"\nkernel = \"host\"\nrootfs = \"root\""),
            machine("a link of nothing", "kind = \"local\"\nlink = \"0bps\""),
            machine("a link without emulated volumes", "kind = \"local\"\nlink = \"500Mbps\""),
            machine("a key of another machine", "kind = \"local\"\ncpus = 2"),
            machine("no release", "kind = \"local\"\nkernel = \"\""),
            machine("a package as a release", "kernel = \"debian:6.1\""),
            machine("two words as a release", "kernel = \"Linux 6.1\""),
            machine("two words in one of this host", "kernel_arguments = [\"quiet splash\"]"),
            machine("memory of no machine", "memory = \"1GiB\""),
            machine("a price below nothing", "kind = \"local\"\nusd_per_hour = -1.0"),
        ]),
    );
}
