//! A random order of blocks that touches every one of them once per pass.
//!
//! fio keeps a bitmap (its random map) so that a random pass covers each block exactly once. The same is had here
//! without memory or a search: a counter is sent through a keyed permutation of the block numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A random order of `0..blocks` in constant memory, renewed with every pass.
///
/// The counter runs over the next power of two and goes through multiplications by odd numbers and xor-shifts,
/// each of which is a bijection of k-bit numbers (the construction of `MurmurHash3`'s finaliser, cut to k bits);
/// images that are not below `blocks` are passed over, fewer than one per block on average.
#[derive(Debug)]
pub(crate) struct Permutation {
    blocks: u64,
    mask: u64,
    shift: u32,
    counter: u64,
    whitening: u64,
    multipliers: [u64; 3],
    rng: Xoshiro256PlusPlus,
}

impl Permutation {
    /// Orders `0..blocks`, which must not be empty.
    pub(crate) fn new(blocks: u64, rng: Xoshiro256PlusPlus) -> Self {
        let bits = u64::BITS - (blocks - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        let mut permutation = Self {
            blocks,
            mask,
            shift: bits.div_ceil(2).max(1),
            counter: 0,
            whitening: 0,
            multipliers: [1; 3],
            rng,
        };
        permutation.begin_pass();
        permutation
    }

    /// Draws a new order.
    fn begin_pass(&mut self) {
        self.counter = 0;
        self.whitening = self.rng.next_u64();
        for multiplier in &mut self.multipliers {
            *multiplier = self.rng.next_u64() | 1;
        }
    }

    /// The number of the block to use next.
    #[inline]
    pub(crate) fn next_block(&mut self) -> u64 {
        loop {
            if self.counter > self.mask {
                self.begin_pass();
            }
            let mut image = self.counter ^ self.whitening;
            self.counter += 1;
            for multiplier in self.multipliers {
                image = image.wrapping_mul(multiplier) & self.mask;
                image ^= image >> self.shift;
            }
            if image < self.blocks {
                return image;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn random(blocks: u64, seed: u64) -> Permutation {
        Permutation::new(blocks, Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    #[test]
    fn a_random_walk_has_no_order_left_in_it() {
        // Over 65 536 blocks, neighbours rise about half the time and lie a third of the range apart on average.
        let blocks = 1u64 << 16;
        for seed in 0..8 {
            let mut walk = random(blocks, seed);
            let order: Vec<u64> = (0..blocks).map(|_| walk.next_block()).collect();
            let rises = order.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64 / blocks as f64;
            let apart = order.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum::<u64>() as f64
                / (blocks * blocks) as f64;
            assert!((0.47..0.53).contains(&rises), "seed {seed}: {rises}");
            assert!((0.31..0.36).contains(&apart), "seed {seed}: {apart}");
        }
    }

    #[test]
    fn a_random_walk_covers_each_part_evenly_at_any_time() {
        // A tenth of a pass must already touch all of 16 parts about equally (64 expected, sigma below 8).
        let mut walk = random(10_240, 7);
        let mut parts = [0u32; 16];
        for _ in 0..1024 {
            parts[(walk.next_block() / 640) as usize] += 1;
        }
        assert!(parts.iter().all(|count| (24..=104).contains(count)), "{parts:?}");
    }

    #[test]
    fn passes_and_seeds_differ() {
        let mut walk = random(1000, 1);
        let first: Vec<u64> = (0..1000).map(|_| walk.next_block()).collect();
        let second: Vec<u64> = (0..1000).map(|_| walk.next_block()).collect();
        let mut other = random(1000, 2);
        let elsewhere: Vec<u64> = (0..1000).map(|_| other.next_block()).collect();
        assert!(first != second && first != elsewhere);
        let mut again = random(1000, 1);
        assert!((0..1000).map(|_| again.next_block()).eq(first));
    }

    proptest! {
        #[test]
        fn every_pass_touches_every_block_once(blocks in 1u64..3000, seed in any::<u64>()) {
            let mut walk = random(blocks, seed);
            for _ in 0..3 {
                let mut pass: Vec<u64> = (0..blocks).map(|_| walk.next_block()).collect();
                pass.sort_unstable();
                prop_assert!(pass.into_iter().eq(0..blocks));
            }
        }
    }
}
