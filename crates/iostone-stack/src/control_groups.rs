//! What all layers on control groups share: which version has a controller, where a group can be made, how limits are
//! lifted again.

mod controller;
#[cfg(test)]
pub(crate) mod fixture;
mod lifting;
mod places;
mod v2;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use controller::Controller;
pub(crate) use lifting::lift_limits;
pub(crate) use places::{GroupPlace, Hierarchies};
pub(crate) use v2::{hand_down, in_words, stop_handing_down};

use crate::error::StackError;
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
/// to a container's hand all of them down, and never take one back.
pub(crate) fn remember_handed_down(site: &mut Site) -> Result<(), StackError> {
    for mounted in mountinfo::own_mounts()?.iter().filter(|mounted| mounted.filesystem == "cgroup2") {
        let controllers = v2::kept_back(&mounted.target);
        let controllers: Vec<String> =
            controllers.iter().filter_map(|one| one.name_2()).map(str::to_owned).collect();
        if !controllers.is_empty() {
            let step = Step::HandDown { group: mounted.target.clone(), controllers };
            site.journal.begin(Scope::Trial, step)?;
        }
    }
    Ok(())
}

/// Has a group hand controllers down to its children, through the journal.
pub(crate) fn hand_down_in(
    site: &mut Site,
    layer: &'static str,
    group: &Path,
    controllers: &[Controller],
) -> Result<(), StackError> {
    let names = controllers.iter().filter_map(|one| one.name_2()).map(str::to_owned).collect();
    let step = Step::HandDown { group: group.to_owned(), controllers: names };
    site.journal.begin(Scope::Trial, step)?;
    hand_down(layer, group, controllers)
}
