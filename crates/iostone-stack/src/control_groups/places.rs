//! Finding controllers: which version of control groups has each, and where a group with them can be made.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use iostone_model::figures::{list, quoted};

use super::{CgroupVersion, Controller, v2};
use crate::error::StackError;
use crate::mountinfo::{self, Mount};

/// Where a group with some of the controllers can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) version: CgroupVersion,
    /// Those of the controllers that are in this hierarchy.
    pub(crate) controllers: Vec<Controller>,
    /// The group that this process is in.
    pub(crate) home: PathBuf,
    /// The group below which the group is made.
    pub(crate) parent: PathBuf,
    /// Version 2: what `parent` does not hand down yet, and is told to for the time of a trial.
    pub(crate) hand_down: Vec<Controller>,
    /// `parent` and the groups above it as far as this process can see, nearest first.
    pub(crate) line: Vec<PathBuf>,
}

/// The control groups of this process or of another, as the kernel shows them to this one.
#[derive(Debug)]
pub(crate) struct Hierarchies {
    root: PathBuf,
    /// `/proc/self/cgroup`, or that of another process.
    membership: String,
    mounts: Vec<Mount>,
    /// `/proc/cgroups`, empty where a kernel has none.
    known: String,
}

impl Hierarchies {
    /// Looks at this machine. Reading only.
    ///
    /// # Errors
    /// [`StackError::Io`] without `/proc`.
    pub(crate) fn look() -> Result<Self, StackError> {
        Self::look_below(Path::new("/"))
    }

    /// As [`Hierarchies::look`], with the groups of another process.
    ///
    /// # Errors
    /// [`StackError::Io`] when it has ended, or cannot be looked at.
    pub(crate) fn look_of(process: u32) -> Result<Self, StackError> {
        let cgroup = PathBuf::from(format!("/proc/{process}/cgroup"));
        let membership =
            fs::read_to_string(&cgroup).map_err(|source| StackError::io("read", &cgroup, source))?;
        Ok(Self { membership, ..Self::look()? })
    }

