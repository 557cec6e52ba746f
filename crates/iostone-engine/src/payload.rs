//! What is written: bytes that neither compress nor repeat, made at a cost that does not show.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The smallest unit that storage deduplicates or compresses by itself.
const SECTOR_BYTES: usize = 512;

/// The random streams of one thread: one for offsets and one for data, apart from every other thread's.
///
/// xoshiro256++ (Blackman and Vigna, 2021): thread `n` is `n` jumps of 2^128 draws away from thread 0, and data is
/// a long jump of 2^192 draws away from offsets, so no two streams can meet.
pub(crate) fn streams_of_thread(seed: u64, thread: u32) -> (Xoshiro256PlusPlus, Xoshiro256PlusPlus) {
    let mut offsets = Xoshiro256PlusPlus::seed_from_u64(seed);
    for _ in 0..thread {
        offsets.jump();
    }
    let mut data = offsets.clone();
    data.long_jump();
    (offsets, data)
}

/// The random stream from which a target is laid out: not the one that writes draw from.
pub(crate) fn stream_of_layout(seed: u64) -> Xoshiro256PlusPlus {
    let mut data = Xoshiro256PlusPlus::seed_from_u64(seed);
    data.long_jump();
    data.long_jump();
    data
}

/// Fills `buffer` with random bytes, at several bytes per nanosecond.
pub(crate) fn fill(rng: &mut Xoshiro256PlusPlus, buffer: &mut [u8]) {
    rng.fill_bytes(buffer);
}

/// Makes a block that was written before differ from what it was, in every sector.
///
/// A fresh word per 512 bytes defeats deduplication for a fraction of what filling costs. Compression across
/// blocks is defeated by rotating through more memory than a compressor's window (see `arena`).
#[inline]
pub(crate) fn stamp(rng: &mut Xoshiro256PlusPlus, block: &mut [u8]) {
    for sector in block.chunks_mut(SECTOR_BYTES) {
        let word = rng.next_u64().to_le_bytes();
        let length = sector.len().min(word.len());
        if let (Some(head), Some(fresh)) = (sector.get_mut(..length), word.get(..length)) {
            head.copy_from_slice(fresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn streams_of_threads_and_purposes_differ() {
        let mut first_draws = HashSet::new();
        for thread in 0..8 {
            let (mut offsets, mut data) = streams_of_thread(42, thread);
            assert!(first_draws.insert(offsets.next_u64()) && first_draws.insert(data.next_u64()));
        }
        assert!(first_draws.insert(stream_of_layout(42).next_u64()));
    }

    #[test]
    fn every_sector_changes_with_every_stamp() {
        let (_, mut data) = streams_of_thread(1, 0);
        let mut block = vec![0; 4096 + 100];
        fill(&mut data, &mut block);
        let mut seen: HashSet<Vec<u8>> = block.chunks(SECTOR_BYTES).map(<[u8]>::to_vec).collect();
        for _ in 0..100 {
            stamp(&mut data, &mut block);
            assert!(block.chunks(SECTOR_BYTES).all(|sector| seen.insert(sector.to_vec())));
        }
    }

    #[test]
    fn filled_data_has_the_entropy_of_noise() {
        let (_, mut data) = streams_of_thread(1, 0);
        let mut block = vec![0; 1 << 16];
        fill(&mut data, &mut block);
        let mut counts = [0u32; 256];
        for byte in &block {
            counts[usize::from(*byte)] += 1;
        }
        // 256 expected of each, sigma 16.
        assert!(counts.iter().all(|count| (160..352).contains(count)));
    }
}
