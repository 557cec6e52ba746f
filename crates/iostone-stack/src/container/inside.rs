//! The look at a directory from where one stands: its mount, its device, its filesystem.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::InsideView;
use crate::below::mount_of;
use crate::device::number_of;
use crate::error::StackError;
use crate::mountinfo::{self, Mount};

/// What the mount table is called in messages and checks.
pub(super) const MOUNTINFO: &str = "/proc/self/mountinfo";

/// Filesystems by their `f_type` (statfs(2), `linux/magic.h`), those that can lie under a workload here. ext2 and ext3
/// have the number of ext4.
const MAGICS: [(u64, &[&str]); 6] = [
    (0x0000_ef53, &["ext2", "ext3", "ext4"]),
    (0x5846_5342, &["xfs"]),
    (0x9123_683e, &["btrfs"]),
    (0xf2f5_2010, &["f2fs"]),
    (0x794c_7630, &["overlay"]),
    (0x0102_1994, &["tmpfs", "devtmpfs", "rootfs"]),
];

impl InsideView {
    /// What this process sees of a directory.
    ///
    /// # Errors
    /// [`StackError::Io`] when the kernel does not tell, [`StackError::Unexpected`] when no mount holds the directory.
    pub fn of(directory: &Path) -> Result<Self, StackError> {
        let metadata = fs::metadata(directory).map_err(|error| StackError::io("stat", directory, error))?;
        let filesystem =
            rustix::fs::statfs(directory).map_err(|error| StackError::io("statfs", directory, error))?.f_type;
        let mounted = mount_of(directory)?
            .ok_or_else(|| StackError::unexpected(directory, "it is on no mount of this process"))?;
        let table = fs::read(MOUNTINFO).map_err(|error| StackError::io("read", MOUNTINFO, error))?;
        let id = format!("{} ", mounted.mount_id);
        let line = table
            .split(|&byte| byte == b'\n')
            .find(|line| line.starts_with(id.as_bytes()))
            .ok_or_else(|| StackError::unexpected(directory, "its mount has just disappeared"))?;
        Ok(Self {
            mount_line: String::from_utf8_lossy(line).into_owned(),
            device: number_of(metadata.dev()),
            // Signed, and of 32 bits on some architectures.
            filesystem_magic: u64::from(u32::try_from(filesystem & 0xffff_ffff).unwrap_or_default()),
        })
    }

    /// The mount that it tells of, once its parts fit together.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] for a line that cannot be read, [`StackError::NotApplied`] where the directory's own
    /// device or filesystem is another than the line says: something else is mounted over it.
    pub(super) fn mounted(&self) -> Result<Mount, StackError> {
        let mounted = mountinfo::parse(self.mount_line.as_bytes()).pop().ok_or_else(|| {
            StackError::unexpected(MOUNTINFO, format!("`{}` is not a line of mountinfo", self.mount_line))
        })?;
        let kinds = MAGICS.iter().find(|(magic, _)| *magic == self.filesystem_magic).map(|(_, kinds)| *kinds);
        if kinds.is_some_and(|kinds| !kinds.contains(&mounted.filesystem.as_str())) {
            return Err(StackError::NotApplied {
                layer: "container",
                asked: format!("a directory on {}, as its mount says", mounted.filesystem),
                read_back: kinds.unwrap_or_default().join(" or "),
                from: "statfs(2), from where the workload stands,".to_owned(),
            });
        }
        // Each subvolume of a btrfs has a number of its own, which no mount shows.
        if mounted.filesystem != "btrfs" && mounted.number != self.device {
            return Err(StackError::NotApplied {
                layer: "container",
                asked: format!("a directory on {}, as its mount says", in_words(mounted.number)),
                read_back: in_words(self.device),
                from: "stat(2), from where the workload stands,".to_owned(),
            });
        }
        Ok(mounted)
    }
}

/// "device 7:0".
pub(super) fn in_words((major, minor): (u32, u32)) -> String {
    format!("device {major}:{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_sees_fits_together() {
        for directory in ["/proc/self/..", "/dev", env!("CARGO_MANIFEST_DIR")] {
            let view = InsideView::of(Path::new(directory)).unwrap();
            view.mounted().unwrap();
        }
    }

    #[test]
    fn a_directory_is_seen_on_the_mount_that_it_lies_on() {
        let proc = InsideView::of(Path::new("/proc/self")).unwrap();
        assert!(proc.mount_line.contains(" - proc "), "{proc:?}");
        // linux/magic.h: PROC_SUPER_MAGIC.
        assert_eq!(proc.filesystem_magic, 0x9fa0);
        let directory = tempfile::tempdir().unwrap();
        let seen = InsideView::of(directory.path()).unwrap();
        assert_eq!(seen.device, number_of(fs::metadata(directory.path()).unwrap().dev()));
        assert_ne!(seen.mount_line, proc.mount_line);
        let error = InsideView::of(Path::new("/proc/self/nowhere")).unwrap_err();
        assert!(error.to_string().contains("/proc/self/nowhere"), "{error}");
    }

    #[test]
    fn a_directory_on_another_filesystem_than_its_mount_is_not_taken() {
        let view = InsideView {
            mount_line: "61 42 7:0 / /m rw - ext4 /dev/loop0 rw".to_owned(),
            device: (7, 0),
            filesystem_magic: 0xef53,
        };
        assert_eq!(view.mounted().unwrap().number, (7, 0));
        let tmpfs = InsideView { filesystem_magic: 0x0102_1994, ..view.clone() };
        assert!(tmpfs.mounted().unwrap_err().to_string().contains("tmpfs or"));
        let elsewhere = InsideView { device: (254, 0), ..view.clone() };
        assert!(elsewhere.mounted().unwrap_err().to_string().contains("device 254:0"));
        let torn = InsideView { mount_line: "61 42".to_owned(), ..view };
        assert!(matches!(torn.mounted(), Err(StackError::Unexpected { .. })));
    }
}
