//! The place that an agent takes up where somebody else has built it: in a container, or beside one.

use std::path::PathBuf;

use iostone_workload::Place;

/// Where an agent works that has no session of its own: somebody else has built it, and takes it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entered {
    pub(crate) directory: PathBuf,
    /// The environment variable, name and value, of every process that is started.
    pub(crate) marker: (String, String),
}

impl Entered {
    pub(crate) fn place(&self) -> Place {
        Place { directory: Some(self.directory.clone()), device: None }
    }
}
