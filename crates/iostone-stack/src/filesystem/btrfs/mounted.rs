//! A btrfs once it is mounted: what only then can be set, how far it reads ahead, and read back, how it lies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Array, Btrfs, Stack};
use iostone_model::trial::Check;

use super::super::making::expect;
use super::{Profiles, arguments_of};
use crate::device::{linked_devices, read_attribute};
use crate::error::StackError;
use crate::layer::Layer;
use crate::queue::Readahead;
use crate::site::Site;

/// The layer on top of the mount. btrfs reads ahead by a setting of its own, and not by that of its devices; it goes with
/// the mount, so nothing is put back.
#[derive(Debug)]
pub(crate) struct MountedBtrfs {
    profiles: Profiles,
    members: Option<usize>,
    readahead: Option<Readahead>,
}

impl MountedBtrfs {
    /// # Errors
    /// [`StackError::Usage`] for arguments as [`super::BtrfsLayer::new`] refuses them.
    pub(crate) fn new(btrfs: &Btrfs, stack: &Stack) -> Result<Self, StackError> {
        let (_, profiles) = arguments_of(btrfs, &stack.array)?;
        let members = matches!(stack.array, Array::Btrfs(_)).then(|| stack.volume.members());
        Ok(Self { profiles, members, readahead: Readahead::of(&stack.queue) })
    }
}

/// `/sys/fs/btrfs/UUID` (btrfs(5), "Filesystem-specific sysfs interface").
fn sysfs_of(site: &Site) -> PathBuf {
    Path::new("/sys/fs/btrfs").join(site.filesystem_uuid.as_deref().unwrap_or_default())
}

impl Layer for MountedBtrfs {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        if let Some(readahead) = self.readahead {
            let path = sysfs_of(site).join("bdi/read_ahead_kb");
            fs::write(&path, readahead.kib().to_string())
                .map_err(|source| StackError::io("write", &path, source))?;
        }
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let sysfs = sysfs_of(site);
        let mut checks = Vec::new();
        if let Some(members) = self.members {
            let devices = sysfs.join("devices");
            let found = linked_devices(&devices).len();
            let from = devices.display().to_string();
            checks.push(expect(format!("{members} devices"), format!("{found} devices"), from)?);
        }
        let (data, metadata) = if self.profiles.is_mixed { ("mixed", "mixed") } else { ("data", "metadata") };
        for (what, profile) in [(data, &self.profiles.data), (metadata, &self.profiles.metadata)] {
            let Some(asked) = profile else { continue };
            let allocation = sysfs.join("allocation").join(what);
            let found = profiles_in(&allocation)?;
            let read_back = found.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
            let from = allocation.display().to_string();
            checks.push(expect(format!("{what} {asked}"), format!("{what} {read_back}"), from)?);
        }
        if let Some(readahead) = self.readahead {
            let path = sysfs.join("bdi/read_ahead_kb");
            checks.push(readahead.check(&read_attribute(&path)?, path.display().to_string())?);
        }
        Ok(checks)
    }
}

/// The profiles that a kind of chunks lies in: each has a directory beside the attributes.
fn profiles_in(allocation: &Path) -> Result<BTreeSet<String>, StackError> {
    let entries = fs::read_dir(allocation).map_err(|source| StackError::io("read", allocation, source))?;
    Ok(entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}
