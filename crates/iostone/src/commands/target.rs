//! What commands that load files and devices ask before they write to one.

use std::path::Path;

use anyhow::{Result, bail};
use iostone_machine::Failure;
use iostone_model::experiment::{BlockVolume, Stack, Volume};
use iostone_stack::{Permission, Registry, Session, StackError};

/// Writing to a device destroys what is on it: the guard refuses one on which anything is, unless its stable name is
/// among those in `destroy`.
pub(super) fn guard_device(device: &Path, destroy: &[String]) -> Result<()> {
    Ok(inspect_device(device, destroy).map_err(Failure::from)?)
}

/// As [`guard_device`], with the guard's own answer.
pub(super) fn inspect_device(device: &Path, destroy: &[String]) -> std::result::Result<(), StackError> {
    let device = std::path::absolute(device).map_err(|source| StackError::Io {
        action: "find",
        object: device.display().to_string(),
        source,
    })?;
    let stack = Stack::of(Volume::Block(BlockVolume { devices: vec![device] }));
    let registry = Registry::open()?;
    let permission = Permission { destroy, registry: Some(&registry) };
    Session::preflight_permitting(&stack, false, Path::new("/"), &permission).map(|_| ())
}

/// Refuses to make a file below `/dev`: a typing error in a device's name must not fill the memory that `/dev` lies in.
pub(super) fn refuse_mistyped_device(path: &Path) -> Result<()> {
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        bail!("there is no device `{}`; `lsblk` lists those that there are", path.display());
    }
    Ok(())
}
