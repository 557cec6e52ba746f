//! A socket of the disk server as a network block device of the kernel's (linux/nbd.h).

mod greeting;

use std::fs::{self, File, OpenOptions};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_model::trial::Check;

use crate::device::{BlockDevice, DeviceNumber, number_in, read_attribute};
use crate::error::StackError;
use crate::ioctl::nbd;
use crate::site::{Origin, Site};
use crate::step::{Scope, Step};
use greeting::greet;

/// A device that is not connected by then never is.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A device while a thread of this process carries its requests.
#[derive(Debug)]
pub(super) struct NbdAttached {
    device: BlockDevice,
    size_bytes: u64,
}

/// Whether the kernel has such devices. Nothing is loaded for it.
pub(super) fn is_there() -> bool {
    Path::new("/dev/nbd0").exists() && Path::new("/sys/block/nbd0").exists()
}

/// Connects the first free device to a socket; the step that takes it back is written down first.
///
/// # Errors
/// [`StackError::Io`] with the call that failed, [`StackError::Unexpected`] when none is free.
pub(super) fn attach(
    site: &mut Site,
    socket: &Path,
    size_bytes: u64,
) -> Result<(NbdAttached, BlockDevice), StackError> {
    for (node, number) in free_devices()? {
        let stream =
            UnixStream::connect(socket).map_err(|source| StackError::io("connect", socket, source))?;
        let export = greet(&stream, socket)?;
        if export.size_bytes != size_bytes {
            let reason = format!("it serves {} bytes, not {size_bytes}", export.size_bytes);
            return Err(StackError::unexpected(socket, reason));
        }
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&node)
            .map_err(|source| StackError::io("open", &node, source))?;
        let entry = site.journal.begin(Scope::Trial, Step::Nbd { number, socket: socket.to_owned() })?;
        match nbd::connect(&device, &stream, size_bytes, export.flags) {
            Ok(()) => {}
            // Another process took it between the look and the call: the next one.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                site.journal.mark_undone(entry);
                continue;
            }
            Err(source) => return Err(StackError::io("ioctl NBD_SET_SOCK", &node, source)),
        }
        std::thread::Builder::new()
            .name("nbd".to_owned())
            .spawn(move || {
                // Returns when the device is disconnected; a connection that broke shows in the requests it fails.
                let _ = nbd::carry(&device);
                let _ = nbd::clear(&device);
                drop(stream);
            })
            .map_err(|source| StackError::io("start a thread for", &node, source))?;
        wait_until_connected(number, size_bytes)?;
        site.attached.insert(number, Origin::Nbd);
        let device = BlockDevice::numbered(number)?;
        return Ok((NbdAttached { device: device.clone(), size_bytes }, device));
    }
    Err(StackError::unexpected(
        "/sys/block",
        "all network block devices are in use; next: `modprobe -r nbd && modprobe nbd nbds_max=16`",
    ))
}

impl NbdAttached {
    /// Reads back from the kernel that it stands as asked.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] for what is not.
    pub(super) fn verify(&self) -> Result<Vec<Check>, StackError> {
        let now = BlockDevice::numbered(self.device.number)?;
        let asked = format!("{} bytes, carried by this process", self.size_bytes);
        let carried = if is_carried_by_us(self.device.number) { "this process" } else { "another, or none" };
        let read_back = format!("{} bytes, carried by {carried}", now.size_bytes);
        let from =
            format!("{} and {}", now.sysfs().join("size").display(), now.sysfs().join("pid").display());
        if asked != read_back {
            return Err(StackError::NotApplied { layer: "volume", asked, read_back, from });
        }
        Ok(vec![Check { layer: "volume".to_owned(), asked, read_back, from }])
    }
}

/// Disconnects a device whose requests a thread of this process carries; false if none does.
///
/// # Errors
/// In words, what the kernel says.
pub(crate) fn disconnect(number: DeviceNumber) -> Result<bool, String> {
    if !is_carried_by_us(number) {
        return Ok(false);
    }
    let node = BlockDevice::numbered(number).map_err(|error| error.to_string())?.path;
    let device = File::open(&node).map_err(|error| error.to_string())?;
    nbd::disconnect(&device).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + PATIENCE;
    while is_carried_by_us(number) {
        if Instant::now() > deadline {
            return Err("its requests do not end".to_owned());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Nodes and numbers of the devices that nobody has connected, lowest first.
fn free_devices() -> Result<Vec<(PathBuf, DeviceNumber)>, StackError> {
    let sysfs = Path::new("/sys/block");
    let entries = fs::read_dir(sysfs).map_err(|source| StackError::io("list", sysfs, source))?;
    let mut free: Vec<(u32, PathBuf, DeviceNumber)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let index = name.strip_prefix("nbd")?.parse().ok()?;
            let number = number_in(&entry.path())?;
            // Only a connected device has this attribute (drivers/block/nbd.c).
            (!entry.path().join("pid").exists()).then(|| (index, Path::new("/dev").join(name), number))
        })
        .collect();
    free.sort();
    Ok(free.into_iter().map(|(_, node, number)| (node, number)).collect())
}

fn wait_until_connected(number: DeviceNumber, size_bytes: u64) -> Result<(), StackError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let device = BlockDevice::numbered(number)?;
        if device.size_bytes == size_bytes && is_carried_by_us(number) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(StackError::unexpected(&device.path, "the kernel does not connect it"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the thread that carries a device's requests, which sysfs names, is one of this process.
pub(crate) fn is_carried_by_us(number: DeviceNumber) -> bool {
    let pid = PathBuf::from(format!("/sys/dev/block/{}:{}/pid", number.0, number.1));
    read_attribute(&pid)
        .ok()
        .and_then(|thread| thread.parse::<u32>().ok())
        .is_some_and(|thread| Path::new(&format!("/proc/self/task/{thread}")).exists())
}
