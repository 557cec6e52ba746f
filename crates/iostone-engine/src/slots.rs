//! The places of a queue: which are free, and what is known about each I/O in flight.

use crate::arena::Place;

/// What is known about the I/O in a slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    submitted_ns: u64,
    offset_bytes: u64,
    place: Option<Place>,
    /// How often the slot was used, which chooses its buffer.
    turn: u32,
}

/// A fixed number of slots. The one freed last is used first, since its memory is still in the cache.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Box<[Slot]>,
    /// Free slots lie below `free`; those above it were taken, the latest lowest.
    stack: Box<[u32]>,
    free: usize,
}

impl Slots {
    pub(crate) fn new(iodepth: u32) -> Self {
        let empty = Slot { submitted_ns: 0, offset_bytes: 0, place: None, turn: 0 };
        Self {
            all: vec![empty; iodepth as usize].into_boxed_slice(),
            stack: (0..iodepth).rev().collect(),
            free: iodepth as usize,
        }
    }

    /// How many slots are free.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        self.free as u64
    }

    /// How many slots are in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        (self.all.len() - self.free) as u64
    }

    /// Takes a free slot for the I/O described, whose buffer `place` gives for the slot's number and turn.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        offset_bytes: u64,
        submitted_ns: u64,
        place: impl FnOnce(u32, u32) -> Place,
    ) -> Option<(u32, Place)> {
        let next = self.free.checked_sub(1)?;
        let number = *self.stack.get(next)?;
        let slot = self.all.get_mut(number as usize)?;
        self.free = next;
        slot.turn = slot.turn.wrapping_add(1);
        let place = place(number, slot.turn);
        (slot.submitted_ns, slot.offset_bytes, slot.place) = (submitted_ns, offset_bytes, Some(place));
        Some((number, place))
    }

    /// Moves the submission of the latest `count` I/Os begun to `submitted_ns`. Nothing may have been freed since.
    #[inline]
    pub(crate) fn restamp_latest(&mut self, count: usize, submitted_ns: u64) {
        for number in self.stack.iter().skip(self.free).take(count) {
            if let Some(slot) = self.all.get_mut(*number as usize) {
                slot.submitted_ns = submitted_ns;
            }
        }
    }

    /// Frees a slot; returns when its I/O was submitted.
    #[inline]
    pub(crate) fn finish(&mut self, number: u32) -> u64 {
        if let Some(top) = self.stack.get_mut(self.free) {
            *top = number;
            self.free += 1;
        }
        self.all.get(number as usize).map_or(0, |slot| slot.submitted_ns)
    }

    /// Where in the target and in memory the I/O of a slot in flight goes.
    pub(crate) fn describe(&self, number: u32) -> Option<(u64, Place)> {
        let slot = self.all.get(number as usize)?;
        slot.place.map(|place| (slot.offset_bytes, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;

    #[test]
    fn slots_are_reused_last_freed_first_and_keep_their_stamps_apart() {
        let arena = Arena::map(3, 512, true).unwrap();
        let mut slots = Slots::new(3);
        let begin = |slots: &mut Slots, offset, at| {
            slots.begin(offset, at, |slot, turn| arena.place(slot, turn)).map(|(slot, _)| slot)
        };
        assert_eq!(begin(&mut slots, 0, 10), Some(0));
        assert_eq!(begin(&mut slots, 512, 20), Some(1));
        assert_eq!(begin(&mut slots, 1024, 20), Some(2));
        assert_eq!(begin(&mut slots, 0, 30), None);
        slots.restamp_latest(2, 25);
        assert_eq!(slots.describe(1).map(|(offset, _)| offset), Some(512));
        assert_eq!((slots.finish(1), slots.in_flight(), slots.free()), (25, 2, 1));
        assert_eq!(begin(&mut slots, 2048, 40), Some(1));
        assert_eq!((slots.finish(0), slots.finish(1), slots.finish(2)), (10, 40, 25));
        assert_eq!(slots.in_flight(), 0);
    }
}
