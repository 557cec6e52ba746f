//! The memory that I/O goes from and to: one mapping per thread, page-aligned, on huge pages where they help.
#![expect(unsafe_code, reason = "memory that the kernel writes into must be mapped and sliced by hand")]

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Blocks begin at multiples of this, which suits `O_DIRECT` on every device.
const PAGE_BYTES: usize = 4096;
/// A huge page on x86-64 and (with 4 KiB pages) on `AArch64`.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size up a mapping is worth a whole huge page: fewer segments per request and fewer TLB misses.
const WORTH_HUGE_BYTES: usize = 128 << 10;
/// Writes rotate through at least this much memory, so that no compressor with a window up to a record of ZFS or
/// btrfs sees the same bytes twice (a block in it differs from its last use only by its stamps).
const ROTATION_BYTES: usize = 2 << 20;

/// Buffers of equal size: `slots` of them can be in flight, and each slot rotates through several.
#[derive(Debug)]
pub(crate) struct Arena {
    mapping: NonNull<u8>,
    mapped_bytes: usize,
    /// Start of the first block within the mapping.
    lead: usize,
    stride: usize,
    block_bytes: usize,
    rotation: usize,
    slots: usize,
    /// The memory that blocks lie in.
    used_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Arena {}

/// Where a block lies: its slot and which of the slot's buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(usize);

impl Place {
    /// The place `bytes` further on. It must lie in the same block.
    #[inline]
    pub(crate) fn advance(self, bytes: u32) -> Self {
        Self(self.0 + bytes as usize)
    }
}

impl Arena {
    /// Maps memory for `slots` blocks of `block_bytes` in flight; with `rotate`, several buffers per slot.
    ///
    /// # Errors
    /// What mmap(2) says, or `ENOMEM` when the size has no number.
    pub(crate) fn map(slots: u32, block_bytes: u32, rotate: bool) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let (slots, block_bytes) = (slots as usize, block_bytes as usize);
        let stride = block_bytes.next_multiple_of(PAGE_BYTES);
        let in_flight = stride.checked_mul(slots).ok_or_else(too_large)?;
        let rotation = if rotate { ROTATION_BYTES.div_ceil(in_flight).max(1) } else { 1 };
        let used = in_flight.checked_mul(rotation).ok_or_else(too_large)?;
        let huge = used >= WORTH_HUGE_BYTES;
        let alignment = if huge { HUGE_PAGE_BYTES } else { PAGE_BYTES };
        // One alignment more than needed, so that an aligned start lies within wherever the kernel puts it.
        let mapped_bytes = used
            .checked_next_multiple_of(alignment)
            .and_then(|n| n.checked_add(alignment))
            .ok_or_else(too_large)?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                mapped_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let mapping = NonNull::new(address.cast::<u8>()).ok_or_else(too_large)?;
        let lead = mapping.addr().get().next_multiple_of(alignment) - mapping.addr().get();
        let arena =
            Self { mapping, mapped_bytes, lead, stride, block_bytes, rotation, slots, used_bytes: used };
        if huge {
            let length = used.next_multiple_of(HUGE_PAGE_BYTES);
            // Only a hint: where huge pages are off the buffers work all the same.
            // SAFETY: the range lies within this mapping; MADV_HUGEPAGE changes no content.
            let _ = unsafe { madvise(arena.base().cast::<c_void>(), length, Advice::LinuxHugepage) };
        }
        Ok(arena)
    }

    /// Start of the memory that blocks lie in.
    fn base(&self) -> *mut u8 {
        // SAFETY: `lead` is smaller than the mapping.
        unsafe { self.mapping.as_ptr().add(self.lead) }
    }

    /// All memory that blocks lie in: what a ring registers.
    pub(crate) fn extent(&self) -> (*mut u8, usize) {
        (self.base(), self.used_bytes)
    }

    /// The block that the `turn`th I/O of `slot` uses.
    #[inline]
    pub(crate) fn place(&self, slot: u32, turn: u32) -> Place {
        let turn = if self.rotation == 1 { 0 } else { turn as usize % self.rotation };
        Place(((slot as usize % self.slots) * self.rotation + turn) * self.stride)
    }

    /// Address of a block, for the kernel.
    #[inline]
    pub(crate) fn address(&self, place: Place) -> *mut u8 {
        // SAFETY: every `Place` is made by `place`, which keeps it within the mapping, or lies in the same block.
        unsafe { self.base().add(place.0) }
    }

    /// A block's bytes. The caller must not ask for a block that is in flight: the slots see to that.
    #[inline]
    pub(crate) fn block_mut(&mut self, place: Place) -> &mut [u8] {
        debug_assert!(place.0.is_multiple_of(self.stride), "a place within a block is no block");
        // SAFETY: the block lies within the mapping (see `address`), is initialised (anonymous memory is zeroed),
        // and is borrowed from `self` for as long as the slice lives; blocks do not overlap, and the kernel only
        // accesses blocks of slots in flight, whose places are not asked for meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.address(place), self.block_bytes) }
    }

    /// `length_bytes` from a place on, which may lie within a block; None if that is more than a block, or reaches
    /// beyond all of them. As with [`block_mut`](Self::block_mut) nobody else may be at these bytes: they are of one
    /// block, and the caller's.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, place: Place, length_bytes: usize) -> Option<&mut [u8]> {
        let end = place.0.checked_add(length_bytes)?;
        if length_bytes > self.block_bytes || end > self.used_bytes {
            return None;
        }
        // SAFETY: `end` was just compared with the memory that blocks lie in, all of which is initialised; the slice
        // borrows `self`, and the bytes are of a block that is not in flight (see above).
        Some(unsafe { std::slice::from_raw_parts_mut(self.address(place), length_bytes) })
    }

    /// Every block in turn, to be filled before the I/O begins.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let stride = self.stride;
        (0..self.slots * self.rotation).map(move |index| Place(index * stride))
    }

    /// Never gives the memory back, for a kernel that may still write to it.
    pub(crate) fn leak(&mut self) {
        self.mapped_bytes = 0;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.mapped_bytes > 0 {
            // SAFETY: the mapping was made by `map` with this length, and no borrow of it outlives `self`; a ring
            // that used it has waited for its requests before (see `engine::uring`).
            let _ = unsafe { munmap(self.mapping.as_ptr().cast::<c_void>(), self.mapped_bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_page_aligned_and_do_not_overlap() {
        for (slots, bytes, rotate) in
            [(1, 512, false), (32, 4096, true), (3, 5000, true), (2, 1 << 20, false)]
        {
            let mut arena = Arena::map(slots, bytes, rotate).unwrap();
            let places: Vec<Place> = arena.places().collect();
            for (mark, place) in (0u8..).zip(places.iter().take(200)) {
                assert!(arena.address(*place).addr().is_multiple_of(PAGE_BYTES));
                arena.block_mut(*place).fill(mark);
            }
            for (mark, place) in (0u8..).zip(places.iter().take(200)) {
                assert!(arena.block_mut(*place).iter().all(|byte| *byte == mark));
            }
        }
    }

    #[test]
    fn a_written_slot_rotates_through_more_than_a_compression_window() {
        let arena = Arena::map(1, 4096, true).unwrap();
        let addresses: std::collections::HashSet<usize> =
            (0..1000).map(|turn| arena.address(arena.place(0, turn)).addr()).collect();
        assert_eq!(addresses.len(), 512);
    }

    #[test]
    fn a_size_without_number_is_refused() {
        let error = Arena::map(u32::MAX, u32::MAX, true).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }
}
