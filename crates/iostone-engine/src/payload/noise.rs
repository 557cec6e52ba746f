//! Noise that can be made again from a key, at any place in it.
//!
//! Word `i` of the noise of a key is what `SplitMix64` (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014), seeded with that key, draws as its `i`th: its state is a counter, so no word depends
//! on the ones before it. Its output function can be undone, so a word also tells the key that it was made from.

/// What the counter of `SplitMix64` goes up by: the golden ratio times 2^64, made odd.
pub(crate) const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

const FIRST_FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND_FACTOR: u64 = 0x94d0_49bb_1331_11eb;

/// Bytes per word.
pub(crate) const WORD_BYTES: usize = 8;

/// The output function of `SplitMix64` (Stafford's "Mix13"), a bijection.
#[inline]
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(FIRST_FACTOR);
    let word = (word ^ (word >> 27)).wrapping_mul(SECOND_FACTOR);
    word ^ (word >> 31)
}

/// Undoes [`mix`].
pub(crate) const fn unmix(word: u64) -> u64 {
    const FIRST: u64 = invert(FIRST_FACTOR);
    const SECOND: u64 = invert(SECOND_FACTOR);
    // x ^ (x >> s) is undone by xoring all multiples of the shift.
    let word = (word ^ (word >> 31) ^ (word >> 62)).wrapping_mul(SECOND);
    let word = (word ^ (word >> 27) ^ (word >> 54)).wrapping_mul(FIRST);
    word ^ (word >> 30) ^ (word >> 60)
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
pub(crate) const fn invert(odd: u64) -> u64 {
    // Any odd number is its own inverse modulo 8, so three bits are right at first and 96 after five steps.
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// Fills `bytes` with the noise of `key`, beginning at its word number `first_word`.
#[inline]
pub(crate) fn fill(key: u64, first_word: u64, bytes: &mut [u8]) {
    let mut counter = key.wrapping_add(first_word.wrapping_mul(GAMMA));
    let (words, rest) = bytes.as_chunks_mut::<WORD_BYTES>();
    for word in words {
        counter = counter.wrapping_add(GAMMA);
        *word = mix(counter).to_le_bytes();
    }
    let last = mix(counter.wrapping_add(GAMMA)).to_le_bytes();
    for (byte, fresh) in rest.iter_mut().zip(last) {
        *byte = fresh;
    }
}

/// The key whose noise has `word` at `index`.
pub(crate) fn find_key(word: u64, index: u64) -> u64 {
    unmix(word).wrapping_sub(index.wrapping_add(1).wrapping_mul(GAMMA))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn it_is_the_stream_of_splitmix64() {
        let mut rng = SplitMix64::seed_from_u64(77);
        let mut noise = [0; 64];
        fill(77, 0, &mut noise);
        for word in noise.as_chunks::<8>().0 {
            assert_eq!(u64::from_le_bytes(*word), rng.next_u64());
        }
    }

    proptest! {
        #[test]
        fn any_part_can_be_made_by_itself(key in any::<u64>(), from in 0usize..32, length in 0usize..100) {
            let mut whole = [0; 400];
            fill(key, 0, &mut whole);
            let mut part = vec![0; length];
            fill(key, from as u64, &mut part);
            prop_assert_eq!(&part[..], &whole[from * 8..from * 8 + length]);
        }

        #[test]
        fn a_word_tells_its_key(key in any::<u64>(), index in 0u64..1 << 40) {
            let mut word = [0; 8];
            fill(key, index, &mut word);
            prop_assert_eq!(find_key(u64::from_le_bytes(word), index), key);
        }

        #[test]
        fn mixing_can_be_undone(word in any::<u64>()) {
            prop_assert_eq!(unmix(mix(word)), word);
        }
    }
}
