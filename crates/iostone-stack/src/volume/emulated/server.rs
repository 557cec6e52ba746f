//! Volumes at the sockets of our own disk server, made devices by the kernel's NBD client or by FUSE and loop.

use std::path::{Path, PathBuf};

use iostone_disk::{DiskPlan, Store, VolumePlan};
use iostone_model::experiment::{EmulatedVolume, Link};
use iostone_model::trial::Check;

use crate::device::BlockDevice;
use crate::disk_server;
use crate::error::StackError;
use crate::site::Site;
use crate::tool;
use crate::volume::attach::Attached;
use crate::volume::attach_fuse;
use crate::volume::attach_nbd::{self, NbdAttached};
use crate::volume::image::Images;

/// How a socket becomes a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerAttachment {
    /// By the kernel's own client.
    Nbd,
    /// By this program, which shows it as a file, and a loop device over that.
    Fuse(PathBuf),
}

impl ServerAttachment {
    /// The way that this machine has.
    ///
    /// # Errors
    /// [`StackError::Usage`] naming the key that needs the server, or that bursts do, and what is missing;
    /// [`StackError::MissingTool`] where the user asked for the server itself.
    pub(crate) fn find(volume: &EmulatedVolume) -> Result<Self, StackError> {
        if attach_nbd::is_there() {
            return Ok(Self::Nbd);
        }
        match tool::find("nbdfuse") {
            Ok(program) => Ok(Self::Fuse(program)),
            Err(StackError::MissingTool { tool, package, install }) => match volume.server_keys().first() {
                Some(key) => Err(StackError::Usage {
                    object: format!("stack.volume.{key}"),
                    reason: format!(
                        "iostone's disk server emulates it, but cannot be attached as a device: this kernel has no network \
                         block devices, and `{tool}` (package `{package}`) is not installed; next: `{install}`, or leave the \
                         key out"
                    ),
                }),
                // Only a burst asks for it: control groups can do that too, if less exactly.
                None if volume.by.is_none() => Err(StackError::Usage {
                    object: "stack.volume.by".to_owned(),
                    reason: format!(
                        "bursts are emulated by iostone's disk server, which cannot be attached as a device: this kernel has \
                         no network block devices, and `{tool}` (package `{package}`) is not installed; next: `{install}`, or \
                         `by = \"cgroup\"`, which follows bursts less exactly"
                    ),
                }),
                None => Err(StackError::MissingTool { tool, package, install }),
            },
            Err(other) => Err(other),
        }
    }

    fn in_words(&self) -> &'static str {
        match self {
            Self::Nbd => "the kernel's NBD client",
            Self::Fuse(_) => {
                "nbdfuse and a loop device, which handle few requests at once and add 0.1 to 0.5 ms to each"
            }
        }
    }
}

/// The volumes of a server while they are devices.
#[derive(Debug)]
pub(crate) struct ServerVolumes {
    volume: EmulatedVolume,
    link: Option<Link>,
    loops: Vec<Attached>,
    connected: Vec<NbdAttached>,
}

impl ServerVolumes {
    pub(super) fn new(volume: &EmulatedVolume, link: Option<Link>) -> Self {
        Self { volume: volume.clone(), link, loops: Vec::new(), connected: Vec::new() }
    }

    /// Starts the server and makes its sockets devices; gives them in order.
    pub(super) fn apply(&mut self, site: &mut Site) -> Result<Vec<BlockDevice>, StackError> {
        let way = ServerAttachment::find(&self.volume)?;
        let served = serve_volumes(site, &self.volume, self.link)?;
        let size_bytes = self.volume.size.0;
        let mut volumes = Vec::new();
        for (index, socket) in served.sockets.iter().enumerate() {
            site.check_interrupt()?;
            match &way {
                ServerAttachment::Nbd => {
                    let (connected, device) = attach_nbd::attach(site, socket, size_bytes)?;
                    self.connected.push(connected);
                    volumes.push(device);
                }
                ServerAttachment::Fuse(program) => {
                    let name = format!("volume-{index}");
                    let file = attach_fuse::mount(site, program, socket, &name, &served.marker, size_bytes)?;
                    let (attached, device) = Attached::new(site, &file)?;
                    self.loops.push(attached);
                    volumes.push(device);
                }
            }
        }
        site.notes.push(format!("emulated by iostone's disk server, attached by {}", way.in_words()));
        Ok(volumes)
    }

    pub(super) fn verify(&self) -> Result<Vec<Check>, StackError> {
        let mut checks = Vec::new();
        for attached in &self.loops {
            checks.extend(attached.verify()?);
        }
        for connected in &self.connected {
            checks.extend(connected.verify()?);
        }
        Ok(checks)
    }

    pub(super) fn release(&mut self) {
        self.loops.clear();
        self.connected.clear();
    }
}

/// Volumes that a server of ours serves.
#[derive(Debug)]
pub(crate) struct Served {
    /// One for each volume.
    pub(crate) sockets: Vec<PathBuf>,
    /// What marks the server's processes, in [`crate::provide::SERVER_VARIABLE`].
    pub(crate) marker: String,
}

/// Makes the images of emulated volumes and starts the server over them.
///
/// # Errors
/// As [`Images::make`] and [`disk_server::start`].
pub(crate) fn serve_volumes(
    site: &mut Site,
    volume: &EmulatedVolume,
    link: Option<Link>,
) -> Result<Served, StackError> {
    // The server answers from the page cache and keeps the time itself; its medium need not be slow.
    let images = Images {
        directory: volume.directory.as_deref(),
        count: volume.count,
        size_bytes: volume.size.0,
        fill: volume.fill,
        io: "buffered I/O",
    }
    .make(site)?;
    let directory = site.trial_directory()?;
    let sockets: Vec<PathBuf> = (0..volume.count).map(|index| directory.join(format!("v{index}"))).collect();
    let volumes = images.iter().zip(&sockets).enumerate().map(|(index, (image, socket))| VolumePlan {
        name: format!("v{index}"),
        socket: socket.clone(),
        store: Store::File { path: image.path.clone(), direct: false },
        model: EmulatedVolume { count: 1, ..volume.clone() },
    });
    let plan =
        DiskPlan { volumes: volumes.collect(), link, control: control_in(&directory), seed: site.seed };
    let marker = disk_server::start(site, &plan)?;
    site.disk_control = Some(plan.control);
    site.watch_server()?;
    Ok(Served { sockets, marker })
}

fn control_in(directory: &Path) -> PathBuf {
    directory.join("control")
}
