//! The memory that I/O goes from and to: one mapping per thread, page-aligned, on huge pages where they help.
#![expect(unsafe_code, reason = "memory that the kernel writes into must be mapped and sliced by hand")]

mod plan;

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

use iostone_model::load::Direction;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use plan::PAGE_BYTES;
pub(crate) use plan::{ArenaPlan, Sharing};

/// A huge page on x86-64 and (with 4 KiB pages) on `AArch64`.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size up a mapping is worth a whole huge page: fewer segments per request and fewer TLB misses.
const WORTH_HUGE_BYTES: usize = 128 << 10;

/// Buffers of equal size: `slots` of them can be in flight, and each slot rotates through several. Where reads and
/// writes have buffers apart, each slot has one more, for its reads; these lie before all others.
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
    /// Where the buffers begin that are not for reads only; 0 where none is.
    writes_at: usize,
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
    /// Maps memory for `slots` blocks of `block_bytes` in flight, whatever their direction; with `rotates`, several
    /// buffers per slot.
    ///
    /// # Errors
    /// As [`map_planned`](Self::map_planned).
    pub(crate) fn map(slots: u32, block_bytes: u32, rotates: bool) -> io::Result<Self> {
        Self::map_planned(&ArenaPlan { slots, block_bytes, rotates, sharing: Sharing::Alone })
    }

    /// Maps the memory of a plan.
    ///
    /// # Errors
    /// What mmap(2) says, or `ENOMEM` when the size has no number.
    pub(crate) fn map_planned(plan: &ArenaPlan) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let used = plan.used_bytes().ok_or_else(too_large)?;
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
        let arena = Self {
            mapping,
            mapped_bytes,
            lead,
            stride: plan.stride(),
            block_bytes: plan.block_bytes as usize,
            rotation: plan.rotation().ok_or_else(too_large)?,
            slots: plan.slots as usize,
            writes_at: plan.writes_at().ok_or_else(too_large)?,
            used_bytes: used,
        };
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

    /// All memory that blocks lie in, start and length in bytes: what a ring registers. Where they are apart it is
    /// first that of reads, then that of writes, as a ring takes only so much at a stretch.
    pub(crate) fn extents(&self) -> Vec<(*mut u8, usize)> {
        let all = [Place(0)..Place(self.writes_at), Place(self.writes_at)..Place(self.used_bytes)];
        let taken = all.into_iter().filter(|range| range.start.0 < range.end.0);
        taken.map(|range| (self.address(range.start), range.end.0 - range.start.0)).collect()
    }

    /// Which of the [extents](Self::extents) the blocks of a direction lie in.
    #[inline]
    pub(crate) fn extent_of(&self, direction: Direction) -> u16 {
        u16::from(self.writes_at > 0 && direction == Direction::Write)
    }

    /// The block that the `turn`th I/O of `slot` uses; where reads have blocks of their own, its `turn`th write.
    #[inline]
    pub(crate) fn place(&self, slot: u32, turn: u32) -> Place {
        let turn = if self.rotation == 1 { 0 } else { turn as usize % self.rotation };
        Place(self.writes_at + ((slot as usize % self.slots) * self.rotation + turn) * self.stride)
    }

    /// The block that an I/O of `slot` in this direction uses, after `turn` writes of it.
    #[inline]
    pub(crate) fn place_of(&self, direction: Direction, slot: u32, turn: u32) -> Place {
        if self.writes_at > 0 && direction != Direction::Write {
            return Place((slot as usize % self.slots) * self.stride);
        }
        self.place(slot, turn)
    }

    /// Whether what lies there is never written, because the block is for reads only.
    pub(crate) fn is_for_reads(&self, place: Place) -> bool {
        place.0 < self.writes_at
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
        (0..self.used_bytes / stride.max(1)).map(move |index| Place(index * stride))
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
    fn blocks_of_reads_and_of_writes_apart_lie_in_an_extent_each() {
        for (slots, block_bytes) in [(1, 4096), (3, 5000), (2, 1 << 20)] {
            let plan = ArenaPlan { slots, block_bytes, rotates: true, sharing: Sharing::Apart };
            let arena = Arena::map_planned(&plan).unwrap();
            let extents = arena.extents();
            assert_eq!(extents.iter().map(|(_, length)| length).sum::<usize>(), plan.used_bytes().unwrap());
            let mut seen = std::collections::HashSet::new();
            for direction in [Direction::Read, Direction::Write] {
                let (start, length) = extents[usize::from(arena.extent_of(direction))];
                for (slot, turn) in (0..slots).flat_map(|slot| (0..600).map(move |turn| (slot, turn))) {
                    let place = arena.place_of(direction, slot, turn);
                    let at = arena.address(place).addr() - start.addr();
                    assert!(at + block_bytes as usize <= length);
                    assert_eq!(arena.is_for_reads(place), direction == Direction::Read);
                    seen.insert(arena.address(place).addr());
                }
            }
            assert_eq!(seen.len(), arena.places().count());
        }
    }

    #[test]
    fn all_directions_use_the_same_blocks_where_none_is_apart() {
        let arena = Arena::map(2, 4096, true).unwrap();
        for direction in Direction::ALL {
            assert_eq!(arena.place_of(direction, 1, 5).0, arena.place(1, 5).0);
            assert_eq!((arena.extent_of(direction), arena.extents().len()), (0, 1));
        }
    }

    #[test]
    fn a_size_without_number_is_refused() {
        let error = Arena::map(u32::MAX, u32::MAX, true).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }
}
