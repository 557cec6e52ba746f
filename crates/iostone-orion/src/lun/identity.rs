//! What tells a LUN from another of the same name and size: a copy, a restored file, a disk that took another's letter.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iostone_model::orion::LunKind;
use rustix::fs::{AtFlags, CWD, StatxFlags, major, minor, statx};

use super::Lun;

const BY_ID: &str = "/dev/disk/by-id";

impl Lun {
    /// Its identity in words; none where it cannot be looked at. A file's is its inode and when that was made (`stx_btime`
    /// of statx(2)), for numbers of inodes are used again; a device's the name that udev(7) gives it for good, else its
    /// serial number or backing file, else its number.
    pub fn identity(&self) -> Option<String> {
        match self.kind {
            LunKind::File => identity_of_file(&self.way()),
            LunKind::Device => identity_of_device(&self.way()),
        }
    }

    /// Whether it is what had that identity.
    pub(crate) fn is_still(&self, identity: &str) -> bool {
        let number = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.rdev());
        if self.kind == LunKind::Device && identity.starts_with(BY_ID) {
            // A device has several such names, and which one comes first may change.
            return number(Path::new(identity)).is_some_and(|named| Some(named) == number(&self.way()));
        }
        // What cannot be told is not held against it.
        self.identity().is_none_or(|now| now == identity)
    }
}

fn identity_of_file(path: &Path) -> Option<String> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    if let Ok(status) = statx(CWD, path, AtFlags::empty(), wanted)
        && StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME)
    {
        let born = status.stx_btime;
        return Some(format!("inode {} made at {}.{:09}", status.stx_ino, born.tv_sec, born.tv_nsec));
    }
    let metadata = fs::metadata(path).ok()?;
    let device = metadata.dev();
    Some(format!("inode {} on device {}:{}", metadata.ino(), major(device), minor(device)))
}

fn identity_of_device(path: &Path) -> Option<String> {
    let number = fs::metadata(path).ok()?.rdev();
    if let Some(name) = name_for_good(number) {
        return Some(name.display().to_string());
    }
    let sysfs = PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)));
    let sysfs = fs::canonicalize(sysfs).ok()?;
    let read = |folder: &Path, attribute: &str| {
        let text = fs::read_to_string(folder.join(attribute)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    // A partition is told by its disk's.
    let (disk, of) = match read(&sysfs, "partition") {
        Some(partition) => (sysfs.parent()?, format!("partition {partition} of ")),
        None => (sysfs.as_path(), String::new()),
    };
    if let Some(file) = read(disk, "loop/backing_file") {
        let inode = identity_of_file(Path::new(&file)).map(|inode| format!(", {inode}")).unwrap_or_default();
        return Some(format!("{of}backing file {file}{inode}"));
    }
    let known = ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid"];
    let serial = known.iter().find_map(|attribute| read(disk, attribute));
    Some(match serial {
        Some(serial) => format!("{of}serial {serial}"),
        None => format!("device number {}:{}", major(number), minor(number)),
    })
}

/// The first of the links under `/dev/disk/by-id` that lead to a device.
fn name_for_good(number: u64) -> Option<PathBuf> {
    let links = fs::read_dir(BY_ID).ok()?.flatten().map(|entry| entry.path());
    links.filter(|link| fs::metadata(link).is_ok_and(|metadata| metadata.rdev() == number)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_another_file_and_a_renamed_one_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let [path, elsewhere] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&path, "data").unwrap();
        let lun = Lun { name: "a".to_owned(), path: path.clone(), kind: LunKind::File, bytes: 4, pin: None };
        let identity = lun.identity().unwrap();
        fs::write(&path, "atad").unwrap();
        assert!(lun.is_still(&identity));
        fs::copy(&path, &elsewhere).unwrap();
        fs::rename(&elsewhere, &path).unwrap();
        assert!(!lun.is_still(&identity), "{identity}");
        fs::remove_file(&path).unwrap();
        assert_eq!(lun.identity(), None);
    }
}
