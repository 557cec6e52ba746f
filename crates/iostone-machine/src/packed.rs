//! An archive in memory that has no name, so that nothing of it is left whatever happens.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use iostone_guest::{Cargo, GuestError};
use rustix::fs::MemfdFlags;

use crate::failure::{Failure, FailureKind};

/// What was packed; whoever needs it reads it by the way of this process's descriptors.
#[derive(Debug)]
pub(crate) struct Packed {
    memory: OwnedFd,
    pub(crate) bytes: u64,
    /// What is worth repeating in the report.
    pub(crate) notes: Vec<String>,
}

impl Packed {
    /// As a guest's kernel unpacks it: cpio.
    ///
    /// # Errors
    /// Something that goes in cannot be read, or there is no memory for it.
    pub(crate) fn for_kernel(cargo: &Cargo) -> Result<Self, Failure> {
        Self::pack(cargo, Cargo::write)
    }

    /// As an engine of containers imports it: tar.
    ///
    /// # Errors
    /// As [`Packed::for_kernel`].
    pub(crate) fn for_engine(cargo: &Cargo) -> Result<Self, Failure> {
        Self::pack(cargo, Cargo::write_tar)
    }

    fn pack(
        cargo: &Cargo,
        write: impl FnOnce(&Cargo, &Path) -> Result<u64, GuestError>,
    ) -> Result<Self, Failure> {
        let memory = rustix::fs::memfd_create("iostone-archive", MemfdFlags::CLOEXEC)
            .map_err(|error| Failure::new(FailureKind::Failed, format!("memory for an archive: {error}")))?;
        let bytes = write(cargo, &path_of(&memory))?;
        Ok(Self { memory, bytes, notes: cargo.notes().to_vec() })
    }

    /// Where another process of this user's finds it while this process lives.
    pub(crate) fn path(&self) -> PathBuf {
        path_of(&self.memory)
    }
}

/// A file of this process's without a name, as others can open it (proc(5), `/proc/PID/fd`).
pub(crate) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}
