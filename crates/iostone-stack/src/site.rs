//! The site that layers build on: the journal, the places of the session, and what the layers below have made so far.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::{BlockDevice, DeviceNumber};
use crate::error::StackError;
use crate::journal::{Journal, sync_directory};
use crate::step::{FileIdentity, Scope, Step};
use crate::throttle::ThrottleGroup;

/// The image file that is kept from trial to trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
    pub(crate) identity: FileIdentity,
    /// Its entry in the journal.
    pub(crate) entry: usize,
}

/// How an array lays data over its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Bytes on one member before the next follows.
    pub(crate) chunk_bytes: u64,
    /// Members that hold data in a stripe: all of a RAID0, all but one of a RAID5, half of a RAID10.
    pub(crate) data_members: u32,
}

/// What the layers share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) journal: Journal,
    pub(crate) work_directory: PathBuf,
    /// Identities that the user typed in full to let their content be destroyed.
    pub(crate) destroy: Vec<String>,
    interrupt: Option<Arc<AtomicBool>>,
    /// The session's own directories, by the directory that they lie in.
    own_directories: BTreeMap<PathBuf, PathBuf>,
    pub(crate) image: Option<Image>,
    /// Locks on the user's devices, held for the whole session.
    pub(crate) claims: BTreeMap<DeviceNumber, OwnedFd>,
    // What the layers of this trial have made, bottom up.
    pub(crate) trial: u32,
    pub(crate) seed: u64,
    pub(crate) device: Option<BlockDevice>,
    /// The volumes, one or several; an array joins them into `device`, or a btrfs takes them all.
    pub(crate) members: Vec<BlockDevice>,
    /// How an array lays data over its members; none without one, and where it is not striped.
    pub(crate) geometry: Option<Geometry>,
    /// The device between the volume and its file, whose limits the volumes on it share.
    pub(crate) instance: Option<BlockDevice>,
    /// The control group with the limits.
    pub(crate) throttle: Option<ThrottleGroup>,
    /// UUID of the filesystem that we made on the device.
    pub(crate) filesystem_uuid: Option<String>,
    pub(crate) filesystem_kind: Option<&'static str>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) mount: Option<PathBuf>,
    /// A directory on the filesystem that the volume stands on, for finding the disks below.
    pub(crate) stands_on: Option<PathBuf>,
    pub(crate) notes: Vec<String>,
}

impl Site {
    pub(crate) fn new(
        journal: Journal,
        work_directory: PathBuf,
        destroy: Vec<String>,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Self {
        Self {
            journal,
            work_directory,
            destroy,
            interrupt,
            own_directories: BTreeMap::new(),
            image: None,
            claims: BTreeMap::new(),
            trial: 0,
            seed: 0,
            device: None,
            members: Vec::new(),
            geometry: None,
            instance: None,
            throttle: None,
            filesystem_uuid: None,
            filesystem_kind: None,
            directory: None,
            mount: None,
            stands_on: None,
            notes: Vec::new(),
        }
    }

    /// Forgets what the layers of the last trial made; for use once it is undone.
    pub(crate) fn clear(&mut self) {
        self.device = None;
        self.members.clear();
        self.geometry = None;
        self.instance = None;
        self.throttle = None;
        self.filesystem_uuid = None;
        self.filesystem_kind = None;
        self.directory = None;
        self.mount = None;
        self.stands_on = None;
        self.notes.clear();
    }

    /// The flag that asks to stop.
    pub(crate) fn interrupt(&self) -> Option<&AtomicBool> {
        self.interrupt.as_deref()
    }

    /// # Errors
    /// [`StackError::Interrupted`] once the user has asked to stop.
    pub(crate) fn check_interrupt(&self) -> Result<(), StackError> {
        if self.interrupt().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(StackError::Interrupted);
        }
        Ok(())
    }

    /// The device that the layers below made, for a layer that needs one.
    pub(crate) fn require_device(&self, key: &'static str) -> Result<&BlockDevice, StackError> {
        self.device
            .as_ref()
            .ok_or_else(|| StackError::usage(key, "it needs a volume that is a device: `loop` or `block`"))
    }

    /// The session's own directory within `parent`, made at first use and kept to the end of the session.
    pub(crate) fn own_directory(&mut self, parent: &Path) -> Result<PathBuf, StackError> {
        if let Some(own) = self.own_directories.get(parent) {
            return Ok(own.clone());
        }
        let parent_found =
            fs::canonicalize(parent).map_err(|source| StackError::io("find", parent, source))?;
        let own = parent_found.join(self.directory_name());
        self.make_directory(&own, Scope::Session, true)?;
        self.own_directories.insert(parent.to_owned(), own.clone());
        Ok(own)
    }

    /// The name of the session's own directories; holds the token.
    pub(crate) fn directory_name(&self) -> String {
        own_directory_name(&self.journal.owner.token)
    }

    /// Makes the work directory and whatever is missing above it; those are removed at the end if they are empty.
    pub(crate) fn make_work_directory(&mut self) -> Result<(), StackError> {
        let missing: Vec<PathBuf> =
            self.work_directory.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
        for path in missing.iter().rev().filter(|path| !path.as_os_str().is_empty()) {
            match self.make_directory(path, Scope::Session, false) {
                // Somebody else was faster, and it is theirs.
                Err(StackError::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Makes one directory through the journal.
    pub(crate) fn make_directory(
        &mut self,
        path: &Path,
        scope: Scope,
        content_is_ours: bool,
    ) -> Result<(), StackError> {
        let number = self.journal.begin(scope, Step::Directory { path: path.to_owned(), content_is_ours })?;
        if let Err(source) = fs::DirBuilder::new().mode(0o755).create(path) {
            // What is there, if anything, was not made by us.
            self.journal.mark_undone(number);
            return Err(StackError::io("mkdir", path, source));
        }
        if let Some(parent) = path.parent() {
            sync_directory(parent)?;
        }
        let metadata = fs::symlink_metadata(path).map_err(|source| StackError::io("stat", path, source))?;
        self.journal.confirm(number, FileIdentity { dev: metadata.dev(), ino: metadata.ino() })
    }
}

/// The name of a session's own directories.
pub(crate) fn own_directory_name(token: &str) -> String {
    format!("iostone-{token}")
}
