//! The plain source: one target, one direction, one block size, every block once per pass.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::permutation::Permutation;
use super::{Part, Request, Source};
use crate::job::Direction;

/// Which block is next.
#[derive(Debug)]
enum Order {
    /// In sequence, over and over.
    Sequential { next: u64 },
    /// Every block once per pass, each pass in an order of its own.
    Random(Permutation),
}

/// The source of the hot path. It never ends.
#[derive(Debug)]
pub(crate) struct Plain {
    direction: Direction,
    block_bytes: u32,
    first_bytes: u64,
    blocks: u64,
    order: Order,
}

impl Plain {
    /// Walks the whole blocks of `part` in sequence. There must be one.
    pub(crate) fn sequential(direction: Direction, block_bytes: u32, part: Part) -> Self {
        Self::new(direction, block_bytes, part, Order::Sequential { next: 0 })
    }

    /// Walks them in random order.
    pub(crate) fn random(
        direction: Direction,
        block_bytes: u32,
        part: Part,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        let blocks = part.length_bytes / u64::from(block_bytes);
        Self::new(direction, block_bytes, part, Order::Random(Permutation::new(blocks, rng)))
    }

    fn new(direction: Direction, block_bytes: u32, part: Part, order: Order) -> Self {
        let blocks = part.length_bytes / u64::from(block_bytes);
        Self { direction, block_bytes, first_bytes: part.offset_bytes, blocks, order }
    }
}

impl Source for Plain {
    #[inline]
    fn next(&mut self, _wanted: Option<Direction>) -> Option<Request> {
        let block = match &mut self.order {
            Order::Sequential { next } => {
                let block = *next;
                *next = if block + 1 == self.blocks { 0 } else { block + 1 };
                block
            }
            Order::Random(permutation) => permutation.next_block(),
        };
        Some(Request {
            direction: self.direction,
            target: 0,
            offset_bytes: self.first_bytes + block * u64::from(self.block_bytes),
            length_bytes: self.block_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequential_walk_stays_in_its_part_and_wraps() {
        let part = Part { offset_bytes: 1024, length_bytes: 3 * 512 + 100 };
        let mut walk = Plain::sequential(Direction::Write, 512, part);
        let seen: Vec<u64> =
            (0..7).filter_map(|_| walk.next(None)).map(|request| request.offset_bytes).collect();
        assert_eq!(seen, [1024, 1536, 2048, 1024, 1536, 2048, 1024]);
    }
}
