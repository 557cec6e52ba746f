//! The places of a queue: which are free, and what is known about each I/O in flight.

use iostone_model::load::Direction;

use crate::arena::Place;
use crate::source::Request;

/// What is known about the I/O in a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) request: Request,
    /// When it was handed to the kernel.
    pub(crate) submitted_ns: u64,
    /// When it was to begin; in a closed loop the same.
    pub(crate) intended_ns: u64,
    place: Option<Place>,
    /// How often the slot has written, which chooses its buffer: reads do not hasten the round of writes.
    turn: u32,
}

/// A fixed number of slots. The one freed last is used first, since its memory is still in the cache.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Box<[Flight]>,
    /// Free slots lie below `free`; those above it were taken, the latest lowest.
    stack: Box<[u32]>,
    free: usize,
}

impl Slots {
    pub(crate) fn new(iodepth: u32) -> Self {
        let request = Request { direction: Direction::Read, target: 0, offset_bytes: 0, length_bytes: 0 };
        let empty = Flight { request, submitted_ns: 0, intended_ns: 0, place: None, turn: 0 };
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

    /// Takes a free slot for the request, whose buffer `place` gives for the slot's number and how often it has
    /// written, this time included.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        request: Request,
        intended_ns: u64,
        submitted_ns: u64,
        place: impl FnOnce(u32, u32) -> Place,
    ) -> Option<(u32, Place)> {
        let next = self.free.checked_sub(1)?;
        let number = *self.stack.get(next)?;
        let slot = self.all.get_mut(number as usize)?;
        self.free = next;
        let turn = slot.turn.wrapping_add(u32::from(request.direction == Direction::Write));
        let place = place(number, turn);
        *slot = Flight { request, submitted_ns, intended_ns, place: Some(place), turn };
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

    /// Frees a slot; returns what was known about its I/O.
    #[inline]
    pub(crate) fn finish(&mut self, number: u32) -> Option<Flight> {
        let flight = *self.all.get(number as usize)?;
        if let Some(top) = self.stack.get_mut(self.free) {
            *top = number;
            self.free += 1;
        }
        Some(flight)
    }

    /// Frees a slot if its I/O was to transfer `length_bytes`; returns its direction and when it was submitted.
    #[inline]
    pub(crate) fn finish_whole(&mut self, number: u32, length_bytes: u32) -> Option<(Direction, u64)> {
        let flight = self.all.get(number as usize)?;
        if flight.request.length_bytes != length_bytes {
            return None;
        }
        let top = self.stack.get_mut(self.free)?;
        *top = number;
        self.free += 1;
        Some((flight.request.direction, flight.submitted_ns))
    }

    /// How many bytes the I/O of a slot in flight is to transfer.
    #[inline]
    pub(crate) fn length_bytes(&self, number: u32) -> u32 {
        self.all.get(number as usize).map_or(0, |slot| slot.request.length_bytes)
    }

    /// What is asked, and where in memory, by the I/O of a slot in flight.
    pub(crate) fn describe(&self, number: u32) -> Option<(Request, Place)> {
        let slot = self.all.get(number as usize)?;
        slot.place.map(|place| (slot.request, place))
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
        let begin = |slots: &mut Slots, offset_bytes, at| {
            let request = Request { direction: Direction::Write, target: 0, offset_bytes, length_bytes: 512 };
            slots.begin(request, 1, at, |slot, turn| arena.place(slot, turn)).map(|(slot, _)| slot)
        };
        let finish = |slots: &mut Slots, number| slots.finish(number).map(|flight| flight.submitted_ns);
        assert_eq!(begin(&mut slots, 0, 10), Some(0));
        assert_eq!(begin(&mut slots, 512, 20), Some(1));
        assert_eq!(begin(&mut slots, 1024, 20), Some(2));
        assert_eq!(begin(&mut slots, 0, 30), None);
        slots.restamp_latest(2, 25);
        assert_eq!(slots.describe(1).map(|(request, _)| request.offset_bytes), Some(512));
        assert_eq!((finish(&mut slots, 1), slots.in_flight(), slots.free()), (Some(25), 2, 1));
        assert_eq!(begin(&mut slots, 2048, 40), Some(1));
        assert_eq!(
            (finish(&mut slots, 0), finish(&mut slots, 1), finish(&mut slots, 2)),
            (Some(10), Some(40), Some(25))
        );
        assert_eq!(slots.in_flight(), 0);
    }

    #[test]
    fn only_writes_take_a_slot_to_its_next_buffer() {
        let arena = Arena::map(1, 512, true).unwrap();
        let mut slots = Slots::new(1);
        let mut turns = Vec::new();
        for direction in [Direction::Write, Direction::Read, Direction::Read, Direction::Write] {
            let request = Request { direction, target: 0, offset_bytes: 0, length_bytes: 512 };
            let place = |slot, turn| {
                turns.push(turn);
                arena.place(slot, turn)
            };
            slots.begin(request, 0, 0, place).unwrap();
            slots.finish(0).unwrap();
        }
        assert_eq!(turns, [1, 1, 1, 2]);
    }
}
