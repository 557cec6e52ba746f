//! Finding the controller that limits devices: which version of control groups has it, and where a group can be made.

use std::path::PathBuf;

use crate::control_groups::{CgroupVersion, Controller, Hierarchies};
use crate::error::StackError;

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
    /// # Errors
    /// [`StackError::Unexpected`] with what is missing and the next command.
    pub fn find() -> Result<Self, StackError> {
        let places = Hierarchies::look()?.places(&[Controller::Io])?;
        // One controller has one place, or none and an error.
        let place = places.into_iter().next().ok_or_else(|| {
            StackError::unexpected("/proc/self/cgroup", "it names no cgroup of this process")
        })?;
        let must_be_handed_down = !place.hand_down.is_empty();
        Ok(Self { version: place.version, home: place.home, parent: place.parent, must_be_handed_down })
    }
}
