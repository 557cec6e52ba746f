//! Finding the controller that limits devices: which version of control groups has it, and where a group can be made.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{CgroupVersion, v1, v2};
use crate::error::StackError;
use crate::mountinfo::{self, Mounted};

/// Where limits on devices can be set on this machine, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrottleController {
    /// Which interface has the controller.
    pub version: CgroupVersion,
    /// The group that this process is in.
    pub home: PathBuf,
    /// The group below which groups with limits are made.
    pub parent: PathBuf,
    /// Version 2: `parent` does not hand the controller down yet, and is told to for the time of a trial.
    pub must_be_handed_down: bool,
}

impl ThrottleController {
    /// Looks for the controller. Reading only.
    ///
    /// A controller that version 1 has claimed is not in version 2, whatever else is mounted: that is how hybrid
    /// systems have `blkio` in version 1 and nothing in version 2 (cgroups(7)).
    ///
    /// # Errors
    /// [`StackError::Unexpected`] with what is missing and the next command.
    pub fn find() -> Result<Self, StackError> {
        Self::find_below(Path::new("/"))
    }

    /// As [`ThrottleController::find`], with `/proc` and the mounts below another directory.
    pub(super) fn find_below(root: &Path) -> Result<Self, StackError> {
        let place = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        let cgroup = place(Path::new("/proc/self/cgroup"));
        let text = fs::read_to_string(&cgroup).map_err(|source| StackError::io("read", &cgroup, source))?;
        let table = place(Path::new("/proc/self/mountinfo"));
        let mounts = fs::read(&table).map_err(|source| StackError::io("read", &table, source))?;
        let mounts = mountinfo::parse(&mounts);
        // `7:blkio:/path` of version 1, `0::/path` of version 2.
        let membership = |is_it: &dyn Fn(&str) -> bool| {
            text.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                is_it(controllers).then(|| PathBuf::from(path))
            })
        };
        if let Some(own) = membership(&|controllers| controllers.split(',').any(|name| name == "blkio")) {
            let is_it = |mount: &&Mounted| {
                mount.filesystem == "cgroup" && mount.super_options.iter().any(|option| option == "blkio")
            };
            let line = line_of(mounts.iter().filter(is_it), &own, &place).ok_or_else(|| {
                StackError::unexpected(
                    "/proc/self/mountinfo",
                    "the `blkio` controller of cgroup v1, which volumes are limited by, is not mounted where this \
                     process could reach it; next: `mount -t cgroup -o blkio cgroup /sys/fs/cgroup/blkio`",
                )
            })?;
            return Self::version_1(&line);
        }
        let unified = membership(&str::is_empty).and_then(|own| {
            line_of(mounts.iter().filter(|mount| mount.filesystem == "cgroup2"), &own, &place)
        });
        Self::version_2(&unified.unwrap_or_default())
    }

    /// `line`: the group of this process and those above it, nearest first.
    fn version_1(line: &[PathBuf]) -> Result<Self, StackError> {
        let home = line.first().cloned().unwrap_or_default();
        let file = home.join(v1::READ_BPS);
        if !file.exists() {
            return Err(StackError::unexpected(
                &file,
                "it is not there: the kernel was built without `CONFIG_BLK_DEV_THROTTLING`; \
                 next: `uname -r`, and a kernel with it",
            ));
        }
        // Limits of version 1 hold in one group alone, so that nothing is lost or gained by the place.
        Self { version: CgroupVersion::One, parent: home.clone(), home, must_be_handed_down: false }
            .checked_writable()
    }

    fn version_2(line: &[PathBuf]) -> Result<Self, StackError> {
        let Some((home, top)) = line.first().zip(line.last()) else {
            return Err(StackError::unexpected(
                "/proc/self/mountinfo",
                "no control groups are mounted where this process could reach them, and volumes are limited by them; \
                 next: `mount -t cgroup2 cgroup2 /sys/fs/cgroup`",
            ));
        };
        if let Some((parent, must_be_handed_down)) = v2::choose_parent(line) {
            let home = home.clone();
            return Self { version: CgroupVersion::Two, home, parent, must_be_handed_down }
                .checked_writable();
        }
        let controllers = top.join(v2::CONTROLLERS);
        if v2::lists_io(&controllers) {
            return Err(StackError::unexpected(
                top,
                "it holds processes, so it cannot hand the `io` controller down to a group of its own (cgroups(7), \
                 \"no internal processes\"); next: `systemd-run --scope --property=Delegate=yes iostone run ...`, or, \
                 in a container, start it with the host's groups: `docker run --cgroupns=host ...`",
            ));
        }
        Err(StackError::unexpected(
            &controllers,
            "it does not list `io`, the controller that volumes are limited by: the kernel lacks it, or whoever \
             started this container or service did not hand it down; next: \
             `systemd-run --scope --property=Delegate=yes iostone run ...`",
        ))
    }

    /// A container often sees its groups read-only.
    fn checked_writable(self) -> Result<Self, StackError> {
        let access = rustix::fs::access(&self.parent, rustix::fs::Access::WRITE_OK);
        let reason = match access {
            Ok(()) => return Ok(self),
            Err(rustix::io::Errno::ROFS) => {
                "it is mounted read-only, and limits are set by a group made in it; \
                 next: `mount -o remount,rw` it, or start the container with `--privileged`"
                    .to_owned()
            }
            Err(errno) => format!("no group can be made in it ({errno}); next: run it with `sudo`"),
        };
        Err(StackError::unexpected(&self.parent, reason))
    }
}

/// The group of a membership and those above it up to the mount, nearest first; none if no mount shows it.
fn line_of<'a>(
    mut mounts: impl Iterator<Item = &'a Mounted>,
    own: &Path,
    place: &dyn Fn(&Path) -> PathBuf,
) -> Option<Vec<PathBuf>> {
    mounts.find_map(|mount| {
        // Without a cgroup namespace a container's mount shows only its own part of the hierarchy.
        let below = own.strip_prefix(&mount.root).ok()?;
        // A group outside of the namespace is shown as `/../..` and cannot be reached.
        if below.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let (home, top) = (place(&mount.target.join(below)), place(&mount.target));
        let line = home.ancestors().take_while(|group| group.starts_with(&top)).map(clean).collect();
        home.exists().then_some(line)
    })
}

/// Without the slash that joining nothing leaves at the end.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of files: paths with their texts.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
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
        let found = ThrottleController::find_below(machine.path()).unwrap();
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
        let found = ThrottleController::find_below(machine.path()).unwrap();
        assert_eq!(found.version, CgroupVersion::Two);
        assert_eq!(found.home, machine.path().join(scope));
        assert_eq!(found.parent, machine.path().join("sys/fs/cgroup"));
        assert!(found.must_be_handed_down);
    }

    #[test]
    fn what_is_missing_is_said_with_the_next_command() {
        let refused = |files: &[(&str, &str)]| {
            let machine = machine(files);
            ThrottleController::find_below(machine.path()).unwrap_err().to_string()
        };
        let container = refused(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/cgroup.type", "domain\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu io\n"),
            ("sys/fs/cgroup/cgroup.procs", "1\n"),
        ]);
        assert!(
            container.contains("it holds processes") && container.contains("Delegate=yes"),
            "{container}"
        );
        let lacking = refused(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
        ]);
        assert!(lacking.contains("does not list `io`"), "{lacking}");
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
}
