//! Machines with limits, as their files would show them.

use std::fs;
use std::os::unix::fs::symlink;

use super::holding::holdings_under;
use super::*;

/// A tree of files, and of links (`path -> target`).
fn plant(files: &[(&str, &str)], links: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let place = |path: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    for (path, text) in files {
        fs::write(place(path), text).unwrap();
    }
    for (path, target) in links {
        symlink(target, place(path)).unwrap();
    }
    let root = Root::at(folder.path());
    (folder, root)
}

fn evenly(numbers: &[&str]) -> Vec<(String, f64)> {
    numbers.iter().map(|number| ((*number).to_owned(), 1.0 / numbers.len() as f64)).collect()
}

#[test]
fn the_smallest_limit_of_all_groups_above_counts_in_version_2() {
    let (_folder, root) = plant(
        &[
            ("proc/self/cgroup", "0::/slice/own\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            (
                "sys/fs/cgroup/slice/own/io.max",
                "7:0 rbps=max wbps=64000000 riops=2000 wiops=900\n8:0 riops=1\n",
            ),
            ("sys/fs/cgroup/slice/io.max", "7:0 rbps=max wbps=max riops=max wiops=500\n"),
            ("sys/devices/virtual/block/loop0/size", "1"),
        ],
        &[("sys/dev/block/7:0", "../../devices/virtual/block/loop0")],
    );
    let limits = limits_on(&root, &holdings_under(&root, &evenly(&["7:0"])));
    let told: Vec<_> = limits.iter().map(|limit| (limit.kind, limit.value, limit.on.as_str())).collect();
    assert_eq!(
        told,
        [
            (LimitKind::ReadIops, 2000.0, "loop0"),
            (LimitKind::WriteIops, 500.0, "loop0"),
            (LimitKind::WriteBytes, 64e6, "loop0"),
        ]
    );
    assert_eq!(limits[1].from, "/sys/fs/cgroup/slice/io.max");
    assert_eq!(limits[2].from, "/sys/fs/cgroup/slice/own/io.max");
}

#[test]
fn only_the_own_group_counts_in_version_1_and_limits_of_a_disk_hold_for_its_partition() {
    let (_folder, root) = plant(
        &[
            ("proc/self/cgroup", "7:blkio:/a/b\n0::/\n"),
            ("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"),
            ("sys/fs/cgroup/blkio/a/b/blkio.throttle.write_iops_device", "8:0 500\n"),
            ("sys/fs/cgroup/blkio/a/blkio.throttle.write_iops_device", "8:0 100\n"),
            ("sys/devices/pci/block/sda/sda1/partition", "1"),
            ("sys/devices/pci/block/sda/dev", "8:0\n"),
        ],
        &[
            ("sys/dev/block/8:1", "../../devices/pci/block/sda/sda1"),
            ("sys/dev/block/8:0", "../../devices/pci/block/sda"),
            ("sys/class/block/sda", "../../devices/pci/block/sda"),
        ],
    );
    let limits = limits_on(&root, &holdings_under(&root, &evenly(&["8:1"])));
    assert_eq!(limits.len(), 1);
    assert_eq!((limits[0].value, limits[0].on.as_str()), (500.0, "sda"));
}

#[test]
fn limits_of_several_devices_are_those_of_the_volume() {
    let limits = "8:0 500\n8:16 500\n8:32 500\n8:48 900\n";
    let (_folder, root) = plant(
        &[
            ("proc/self/cgroup", "7:blkio:/\n"),
            ("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"),
            ("sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", limits),
            ("sys/block/md0/md/level", "raid0\n"),
            ("sys/block/md0/slaves/sda/x", ""),
            ("sys/block/md0/slaves/sdb/x", ""),
            ("sys/class/block/sda/dev", "8:0\n"),
            ("sys/class/block/sdb/dev", "8:16\n"),
        ],
        &[
            ("sys/dev/block/8:0", "../../block/sda"),
            ("sys/dev/block/8:16", "../../block/sdb"),
            ("sys/dev/block/8:32", "../../block/sdc"),
            ("sys/dev/block/8:48", "../../block/sdd"),
            ("sys/dev/block/9:0", "../../block/md0"),
        ],
    );
    let on = |devices: &[&str]| {
        let limits = limits_on(&root, &holdings_under(&root, &evenly(devices)));
        limits.first().map(|limit| (limit.value, limit.on.clone()))
    };
    assert_eq!(on(&["8:0", "8:16"]), Some((1000.0, "sda and sdb together".to_owned())));
    assert_eq!(on(&["8:0", "8:48"]), Some((1000.0, "sda (50.0 % of the volume)".to_owned())));
    assert_eq!(on(&["9:0"]), Some((1000.0, "sda and sdb together".to_owned())));
    assert_eq!(on(&["8:0", "8:0"]), Some((500.0, "sda".to_owned())));
    assert_eq!(on(&["253:0"]), None);
    fs::write(root.join("/sys/block/md0/md/level"), "raid1").unwrap();
    assert_eq!(on(&["9:0"]), None, "what a mirror's member takes is not told");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]

    #[test]
    fn no_text_in_a_groups_files_makes_it_panic(text in "\\PC{0,80}") {
        let (_folder, root) = plant(
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
                ("sys/fs/cgroup/io.max", &text),
            ],
            &[],
        );
        let _ = groups::read_limits(&root);
    }
}
