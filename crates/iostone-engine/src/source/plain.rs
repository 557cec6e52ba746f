//! The plain source: one target, one direction, one block size, every block once per pass.

use iostone_model::load::Direction;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::permutation::Permutation;
use super::{Part, Request, Source};

/// Which block is next.
#[derive(Debug)]
enum Order {
    /// In sequence, over and over.
    Sequential { next: u64 },
    /// Every block once per pass, each pass in an order of its own.
    Random(Permutation),
    /// Any block, whatever was visited.
    Anywhere(Xoshiro256PlusPlus),
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
    /// Walks the whole blocks of `part` in sequence, from the one at `start_bytes` on. There must be one.
    pub(crate) fn sequential(direction: Direction, block_bytes: u32, part: Part, start_bytes: u64) -> Self {
        let block = u64::from(block_bytes).max(1);
        // What does not fill a block at the end is not walked over.
        let next = start_bytes / block % (part.length_bytes / block).max(1);
        Self::new(direction, block_bytes, part, Order::Sequential { next })
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

    /// Draws blocks without regard to which were visited.
    pub(crate) fn anywhere(
        direction: Direction,
        block_bytes: u32,
        part: Part,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        Self::new(direction, block_bytes, part, Order::Anywhere(rng))
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
            // The upper half of the product: uniform but for one part in 2^64 / blocks (Lemire 2019, without the
            // rejection that would remove it).
            Order::Anywhere(rng) => ((u128::from(rng.next_u64()) * u128::from(self.blocks)) >> 64) as u64,
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
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn blocks_drawn_anywhere_come_about_equally_often() {
        let part = Part { offset_bytes: 512, length_bytes: 16 * 512 };
        let rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut walk = Plain::anywhere(Direction::Read, 512, part, rng);
        let mut counts = [0u32; 16];
        for _ in 0..16_000 {
            let request = walk.next(None).unwrap();
            counts[usize::try_from((request.offset_bytes - 512) / 512).unwrap()] += 1;
        }
        // A thousand of each are expected, with a standard deviation of 31.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_sequential_walk_stays_in_its_part_and_wraps() {
        let part = Part { offset_bytes: 1024, length_bytes: 3 * 512 + 100 };
        let places = |start| -> Vec<u64> {
            let mut walk = Plain::sequential(Direction::Write, 512, part, start);
            (0..5).filter_map(|_| walk.next(None)).map(|request| request.offset_bytes).collect()
        };
        assert_eq!(places(0), [1024, 1536, 2048, 1024, 1536]);
        assert_eq!(places(1023), [1536, 2048, 1024, 1536, 2048]);
        assert_eq!(places(3 * 512 + 99), [1024, 1536, 2048, 1024, 1536]);
    }
}
