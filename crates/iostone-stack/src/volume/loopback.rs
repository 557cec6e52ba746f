//! A loop device over a file of ours: attached anew for each trial, known by its file and never by its number.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostone_model::experiment::{BackingIo, LoopVolume};
use iostone_model::trial::Check;
use rustix::fs::FlockOperation;

use crate::below::describe_filesystem;
use crate::device::{BlockDevice, DeviceNumber, number_of, read_attribute};
use crate::error::StackError;
use crate::fill;
use crate::ioctl::{self, LoopStatus};
use crate::journal::sync_directory;
use crate::layer::Layer;
use crate::site::{Image, Site};
use crate::step::{FileIdentity, Scope, Step};

/// Other processes may take the number that the kernel just offered; so often in a row they will not.
const ATTEMPTS: u32 = 64;
/// `O_DIRECT`, the loop driver and mkfs all work in blocks of at most this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// The layer of a `loop` volume.
#[derive(Debug)]
pub(crate) struct LoopLayer {
    volume: LoopVolume,
    attached: Option<Attached>,
}

/// The device while it is attached.
#[derive(Debug)]
struct Attached {
    /// While this is open nobody can attach another file to the same number. Read-only, so that it never is a writer
    /// beside a mount; locked, so that udev does not look into the device meanwhile.
    hold: File,
    identity: FileIdentity,
    number: DeviceNumber,
}

impl LoopLayer {
    /// # Errors
    /// [`StackError::Usage`] for a size that is no multiple of 4 KiB, or none at all.
    pub(crate) fn new(volume: &LoopVolume) -> Result<Self, StackError> {
        if volume.size.0 == 0 || !volume.size.0.is_multiple_of(BLOCK_BYTES) {
            return Err(StackError::usage("volume.size", "it must be a multiple of 4KiB, and not zero"));
        }
        Ok(Self { volume: volume.clone(), attached: None })
    }

    /// Makes the image, or takes the one of the trial before, and gives it content that no trial has seen.
    fn make_image(&self, site: &mut Site) -> Result<Image, StackError> {
        let parent = self.volume.directory.clone().unwrap_or_else(|| site.work_directory.clone());
        let path = site.own_directory(&parent)?.join("volume.img");
        let size_bytes = self.volume.size.0;
        if let Some(old) = site.image.take() {
            if old.path == path && old.size_bytes == size_bytes {
                site.image = Some(old);
            } else {
                let failed = crate::undo::undo_entry(&mut site.journal, old.entry);
                failed.map_err(|failure| StackError::unexpected(&old.path, failure.to_string()))?;
            }
        }
        let image = match site.image.clone() {
            Some(image) => image,
            None => create_image(site, path, size_bytes)?,
        };
        site.image = Some(image.clone());
        let file = open_image(&image, true)?;
        if self.volume.fill {
            fill::fill(&file, &image.path, size_bytes, site.seed, site.interrupt())?;
        } else {
            fill::make_sparse(&file, &image.path, size_bytes)?;
            site.notes.push(
                "the image is sparse: blocks never written are read without touching the disk".to_owned(),
            );
        }
        let io = match self.volume.backing_io {
            BackingIo::Buffered => "buffered I/O",
            BackingIo::Direct => "direct I/O",
        };
        site.notes.push(format!("backing file on {}, {io}", describe_filesystem(&image.path)?));
        site.stands_on = Some(image.path.clone());
        Ok(image)
    }
}

