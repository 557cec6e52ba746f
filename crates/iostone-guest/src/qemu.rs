//! QEMU: the command that boots a guest, and what came of it.

mod clock;
mod command;
mod running;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iostone_model::experiment::Accelerator;
use iostone_probe::programs::{directories, install_command};

use crate::error::GuestError;

pub use running::Running;

/// The name of the virtio-serial port at which the agent inside speaks.
pub const AGENT_PORT: &str = "iostone.agent";
/// The serial number of the drive with the root filesystem.
pub const ROOT_SERIAL: &str = "iostone-root";

/// Where Red Hat's lies, which no `PATH` names.
const LIBEXEC: &str = "/usr/libexec";
/// The name on Debian and most others; Red Hat's is the other.
const NAMES: &[&str] = &["qemu-system-x86_64", "qemu-kvm"];

/// QEMU on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// Its path.
    pub path: PathBuf,
    /// The first line of `--version`.
    pub version: String,
}

impl Qemu {
    /// Finds the QEMU for x86-64 guests, in `PATH` and the directories of programs.
    ///
    /// # Errors
    /// [`GuestError::Missing`] with the command that installs it; [`GuestError::Unsuitable`] where it does not run, and
    /// on hosts of another architecture.
    pub fn find() -> Result<Self, GuestError> {
        // What is carried into a guest, as its first process, is this very program.
        if !cfg!(target_arch = "x86_64") {
            return Err(GuestError::Unsuitable(format!(
                "guests are x86-64 and run this program, which is built for {}: they need an x86-64 host",
                std::env::consts::ARCH
            )));
        }
        let path = candidates().find(|path| path.is_file()).ok_or_else(|| {
            GuestError::Missing(format!(
                "`qemu-system-x86_64`, needed for guests, is not installed; install it with `{}`",
                install_command("qemu-system-x86_64")
            ))
        })?;
        let output =
            Command::new(&path).arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(
                |source| GuestError::Io { action: "execute", object: path.display().to_string(), source },
            )?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().trim().to_owned();
        if !output.status.success() || version.is_empty() {
            return Err(GuestError::Unsuitable(format!(
                "`{} --version` prints no version; is it QEMU?",
                path.display()
            )));
        }
        Ok(Self { path, version })
    }
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let directories = directories().into_iter().chain([PathBuf::from(LIBEXEC)]);
    directories.flat_map(|directory| NAMES.iter().map(move |name| directory.join(name)))
}

/// Where the bytes of a guest's drive come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriveSource {
    /// A raw image, or a block device of this host.
    File {
        /// Its path.
        path: PathBuf,
        /// Past the host's page cache.
        direct: bool,
    },
    /// A Unix socket at which an NBD server speaks; its only, nameless export is taken.
    Nbd {
        /// Its path.
        socket: PathBuf,
    },
}

/// As what a guest finds a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriveInterface {
    /// A virtio block device: `/dev/vda`.
    #[default]
    Virtio,
    /// The first namespace of an NVMe controller of its own: `/dev/nvme0n1`.
    Nvme,
}

/// A drive of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootDrive {
    /// What the guest finds in `/sys/block/NAME/serial`; at most 20 bytes.
    pub serial: String,
    /// As what it finds it.
    pub interface: DriveInterface,
    /// Where its bytes come from.
    pub source: DriveSource,
    /// Whether the guest may only read it.
    pub read_only: bool,
}

/// What to boot, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// The archive that is its first root filesystem.
    pub archive: PathBuf,
    /// Words added to the kernel's command line after iostone's own, so that they win.
    pub kernel_arguments: Vec<String>,
    /// Processors.
    pub cpus: u32,
    /// Memory in bytes; QEMU takes whole MiB, so it is rounded up to one.
    pub memory_bytes: u64,
    /// How instructions are executed.
    pub accelerator: Accelerator,
    /// Its drives.
    pub drives: Vec<BootDrive>,
    /// The file that what it prints goes to.
    pub console: PathBuf,
    /// The file that QEMU's own complaints go to.
    pub complaints: PathBuf,
}

impl Boot {
    /// How long to wait until the guest answers: ten times what one takes under translation on a busy machine, and more
    /// for each further processor, which are started one after the other.
    pub fn patience(&self) -> Duration {
        let further = u64::from(self.cpus.saturating_sub(1));
        Duration::from_secs(90 + 15 * further.min(30))
    }
}

/// The smallest memory that a kernel of today with an archive of some size boots in, in bytes.
///
/// The archive is in memory twice while it is unpacked: as QEMU placed it, and as files. The files lie in a tmpfs that
/// holds at most half of what the kernel and the placed archive leave (`Documentation/filesystems/ramfs-rootfs-initramfs.rst`
/// and `tmpfs.rst`).
pub fn least_memory_bytes(archive_bytes: u64) -> u64 {
    let both_and_room_to_work = (96 << 20) + 2 * archive_bytes;
    let twice_the_files_beside_the_archive = (48 << 20) + 3 * archive_bytes;
    both_and_room_to_work.max(twice_the_files_beside_the_archive)
}

/// What is free on this host, `MemAvailable` of `/proc/meminfo` (`proc_meminfo(5)`), in bytes; none where it is not told.
fn available_memory_bytes() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Refuses a guest that this host has no memory for.
///
/// # Errors
/// [`GuestError::Unsuitable`] with both figures.
pub fn check_memory(guest_bytes: u64, archive_bytes: u64) -> Result<(), GuestError> {
    let least = least_memory_bytes(archive_bytes);
    if guest_bytes < least {
        return Err(GuestError::Unsuitable(format!(
            "`machine.memory` is {} MiB, but the guest with its files needs {} MiB",
            guest_bytes >> 20,
            least.div_ceil(1 << 20)
        )));
    }
    let Some(available) = available_memory_bytes() else { return Ok(()) };
    // QEMU itself takes some too.
    let needed = guest_bytes + (128 << 20);
    if needed > available {
        return Err(GuestError::Unsuitable(format!(
            "`machine.memory` is {} MiB plus QEMU's own, but this host has only {} MiB free",
            guest_bytes >> 20,
            available >> 20
        )));
    }
    Ok(())
}

/// A path as a value in one of QEMU's comma-separated options, where a comma is written twice.
fn option_value(path: &Path) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    std::ffi::OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_to_spare_is_read_as_the_kernel_writes_it() {
        let text = "MemTotal:       24690000 kB\nMemFree:  100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_in(text), Some(2 << 20));
        assert_eq!(available_in("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn too_little_memory_is_refused_with_both_figures() {
        let error = check_memory(64 << 20, 20 << 20).unwrap_err().to_string();
        assert!(error.contains("64 MiB") && error.contains("136 MiB"), "{error}");
        let error = check_memory(1 << 50, 0).unwrap_err().to_string();
        assert!(error.contains("this host has"), "{error}");
        check_memory(256 << 20, 20 << 20).unwrap();
    }

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(option_value(Path::new("/a,b/c")), "/a,,b/c");
    }
}
