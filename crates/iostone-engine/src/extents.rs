//! Where a file lies: its extents as the filesystem tells them (`FS_IOC_FIEMAP`).
#![expect(unsafe_code, reason = "rustix and std have no call for FS_IOC_FIEMAP")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Extents asked for at a time.
const AT_ONCE: u32 = 256;
/// `_IOWR('f', 11, struct fiemap)`, linux/fs.h.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// Write the file's data back first, linux/fiemap.h.
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_UNKNOWN: u32 = 0x2;
const FIEMAP_EXTENT_DELALLOC: u32 = 0x4;
const FIEMAP_EXTENT_ENCODED: u32 = 0x8;
/// Space was allocated for it, but nothing was written there.
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;

/// A piece of a file in one place, `struct fiemap_extent` (linux/fiemap.h, Documentation/filesystems/fiemap.rst).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileExtent {
    /// Bytes from the start of the file.
    pub logical: u64,
    /// Bytes from the start of the device; of btrfs in its logical address space.
    pub physical: u64,
    /// Its length in the file, bytes.
    pub length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with room for some extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FileExtent; AT_ONCE as usize],
}

// linux/fiemap.h gives these sizes.
const _: () = assert!(size_of::<FileExtent>() == 56 && size_of::<Map>() == 32 + 56 * AT_ONCE as usize);

impl FileExtent {
    /// One in a place that is known, its own alone.
    pub fn at(logical: u64, physical: u64, length: u64) -> Self {
        Self { logical, physical, length, ..Self::default() }
    }

    /// Whether it has no place yet: delayed, or one that the filesystem does not tell.
    pub fn is_placeless(&self) -> bool {
        self.flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC) != 0
    }

    /// Whether its bytes are stored in another form, as compressed ones are (`FIEMAP_EXTENT_ENCODED`).
    pub fn is_encoded(&self) -> bool {
        self.flags & FIEMAP_EXTENT_ENCODED != 0
    }

    /// Whether space was allocated for it without anything being written there (`FIEMAP_EXTENT_UNWRITTEN`).
    pub fn is_unwritten(&self) -> bool {
        self.flags & FIEMAP_EXTENT_UNWRITTEN != 0
    }

    /// Whether another file or a snapshot has the same place (`FIEMAP_EXTENT_SHARED`).
    pub fn is_shared(&self) -> bool {
        self.flags & FIEMAP_EXTENT_SHARED != 0
    }
}

/// Every extent of a file in the order of the file, after its data was written back; holes have none.
///
/// # Errors
/// What ioctl(2) says: `EOPNOTSUPP` of a filesystem that has no such map.
pub fn extents_of(file: &File) -> io::Result<Vec<FileExtent>> {
    let mut found: Vec<FileExtent> = Vec::new();
    let mut map = Map {
        start: 0,
        length: u64::MAX,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: AT_ONCE,
        reserved: 0,
        extents: [FileExtent::default(); AT_ONCE as usize],
    };
    loop {
        map.mapped_extents = 0;
        // SAFETY: the argument is the address of a live `struct fiemap` with room for as many extents as it says.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = map.extents.iter().take(map.mapped_extents as usize);
        found.extend(mapped.copied());
        let Some(last) = found.last().filter(|_| map.mapped_extents > 0) else { return Ok(found) };
        let next = last.logical.saturating_add(last.length);
        // A file that somebody else changes meanwhile must not lead in circles.
        if last.flags & FIEMAP_EXTENT_LAST != 0 || next <= map.start {
            return Ok(found);
        }
        (map.start, map.length) = (next, u64::MAX - next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_extents_of_a_file_cover_what_was_written_and_no_holes() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("data")).unwrap();
        for piece in 0..600u64 {
            file.write_all_at(&[7; 4096], piece * 65536).unwrap();
        }
        let extents = match extents_of(&file) {
            Ok(extents) => extents,
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                eprintln!("skipped: this filesystem has no FIEMAP");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(extents.len(), 600, "more than are asked for at a time");
        assert!(extents.iter().zip(0..).all(|(extent, piece)| extent.logical == piece * 65536));
        assert!(extents.iter().all(|extent| extent.length == 4096 && !extent.is_encoded()));
    }
}
