//! Volumes for a guest: the same as on this host, but handed to QEMU as drives instead of built upon here.

use std::path::PathBuf;
use std::process::{Child, Command};

use iostone_model::experiment::{BackingIo, BlockVolume, Stack, Volume};

use crate::disk_server;
use crate::error::StackError;
use crate::layer::Layer;
use crate::session::Session;
use crate::site::Site;
use crate::volume::{BlockLayer, Images, serve_volumes};

/// What the serial numbers of drives made for a guest begin with.
pub(crate) const DRIVE_SERIAL: &str = "iostone-v";
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
            "a `loop` volume with limits cannot be handed to a guest; use `kind = \"emulated\"`, with `machine.link` \
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
    let volume = if drives.is_empty() {
        stack.volume.clone()
    } else {
        let devices = drives.iter().map(|drive| PathBuf::from(format!("serial:{}", drive.serial))).collect();
        Volume::Block(BlockVolume { devices })
    };
    let notes = std::mem::take(&mut site.notes);
    Ok(Provided { drives, stack: Stack { volume, link: None, ..stack.clone() }, notes })
}
