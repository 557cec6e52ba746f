//! A part of a target mapped into memory: blocks are copied from and to it, and it is written back by msync(2).
#![expect(
    unsafe_code,
    reason = "memory that the kernel and other processes change is mapped and copied by hand"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use rustix::fs::{SeekFrom, fstat, seek};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::fault;
use crate::source::Part;

/// Copies are cut into pieces of this size, a multiple of any page's: after a fault no more than one piece of it
/// goes on into memory that is thrown away.
const PIECE_BYTES: usize = 2 << 20;

/// The largest unit of the page cache: a huge page on x86-64 and (with 4 KiB pages) on `AArch64`.
const LARGEST_FOLIO_BYTES: u64 = 2 << 20;

/// A part of a target, mapped shared.
///
/// It is only ever accessed through raw pointers: its bytes change whenever anybody writes to the file, so there must
/// be no reference to them.
#[derive(Debug)]
pub(super) struct Mapping<'a> {
    file: &'a File,
    /// None when the part is empty.
    address: Option<NonNull<u8>>,
    /// Where in the target it begins: a multiple of the page size.
    start_bytes: u64,
    length: usize,
    page_bytes: usize,
    writable: bool,
    advice: Option<Advice>,
    /// Whether pages replaced after a fault could not be put back: then part of it may be no longer ours.
    broken: bool,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Mapping<'_> {}

impl<'a> Mapping<'a> {
    /// Maps the pages that `part` touches, all of them at once. What lies beyond the end of a file is mapped too, and
    /// copies of it fail.
    ///
    /// # Errors
    /// What mmap(2) said: `EACCES` unless the file is open for reading, and for writing as well if `writable`;
    /// `ENODEV` if it cannot be mapped; `ENOMEM` if the address space is too small, or there are too many mappings
    /// (`vm.max_map_count`). `EOVERFLOW` if the part's end has no number.
    pub(super) fn map(file: &'a File, part: Part, writable: bool) -> io::Result<Self> {
        fault::install()?;
        let page_bytes = page_bytes();
        let overflow = || io::Error::from_raw_os_error(libc::EOVERFLOW);
        let start_bytes = part.offset_bytes - part.offset_bytes % page_bytes as u64;
        let end_bytes = part.offset_bytes.checked_add(part.length_bytes).ok_or_else(overflow)?;
        let length = if part.length_bytes == 0 { 0 } else { end_bytes - start_bytes };
        let length = usize::try_from(length).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let mut mapping = Self {
            file,
            address: None,
            start_bytes,
            length,
            page_bytes,
            writable,
            advice: None,
            broken: false,
        };
        if length > 0 {
            // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
            let address = unsafe {
                mmap(ptr::null_mut(), length, mapping.protection(), MapFlags::SHARED, file, start_bytes)
            }?;
            mapping.address = NonNull::new(address.cast());
        }
        Ok(mapping)
    }

