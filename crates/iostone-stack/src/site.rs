//! The site that layers build on: the journal, the places of the session, and what the layers below have made so far.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::array::OwnArray;
use crate::below::drops_syncs_at;
use crate::container::{Provision, StandingContainer};
use crate::device::{BlockDevice, DeviceNumber};
use crate::disk_server::Watch;
use crate::error::StackError;
use crate::governor::GovernorProcess;
use crate::guard::{Allowance, Claim, Leftovers};
use crate::journal::{Journal, sync_directory};
use crate::limit::TrialGroups;
use crate::step::{FileIdentity, Scope, Step};
use crate::throttle::ThrottleGroup;

/// The path of a socket has at most 107 bytes (unix(7)); so many are left for the name within its directory.
const SOCKET_DIRECTORY_BYTES: usize = 107 - 24;

/// The image file that is kept from trial to trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
    pub(crate) identity: FileIdentity,
    /// Its entry in the journal.
    pub(crate) entry: usize,
}

/// What a device of ours stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A loop device over that file or node.
    Loop(FileIdentity),
    /// A network block device at a socket of ours.
    Nbd,
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
    /// The images that are kept from trial to trial.
    pub(crate) images: Vec<Image>,
    /// The program that serves volumes as `PROGRAM disk plan`; this one if none.
    pub(crate) server_program: Option<PathBuf>,
    /// Locks on the user's devices, held for the whole session.
    pub(crate) claims: BTreeMap<DeviceNumber, Claim>,
    /// The lock on the kernel's settings, held from the first that is changed to the end of the session.
    pub(crate) sysctl_lock: Option<File>,
    /// What earlier runs left on devices.
    pub(crate) leftovers: Leftovers,
    /// What the containers of the coming trials are made of.
    pub(crate) provision: Provision,
    // What the layers of this trial have made, bottom up.
    pub(crate) trial: u32,
    pub(crate) seed: u64,
    /// The image that the volume's loop device stands on, if it is one.
    pub(crate) image: Option<Image>,
    /// Devices that this session itself attached, with what they stand on.
    pub(crate) attached: BTreeMap<DeviceNumber, Origin>,
    /// The directory of this trial for sockets and the like.
    pub(crate) trial_directory: Option<PathBuf>,
    /// That in `/run`, where one was needed.
    short_directory: Option<PathBuf>,
    /// Where the disk server of this trial is steered.
    pub(crate) disk_control: Option<PathBuf>,
    /// Sees to it that nothing waits for that server for good once the user has asked to stop.
    pub(crate) watch: Option<Watch>,
    /// Servers of this trial, to be waited for once they have ended.
    pub(crate) servers: Vec<Child>,
    pub(crate) device: Option<BlockDevice>,
    /// The volumes, one or several; an array joins them into `device`, or a btrfs takes them all.
    pub(crate) members: Vec<BlockDevice>,
    /// How an array lays data over its members; none without one, and where it is not striped.
    pub(crate) geometry: Option<Geometry>,
    /// The array that was made, by what tells it from any other; `device` is it then.
    pub(crate) array: Option<OwnArray>,
    /// The device between the volume and its file, whose limits the volumes on it share.
    pub(crate) instance: Option<BlockDevice>,
    /// The control group with the limits.
    pub(crate) throttle: Option<ThrottleGroup>,
    /// The control groups of the limit layer and the governor.
    pub(crate) groups: Option<TrialGroups>,
    /// The process that governs the inner of them.
    pub(crate) governor: Option<GovernorProcess>,
    /// UUID of the filesystem that we made on the device.
    pub(crate) filesystem_uuid: Option<String>,
    pub(crate) filesystem_kind: Option<&'static str>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) mount: Option<PathBuf>,
    /// The container, once it stands.
    pub(crate) container: Option<StandingContainer>,
    /// A directory on the filesystem that the volume stands on, for finding the disks below.
    pub(crate) stands_on: Option<PathBuf>,
    pub(crate) notes: Vec<String>,
}

