//! Volumes for a guest: the same as on this host, but handed to QEMU as drives instead of built upon here.

use std::path::PathBuf;
use std::process::{Child, Command};

use iostone_model::experiment::{BackingIo, BlockVolume, Stack, Volume};

use crate::below::{Role, StackDevice, disks_under_device, disks_under_path};
use crate::device::{BlockDevice, size_in_words};
use crate::disk_server;
use crate::error::StackError;
use crate::layer::Layer;
use crate::session::Session;
use crate::site::Site;
use crate::volume::{BlockLayer, Images, serve_volumes};

/// What the serial numbers of drives made for a guest begin with.
pub(crate) const DRIVE_SERIAL: &str = "iostone-v";
/// Disks are counted in these.
const SECTOR_BYTES: u64 = 512;
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
    /// What the guard inside takes for a permission to overwrite a drive (`serial iostone-v0, 64 MiB`), one for each: this
    /// host's guard has let all of them pass.
    pub destroy: Vec<String>,
    /// This host's disks under the drives.
    pub below: Vec<StackDevice>,
    /// What is worth repeating in the report.
    pub notes: Vec<String>,
    /// Whether what the drives stand on drops every fsync.
    pub syncs_dropped_below: bool,
}

impl Session {
    /// Makes a trial's volumes for a guest: images filled, servers running. [`Session::undo`] takes them away. The
    /// thread that calls this has to live until then: the kernel ends the servers with it.
    ///
    /// # Errors
    /// As [`Session::apply`].
    pub fn provide(&mut self, stack: &Stack, trial: u32, seed: u64) -> Result<Provided, StackError> {
        self.undo()?;
        let site = self.site_mut()?;
        site.trial = trial;
        site.seed = seed;
        match provide_at(site, stack) {
            Ok(provided) => Ok(provided),
            Err(cause) => Err(self.undo_because(cause)),
        }
    }

    /// Starts a server of this trial, QEMU for one: written into the journal before, ended by [`Session::undo`] after
    /// everything that stands on it, and by the kernel should the thread that calls this end, with this process at
    /// the latest. It stands in a session of its own, so that a terminal's Ctrl-C does not reach it.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be started.
    pub fn spawn_server(&mut self, mut command: Command) -> Result<Child, StackError> {
        let site = self.site_mut()?;
        disk_server::mark(site, &mut command)?;
        let program = PathBuf::from(command.get_program());
        command.spawn().map_err(|source| StackError::io("execute", program, source))
    }

    /// A directory of this session's own for the sockets, consoles and archives of its trial; open to nobody else, and
    /// short enough for names of sockets of up to 23 bytes. Removed by [`Session::undo`].
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be made.
    pub fn trial_directory(&mut self) -> Result<PathBuf, StackError> {
        self.site_mut()?.trial_directory()
    }

    /// Where the server of this trial's emulated volumes is steered, if one runs: a Unix socket that speaks as
    /// `iostone disk control` does.
    pub fn disk_control(&self) -> Option<PathBuf> {
        self.site().and_then(|site| site.disk_control.clone())
    }
}

/// What cannot be handed to a guest, whatever the machine.
///
/// # Errors
/// [`StackError::Usage`] with the key and what would do instead.
pub(crate) fn check_providable(stack: &Stack) -> Result<(), StackError> {
    match &stack.volume {
        Volume::Loop(volume) if volume.is_throttled() => Err(StackError::usage(
            "volume",
            "a `loop` volume with limits cannot be attached to a guest; use `kind = \"emulated\"`, with `machine.link` \
             for the instance's limit",
        )),
        _ => Ok(()),
    }
}

