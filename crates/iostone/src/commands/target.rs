//! What the user named to be read or written: found once, held open, and asked about before anything is written to it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use iostone_engine::{Pin, claim_device, path_of_open};
use iostone_machine::Failure;
use iostone_model::experiment::{BlockVolume, Stack, Volume};
use iostone_stack::{
    DeviceLoad, Entry, Permission, Refusal, RefusalReason, Registry, Session, StackError, create_own_file,
};
use rustix::fs::{OFlags, major, minor};
use rustix::io::Errno;

/// A file or device that is held open from when it was found, so that what is checked is what is used.
#[derive(Debug)]
pub(super) struct Held {
    entry: Entry,
    /// A regular file open for reading; anything else by `O_PATH`, which waits for nobody and wakes no device.
    pin: Pin,
    metadata: Metadata,
}

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Found {
    /// Something, held.
    Held(Held),
    /// Nothing yet, in a directory that is held.
    Nothing(Entry),
}

impl Held {
    /// Finds what a path leads to, and holds it.
    ///
    /// # Errors
    /// [`StackError::Refused`] for a link that another user can swap, [`StackError::Io`] for a path that leads nowhere, and
    /// for a regular file that cannot be read.
    pub(super) fn find(path: &Path) -> Result<Found, StackError> {
        let entry = Entry::find(path)?;
        let fail =
            |source: io::Error| StackError::Io { action: "open", object: path.display().to_string(), source };
        let Some(found) = entry.open(OFlags::PATH)? else { return Ok(Found::Nothing(entry)) };
        let metadata = found.metadata().map_err(fail)?;
        if metadata.is_symlink() {
            // It was none when the directory was looked at.
            return Err(fail(Errno::LOOP.into()));
        }
        let pin = if metadata.is_file() { File::open(path_of_open(&found)).map_err(fail)? } else { found };
        Ok(Found::Held(Self { entry, pin: Pin::new(pin), metadata }))
    }

    /// Makes an empty file of iostone's where there was nothing; none if there is something by now.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be made.
    pub(super) fn create(entry: Entry) -> Result<Option<Self>, StackError> {
        let Some(file) = create_own_file(&entry)? else { return Ok(None) };
        let metadata = file.metadata().map_err(|source| StackError::Io {
            action: "looking at",
            object: entry.path().display().to_string(),
            source,
        })?;
        Ok(Some(Self { entry, pin: Pin::new(file), metadata }))
    }

    /// As it was typed.
    pub(super) fn path(&self) -> &Path {
        self.entry.path()
    }

    /// What it was when it was found.
    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(super) fn is_block_device(&self) -> bool {
        self.metadata.file_type().is_block_device()
    }

    pub(super) fn pin(&self) -> &Pin {
        &self.pin
    }

    /// The descriptor; that of a regular file can be read.
    pub(super) fn file(&self) -> &File {
        self.pin.file()
    }

    /// Opens it anew, with flags of its own.
    pub(super) fn open(&self, options: &OpenOptions) -> io::Result<File> {
        self.pin.open(options)
    }

    /// Removes its name, if that still stands for it.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be removed.
    pub(super) fn remove(&self) -> Result<bool, StackError> {
        self.entry.remove(self.file())
    }
}

/// A device that the guard let pass.
#[derive(Debug)]
pub(super) struct GuardedDevice {
    pin: Pin,
    name: PathBuf,
    sequence: Option<String>,
    /// Whether it was empty, or iostone's own.
    is_free: bool,
}

/// Asks the guard for a device that is held open: writing to it destroys what is on it, so one on which anything is is
/// refused, unless its stable name is among those in `destroy`. Messages call it `name`.
///
/// # Errors
/// The guard's refusal.
pub(super) fn inspect_device(
    pin: &Pin,
    name: &Path,
    destroy: &[String],
) -> std::result::Result<GuardedDevice, StackError> {
    let io = |source| StackError::Io { action: "looking at", object: name.display().to_string(), source };
    let number = pin.file().metadata().map_err(io)?.rdev();
    // Read before the guard looks: what is attached under that number later was never looked at.
    let sequence = sequence_of(number);
    let node = node_of(number).unwrap_or_else(|| pin.path());
    let stack = Stack::of(Volume::Block(BlockVolume { devices: vec![node.clone()] }));
    let state = Registry::look().ok();
    let ask = |destroy| {
        let permission = Permission { destroy, state: state.as_deref() };
        Session::preflight_permitting(&stack, false, Path::new("/"), &permission)
    };
    // What is left of content that was let go is the user's still, and needs the word each time.
    let is_free = ask(&[]).is_ok();
    let asked = if is_free { Ok(()) } else { ask(destroy).map(drop) };
    match asked {
        Ok(()) => Ok(GuardedDevice { pin: pin.clone(), name: name.to_owned(), sequence, is_free }),
        Err(StackError::Refused(mut refusal)) => {
            if refusal.device == node {
                name.clone_into(&mut refusal.device);
            }
            Err(StackError::Refused(refusal))
        }
        Err(other) => Err(other),
    }
}