impl Site {
    /// This program, or the one that stands for it in tests.
    ///
    /// # Errors
    /// [`StackError::Io`] when the kernel does not tell its path.
    pub(crate) fn own_program(&self) -> Result<PathBuf, StackError> {
        match &self.server_program {
            Some(program) => Ok(program.clone()),
            None => {
                std::env::current_exe().map_err(|source| StackError::io("find", "/proc/self/exe", source))
            }
        }
    }

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
            images: Vec::new(),
            server_program: None,
            claims: BTreeMap::new(),
            sysctl_lock: None,
            leftovers: Leftovers::default(),
            provision: Provision::default(),
            trial: 0,
            seed: 0,
            image: None,
            attached: BTreeMap::new(),
            trial_directory: None,
            short_directory: None,
            disk_control: None,
            watch: None,
            servers: Vec::new(),
            device: None,
            members: Vec::new(),
            geometry: None,
            array: None,
            instance: None,
            throttle: None,
            groups: None,
            governor: None,
            filesystem_uuid: None,
            filesystem_kind: None,
            directory: None,
            mount: None,
            container: None,
            stands_on: None,
            notes: Vec::new(),
        }
    }

    /// Whether what the volume stands on drops every fsync.
    pub(crate) fn syncs_dropped_below(&self) -> Result<bool, StackError> {
        self.stands_on.as_deref().map_or(Ok(false), drops_syncs_at)
    }

    /// What the guard is told of this session.
    pub(crate) fn allowance(&self) -> Allowance<'_> {
        Allowance { destroy: &self.destroy, claims: &self.claims, leftovers: &self.leftovers, early: false }
    }

    /// Forgets what the layers of the last trial made; for use once it is undone.
    pub(crate) fn clear(&mut self) {
        self.image = None;
        self.attached.clear();
        self.trial_directory = None;
        self.short_directory = None;
        self.disk_control = None;
        self.watch = None;
        for mut server in self.servers.drain(..) {
            // Its step ended it; here it only leaves the table of processes.
            let _ = server.kill();
            let _ = server.wait();
        }
        self.device = None;
        self.members.clear();
        self.geometry = None;
        self.array = None;
        self.instance = None;
        self.throttle = None;
        self.groups = None;
        self.governor = None;
        self.filesystem_uuid = None;
        self.filesystem_kind = None;
        self.directory = None;
        self.mount = None;
        self.container = None;
        self.stands_on = None;
        self.notes.clear();
    }

    /// Begins to watch over the disk server of this trial, if there is one and somebody can ask to stop.
    ///
    /// # Errors
    /// [`StackError::Io`] when no thread can be started.
    pub(crate) fn watch_server(&mut self) -> Result<(), StackError> {
        if self.watch.is_none()
            && let (Some(interrupt), Some(control)) = (&self.interrupt, &self.disk_control)
        {
            self.watch = Some(Watch::start(Arc::clone(interrupt), control.clone())?);
        }
        Ok(())
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

    /// The session's hidden directory within `parent`, open to nobody else.
    pub(crate) fn hidden_directory(&mut self, parent: &Path) -> Result<PathBuf, StackError> {
        let found = fs::canonicalize(parent).map_err(|source| StackError::io("find", parent, source))?;
        let directory = found.join(hidden_directory_name(&self.journal.owner.token));
        self.make_directory_with(&directory, Scope::Session, true, 0o700)?;
        Ok(directory)
    }

    /// The directory of this trial for sockets, consoles and the like, open to nobody else; below the work directory or,
    /// where that lies so deep that the name of a socket would be too long (`sun_path`, unix(7)), below `/var/tmp`.
    pub(crate) fn trial_directory(&mut self) -> Result<PathBuf, StackError> {
        if let Some(directory) = &self.trial_directory {
            return Ok(directory.clone());
        }
        self.make_work_directory()?;
        let work = fs::canonicalize(&self.work_directory)
            .map_err(|source| StackError::io("find", &self.work_directory, source))?;
        let name = format!("trial-{}", self.trial);
        let wanted = work.join(self.directory_name()).join(&name);
        let fits = wanted.as_os_str().len() <= SOCKET_DIRECTORY_BYTES;
        let parent = if fits { self.work_directory.clone() } else { PathBuf::from("/var/tmp") };
        let directory = self.own_directory(&parent)?.join(name);
        self.make_directory_with(&directory, Scope::Trial, true, 0o700)?;
        self.trial_directory = Some(directory.clone());
        Ok(directory)
    }

    /// A directory of this trial in `/run`, for programs that refuse long paths.
    pub(crate) fn short_directory(&mut self) -> Result<PathBuf, StackError> {
        if let Some(directory) = &self.short_directory {
            return Ok(directory.clone());
        }
        let directory = short_directory(&self.journal.owner.token)
            .ok_or_else(|| StackError::unexpected(&self.journal.path, "its token holds no random bits"))?;
        self.make_directory_with(&directory, Scope::Trial, true, 0o700)?;
        self.short_directory = Some(directory.clone());
        Ok(directory)
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
        self.make_directory_with(path, scope, content_is_ours, 0o755)
    }

    fn make_directory_with(
        &mut self,
        path: &Path,
        scope: Scope,
        content_is_ours: bool,
        mode: u32,
    ) -> Result<(), StackError> {
        let number = self.journal.begin(scope, Step::Directory { path: path.to_owned(), content_is_ours })?;
        if let Err(source) = fs::DirBuilder::new().mode(mode).create(path) {
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

/// What the names of all sessions' own directories begin with.
pub(crate) const OWN_PREFIX: &str = "iostone-";

/// The name of a session's own directories.
pub(crate) fn own_directory_name(token: &str) -> String {
    format!("{OWN_PREFIX}{token}")
}

/// Whether a name is that of a directory of some session: the prefix, and random bits at the end.
pub(crate) fn is_own_name(name: &OsStr) -> bool {
    let token = name.to_str().and_then(|name| name.strip_prefix(OWN_PREFIX));
    token.is_some_and(|token| random_bits(token).is_some())
}

/// The name of one that lies among the user's own files.
pub(crate) fn hidden_directory_name(token: &str) -> String {
    format!(".{}", own_directory_name(token))
}

/// A directory whose path has to be short, with room for 50 characters in all: the random bits of the token tell it from
/// all others. None for a token without them.
pub(crate) fn short_directory(token: &str) -> Option<PathBuf> {
    random_bits(token).map(|random| Path::new("/run").join(format!("{OWN_PREFIX}{random}")))
}

/// Whether a token ends in random bits.
pub(crate) fn has_random_bits(token: &str) -> bool {
    random_bits(token).is_some()
}

fn random_bits(token: &str) -> Option<&str> {
    let random = token.rsplit('-').next().unwrap_or_default();
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_random.then_some(random)
}
