//! What all layers on control groups share: which version has a controller, where a group can be made, how limits are
//! lifted again.

mod controller;
#[cfg(test)]
pub(crate) mod fixture;
mod lifting;
mod places;
mod v2;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use controller::Controller;
pub(crate) use lifting::lift_limits;
pub(crate) use places::{GroupPlace, Hierarchies};
pub(crate) use v2::{hand_down, in_words, is_known_controller, stop_handing_down};

use crate::error::StackError;
use crate::journal::{self, Journal};
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};

/// The two interfaces of control groups, of which a controller is in one at a time (cgroups(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CgroupVersion {
    /// A hierarchy for each controller, Documentation/admin-guide/cgroup-v1.
    One,
    /// One hierarchy for all, Documentation/admin-guide/cgroup-v2.rst.
    Two,
}

impl CgroupVersion {
    /// The controller of devices with its version: "cgroup v1 blkio".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::One => "cgroup v1 blkio",
            Self::Two => "cgroup v2 io",
        }
    }

    /// "cgroup v1".
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "cgroup v1",
            Self::Two => "cgroup v2",
        }
    }
}

/// Where the hierarchy of control groups that a path lies in is mounted; none for a path elsewhere.
pub(crate) fn hierarchy_of(path: &Path) -> Option<PathBuf> {
    let mounts = mountinfo::own_mounts().ok()?;
    // Of two at one place the later one hides the other.
    let above = mounts.into_iter().filter(|mounted| path.starts_with(&mounted.target));
    let innermost = above.max_by_key(|mounted| mounted.target.as_os_str().len())?;
    matches!(innermost.filesystem.as_str(), "cgroup" | "cgroup2").then_some(innermost.target)
}

/// Writes one line into a file of a group; those files take a whole setting in one write.
pub(crate) fn write_line(file: &Path, line: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(file)?.write_all(line.as_bytes())
}

/// Makes a group through the journal. Its name holds the session's token, so that nobody else's is ever taken for it.
pub(crate) fn make_group(site: &mut Site, path: &Path, home: &Path) -> Result<(), StackError> {
    let step = Step::ControlGroup { path: path.to_owned(), home: home.to_owned() };
    let number = site.journal.begin(Scope::Trial, step)?;
    std::fs::create_dir(path).map_err(|source| {
        site.journal.mark_undone(number);
        StackError::io("mkdir", path, source)
    })
}

/// Writes down which controllers the top group of version 2 does not hand down yet: runc and crun have every group on the way
/// to a container's hand all of them down, and never take one back. Those that another session will take back count, too:
/// whichever of the two is the last has to.
pub(crate) fn remember_handed_down(site: &mut Site) -> Result<(), StackError> {
    // Before the look at the group: what is taken back between the two is seen there.
    let others = handed_down_by_others(&site.journal);
    for mounted in mountinfo::own_mounts()?.iter().filter(|mounted| mounted.filesystem == "cgroup2") {
        let mut controllers = of_group(&others, &mounted.target);
        controllers.extend(v2::kept_back(&mounted.target));
        let controllers: Vec<String> = controllers.into_iter().collect();
        if !controllers.is_empty() {
            let step = Step::HandDown { group: mounted.target.clone(), controllers };
            site.journal.begin(Scope::Trial, step)?;
        }
    }
    Ok(())
}

/// What the other journals beside one say about groups that were told to hand controllers down on this boot.
fn handed_down_by_others(own: &Journal) -> Vec<(PathBuf, Vec<String>)> {
    let entries = own
        .path
        .parent()
        .and_then(|journals| std::fs::read_dir(journals).ok())
        .into_iter()
        .flatten()
        .flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| *path != own.path);
    let of_this_boot = others
        .filter_map(|path| journal::peek(&path, own.key()))
        .filter(|(owner, _)| owner.is_of_this_boot().unwrap_or(false));
    of_this_boot
        .flat_map(|(_, entries)| entries)
        .filter_map(|entry| match entry.step {
            Step::HandDown { group, controllers } if !entry.undone => Some((group, controllers)),
            _ => None,
        })
        .collect()
}

/// The controllers that are told of a group.
fn of_group(told: &[(PathBuf, Vec<String>)], group: &Path) -> BTreeSet<String> {
    told.iter().filter(|(known, _)| known == group).flat_map(|(_, names)| names.clone()).collect()
}

/// The controllers that a session with that journal takes back from a group that it tells to hand some down: these, and those
/// that another session will try to.
fn to_take_back(own: &Journal, group: &Path, controllers: &[Controller]) -> BTreeSet<String> {
    let mut names = of_group(&handed_down_by_others(own), group);
    names.extend(controllers.iter().filter_map(|one| one.name_2()).map(str::to_owned));
    names
}

/// Has a group hand controllers down to its children, if any, through the journal. To be called before a group is made in it
/// in any case: what another session would take back, and cannot once that group is there, is taken back by this one, too.
pub(crate) fn hand_down_in(
    site: &mut Site,
    layer: &'static str,
    group: &Path,
    controllers: &[Controller],
) -> Result<(), StackError> {
    let names = to_take_back(&site.journal, group, controllers);
    if names.is_empty() {
        return Ok(());
    }
    let step = Step::HandDown { group: group.to_owned(), controllers: names.into_iter().collect() };
    site.journal.begin(Scope::Trial, step)?;
    if controllers.is_empty() { Ok(()) } else { hand_down(layer, group, controllers) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::Owner;
    use crate::seal::Key;

    #[test]
    fn what_others_will_take_back_is_known_until_they_have() {
        let directory = tempfile::tempdir().unwrap();
        let begin = |token: &str| {
            let owner = Owner::current(Path::new("/run-directory"), token).unwrap();
            Journal::create(directory.path(), &owner, &Key::for_tests()).unwrap()
        };
        let (own, mut other) = (begin("own-0123456789abcdef"), begin("other-0123456789abcdef"));
        assert_eq!(handed_down_by_others(&own), []);
        let step = Step::HandDown { group: PathBuf::from("/g"), controllers: vec!["pids".to_owned()] };
        let number = other.begin(Scope::Trial, step).unwrap();
        assert_eq!(handed_down_by_others(&own), [(PathBuf::from("/g"), vec!["pids".to_owned()])]);
        assert_eq!(handed_down_by_others(&other), []);
        let names = |group: &str, controllers: &[Controller]| -> Vec<String> {
            to_take_back(&own, Path::new(group), controllers).into_iter().collect()
        };
        assert_eq!(names("/g", &[Controller::Cpu]), ["cpu", "pids"]);
        assert_eq!(names("/g", &[]), ["pids"], "the last one takes it back, though it handed nothing down");
        assert_eq!(names("/other", &[]), [""; 0]);
        other.mark_undone(number);
        assert_eq!(handed_down_by_others(&own), []);
    }
}
