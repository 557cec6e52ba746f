//! The memory of a ledger: anonymous, or that of a file which other processes will see.
#![expect(unsafe_code, reason = "a file is mapped and its bytes are used as numbers")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::Entry;

/// Entries in mapped memory.
#[derive(Debug)]
pub(super) struct Mapping {
    first: NonNull<Entry>,
    units: usize,
}

// SAFETY: the mapping belongs to this value alone, and entries are atomics, which any thread may use.
unsafe impl Send for Mapping {}
// SAFETY: as above; all access through a shared reference is atomic.
unsafe impl Sync for Mapping {}

/// Length of a mapping in bytes; never 0, which mmap(2) refuses.
fn length_of(units: u64) -> io::Result<usize> {
    usize::try_from(units)
        .ok()
        .and_then(|units| units.max(1).checked_mul(size_of::<Entry>()))
        .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

impl Mapping {
    /// Zeros that this process alone sees; pages are taken when they are first touched.
    pub(super) fn in_memory(units: u64) -> io::Result<Self> {
        let length = length_of(units)?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }?;
        Self::at(address, units)
    }

    /// The entries of a file that begin at `offset_bytes`, a multiple of the page size. The file must be long enough.
    pub(super) fn of_file(file: &File, offset_bytes: u64, units: u64) -> io::Result<Self> {
        if units == 0 {
            return Self::in_memory(0);
        }
        let length = length_of(units)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            mmap(
                ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                offset_bytes,
            )
        }?;
        Self::at(address, units)
    }

    fn at(address: *mut c_void, units: u64) -> io::Result<Self> {
        let missing = || io::Error::from_raw_os_error(libc::ENOMEM);
        let first = NonNull::new(address.cast::<Entry>()).ok_or_else(missing)?;
        Ok(Self { first, units: usize::try_from(units).map_err(|_| missing())? })
    }

    /// All entries.
    #[inline]
    pub(super) fn entries(&self) -> &[Entry] {
        // SAFETY: the mapping holds `units` entries and begins at a page, which suits their alignment; all of it is
        // initialised (zeros or the file's bytes) and any bytes are valid atomics, which may change while shared.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.units) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let length = self.units.max(1) * size_of::<Entry>();
        // SAFETY: it was mapped with this length, and no borrow of it outlives `self`.
        let _ = unsafe { munmap(self.first.as_ptr().cast::<c_void>(), length) };
    }
}