    fn protection(&self) -> ProtFlags {
        if self.writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ }
    }

    /// Tells the kernel in which order pages will be touched; madvise(2). It sets how much is read ahead.
    ///
    /// # Errors
    /// What madvise(2) said.
    pub(super) fn advise(&mut self, advice: Advice) -> io::Result<()> {
        self.advice = Some(advice);
        Ok(self.advise_pages(0..self.length)?)
    }

    fn advise_pages(&self, pages: Range<usize>) -> rustix::io::Result<()> {
        match (self.address, self.advice) {
            (Some(_), Some(advice)) if !self.broken => {
                // SAFETY: the range lies within this mapping; the advices given change no content.
                unsafe { madvise(self.at(pages.start), pages.len(), advice) }
            }
            _ => Ok(()),
        }
    }

    /// Copies from the mapping into `block`.
    ///
    /// # Errors
    /// `EIO` if the kernel cannot give a page, because the file is shorter than that or its medium fails, or if an
    /// earlier fault left the mapping broken; `EINVAL` outside of the mapping.
    #[inline]
    pub(super) fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> Result<(), Errno> {
        let place = self.locate(offset_bytes, block.len())?;
        for (piece, place) in block.chunks_mut(PIECE_BYTES).zip((place..).step_by(PIECE_BYTES)) {
            let (from, into, length) = (self.at(place).cast::<u8>(), piece.as_mut_ptr(), piece.len());
            // SAFETY: `locate` saw to it that the piece lies within the mapping; `piece` is memory of its own. A page
            // that cannot be had is replaced by one that can.
            let copy = || unsafe { ptr::copy_nonoverlapping(from, into, length) };
            if self.strikes(place..place + length, copy) {
                return Err(Errno::IO);
            }
        }
        Ok(())
    }

    /// Copies `block` into the mapping.
    ///
    /// # Errors
    /// As [`read`](Self::read); `ENOSPC` if a hole was to be filled and could not be (the filesystem is full, or the
    /// quota is); `EBADF` if the mapping is not writable.
    #[inline]
    pub(super) fn write(&mut self, offset_bytes: u64, block: &[u8]) -> Result<(), Errno> {
        if !self.writable {
            return Err(Errno::BADF);
        }
        let place = self.locate(offset_bytes, block.len())?;
        for (piece, place) in block.chunks(PIECE_BYTES).zip((place..).step_by(PIECE_BYTES)) {
            let (from, into, length) = (piece.as_ptr(), self.at(place).cast::<u8>(), piece.len());
            // SAFETY: as in `read`; and the mapping is writable.
            let copy = || unsafe { ptr::copy_nonoverlapping(from, into, length) };
            if self.strikes(place..place + length, copy) {
                return Err(self.explain(place, length));
            }
        }
        Ok(())
    }

    /// Where a block lies within the mapping.
    #[inline]
    fn locate(&self, offset_bytes: u64, length: usize) -> Result<usize, Errno> {
        if self.broken {
            return Err(Errno::IO);
        }
        let place = offset_bytes.checked_sub(self.start_bytes).and_then(|place| usize::try_from(place).ok());
        let place = place.ok_or(Errno::INVAL)?;
        let end = place.checked_add(length).ok_or(Errno::INVAL)?;
        if end <= self.length { Ok(place) } else { Err(Errno::INVAL) }
    }

    /// The address of a place that is within the mapping, or at its end.
    #[inline]
    fn at(&self, place: usize) -> *mut c_void {
        let base = self.address.map_or(ptr::null_mut(), NonNull::as_ptr);
        // Wrapping, as an empty part has no memory to be within.
        base.wrapping_add(place.min(self.length)).cast()
    }

    /// The pages that bytes of the mapping lie in. The last page of the mapping is a whole one, whatever its length.
    #[inline]
    fn pages_of(&self, bytes: Range<usize>) -> Range<usize> {
        let mask = self.page_bytes - 1;
        bytes.start & !mask..(bytes.end + mask) & !mask
    }

    /// Runs a copy that touches these bytes of the mapping, says whether a page of them could not be had, and puts the
    /// target's pages back where they were replaced.
    #[inline]
    fn strikes(&mut self, bytes: Range<usize>, copy: impl FnOnce()) -> bool {
        let base = self.at(0).addr();
        let pages = self.pages_of(bytes);
        // SAFETY: these are whole pages of this mapping, of which there are no references; the handler was installed
        // before it was made.
        let struck = unsafe { fault::guard(base + pages.start..base + pages.end, self.page_bytes, copy) };
        if struck {
            self.restore(pages);
        }
        struck
    }

    /// Maps pages of the target anew, so that what is done to them later reaches the target, or fails again.
    #[cold]
    fn restore(&mut self, pages: Range<usize>) {
        // SAFETY: the pages are this mapping's own, and there are no references to them.
        let restored = unsafe {
            mmap(
                self.at(pages.start),
                pages.len(),
                self.protection(),
                MapFlags::SHARED | MapFlags::FIXED,
                self.file,
                self.start_bytes + pages.start as u64,
            )
        };
        // Advice is lost with the mapping it was given for.
        self.broken = restored.is_err() || self.advise_pages(pages).is_err();
    }

    /// Why a write into the mapping struck: SIGBUS says nothing of it, but a hole needs no reading, so that only room
    /// to fill it can be lacking. Asking for the blocks instead would get some where they are reserved in advance.
    #[cold]
    fn explain(&self, place: usize, length: usize) -> Errno {
        let start = self.start_bytes + place as u64;
        let end = start + length as u64;
        // A block device has no size here, and no holes.
        let size = fstat(self.file).map_or(0, |status| u64::try_from(status.st_size).unwrap_or(0));
        // The page cache may hold larger units than pages, and fills a unit or fails it as a whole.
        let filled_with_it = end.next_multiple_of(LARGEST_FOLIO_BYTES).min(size);
        // This moves the file's offset, which nothing here goes by. The end of a file counts as a hole.
        match seek(self.file, SeekFrom::Hole(start)) {
            Ok(hole) if end <= size && hole < filled_with_it => Errno::NOSPC,
            _ => Errno::IO,
        }
    }

    /// Writes back all of the mapping, and waits for it.
    ///
    /// # Errors
    /// What msync(2) said; `EIO` if an earlier fault left the mapping broken.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        self.sync_bytes(0..self.length)
    }

    /// Writes back the pages that a range of the target touches, as far as they are mapped; a length of 0 means to
    /// the end.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub(super) fn sync_range(&self, offset_bytes: u64, length_bytes: u32) -> Result<(), Errno> {
        let place_of = |offset: u64| {
            usize::try_from(offset.saturating_sub(self.start_bytes)).unwrap_or(usize::MAX).min(self.length)
        };
        let end = match length_bytes {
            0 => self.length,
            length => place_of(offset_bytes.saturating_add(length.into())),
        };
        self.sync_bytes(place_of(offset_bytes)..end)
    }

    fn sync_bytes(&self, bytes: Range<usize>) -> Result<(), Errno> {
        if self.broken {
            return Err(Errno::IO);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let pages = self.pages_of(bytes);
        // SAFETY: the pages are this mapping's own; MS_SYNC changes nothing in them.
        retry_on_intr(|| unsafe { msync(self.at(pages.start), pages.len(), MsyncFlags::SYNC) })
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // Where replaced pages could not be put back there may be a gap, in which by now something else lies. Then
        // the address space is lost rather than somebody's memory.
        if let (Some(address), false) = (self.address, self.broken) {
            // SAFETY: the mapping was made by `map` with this length, and nothing refers to it.
            let _ = unsafe { munmap(address.as_ptr().cast(), self.length) };
        }
    }
}

/// Size of a page in bytes: a power of two.
pub(super) fn page_bytes() -> usize {
    // SAFETY: sysconf(3) with this name reads a constant.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
