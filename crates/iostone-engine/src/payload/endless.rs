//! Data without end that neither compresses nor repeats, for programs that read what they write from a pipe.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{fill, stamp, stream_of_layout};

/// Handed out at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Rotated through, each chunk stamped anew whenever its turn comes: more than any filesystem's compressor looks back.
const POOL_BYTES: usize = 16 << 20;

/// Random data without end, made faster than a pipe takes it. No two sectors of 512 bytes are the same.
///
/// ```
/// let mut noise = iostone_engine::NoiseStream::new(1);
/// let first = noise.next_chunk().to_vec();
/// assert_ne!(first, noise.next_chunk());
/// ```
#[derive(Debug)]
pub struct NoiseStream {
    rng: Xoshiro256PlusPlus,
    pool: Vec<u8>,
    at: usize,
}

impl NoiseStream {
    /// The same seed gives the same data.
    pub fn new(seed: u64) -> Self {
        let mut rng = stream_of_layout(seed);
        let mut pool = vec![0; POOL_BYTES];
        fill(&mut rng, &mut pool);
        Self { rng, pool, at: 0 }
    }

    /// The next MiB.
    pub fn next_chunk(&mut self) -> &[u8] {
        let end = self.at + CHUNK_BYTES;
        let Some(chunk) = self.pool.get_mut(self.at..end) else { return &[] };
        stamp(&mut self.rng, chunk);
        self.at = if end >= POOL_BYTES { 0 } else { end };
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_sector_comes_twice_even_after_the_pool_was_used_up() {
        let mut noise = NoiseStream::new(7);
        let mut seen = HashSet::new();
        for _ in 0..40 {
            for sector in noise.next_chunk().chunks_exact(512).step_by(64) {
                assert!(seen.insert(sector.to_vec()));
            }
        }
    }
}