impl Layer for LoopLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let image = self.make_image(site)?;
        site.check_interrupt()?;
        site.journal
            .begin(Scope::Trial, Step::Loop { backing: image.path.clone(), identity: image.identity })?;
        let direct = self.volume.backing_io == BackingIo::Direct;
        let backing = open_image(&image, direct)?;
        let name = loop_name(&site.journal.owner.token);
        let (hold, number) = attach(&backing, direct, &name)?;
        self.attached = Some(Attached { hold, identity: image.identity, number });
        site.device = Some(BlockDevice::numbered(number)?);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("volume")?;
        let attached = self
            .attached
            .as_ref()
            .ok_or_else(|| StackError::unexpected(&device.path, "it is not attached"))?;
        let status = ioctl::loop_status(&attached.hold)
            .map_err(|source| StackError::io("ioctl LOOP_GET_STATUS64", &device.path, source))?;
        let expect = |asked: String, read_back: String, from: String| {
            if asked == read_back {
                Ok(Check { layer: "volume".to_owned(), asked, read_back, from })
            } else {
                Err(StackError::NotApplied { layer: "volume", asked, read_back, from })
            }
        };
        let ioctl_name = || format!("LOOP_GET_STATUS64 of {}", device.path.display());
        let yes_no = |yes: bool, what: &str| if yes { what.to_owned() } else { format!("no {what}") };
        let direct = self.volume.backing_io == BackingIo::Direct;
        let dio = device.sysfs().join("loop/dio");
        let read_only = read_attribute(&device.sysfs().join("ro"))? != "0";
        Ok(vec![
            expect(
                format!("backing inode {}", attached.identity.ino),
                if is_of_file(&status, attached.identity) {
                    format!("backing inode {}", status.inode)
                } else {
                    format!("backing inode {} on another device or file", status.inode)
                },
                ioctl_name(),
            )?,
            expect(
                format!("{} bytes from offset 0", self.volume.size.0),
                format!(
                    "{} bytes from offset {}",
                    BlockDevice::numbered(attached.number)?.size_bytes,
                    status.offset
                ),
                format!("{} and {}", ioctl_name(), device.sysfs().join("size").display()),
            )?,
            expect(
                "writable, no autoclear".to_owned(),
                format!(
                    "{}, {}",
                    if status.flags & ioctl::LOOP_READ_ONLY == 0 && !read_only {
                        "writable"
                    } else {
                        "read-only"
                    },
                    yes_no(status.flags & ioctl::LOOP_AUTOCLEAR != 0, "autoclear"),
                ),
                ioctl_name(),
            )?,
            expect(
                yes_no(direct, "direct I/O"),
                yes_no(status.flags & ioctl::LOOP_DIRECT_IO != 0, "direct I/O"),
                ioctl_name(),
            )?,
            expect(
                format!("dio {}", u8::from(direct)),
                format!("dio {}", read_attribute(&dio)?),
                dio.display().to_string(),
            )?,
        ])
    }

    fn release(&mut self) {
        self.attached = None;
    }
}

/// The name that our loop devices carry inside the kernel; holds the token (at most 63 bytes are kept).
pub(crate) fn loop_name(token: &str) -> String {
    crate::site::own_directory_name(token)
}

fn create_image(site: &mut Site, path: PathBuf, size_bytes: u64) -> Result<Image, StackError> {
    fill::check_room_for_image(path.parent().unwrap_or(&path), size_bytes)?;
    let entry = site.journal.begin(Scope::Session, Step::Image { path: path.clone() })?;
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path);
    let file = match created {
        Ok(file) => file,
        Err(source) => {
            site.journal.mark_undone(entry);
            return Err(StackError::io("create", &path, source));
        }
    };
    if let Some(parent) = path.parent() {
        sync_directory(parent)?;
    }
    let metadata = file.metadata().map_err(|source| StackError::io("stat", &path, source))?;
    let identity = FileIdentity { dev: metadata.dev(), ino: metadata.ino() };
    site.journal.confirm(entry, identity)?;
    Ok(Image { path, size_bytes, identity, entry })
}

/// Opens the image, with `O_DIRECT` if the filesystem takes it and `direct` asks for it, and makes sure that it is ours.
fn open_image(image: &Image, direct: bool) -> Result<File, StackError> {
    let open = |flags| {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | flags).open(&image.path)
    };
    let file = match open(if direct { libc::O_DIRECT } else { 0 }) {
        Err(error) if direct && error.raw_os_error() == Some(libc::EINVAL) => open(0),
        other => other,
    }
    .map_err(|source| StackError::io("open", &image.path, source))?;
    let metadata = file.metadata().map_err(|source| StackError::io("stat", &image.path, source))?;
    if (FileIdentity { dev: metadata.dev(), ino: metadata.ino() }) != image.identity {
        return Err(StackError::unexpected(&image.path, "it is no longer the file that iostone made"));
    }
    Ok(file)
}

