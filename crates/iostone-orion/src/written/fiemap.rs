//! Asks the filesystem for the extents of a file (`FS_IOC_FIEMAP`).
#![expect(unsafe_code, reason = "FS_IOC_FIEMAP has no safe binding")]

use std::fs::File;
use std::io;

use rustix::ioctl::{Opcode, Updater, ioctl};

/// Extents asked for at once.
const EXTENTS: u32 = 256;
/// Dirty pages are written first, so that no extent is told as unwritten that is about to be.
const FIEMAP_FLAG_SYNC: u32 = 1;
/// It is the file's last extent.
const FIEMAP_EXTENT_LAST: u32 = 0x1;
/// Space was allocated for it, but nothing was written there.
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: Opcode = rustix::ioctl::opcode::read_write::<Header>(b'f', 11);

/// `struct fiemap` of linux/fiemap.h, without its extents.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_long: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; EXTENTS as usize],
}

// The kernel's layout is fixed: linux/fiemap.h gives these sizes.
const _: () = assert!(size_of::<Header>() == 32 && size_of::<RawExtent>() == 56);
const _: () = assert!(size_of::<Request>() == 32 + 56 * EXTENTS as usize);

/// A run of a file's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) is_written: bool,
}

/// All extents of the file, ascending; holes have none.
///
/// # Errors
/// What ioctl(2) says: `EOPNOTSUPP` or `ENOTTY` where the filesystem has no such map.
pub(super) fn read_extents(file: &File) -> io::Result<Vec<Extent>> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let mut request = Request {
            header: Header {
                start,
                length: u64::MAX - start,
                flags: FIEMAP_FLAG_SYNC,
                extent_count: EXTENTS,
                ..Header::default()
            },
            extents: [RawExtent::default(); EXTENTS as usize],
        };
        // SAFETY: FS_IOC_FIEMAP reads and writes one `struct fiemap` and at most `extent_count` extents behind it, all of
        // which `Request` holds in the kernel's layout.
        unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, Request>::new(&mut request)) }?;
        let mapped = request.header.mapped_extents.min(EXTENTS) as usize;
        let mut last = mapped == 0;
        for raw in request.extents.iter().take(mapped) {
            let is_written = raw.flags & FIEMAP_EXTENT_UNWRITTEN == 0;
            extents.push(Extent { start: raw.logical, length: raw.length, is_written });
            last |= raw.flags & FIEMAP_EXTENT_LAST != 0;
            // A map that does not get on would never end.
            let end = raw.logical.saturating_add(raw.length);
            last |= end <= start;
            start = start.max(end);
        }
        if last {
            return Ok(extents);
        }
    }
}
