//! A loop device over a file of ours, with an instance's device between if one is asked for: attached anew for each
//! trial, known by its file and never by its number.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use iostone_model::experiment::{BackingIo, LoopVolume};
use iostone_model::trial::Check;

use super::loop_devices::{attach, is_of_file, loop_name};
use crate::below::describe_filesystem;
use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::StackError;
use crate::fill;
use crate::ioctl::{self, LoopAttachment};
use crate::journal::sync_directory;
use crate::layer::Layer;
use crate::site::{Image, Site};
use crate::step::{FileIdentity, Scope, Step};

/// `O_DIRECT`, the loop driver and mkfs all work in blocks of at most this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// The layer of a `loop` volume.
#[derive(Debug)]
pub(crate) struct LoopLayer {
    volume: LoopVolume,
    /// Bottom up: the instance's device, if there is one, then the volume's.
    attached: Vec<Attached>,
}

/// A device while it is attached.
#[derive(Debug)]
struct Attached {
    /// While this is open nobody can attach another file to the same number.
    hold: File,
    /// What it stands on: the image, or the node of the instance's device.
    identity: FileIdentity,
    number: DeviceNumber,
    size_bytes: u64,
}

impl LoopLayer {
    /// # Errors
    /// [`StackError::Usage`] for a size that is no multiple of 4 KiB, or none at all.
    pub(crate) fn new(volume: &LoopVolume) -> Result<Self, StackError> {
        if volume.size.0 == 0 || !volume.size.0.is_multiple_of(BLOCK_BYTES) {
            return Err(StackError::usage("volume.size", "it must be a multiple of 4KiB, and not zero"));
        }
        Ok(Self { volume: volume.clone(), attached: Vec::new() })
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
        let io = match self.volume.effective_backing_io() {
            BackingIo::Buffered => "buffered I/O",
            BackingIo::Direct => "direct I/O",
        };
        site.notes.push(format!("backing file on {}, {io}", describe_filesystem(&image.path)?));
        site.stands_on = Some(image.path.clone());
        Ok(image)
    }
}

impl LoopLayer {
    fn is_direct(&self) -> bool {
        self.volume.effective_backing_io() == BackingIo::Direct
    }

    /// Attaches one device; the step that takes it back is written down first.
    fn attach(
        &mut self,
        site: &mut Site,
        backing: &File,
        path: PathBuf,
        identity: FileIdentity,
    ) -> Result<BlockDevice, StackError> {
        site.journal.begin(Scope::Trial, Step::Loop { backing: path, identity })?;
        let size_bytes = self.volume.size.0;
        let attachment = LoopAttachment {
            direct_io: self.is_direct(),
            name: &loop_name(&site.journal.owner.token),
            offset: 0,
            size_limit: size_bytes,
        };
        let (hold, number) = attach(backing, &attachment)?;
        self.attached.push(Attached { hold, identity, number, size_bytes });
        BlockDevice::numbered(number)
    }

    fn verify_device(&self, attached: &Attached) -> Result<Vec<Check>, StackError> {
        let device = BlockDevice::numbered(attached.number)?;
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
        let direct = self.is_direct();
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
                format!("{} bytes from offset 0", attached.size_bytes),
                format!("{} bytes from offset {}", device.size_bytes, status.offset),
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
}

impl Layer for LoopLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let image = self.make_image(site)?;
        site.check_interrupt()?;
        let direct = self.is_direct();
        let backing = open_image(&image, direct)?;
        let mut device = self.attach(site, &backing, image.path.clone(), image.identity)?;
        if self.volume.instance.is_some() {
            site.instance = Some(device.clone());
            let node = device.path.clone();
            let flags = if direct { libc::O_DIRECT } else { 0 };
            let backing = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&node);
            let backing = backing.map_err(|source| StackError::io("open", &node, source))?;
            let metadata = backing.metadata().map_err(|source| StackError::io("stat", &node, source))?;
            let identity = FileIdentity { dev: metadata.dev(), ino: metadata.ino() };
            device = self.attach(site, &backing, node, identity)?;
        }
        site.members = vec![device.clone()];
        site.device = Some(device);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("volume")?;
        if self.attached.last().is_none_or(|top| top.number != device.number) {
            return Err(StackError::unexpected(&device.path, "it is not attached"));
        }
        let mut checks = Vec::new();
        for attached in self.attached.iter().rev() {
            checks.extend(self.verify_device(attached)?);
        }
        Ok(checks)
    }

    fn release(&mut self) {
        // From the top: a device is not free before what stands on it is.
        while self.attached.pop().is_some() {}
    }
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
