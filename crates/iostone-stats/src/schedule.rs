//! The order in which a block's levels run: uniform random permutations from a declared seed.
//!
//! Randomising within blocks is what every verdict here rests on: with a fair coin for each block, two equal
//! levels are equally likely to win it whatever the environment does.

/// The SplitMix64 generator of Steele, Lea and Flood (2014): 64 bits of state, every seed valid.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator started at `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A uniform number below `bound` (0 where `bound` is 0); by rejection, so that no remainder is favoured.
    pub fn next_below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // How many of the 2^64 values lie in the incomplete last round of remainders.
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let draw = self.next_u64();
            if draw <= u64::MAX - excess {
                return draw % bound;
            }
        }
    }

    /// A uniform number in [0, 1) with 53 random bits.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller 1958).
    pub(crate) fn next_normal(&mut self) -> f64 {
        let radius = (-2.0 * (-self.next_unit()).ln_1p()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.next_unit()).cos()
    }
}

/// The orders of successive blocks, block 0 first, without end.
///
/// All blocks draw from one stream, so that a block's order is a function of the seed, the number of levels and
/// the block's number alone. A repeated block takes the next number and with it a fresh order, which keeps
/// repetitions visible in the record. When a level leaves a run early, keep drawing orders of all levels and skip
/// the absent ones: what remains of a uniform permutation is uniform.
#[derive(Debug, Clone)]
pub struct BlockOrders {
    generator: SplitMix64,
    levels: usize,
}

impl BlockOrders {
    /// The orders of blocks of `levels` levels under `seed`.
    pub fn new(seed: u64, levels: usize) -> Self {
        Self { generator: SplitMix64::new(seed), levels }
    }
}

impl Iterator for BlockOrders {
    type Item = Vec<usize>;

    /// The next block's levels in running order, by the shuffle of Fisher and Yates (Durstenfeld 1964).
    fn next(&mut self) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.levels).collect();
        for last in (1..self.levels).rev() {
            let drawn = self.generator.next_below(last as u64 + 1);
            order.swap(last, usize::try_from(drawn).unwrap_or(last));
        }
        Some(order)
    }
}

/// The order of a superblock that is block number `block` (from 0): so many `trials` of each level, all shuffled together.
///
/// Superblocks draw from a stream of their own, so that the blocks have the orders that they have without one.
pub fn superblock_order(seed: u64, block: u64, levels: usize, trials: u32) -> Vec<usize> {
    const STREAM: u64 = u64::from_be_bytes(*b"superblk");
    let places = levels * trials as usize;
    let shuffled = block_order(SplitMix64::new(seed ^ STREAM).next_u64(), block, places);
    shuffled.into_iter().map(|place| place % levels.max(1)).collect()
}

/// The order of block number `block` (from 0): level numbers below `levels`, first to run first.
pub fn block_order(seed: u64, block: u64, levels: usize) -> Vec<usize> {
    let mut orders = BlockOrders::new(seed, levels);
    for _ in 0..block {
        orders.next();
    }
    orders.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;
    use proptest::prelude::*;

    #[test]
    fn the_generator_yields_the_published_numbers() {
        let mut generator = SplitMix64::new(1);
        for expected in vectors::list("splitmix64_seed1") {
            assert_eq!(generator.next_u64(), expected.as_str().unwrap().parse::<u64>().unwrap());
        }
    }

    #[test]
    fn block_orders_match_the_vectors() {
        for case in vectors::list("block_orders") {
            let levels = usize::try_from(case["k"].as_u64().unwrap()).unwrap();
            let seed = case["seed"].as_u64().unwrap();
            let expected: Vec<Vec<usize>> = serde_json::from_value(case["blocks"].clone()).unwrap();
            let orders: Vec<_> = BlockOrders::new(seed, levels).take(expected.len()).collect();
            assert_eq!(orders, expected);
            assert_eq!(&block_order(seed, 4, levels), &expected[4]);
        }
    }

    #[test]
    fn a_superblock_holds_every_level_so_many_times_in_any_order() {
        // Two levels of two trials have six orders; each comes in a sixth of the draws, within 4 standard errors.
        let mut seen = std::collections::BTreeMap::<Vec<usize>, u32>::new();
        for seed in 0..6000 {
            *seen.entry(superblock_order(seed, 0, 2, 2)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| count.abs_diff(1000) < 116), "{seen:?}");
        assert_ne!(superblock_order(1, 0, 3, 5), superblock_order(1, 1, 3, 5));
    }

    proptest! {
        #[test]
        fn every_block_holds_every_level_once(seed: u64, block in 0u64..50, levels in 0usize..9) {
            let mut order = block_order(seed, block, levels);
            order.sort_unstable();
            prop_assert_eq!(order, (0..levels).collect::<Vec<_>>());
        }

        #[test]
        fn draws_stay_below_their_bound(seed: u64, bound in 1u64..) {
            prop_assert!(SplitMix64::new(seed).next_below(bound) < bound);
        }
    }
}