/// Asks the guard for a device whose content stays until a client of it writes: only one in use is refused.
///
/// # Errors
/// The guard's refusal.
pub(super) fn refuse_device_in_use(pin: &Pin, name: &Path) -> Result<()> {
    let asked = match inspect_device(pin, name, &[]) {
        // What the guard asks about behind the content is still to be heard.
        Err(StackError::Refused(refusal)) if refusal.destroy.is_some() => {
            inspect_device(pin, name, refusal.destroy.as_slice())
        }
        Err(StackError::Refused(refusal)) if refusal.reason == RefusalReason::TooSmall => return Ok(()),
        asked => asked,
    };
    Ok(asked.map(drop).map_err(Failure::from)?)
}

impl GuardedDevice {
    /// Takes the device for this process alone (`O_EXCL` of open(2)), for as long as what is returned is open.
    ///
    /// # Errors
    /// That something holds it by now, or that it is another one under the same number.
    pub(super) fn claim(&self) -> Result<ClaimedDevice> {
        let claim = claim_device(&self.name, &self.pin)?;
        let number = claim.metadata()?.rdev();
        if sequence_of(number) != self.sequence {
            return Err(Failure::from(StackError::Refused(Box::new(Refusal {
                device: self.name.clone(),
                identity: format!("device {}:{}", major(number), minor(number)),
                reason: RefusalReason::Held,
                because: "it was re-attached after the guard had checked it".to_owned(),
                loses: Vec::new(),
                next: vec!["try again once no other process uses it".to_owned()],
                destroy: None,
            })))
            .into());
        }
        Ok(ClaimedDevice {
            _claim: claim,
            load: node_of(number).filter(|_| self.is_free).and_then(|node| DeviceLoad::begin(&node)),
        })
    }
}

/// A device that this process alone has, and that a load may have written to. What the load leaves on it is written down in
/// the end, so that the device may be used again.
#[derive(Debug)]
pub(super) struct ClaimedDevice {
    _claim: Arc<File>,
    load: Option<DeviceLoad>,
}

impl Drop for ClaimedDevice {
    fn drop(&mut self) {
        // Without that the device is refused next time, which harms nobody.
        if let (Some(load), Ok(registry)) = (&self.load, Registry::open()) {
            load.end(&registry);
        }
    }
}

/// The node in `/dev` that the kernel calls a device by; none where another device, or nothing, goes by that name.
fn node_of(number: u64) -> Option<PathBuf> {
    let link = std::fs::read_link(sysfs_of(number)).ok()?;
    // sysfs writes `!` for the `/` in names such as cciss/c0d0.
    let node = Path::new("/dev").join(link.file_name()?.to_str()?.replace('!', "/"));
    let metadata = std::fs::symlink_metadata(&node).ok()?;
    (metadata.file_type().is_block_device() && metadata.rdev() == number).then_some(node)
}

/// Which use of its number a device is (Documentation/ABI/testing/sysfs-block, `diskseq`, Linux 5.15); that of a partition
/// is its disk's.
fn sequence_of(number: u64) -> Option<String> {
    let sysfs = sysfs_of(number);
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    read(sysfs.join("diskseq")).or_else(|| read(sysfs.join("../diskseq")))
}

fn sysfs_of(number: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)))
}

/// Why a target could not be found or held; a directory that is not there is the command line's fault, not the machine's.
pub(super) fn not_found(error: StackError) -> anyhow::Error {
    match &error {
        StackError::Io { source, object, .. } if source.kind() == io::ErrorKind::NotFound => {
            anyhow::anyhow!("the directory of `{object}` does not exist; create it, or name another file")
        }
        _ => Failure::from(error).into(),
    }
}

/// Refuses to make a file below `/dev`: a typing error in a device's name must not fill the memory that `/dev` lies in.
pub(super) fn refuse_mistyped_device(path: &Path) -> Result<()> {
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        bail!("there is no device `{}`; `lsblk` lists the devices", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn held(path: &Path) -> Held {
        match Held::find(path).unwrap() {
            Found::Held(held) => held,
            Found::Nothing(entry) => panic!("nothing at {entry:?}"),
        }
    }

    #[test]
    fn what_is_held_is_the_same_whatever_its_name_stands_for() {
        let place = tempfile::tempdir().unwrap();
        let [path, moved, precious] = ["f", "moved", "precious"].map(|name| place.path().join(name));
        std::fs::write(&path, "load").unwrap();
        std::fs::write(&precious, "thesis").unwrap();
        let first = held(&path);
        std::fs::rename(&path, &moved).unwrap();
        symlink(&precious, &path).unwrap();
        assert_eq!(std::fs::read(first.pin().path()).unwrap(), b"load");
        assert!(!first.remove().unwrap() && precious.exists() && path.is_symlink());
        // A link of one's own is followed to its file.
        assert_eq!(held(&path).metadata().len(), 6);
    }

    #[test]
    fn a_pipe_is_held_without_a_wait_for_its_writer_and_nothing_is_made_where_something_is() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(held(&fifo).metadata().file_type().is_fifo());
        let new = place.path().join("new");
        let find = || match Held::find(&new).unwrap() {
            Found::Nothing(entry) => entry,
            Found::Held(held) => panic!("{held:?}"),
        };
        let (first, second) = (find(), find());
        assert!(Held::create(first).unwrap().is_some());
        assert!(Held::create(second).unwrap().is_none());
    }
}
