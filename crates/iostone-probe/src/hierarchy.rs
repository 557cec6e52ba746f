//! Where the control groups of this process live: version 1, version 2 and both at once (cgroups(7)).

use std::path::{Component, Path, PathBuf};

use iostone_model::mountinfo::Mount;

use crate::root::Root;

/// Which of the two interfaces a controller is offered through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    One,
    /// The unified hierarchy.
    Two,
}

/// The group of this process and its visible ancestors, nearest first, as paths below the root of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The interface through which the controller is offered.
    pub version: Version,
    /// The group of this process first, then those above it.
    pub directories: Vec<PathBuf>,
}

/// One line of `/proc/self/cgroup`: `4:memory:/user.slice`, `0::/user.slice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Membership {
    /// Controllers of the hierarchy, `name=systemd` for a named one; empty for version 2.
    pub(crate) controllers: Vec<String>,
    pub(crate) path: String,
}

/// Reads the text of `/proc/self/cgroup`.
pub(crate) fn parse_memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let (_id, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let controllers =
                controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Some(Membership { controllers, path: path.to_owned() })
        })
        .collect()
}

/// Finds the groups whose files of `controller` hold for this process: a controller that a version 1 hierarchy
/// has claimed is not in version 2, whatever else is mounted. `None` where no such hierarchy is mounted in reach.
pub fn find_groups(root: &Root, controller: &str) -> Option<Groups> {
    let memberships = parse_memberships(&root.text("/proc/self/cgroup")?);
    let mounts = root.mounts();
    let claimed = memberships.iter().find(|one| one.controllers.iter().any(|name| name == controller));
    if let Some(membership) = claimed {
        let is_mount = |mount: &Mount| {
            mount.filesystem == "cgroup" && mount.super_options.iter().any(|option| option == controller)
        };
        return locate_groups(root, &mounts, is_mount, membership, Version::One);
    }
    let membership = memberships.iter().find(|one| one.controllers.is_empty())?;
    locate_groups(root, &mounts, |mount| mount.filesystem == "cgroup2", membership, Version::Two)
}

fn locate_groups(
    root: &Root,
    mounts: &[Mount],
    is_mount: impl Fn(&Mount) -> bool,
    membership: &Membership,
    version: Version,
) -> Option<Groups> {
    mounts.iter().filter(|mount| is_mount(mount)).find_map(|mount| {
        // Without a cgroup namespace a container's mount shows only its own part of the hierarchy.
        let below = Path::new(&membership.path).strip_prefix(&mount.root).ok()?;
        // A group outside of the namespace is shown as `/../..` and cannot be reached.
        if below.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let own = mount.target.join(below);
        let directories: Vec<PathBuf> = own
            .ancestors()
            .take_while(|path| path.starts_with(&mount.target))
            .map(Path::to_path_buf)
            .collect();
        root.exists(&own).then_some(Groups { version, directories })
    })
}

/// The CPU quota of a group as CPUs (quota through period); `None` without one.
///
/// Version 1: `cpu.cfs_quota_us` (-1 for none) and `cpu.cfs_period_us`; version 2: `cpu.max`, `max 100000` for none
/// (Documentation/scheduler/sched-bwc.rst, Documentation/admin-guide/cgroup-v2.rst).
pub(crate) fn read_quota(root: &Root, version: Version, directory: &Path) -> Option<f64> {
    let (quota, period) = match version {
        Version::One => (
            root.number::<u64>(directory.join("cpu.cfs_quota_us"))?,
            root.number::<u64>(directory.join("cpu.cfs_period_us"))?,
        ),
        Version::Two => {
            let text = root.word(directory.join("cpu.max"))?;
            let mut fields = text.split_whitespace();
            (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)
        }
    };
    (period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::plant;

    #[test]
    fn a_version_2_group_is_found_with_its_ancestors() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "0::/user.slice/session-1.scope\n"),
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            ),
            ("sys/fs/cgroup/user.slice/session-1.scope/cpu.max", "30000 100000\n"),
        ]);
        let groups = find_groups(&root, "cpu").unwrap();
        assert_eq!(groups.version, Version::Two);
        assert_eq!(
            groups.directories,
            ["/sys/fs/cgroup/user.slice/session-1.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
                .map(PathBuf::from)
        );
        assert_eq!(read_quota(&root, Version::Two, &groups.directories[0]), Some(0.3));
        assert_eq!(read_quota(&root, Version::Two, &groups.directories[1]), None);
    }

    #[test]
    fn in_a_hybrid_system_the_claimed_controller_is_version_1() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/batch\n1:name=systemd:/x\n0::/y\n"),
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                 31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/unified/y/cgroup.procs", ""),
        ]);
        let groups = find_groups(&root, "cpu").unwrap();
        assert_eq!(groups.version, Version::One);
        assert_eq!(groups.directories[0], Path::new("/sys/fs/cgroup/cpu,cpuacct/batch"));
        assert_eq!(read_quota(&root, Version::One, &groups.directories[0]), None);
        assert_eq!(read_quota(&root, Version::One, &groups.directories[1]), Some(1.5));
        assert_eq!(find_groups(&root, "io").unwrap().version, Version::Two);
    }

    #[test]
    fn a_container_without_a_group_namespace_sees_its_part_at_the_mount() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "3:cpu,cpuacct:/docker/abc/inner\n"),
            (
                "proc/self/mountinfo",
                "9 1 0:9 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/cpu/inner/cpu.stat", ""),
        ]);
        let groups = find_groups(&root, "cpu").unwrap();
        assert_eq!(groups.directories, ["/sys/fs/cgroup/cpu/inner", "/sys/fs/cgroup/cpu"].map(PathBuf::from));
    }

    #[test]
    fn a_group_out_of_reach_is_none() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "0::/../../other\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/cpu.stat", ""),
        ]);
        assert_eq!(find_groups(&root, "cpu"), None);
        assert_eq!(find_groups(&Root::at("/nonexistent"), "cpu"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = parse_memberships(&text);
        }
    }
}
