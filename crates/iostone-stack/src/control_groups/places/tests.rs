//! Controllers are found on imitated machines, and what is missing is said.

use super::*;
use crate::control_groups::fixture::machine;

fn places(machine: &tempfile::TempDir, controllers: &[Controller]) -> Result<Vec<GroupPlace>, StackError> {
    Hierarchies::look_below(machine.path())?.places(controllers)
}

/// The one place with that controller.
fn place(machine: &tempfile::TempDir, controller: Controller) -> GroupPlace {
    let mut found = places(machine, &[controller]).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
    38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
    41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn in_a_hybrid_system_version_1_has_the_controller() {
    let machine = machine(&[
        ("proc/self/cgroup", "7:blkio:/batch\n0::/x\n"),
        ("proc/self/mountinfo", HYBRID),
        ("sys/fs/cgroup/blkio/batch/blkio.throttle.read_bps_device", ""),
        ("sys/fs/cgroup/unified/x/cgroup.controllers", ""),
    ]);
    let found = place(&machine, Controller::Io);
    assert_eq!(found.version, CgroupVersion::One);
    assert_eq!(found.parent, machine.path().join("sys/fs/cgroup/blkio/batch"));
    assert_eq!(found.home, found.parent);
}

#[test]
fn in_version_2_a_session_is_left_for_the_group_that_hands_io_down() {
    let scope = "sys/fs/cgroup/user.slice/session-1.scope";
    let machine = machine(&[
        ("proc/self/cgroup", "0::/user.slice/session-1.scope\n"),
        ("proc/self/mountinfo", UNIFIED),
        ("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
        ("sys/fs/cgroup/cgroup.procs", "1\n"),
        ("sys/fs/cgroup/user.slice/cgroup.type", "domain\n"),
        ("sys/fs/cgroup/user.slice/cgroup.controllers", "cpu memory\n"),
        (&format!("{scope}/cgroup.type"), "domain\n"),
        (&format!("{scope}/cgroup.controllers"), "memory\n"),
    ]);
    let found = place(&machine, Controller::Io);
    assert_eq!(found.version, CgroupVersion::Two);
    assert_eq!(found.home, machine.path().join(scope));
    assert_eq!(found.parent, machine.path().join("sys/fs/cgroup"));
    assert_eq!(found.hand_down, [Controller::Io]);
}

#[test]
fn what_is_missing_is_said_with_the_next_command() {
    let refused = |files: &[(&str, &str)]| {
        let machine = machine(files);
        places(&machine, &[Controller::Io]).unwrap_err().to_string()
    };
    let container = refused(&[
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", UNIFIED),
        ("sys/fs/cgroup/cgroup.type", "domain\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpu io\n"),
        ("sys/fs/cgroup/cgroup.procs", "1\n"),
    ]);
    assert!(container.contains("it holds processes") && container.contains("Delegate=yes"), "{container}");
    let lacking = refused(&[
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", UNIFIED),
        ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
    ]);
    assert!(lacking.contains("does not list the controller `io`"), "{lacking}");
    let unmounted = refused(&[("proc/self/cgroup", "7:blkio:/\n0::/\n"), ("proc/self/mountinfo", "")]);
    assert!(unmounted.contains("mount -t cgroup -o blkio"), "{unmounted}");
    let nothing = refused(&[("proc/self/cgroup", ""), ("proc/self/mountinfo", "")]);
    assert!(nothing.contains("mount -t cgroup2"), "{nothing}");
    let no_throttling = refused(&[
        ("proc/self/cgroup", "7:blkio:/\n"),
        ("proc/self/mountinfo", HYBRID),
        ("sys/fs/cgroup/blkio/tasks", ""),
    ]);
    assert!(no_throttling.contains("CONFIG_BLK_DEV_THROTTLING"), "{no_throttling}");
}

/// A machine with `cpu` and `cpuacct` in one hierarchy of version 1, `memory` in another and `cpuset` in version 2.
fn mixed() -> tempfile::TempDir {
    machine(&[
        ("proc/self/cgroup", "4:memory:/deep\n2:cpu,cpuacct:/\n0::/\n"),
        (
            "proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
             38 31 0:35 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             39 31 0:36 /deep /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "0\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "0\n"),
        ("sys/fs/cgroup/unified/cgroup.controllers", "cpuset\n"),
        ("sys/fs/cgroup/unified/cgroup.subtree_control", "\n"),
    ])
}

#[test]
fn each_controller_is_found_where_it_is_mounted_and_those_mounted_together_share_a_place() {
    let machine = mixed();
    let all = [Controller::Cpu, Controller::Cpuacct, Controller::Memory, Controller::Cpuset];
    let found = places(&machine, &all).unwrap();
    let facts: Vec<_> = found
        .iter()
        .map(|place| {
            let parent = place.parent.strip_prefix(machine.path()).unwrap().to_str().unwrap();
            (place.version, parent, place.controllers.as_slice(), place.hand_down.as_slice())
        })
        .collect();
    let (one, two) = (CgroupVersion::One, CgroupVersion::Two);
    assert_eq!(
        facts,
        [
            (one, "sys/fs/cgroup/cpu,cpuacct", &all[..2], &[][..]),
            (one, "sys/fs/cgroup/memory", &all[2..3], &[][..]),
            (two, "sys/fs/cgroup/unified", &all[3..], &all[3..]),
        ]
    );
    assert_eq!(found[1].line, [machine.path().join("sys/fs/cgroup/memory")], "as far as the mount shows");
}

#[test]
fn a_controller_that_is_missing_is_named() {
    let refused =
        |files: &[(&str, &str)], controller| places(&machine(files), &[controller]).unwrap_err().to_string();
    let unmounted =
        refused(&[("proc/self/cgroup", "1:cpu:/\n"), ("proc/self/mountinfo", "")], Controller::Cpu);
    assert!(unmounted.contains("mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu"), "{unmounted}");
    let off = refused(
        &[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t1\t0\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
        ],
        Controller::Memory,
    );
    assert!(off.contains("switched off") && off.contains("cgroup_enable=memory"), "{off}");
    let lacking = refused(
        &[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
        ],
        Controller::Cpu,
    );
    assert!(lacking.contains("CONFIG_CFS_BANDWIDTH"), "{lacking}");
    let delegated = refused(
        &[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/cgroup.type", "domain\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
        ],
        Controller::Cpu,
    );
    assert!(
        delegated.contains("did not get it delegated") && delegated.contains("Delegate=yes"),
        "{delegated}"
    );
}
