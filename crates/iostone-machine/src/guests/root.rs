//! The image of a guest's root filesystem: the user's, only read, or one made of a directory.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use iostone_guest::find_program;
use rustix::fs::{Mode, OFlags};

use crate::StopFlag;
use crate::failure::{Failure, FailureKind};
use crate::packed::path_of;

/// Magic numbers by kind, with their place: `fs/ext4/ext4.h`, `fs/xfs/libxfs/xfs_format.h`, `fs/btrfs/ctree.h`,
/// `fs/squashfs/squashfs_fs.h`.
const MAGICS: &[(&str, u64, &[u8])] = &[
    ("ext4", 0x438, &[0x53, 0xef]),
    ("xfs", 0, b"XFSB"),
    ("btrfs", 0x1_0040, b"_BHRfS_M"),
    ("squashfs", 0, b"hsqs"),
];
/// A file takes whole blocks, and an inode.
const BLOCK_BYTES: u64 = 4096;
/// For tables, and because an empty filesystem of less is none.
const SPARE_BYTES: u64 = 64 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// An image that a guest finds its root in.
#[derive(Debug)]
pub(super) struct RootImage {
    path: PathBuf,
    /// Keeps an image without a name alive.
    _scratch: Option<OwnedFd>,
}

impl RootImage {
    /// The image of a root: the file itself, or one that is made of the directory, in a file without a name in `place`.
    ///
    /// # Errors
    /// The file holds no filesystem; the image cannot be made.
    pub(super) fn of(root: &Path, place: &Path, stop: &StopFlag) -> Result<Self, Failure> {
        if root.is_dir() {
            return make(root, place, stop);
        }
        Self::kind_of(root)?;
        let path = fs::canonicalize(root).map_err(|error| unusable(root, &error.to_string()))?;
        Ok(Self { path, _scratch: None })
    }

    /// Where QEMU finds it.
    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The kind of filesystem that the guest's kernel must know.
    ///
    /// # Errors
    /// Neither a directory nor an image of a kind that can be a root.
    pub(super) fn kind_of(root: &Path) -> Result<&'static str, Failure> {
        if root.is_dir() {
            return Ok("ext4");
        }
        // A FIFO without a writer would be waited for.
        let kind = fs::metadata(root).map_err(|error| unusable(root, &error.to_string()))?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(unusable(root, "it is neither a file nor a directory"));
        }
        let mut file = File::open(root).map_err(|error| unusable(root, &error.to_string()))?;
        for (kind, offset, magic) in MAGICS {
            let mut found = vec![0; magic.len()];
            let read = file.seek(SeekFrom::Start(*offset)).and_then(|_| file.read_exact(&mut found));
            if read.is_ok() && found == *magic {
                return Ok(kind);
            }
        }
        Err(unusable(
            root,
            "it is neither a directory nor the image of an ext4, xfs, btrfs or squashfs filesystem without partitions",
        ))
    }
}

fn make(directory: &Path, place: &Path, stop: &StopFlag) -> Result<RootImage, Failure> {
    let program = find_program("mkfs.ext4")?;
    let bytes = image_bytes(directory, stop)?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let failed = |error: rustix::io::Errno| {
        Failure::new(
            FailureKind::Failed,
            format!("space for the root filesystem in `{}`: {error}", place.display()),
        )
    };
    fs::create_dir_all(place).map_err(|error| {
        Failure::new(FailureKind::Failed, format!("making `{}`: {error}", place.display()))
    })?;
    let scratch = rustix::fs::open(place, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    rustix::fs::ftruncate(&scratch, bytes).map_err(failed)?;
    let path = path_of(&scratch);
    let mut child = Command::new(&program)
        // It is only read: a journal and a reserve would be room for nothing.
        .args(["-q", "-F", "-O", "^has_journal", "-m", "0", "-i", "8192", "-E", "root_owner=0:0", "-d"])
        .arg(directory)
        .arg(&path)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| unusable(directory, &format!("`{}`: {error}", program.display())))?;
    let status = loop {
        if let Ok(Some(status)) = child.try_wait() {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        std::thread::sleep(LOOK_EVERY);
    };
    if !status.success() {
        let mut complaint = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            // What could not be read is only part of the message.
            let _ = stderr.read_to_string(&mut complaint);
        }
        let reason = format!("`mkfs.ext4 -d` ended with {status}: {}", complaint.trim());
        return Err(unusable(directory, &reason));
    }
    Ok(RootImage { path, _scratch: Some(scratch) })
}

/// The size of an image that holds everything below a directory, in whole MiB.
fn image_bytes(directory: &Path, stop: &StopFlag) -> Result<u64, Failure> {
    let mut left = vec![directory.to_owned()];
    let mut bytes = 0u64;
    while let Some(directory) = left.pop() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        let entries = fs::read_dir(&directory).map_err(|error| unusable(&directory, &error.to_string()))?;
        for entry in entries.flatten() {
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            bytes += metadata.size().div_ceil(BLOCK_BYTES) * BLOCK_BYTES + BLOCK_BYTES / 4;
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    let with_tables = bytes + bytes / 8 + SPARE_BYTES;
    Ok(with_tables.next_multiple_of(1 << 20))
}

fn unusable(root: &Path, reason: &str) -> Failure {
    Failure::new(FailureKind::Usage, format!("`machine.rootfs`: `{}`: {reason}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_image_is_read_from_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let mut content = vec![0u8; 0x1_0100];
        content[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        fs::write(&path, &content).unwrap();
        assert_eq!(RootImage::kind_of(&path).unwrap(), "ext4");
        fs::write(&path, b"hsqs").unwrap();
        assert_eq!(RootImage::kind_of(&path).unwrap(), "squashfs");
        fs::write(&path, b"something").unwrap();
        let failure = RootImage::kind_of(&path).unwrap_err();
        assert!(failure.message.contains("`machine.rootfs`"), "{failure}");
        assert_eq!(RootImage::kind_of(directory.path()).unwrap(), "ext4");
        assert!(RootImage::kind_of(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn an_image_of_a_directory_holds_it_and_leaves_no_file() {
        if find_program("mkfs.ext4").is_err() {
            eprintln!("skipped: needs mkfs.ext4");
            return;
        }
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/os-release"), "NAME=x\n").unwrap();
        let place = tempfile::tempdir().unwrap();
        let image = RootImage::of(root.path(), place.path(), &StopFlag::default()).unwrap();
        assert_eq!(RootImage::kind_of(&image.path()).unwrap(), "ext4");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
