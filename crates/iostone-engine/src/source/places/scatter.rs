//! Where the ranks of a skewed distribution lie: all over the span, or from one place on.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// Places for the ranks `0..places`: a bijection.
#[derive(Debug, Clone)]
pub(crate) enum Arrangement {
    /// Without any order: rank 1 is nowhere near rank 0.
    Scattered(Scatter),
    /// Rank 0 at `first`, the others after it, and round to the start.
    From {
        /// Where rank 0 lies.
        first: u64,
        /// How many there are.
        places: u64,
    },
}

impl Arrangement {
    /// Around a centre, given as a share of the span.
    pub(crate) fn around(center: f64, places: u64) -> Self {
        let first = super::super::chance::whole(center * places as f64).min(places.saturating_sub(1));
        Self::From { first, places }
    }

    /// The place of a rank.
    #[inline]
    pub(crate) fn locate(&self, rank: u64) -> u64 {
        match self {
            Self::Scattered(scatter) => scatter.locate(rank),
            Self::From { first, places } => {
                // Both are below `places`, which is a number of blocks and so far below 2^63.
                let place = first + rank;
                if place >= *places { place - places } else { place }
            }
        }
    }
}

/// A keyed permutation of `0..places`, for any number at random access.
///
/// Multiplications by odd numbers and xor-shifts, each a bijection of k-bit numbers (the construction of
/// `MurmurHash3`'s finaliser, cut to k bits), over and over until the image is one of the places: twice on average
/// at most. fio multiplies by a constant and takes the remainder, so that some ranks share a block and some blocks
/// have no rank.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    places: u64,
    mask: u64,
    shift: u32,
    whitening: u64,
    multipliers: [u64; 3],
}

impl Scatter {
    /// An order drawn from `rng`; `places` must not be 0.
    pub(crate) fn new(places: u64, rng: &mut Xoshiro256PlusPlus) -> Self {
        let bits = u64::BITS - (places - 1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let whitening = rng.next_u64() & mask;
        let multipliers = [(); 3].map(|()| rng.next_u64() | 1);
        Self { places, mask, shift: bits.div_ceil(2).max(1), whitening, multipliers }
    }

    /// The place of a rank.
    #[inline]
    fn locate(&self, rank: u64) -> u64 {
        let mut image = rank;
        loop {
            image ^= self.whitening;
            for multiplier in self.multipliers {
                image = image.wrapping_mul(multiplier) & self.mask;
                image ^= image >> self.shift;
            }
            if image < self.places {
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

    #[test]
    fn the_first_ranks_lie_far_apart() {
        let mut far = 0;
        for seed in 0..200 {
            let scatter = Scatter::new(1 << 20, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            far += u32::from(scatter.locate(0).abs_diff(scatter.locate(1)) > 1 << 12);
        }
        // Two random places of a million are nearer than 4096 in 0.8 % of cases.
        assert!(far >= 190, "{far}");
    }

    proptest! {
        #[test]
        fn every_rank_has_a_place_of_its_own(places in 1u64..3000, center in 0.0f64..=1.0, seed in any::<u64>()) {
            let scatter = Scatter::new(places, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            for arrangement in [Arrangement::Scattered(scatter), Arrangement::around(center, places)] {
                let mut found: Vec<u64> = (0..places).map(|rank| arrangement.locate(rank)).collect();
                found.sort_unstable();
                prop_assert!(found.into_iter().eq(0..places));
            }
        }
    }
}