    /// As [`Hierarchies::look`], with `/proc` and the mounts below another directory.
    pub(crate) fn look_below(root: &Path) -> Result<Self, StackError> {
        let cgroup = root.join("proc/self/cgroup");
        let membership = fs::read_to_string(&cgroup).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if !root.join("proc/self").exists() => StackError::unexpected(
                "/proc",
                "it does not show this process, so its cgroup cannot be found; next: `mount -t proc proc /proc`",
            ),
            _ => StackError::io("read", &cgroup, source),
        })?;
        let table = root.join("proc/self/mountinfo");
        let mounts = fs::read(&table).map_err(|source| StackError::io("read", &table, source))?;
        let known = fs::read_to_string(root.join("proc/cgroups")).unwrap_or_default();
        Ok(Self { root: root.to_owned(), membership, mounts: mountinfo::parse(&mounts), known })
    }

    /// Which version has the controller. One that version 1 has claimed is not in version 2, whatever else is mounted:
    /// that is how hybrid systems have `blkio` in version 1 and nothing in version 2 (cgroups(7)).
    pub(crate) fn version_of(&self, controller: Controller) -> CgroupVersion {
        match self.own_group_1(controller) {
            Some(_) => CgroupVersion::One,
            None => CgroupVersion::Two,
        }
    }

    /// Where groups with the controllers can be made: one place for each hierarchy that has some of them.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] with what is missing and the next command.
    pub(crate) fn places(&self, controllers: &[Controller]) -> Result<Vec<GroupPlace>, StackError> {
        let mut places: Vec<GroupPlace> = Vec::new();
        for &controller in controllers {
            if let Some(own) = self.own_group_1(controller) {
                let place = self.place_1(controller, &own)?;
                // `cpu` and `cpuacct` are often mounted together.
                match places.iter_mut().find(|known| known.parent == place.parent) {
                    Some(known) => known.controllers.push(controller),
                    None => places.push(place),
                }
            }
        }
        let of_2: Vec<Controller> = controllers
            .iter()
            .copied()
            .filter(|&controller| self.version_of(controller) == CgroupVersion::Two)
            .collect();
        if !of_2.is_empty() {
            places.push(self.place_2(&of_2)?);
        }
        Ok(places)
    }

    /// The path of this process's group in the hierarchy of version 1 that has the controller: `7:blkio:/path`.
    fn own_group_1(&self, controller: Controller) -> Option<PathBuf> {
        self.own_group(&|names| names.split(',').any(|name| name == controller.name_1()))
    }

    /// The group that this process is in in the hierarchy that has the controller, and those above it as far as it can see,
    /// nearest first; none where no mount shows them.
    pub(crate) fn line_with(&self, controller: Controller) -> Option<Vec<PathBuf>> {
        let is_in = |mount: &&Mount| match self.version_of(controller) {
            CgroupVersion::One => {
                mount.filesystem == "cgroup"
                    && mount.super_options.iter().any(|option| option == controller.name_1())
            }
            CgroupVersion::Two => mount.filesystem == "cgroup2",
        };
        let own = self.own_group_1(controller).or_else(|| self.own_group(&str::is_empty))?;
        self.line_of(self.mounts.iter().filter(is_in), &own)
    }

    /// The group that this process is in in the hierarchy of version 2; none where it cannot be reached.
    pub(crate) fn home_2(&self) -> Option<PathBuf> {
        let own = self.own_group(&str::is_empty)?;
        self.line_of(self.mounts.iter().filter(|mount| mount.filesystem == "cgroup2"), &own)?
            .into_iter()
            .next()
    }

    /// The group of the process in the hierarchy that another group is of; none where it cannot be reached.
    pub(crate) fn home_beside(&self, group: &Path) -> Option<PathBuf> {
        let is_above = |mount: &&Mount| {
            matches!(mount.filesystem.as_str(), "cgroup" | "cgroup2") && group.starts_with(&mount.target)
        };
        let mount = self.mounts.iter().filter(is_above).max_by_key(|mount| mount.target.as_os_str().len())?;
        let is_version_2 = mount.filesystem == "cgroup2";
        let own = self.own_group(&|names| {
            if is_version_2 {
                names.is_empty()
            } else {
                names.split(',').any(|name| mount.super_options.iter().any(|option| option == name))
            }
        })?;
        self.line_of(std::iter::once(mount), &own)?.into_iter().next()
    }

    /// `7:blkio:/path` of version 1, `0::/path` of version 2.
    fn own_group(&self, is_it: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
        self.membership.lines().find_map(|line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            is_it(names).then(|| PathBuf::from(path))
        })
    }

    fn place_1(&self, controller: Controller, own: &Path) -> Result<GroupPlace, StackError> {
        let name = controller.name_1();
        let is_it = |mount: &&Mount| {
            mount.filesystem == "cgroup" && mount.super_options.iter().any(|option| option == name)
        };
        let line = self.line_of(self.mounts.iter().filter(is_it), own).ok_or_else(|| {
            let purpose = controller.purpose();
            StackError::unexpected(
                "/proc/self/mountinfo",
                format!(
                    "the `{name}` controller of cgroup v1, which {purpose}, is not mounted where this process could \
                     reach it; next: `mount -t cgroup -o {name} cgroup /sys/fs/cgroup/{name}`"
                ),
            )
        })?;
        let home = line.first().cloned().unwrap_or_default();
        let file = home.join(controller.file_1());
        if !file.exists() {
            let option = controller.option();
            let reason = format!(
                "it is not there: the kernel was built without `{option}`; next: `uname -r`, and a kernel with it"
            );
            return Err(StackError::unexpected(&file, reason));
        }
        // Version 1 knows groups with processes and children, so the own group always serves.
        checked_writable(GroupPlace {
            version: CgroupVersion::One,
            controllers: vec![controller],
            parent: home.clone(),
            home,
            hand_down: Vec::new(),
            line,
        })
    }

    fn place_2(&self, controllers: &[Controller]) -> Result<GroupPlace, StackError> {
        let unified = self.own_group(&str::is_empty).and_then(|own| {
            self.line_of(self.mounts.iter().filter(|mount| mount.filesystem == "cgroup2"), &own)
        });
        let line = unified.unwrap_or_default();
        let Some((home, top)) = line.first().zip(line.last()) else {
            return Err(self.nothing_mounted(controllers));
        };
        if let Some((parent, hand_down)) = v2::choose_parent(&line, controllers) {
            let (home, controllers) = (home.clone(), controllers.to_vec());
            let line = line.iter().skip_while(|group| **group != parent).cloned().collect();
            let version = CgroupVersion::Two;
            return checked_writable(GroupPlace { version, controllers, home, parent, hand_down, line });
        }
        let Some(&lacking) = v2::not_there(top, controllers).first() else {
            let names = in_words(controllers);
            return Err(StackError::unexpected(
                top,
                format!(
                    "it holds processes, so it cannot delegate the {names} controller to a child cgroup (cgroups(7), \"no \
                     internal processes\"); next: `systemd-run --scope --property=Delegate=yes iostone run ...`, or, in a \
                     container, start it with the host's groups: `docker run --cgroupns=host ...`"
                ),
            ));
        };
        Err(self.lacking_2(top, lacking))
    }

    fn nothing_mounted(&self, controllers: &[Controller]) -> StackError {
        if let Some(&off) = controllers.iter().find(|&&one| self.is_switched_off(one)) {
            return switched_off(off);
        }
        let purpose = controllers.first().map_or("programs are limited by", |one| one.purpose());
        StackError::unexpected(
            "/proc/self/mountinfo",
            format!(
                "no cgroup filesystem is mounted where this process can reach it, and {purpose} cgroups; next: `mount -t \
                 cgroup2 cgroup2 /sys/fs/cgroup`"
            ),
        )
    }

    fn lacking_2(&self, top: &Path, controller: Controller) -> StackError {
        if self.is_switched_off(controller) {
            return switched_off(controller);
        }
        let (name, purpose) = (controller.name_2().unwrap_or_default(), controller.purpose());
        // Only the root of all groups has no type, and it lists what the kernel has.
        let because = if top.join("cgroup.type").exists() {
            "this container or service did not get it delegated; next: \
             `systemd-run --scope --property=Delegate=yes iostone run ...`"
                .to_owned()
        } else {
            let option = controller.option();
            format!("the kernel was built without `{option}`; next: `uname -r`, and a kernel with it")
        };
        let reason = format!("it does not list the controller `{name}`, which {purpose}: {because}");
        StackError::unexpected(top.join(v2::CONTROLLERS), reason)
    }

    /// Whether the kernel's command line keeps the controller off (`cgroup_disable`, `/proc/cgroups`).
    fn is_switched_off(&self, controller: Controller) -> bool {
        self.known.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.first() == Some(&controller.name_1()) && words.get(3) == Some(&"0")
        })
    }

    /// The group of a membership and those above it up to the mount, nearest first; none if no mount shows it.
    fn line_of<'a>(&self, mut mounts: impl Iterator<Item = &'a Mount>, own: &Path) -> Option<Vec<PathBuf>> {
        let place = |path: &Path| self.root.join(path.strip_prefix("/").unwrap_or(path));
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
}

fn switched_off(controller: Controller) -> StackError {
    let (name, purpose) = (controller.name_1(), controller.purpose());
    StackError::unexpected(
        "/proc/cgroups",
        format!(
            "`{name}`, the controller that {purpose}, is switched off; next: boot without `cgroup_disable={name}`, or \
             with `cgroup_enable={name}`"
        ),
    )
}

/// "`cpu` and `memory`".
fn in_words(controllers: &[Controller]) -> String {
    list(&quoted(controllers.iter().filter_map(|one| one.name_2())))
}

/// A container often sees its groups read-only.
fn checked_writable(place: GroupPlace) -> Result<GroupPlace, StackError> {
    let access = rustix::fs::access(&place.parent, rustix::fs::Access::WRITE_OK);
    let reason = match access {
        Ok(()) => return Ok(place),
        Err(rustix::io::Errno::ROFS) => {
            "it is mounted read-only, and limits need a new cgroup in it; next: `mount -o \
                                         remount,rw` it, or start the container with `--privileged`"
                .to_owned()
        }
        Err(errno) => format!("no cgroup can be created in it ({errno}); next: run it with `sudo`"),
    };
    Err(StackError::unexpected(&place.parent, reason))
}

/// Without the slash that joining nothing leaves at the end.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests;
