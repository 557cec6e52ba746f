//! The experiment on filesystems, rehearsed: each is made, mounted as asked and measured, with either kind of data.

use crate::experiments::{rehearse, trial};
use crate::lab::{Lab, needs_root, needs_tool, words};

#[test]
fn each_filesystem_is_made_as_asked_and_measured_with_either_data() {
    needs_root!();
    needs_tool!("mkfs.xfs");
    needs_tool!("mkfs.btrfs");
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap();
    for kind in ["xfs", "btrfs", "ext2"] {
        if !listed.lines().any(|line| line.split_whitespace().last() == Some(kind)) {
            eprintln!("skipped: needs {kind} in the kernel");
            return;
        }
    }
    let lab = Lab::new();
    // What becomes of the environment is not this test's question.
    let record = rehearse(&lab, "filesystems", &[]);
    for (filesystem, read_back) in [
        ("ext4", "ext4 "),
        ("xfs", "XFS "),
        ("btrfs", "btrfs "),
        ("btrfs-nodatacow", "nodatacow"),
        ("btrfs-compress", "compress=zstd:3"),
        ("ext2", "no journal, no extents"),
    ] {
        for data in ["incompressible", "compressible"] {
            let name = format!("{filesystem}, {data}");
            let trial = trial(&record, &name);
            let checks = trial["checks"].as_array().unwrap();
            assert!(
                checks.iter().any(|check| check["read_back"].as_str().unwrap().starts_with(read_back)),
                "{name}: {checks:?}"
            );
            assert!(trial["metrics"]["iops"].as_f64().unwrap() > 0.0, "{name}");
        }
    }
}

/// F2FS in a guest whose kernel has it: made, mounted with options of its own, and written to.
const IN_A_GUEST: &str = r#"
name = "f2fs-in-a-guest"
question = "Does F2FS run where the kernel has it?"

[stack]
volume = { kind = "emulated", size = "128MiB", fill = false }
filesystem = { kind = "f2fs" }

[[factor]]
name = "fsync"
levels = { posix = { mount.options = ["fsync_mode=posix"] }, strict = { mount.options = ["fsync_mode=strict"] } }

[workload]
kind = "io"
rw = "randwrite"
bs = "4KiB"
size = "8MiB"
fdatasync = 1
runtime = "1s"

[decide]
metric = "iops"
baseline = "posix"

[gates]
steal = "off"
idle = "off"
throttling = "off"

[machine]
kind = "guest"
kernel = "debian:6.1-generic"
memory = "512MiB"
"#;

#[test]
fn f2fs_is_made_and_mounted_in_a_guest_whose_kernel_has_it() {
    needs_root!();
    needs_tool!("qemu-system-x86_64");
    needs_tool!("mkfs.f2fs");
    let lab = Lab::new();
    let fetched = lab.iostone(&["guest", "kernels", "--fetch", "debian:6.1-generic"]).output().unwrap();
    if !fetched.status.success() {
        eprintln!("skipped: needs the kernel debian:6.1-generic: {}", words(&fetched));
        return;
    }
    let file = lab.write("f2fs.toml", IN_A_GUEST);
    let output = lab.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let record = lab.record();
    for level in ["posix", "strict"] {
        let trial = trial(&record, level);
        let checks = trial["checks"].as_array().unwrap();
        let read_back =
            |text: &str| checks.iter().any(|check| check["read_back"].as_str().unwrap().starts_with(text));
        assert!(read_back("F2FS ") && read_back(&format!("fsync_mode={level}")), "{checks:?}");
        assert!(trial["metrics"]["iops"].as_f64().unwrap() > 0.0, "{level}");
    }
}
