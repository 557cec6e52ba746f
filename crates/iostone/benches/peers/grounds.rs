//! What is read: a file that fits the page cache, one that goes around it, and a zram device, all removed at the end.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Small enough for a processor's last cache, so that the cost of asking shows and not that of memory.
pub(crate) const CACHED_BYTES: u64 = 8 << 20;
/// All memory that incompressible content can take in zram.
const ZRAM_BYTES: u64 = 256 << 20;
const ZRAM_CONTROL: &str = "/sys/class/zram-control";
/// What is written at a time while filling.
const CHUNK_BYTES: usize = 1 << 20;

/// A kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    Cached,
    Disk,
    DevZero,
    Zram,
}

/// The targets of this run.
#[derive(Debug)]
pub(crate) struct Grounds {
    cached: PathBuf,
    disk: PathBuf,
    disk_bytes: u64,
    zram: std::result::Result<Zram, String>,
    /// The filesystem that the files are on.
    pub(crate) filesystem: String,
    _folder: TempDir,
}

impl Grounds {
    /// Makes and fills the targets; the files are below `parent`.
    ///
    /// # Errors
    /// When a file cannot be made. A zram device that cannot be made is left out.
    pub(crate) fn lay_out(parent: &str, quick: bool) -> Result<Self> {
        std::fs::create_dir_all(parent)?;
        let folder = tempfile::Builder::new().prefix("peers-").tempdir_in(parent)?;
        let (cached, disk) = (folder.path().join("cached"), folder.path().join("disk"));
        let disk_bytes = if quick { 128 << 20 } else { 1 << 30 };
        for (path, bytes) in [(&cached, CACHED_BYTES), (&disk, disk_bytes)] {
            let mut file = File::create(path)?;
            fill(&mut file, bytes).with_context(|| format!("cannot fill `{}`", path.display()))?;
            file.sync_all()?;
        }
        let filesystem = filesystem_of(folder.path());
        Ok(Self { cached, disk, disk_bytes, zram: Zram::make(), filesystem, _folder: folder })
    }

    /// Why a ground is not there.
    pub(crate) fn why_missing(&self, ground: Ground) -> Option<&str> {
        match ground {
            Ground::Zram => self.zram.as_ref().err().map(String::as_str),
            _ => None,
        }
    }

    pub(crate) fn path(&self, ground: Ground) -> &Path {
        match (ground, &self.zram) {
            (Ground::Disk, _) => &self.disk,
            (Ground::Cached, _) => &self.cached,
            (Ground::Zram, Ok(zram)) => &zram.path,
            (Ground::DevZero | Ground::Zram, _) => Path::new("/dev/zero"),
        }
    }

    /// How much of a target is read.
    pub(crate) fn bytes(&self, ground: Ground) -> u64 {
        match ground {
            Ground::Disk => self.disk_bytes,
            Ground::Zram => ZRAM_BYTES,
            Ground::Cached | Ground::DevZero => CACHED_BYTES,
        }
    }
}

/// Fills with what no compressor makes smaller.
fn fill(target: &mut File, bytes: u64) -> Result<()> {
    let mut random = File::open("/dev/urandom")?;
    let mut chunk = vec![0; CHUNK_BYTES];
    for _ in 0..bytes / CHUNK_BYTES as u64 {
        random.read_exact(&mut chunk)?;
        target.write_all(&chunk)?;
    }
    Ok(())
}

/// The type of the filesystem that `path` is on, by the longest mount point above it.
fn filesystem_of(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    mounted
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or_else(|| "unknown".to_owned(), |(_, kind)| kind.to_owned())
}

/// A zram device of our own.
#[derive(Debug)]
struct Zram {
    number: u32,
    path: PathBuf,
}

impl Zram {
    /// Makes a device and fills it; the reason why not is a clause for people.
    fn make() -> std::result::Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make a zram device".to_owned());
        }
        // Reading this file makes a device and says its number (`Documentation/admin-guide/blockdev/zram.rst`).
        let number = std::fs::read_to_string(Path::new(ZRAM_CONTROL).join("hot_add"))
            .map_err(|error| format!("the kernel makes no zram device ({error}): `modprobe zram`"))?;
        let number: u32 = number.trim().parse().map_err(|_| "zram's number is no number".to_owned())?;
        // From here on it is removed again, whatever fails.
        let zram = Self { number, path: PathBuf::from(format!("/dev/zram{number}")) };
        zram.set_up().map_err(|error| format!("`{}` cannot be used ({error:#})", zram.path.display()))?;
        Ok(zram)
    }

    fn set_up(&self) -> Result<()> {
        std::fs::write(format!("/sys/block/zram{}/disksize", self.number), ZRAM_BYTES.to_string())?;
        let mut device = OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(&self.path)?;
        fill(&mut device, ZRAM_BYTES)?;
        device.sync_all()?;
        Ok(())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // There is nobody to tell; a device that is in use is refused and stays.
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _ = std::fs::write(Path::new(ZRAM_CONTROL).join("hot_remove"), self.number.to_string());
    }
}
