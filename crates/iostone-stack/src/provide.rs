//! Volumes for a guest: the same as on this host, but handed to QEMU as drives instead of built upon here.

use std::path::PathBuf;
use std::process::{Child, Command};

use iostone_model::experiment::Stack;

use crate::error::StackError;
use crate::session::Session;

/// The environment variable by which the servers of a session are known: those of volumes, and guests.
pub(crate) const SERVER_VARIABLE: &str = "IOSTONE_SERVER";

/// A drive for a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// What the guest finds in `/sys/block/NAME/serial`, at most 20 bytes: `iostone-v0`.
    pub serial: String,
    /// Where its bytes come from.
    pub source: DriveSource,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// Where the bytes of a drive come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriveSource {
    /// A raw image, or a block device of this host.
    File {
        /// Its path.
        path: PathBuf,
        /// Past the host's page cache.
        direct: bool,
    },
    /// A Unix socket at which an NBD server of this session speaks.
    Nbd {
        /// Its path.
        socket: PathBuf,
    },
}

/// Volumes that stand ready for a guest.
#[derive(Debug, Clone, PartialEq)]
pub struct Provided {
    /// The drives, in the order of the volumes.
    pub drives: Vec<Drive>,
    /// The same stack as the guest's agent is to build it: a `block` volume of those serials, `serial:iostone-v0`, with
    /// everything above as it was; a `directory` volume stays one.
    pub stack: Stack,
    /// What is worth repeating in the report.
    pub notes: Vec<String>,
}

impl Session {
    /// Makes a trial's volumes for a guest: images filled, servers running. [`Session::undo`] takes them away.
    ///
    /// # Errors
    /// As [`Session::apply`].
    pub fn provide(&mut self, _stack: &Stack, _trial: u32, _seed: u64) -> Result<Provided, StackError> {
        Err(StackError::usage("machine", "not built yet"))
    }

    /// Starts a server of this trial, QEMU for one: written into the journal before, ended by [`Session::undo`] after
    /// everything that stands on it, and by the kernel should this process die.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be started.
    pub fn spawn_server(&mut self, _command: Command) -> Result<Child, StackError> {
        Err(StackError::usage("machine", "not built yet"))
    }

    /// A directory of this session's own for the sockets, consoles and archives of its trial.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be made.
    pub fn trial_directory(&mut self) -> Result<PathBuf, StackError> {
        Err(StackError::usage("machine", "not built yet"))
    }
}
