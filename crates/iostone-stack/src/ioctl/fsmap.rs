//! The ioctl that tells what every block of a filesystem belongs to (`ioctl_getfsmap(2)`, linux/fsmap.h).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Records asked for at a time.
const AT_ONCE: u32 = 256;
/// `_IOWR('X', 59, struct fsmap_head)`.
const FS_IOC_GETFSMAP: libc::c_ulong = 0xC0C0_583B;
/// `FMR_OF_SPECIAL_OWNER`: the owner is none of the inodes.
const SPECIAL_OWNER: u32 = 0x10;
/// `FMR_OF_LAST`.
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`, `FMR_OWNER(0, 1)`.
const OWN_FREE: u64 = 1;

/// `struct fsmap`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MapRecord {
    pub(crate) device: u32,
    flags: u32,
    /// Bytes from the start of the device.
    pub(crate) physical: u64,
    owner: u64,
    offset: u64,
    /// Bytes.
    pub(crate) length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head` with room for some records.
#[repr(C)]
struct Map {
    input_flags: u32,
    output_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [MapRecord; 2],
    records: [MapRecord; AT_ONCE as usize],
}

// linux/fsmap.h gives these sizes.
const _: () = assert!(size_of::<MapRecord>() == 64 && size_of::<Map>() == 192 + 64 * AT_ONCE as usize);

impl MapRecord {
    /// The key above all records.
    const HIGHEST: Self = Self {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        length: 0,
        reserved: [0; 3],
    };

    fn is_free(&self) -> bool {
        self.flags & SPECIAL_OWNER != 0 && self.owner == OWN_FREE
    }
}

/// Every run of free blocks of the filesystem that a file or directory lies on, in the order of the device.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` of a filesystem that has no such map.
pub(crate) fn free_runs(anything: &File) -> io::Result<Vec<MapRecord>> {
    let mut free = Vec::new();
    let mut map = Map {
        input_flags: 0,
        output_flags: 0,
        count: AT_ONCE,
        entries: 0,
        reserved: [0; 6],
        keys: [MapRecord::default(), MapRecord::HIGHEST],
        records: [MapRecord::default(); AT_ONCE as usize],
    };
    loop {
        map.entries = 0;
        super::call(anything.as_raw_fd(), FS_IOC_GETFSMAP, (&raw mut map) as libc::c_ulong)?;
        let told = map.records.get(..map.entries as usize).unwrap_or(&map.records);
        free.extend(told.iter().filter(|record| record.is_free()).copied());
        // The next call goes on behind the last record; `length` in the low key says how far (fsmap_advance).
        let Some(last) = told.last().copied().filter(|last| last.flags & LAST == 0) else { return Ok(free) };
        let previous = map.keys[0];
        if (last.device, last.physical, last.length) == (previous.device, previous.physical, previous.length)
        {
            return Ok(free);
        }
        map.keys[0] = last;
    }
}
