//! Entering the group with the limits for as long as a workload runs, and going back afterwards.

use std::fs;
use std::path::Path;

use super::{ThrottleGroup, lift_limits, write_line};
use crate::error::StackError;

/// While this lives, this process with all its threads, and every process that it starts, is held to the limits of the
/// trial's volumes. Dropping it goes back as well as it can; [`Confinement::leave`] also says whether it could.
#[derive(Debug)]
#[must_use = "the process leaves the group as soon as this is dropped"]
pub struct Confinement {
    group: ThrottleGroup,
    left: bool,
}

impl Confinement {
    /// Moves this process into the group, and reads back that it is there.
    pub(crate) fn enter(group: &ThrottleGroup) -> Result<Self, StackError> {
        let procs = group.path.join("cgroup.procs");
        // 0 is the writing process, whatever namespace its number is of; all its threads come along.
        write_line(&procs, "0").map_err(|source| StackError::io("enter", &group.path, source))?;
        let confined = Self { group: group.clone(), left: false };
        let inside = fs::read_to_string(&procs).map_err(|source| StackError::io("read", &procs, source))?;
        let own = std::process::id().to_string();
        if !inside.lines().any(|line| line == own) {
            return Err(StackError::NotApplied {
                layer: "throttle",
                asked: format!("process {own} in the group"),
                read_back: inside.split_whitespace().collect::<Vec<_>>().join(" "),
                from: procs.display().to_string(),
            });
        }
        Ok(confined)
    }

    /// Takes all limits off the group: what waits for its turn under them gets it at once. For a workload that is to
    /// end; a thread of ours that moves limits by credits may set one again, so call it until the workload has ended.
    pub fn lift_limits(&self) {
        lift_limits(&self.group.path);
    }

    /// Goes back to the group that this process came from.
    ///
    /// # Errors
    /// [`StackError::Io`] when neither that group nor one above it takes the process.
    pub fn leave(mut self) -> Result<(), StackError> {
        self.left = true;
        go_home("0", &self.group.path, &self.group.home)
            .map_err(|source| StackError::io("leave", &self.group.path, source))
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        if !self.left {
            // What is still in the group is moved out of it again before the group is removed.
            let _ = go_home("0", &self.group.path, &self.group.home);
        }
    }
}

/// Moves a process to the group that it came from or, where that is gone because nobody was left in it, to the nearest
/// one above that takes it.
///
/// # Errors
/// What the kernel says last.
pub(crate) fn go_home(process: &str, from: &Path, home: &Path) -> std::io::Result<()> {
    let mut result = write_line(&home.join("cgroup.procs"), process);
    // The top of the hierarchy is the last directory upward that has such a file.
    for above in home.ancestors().skip(1).chain(from.ancestors().skip(1)) {
        let procs = above.join("cgroup.procs");
        if result.is_ok() || result.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH)) {
            return Ok(());
        }
        if procs.exists() {
            result = write_line(&procs, process);
        }
    }
    result
}