fn provide_at(site: &mut Site, stack: &Stack) -> Result<Provided, StackError> {
    check_providable(stack)?;
    site.make_work_directory()?;
    let sources = match &stack.volume {
        Volume::Loop(volume) => {
            let direct = volume.effective_backing_io() == BackingIo::Direct;
            let images = Images {
                directory: volume.directory.as_deref(),
                count: 1,
                size_bytes: volume.size.0,
                fill: volume.fill,
                io: if direct { "direct I/O" } else { "buffered I/O" },
            };
            let images = images.make(site)?;
            images
                .into_iter()
                .map(|image| (DriveSource::File { path: image.path, direct }, image.size_bytes))
                .collect()
        }
        Volume::Emulated(volume) => {
            let served = serve_volumes(site, volume, stack.link)?;
            site.notes.push("emulated by iostone's disk server, reached by QEMU".to_owned());
            let sockets = served.sockets.into_iter();
            sockets.map(|socket| (DriveSource::Nbd { socket }, volume.size.0)).collect()
        }
        Volume::Block(volume) => {
            // Guarded and claimed as for a stack on this host; nothing of it is written here.
            BlockLayer::new(volume)?.apply(site)?;
            let devices = site.members.iter();
            devices
                .map(|device| {
                    (DriveSource::File { path: device.path.clone(), direct: true }, device.size_bytes)
                })
                .collect()
        }
        Volume::Directory(_) => Vec::new(),
    };
    let drives: Vec<Drive> = (0..)
        .zip(sources)
        .map(|(index, (source, size_bytes)): (u32, (DriveSource, u64))| Drive {
            serial: format!("{DRIVE_SERIAL}{index}"),
            source,
            size_bytes,
        })
        .collect();
    // Images are iostone's own, and a device of this host's was found empty, or let go, when it was claimed.
    let destroy = drives.iter().map(word_inside).collect();
    let below = disks_below(site, &stack.volume, &drives);
    let volume = if drives.is_empty() {
        stack.volume.clone()
    } else {
        let devices = drives.iter().map(|drive| PathBuf::from(format!("serial:{}", drive.serial))).collect();
        Volume::Block(BlockVolume { devices })
    };
    let notes = std::mem::take(&mut site.notes);
    let syncs_dropped_below = site.syncs_dropped_below()?;
    let stack = Stack { volume, link: None, ..stack.clone() };
    Ok(Provided { drives, stack, destroy, below, notes, syncs_dropped_below })
}

/// This host's disks that the drives' bytes come from, each once: a device of the user's itself, the disks under images.
fn disks_below(site: &Site, volume: &Volume, drives: &[Drive]) -> Vec<StackDevice> {
    let mut disks: Vec<StackDevice> = Vec::new();
    for drive in drives {
        let found = match (&drive.source, volume) {
            (DriveSource::File { path, .. }, _) => match BlockDevice::at(path) {
                Ok(Some(device)) => itself_or_below(&device),
                _ => disks_under_path(path).unwrap_or_default(),
            },
            (DriveSource::Nbd { .. }, Volume::Emulated(volume)) => {
                let place = volume.directory.as_deref().unwrap_or(&site.work_directory);
                disks_under_path(place).unwrap_or_default()
            }
            (DriveSource::Nbd { .. }, _) => Vec::new(),
        };
        for disk in found {
            if disks.iter().all(|known| known.number != disk.number) {
                disks.push(disk);
            }
        }
    }
    disks
}

fn itself_or_below(device: &BlockDevice) -> Vec<StackDevice> {
    let name = device.name.clone();
    let mut disks = vec![StackDevice { name, number: device.number, role: Role::Below }];
    disks.extend(disks_under_device(device));
    disks
}

/// The identity of a drive as the guard inside states it: there is no udev, and virtio tells a serial number.
fn word_inside(drive: &Drive) -> String {
    format!("serial {}, {}", drive.serial, size_in_words(drive.size_bytes / SECTOR_BYTES * SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_for_a_drive_is_what_the_guard_inside_asks_for() {
        let source = DriveSource::File { path: PathBuf::from("/srv/volume.img"), direct: true };
        let drive = Drive { serial: "iostone-v3".to_owned(), source, size_bytes: (64 << 20) + 100 };
        assert_eq!(word_inside(&drive), "serial iostone-v3, 64 MiB");
    }
}