/// Attaches a file to a free loop device and gives a descriptor that holds it.
fn attach(backing: &File, direct: bool, name: &str) -> Result<(File, DeviceNumber), StackError> {
    let control_path = Path::new("/dev/loop-control");
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .open(control_path)
        .map_err(|source| StackError::io("open", control_path, source))?;
    for _ in 0..ATTEMPTS {
        let number = ioctl::free_loop_number(&control)
            .map_err(|source| StackError::io("ioctl LOOP_CTL_GET_FREE", control_path, source))?;
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let Ok(device) = open_new_device(&path) else { continue };
        let metadata = device.metadata().map_err(|source| StackError::io("stat", &path, source))?;
        match ioctl::configure_loop(&device, backing, direct, name) {
            Ok(()) => {}
            // Another process took the number between the two calls: ask for the next one.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::ENXIO)) => continue,
            Err(source) => return Err(StackError::io("ioctl LOOP_CONFIGURE", &path, source)),
        }
        ioctl::make_writable(&device).map_err(|source| StackError::io("ioctl BLKROSET", &path, source))?;
        let hold = File::open(&path).map_err(|source| StackError::io("open", &path, source))?;
        // udev's convention: who holds this lock is left alone. If udev is just looking, it will be done soon.
        let _ = rustix::fs::flock(&hold, FlockOperation::NonBlockingLockExclusive);
        return Ok((hold, number_of(metadata.rdev())));
    }
    Err(StackError::unexpected(
        control_path,
        format!(
            "{ATTEMPTS} free loop devices in a row were taken by other processes; list them with `losetup --all`"
        ),
    ))
}

/// The node of a number that was just handed out may take udev or devtmpfs a moment.
fn open_new_device(path: &Path) -> Result<File, StackError> {
    let mut attempts = 0;
    loop {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && attempts < 50 => {
                attempts += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(source) => return Err(StackError::io("open", path, source)),
        }
    }
}

/// A loop device that has a file, as sysfs tells without opening it.
#[derive(Debug)]
pub(crate) struct AttachedLoop {
    pub(crate) path: PathBuf,
    /// The backing file as the kernel names it; ` (deleted)` behind it once it is removed.
    pub(crate) backing_file: String,
}

/// Whether a loop device's file is the one of that identity.
pub(crate) fn is_of_file(status: &LoopStatus, identity: FileIdentity) -> bool {
    decode_device(status.device) == number_of(identity.dev) && status.inode == identity.ino
}

/// The kernel's `huge_encode_dev` (`linux/kdev_t.h`).
pub(crate) fn decode_device(encoded: u64) -> DeviceNumber {
    let major = (encoded & 0xf_ff00) >> 8;
    let minor = (encoded & 0xff) | ((encoded >> 12) & 0xf_ff00);
    (u32::try_from(major).unwrap_or(u32::MAX), u32::try_from(minor).unwrap_or(u32::MAX))
}

/// All loop devices that have a file.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be listed.
pub(crate) fn attached_loops() -> Result<Vec<AttachedLoop>, StackError> {
    let sysfs = Path::new("/sys/block");
    let entries = fs::read_dir(sysfs).map_err(|source| StackError::io("list", sysfs, source))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| {
            let backing_file = read_attribute(&entry.path().join("loop/backing_file")).ok()?;
            Some(AttachedLoop { path: Path::new("/dev").join(entry.file_name()), backing_file })
        })
        .collect())
}

/// The loop devices that the session with that token attached over one file, opened read-only.
///
/// Both have to agree, the file's identity (inode numbers are used again once a file is gone) and the name that the
/// session gave the device when it attached it: somebody else's device over the very same file carries another name.
/// Devices that by their file's path are not ours are only opened if none is: an open may delay the detaching that
/// somebody else asked for.
///
/// # Errors
/// [`StackError::Io`] when a device in use cannot be opened or asked.
pub(crate) fn loops_over(
    identity: FileIdentity,
    token: &str,
) -> Result<Vec<(AttachedLoop, File)>, StackError> {
    let name = loop_name(token);
    let (likely, others): (Vec<_>, Vec<_>) =
        attached_loops()?.into_iter().partition(|attached| attached.backing_file.contains(&name));
    for candidates in [likely, others] {
        let mut found = Vec::new();
        for candidate in candidates {
            let Some((file, status)) = open_attached(&candidate.path)? else { continue };
            if is_of_file(&status, identity) && status.file_name() == name {
                found.push((candidate, file));
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Opens a loop device read-only with what it is attached to; none if to nothing.
pub(crate) fn open_attached(path: &Path) -> Result<Option<(File, LoopStatus)>, StackError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENOENT)) => return Ok(None),
        Err(source) => return Err(StackError::io("open", path, source)),
    };
    match ioctl::loop_status(&file) {
        Ok(status) => Ok(Some((file, status))),
        // Detached since sysfs was read.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(source) => Err(StackError::io("ioctl LOOP_GET_STATUS64", path, source)),
    }
}
