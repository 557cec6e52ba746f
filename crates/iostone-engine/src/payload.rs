//! What is written: bytes that compress and repeat exactly as much as was asked for, at a cost that does not show.

mod endless;
pub(crate) mod noise;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::job::{Content, Data};

pub use endless::NoiseStream;

/// The smallest unit that storage deduplicates or compresses by itself.
const SECTOR_BYTES: usize = 512;
/// A chunk, part of which compresses, has this length unless another is given; as in fio.
const CHUNK_BYTES: usize = 512;
/// A repeated block is one of this many written last: far enough apart that no compressor's window sees both, and
/// their seeds fit in a thread's cache.
const WORKING_SET: usize = 1024;

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

/// Repeats `pattern` over `bytes`, from their start.
pub(crate) fn repeat(pattern: &[u8], bytes: &mut [u8]) {
    if let [byte] = pattern {
        return bytes.fill(*byte);
    }
    let mut done = pattern.len().min(bytes.len());
    if let (Some(head), Some(wanted)) = (bytes.get_mut(..done), pattern.get(..done)) {
        head.copy_from_slice(wanted);
    }
    // What is there already is copied behind itself: the pattern's length divides all that is there before the end.
    while done > 0 && done < bytes.len() {
        let more = done.min(bytes.len() - done);
        bytes.copy_within(..more, done);
        done += more;
    }
}

/// What happens to a block before each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// It is written as it is.
    Keep,
    /// A fresh word in each sector.
    Stamp,
    /// All of it anew.
    Remake,
}

impl Renewal {
    /// What `data` asks for, of memory that nothing but writes uses.
    pub(crate) fn of(data: &Data) -> Self {
        match data.content {
            _ if data.compress_percent >= 100 => Self::Keep,
            // Written again as it is, however it was made.
            Content::Same if data.dedupe_percent == 0 && !data.refill => Self::Keep,
            _ if data.compress_percent > 0 || data.dedupe_percent > 0 => Self::Remake,
            Content::Noise | Content::Same if data.refill => Self::Remake,
            Content::Noise => Self::Stamp,
            Content::Same | Content::Zeros | Content::Pattern(_) => Self::Keep,
        }
    }
}

/// Makes the blocks of one thread.
///
/// As in fio: data that compresses or repeats is made anew for every write; in it, what compresses is the pattern if
/// there is one and zeros if not, and the rest of each chunk, which comes first, is random, whatever `content` says.
#[derive(Debug)]
pub(crate) struct Payload {
    rng: Xoshiro256PlusPlus,
    content: Content,
    renewal: Renewal,
    dedupe_percent: u32,
    chunk_bytes: usize,
    /// Bytes at the start of each chunk that do not compress; all of them when nothing compresses.
    noise_bytes: usize,
    /// Seeds of the blocks written last, among which those that repeat one choose.
    written: Vec<u64>,
    oldest: usize,
    /// The one seed of blocks that are all the same.
    same: Option<u64>,
}

impl Payload {
    /// Makes blocks of up to `largest_block_bytes` as `data` says, drawing from `rng`.
    pub(crate) fn new(data: &Data, largest_block_bytes: usize, mut rng: Xoshiro256PlusPlus) -> Self {
        let is_shaped = data.compress_percent > 0 || data.dedupe_percent > 0;
        let content = match &data.content {
            // What compresses altogether has no random part to be made anew.
            Content::Noise | Content::Same if data.compress_percent >= 100 => Content::Zeros,
            content => content.clone(),
        };
        let chunk_bytes = match data.compress_chunk {
            None => CHUNK_BYTES,
            Some(bytes) if bytes.0 == 0 => largest_block_bytes,
            Some(bytes) => usize::try_from(bytes.0).unwrap_or(usize::MAX).min(largest_block_bytes),
        }
        .max(1);
        let noise_percent = 100 - data.compress_percent.min(100) as usize;
        let noise_bytes = match content {
            _ if is_shaped => chunk_bytes.saturating_mul(noise_percent) / 100,
            Content::Noise | Content::Same => chunk_bytes,
            Content::Zeros | Content::Pattern(_) => 0,
        };
        let is_same = content == Content::Same && data.dedupe_percent == 0 && !data.refill;
        let working_set = if data.dedupe_percent > 0 { WORKING_SET } else { 0 };
        Self {
            same: is_same.then(|| rng.next_u64()),
            rng,
            content,
            renewal: Renewal::of(data),
            dedupe_percent: data.dedupe_percent,
            chunk_bytes,
            noise_bytes,
            written: Vec::with_capacity(working_set),
            oldest: 0,
        }
    }

    /// For a thread whose reads go to the same memory as its writes: what a read left there is never written again.
    ///
    /// Every write is then made anew, which costs as much as `refill`. Only where it is so anyway do reads and writes
    /// share memory (see [`ArenaPlan`](crate::arena::ArenaPlan)).
    pub(crate) fn shared_with_reads(mut self) -> Self {
        self.renewal = Renewal::Remake;
        self
    }

    /// Fills a block before the job begins.
    pub(crate) fn fill(&mut self, block: &mut [u8]) {
        self.remake(block);
    }

    /// Makes a block ready for being written once more.
    #[inline]
    pub(crate) fn renew(&mut self, block: &mut [u8]) {
        match self.renewal {
            Renewal::Stamp => stamp(&mut self.rng, block),
            Renewal::Keep => {}
            Renewal::Remake => self.remake(block),
        }
    }

    #[inline(never)]
    fn remake(&mut self, block: &mut [u8]) {
        let seed = self.choose_seed();
        let filler = match &self.content {
            Content::Pattern(pattern) => pattern.as_slice(),
            _ => &[0],
        };
        if self.noise_bytes == 0 {
            return repeat(filler, block);
        }
        let mut word = 0;
        for chunk in block.chunks_mut(self.chunk_bytes) {
            // The last chunk may be shorter, and keeps its share.
            let noise_bytes = if chunk.len() == self.chunk_bytes {
                self.noise_bytes
            } else {
                chunk.len() * self.noise_bytes / self.chunk_bytes
            };
            if let Some((random, rest)) = chunk.split_at_mut_checked(noise_bytes) {
                match seed {
                    Some(seed) => noise::fill(seed, word, random),
                    None => self.rng.fill_bytes(random),
                }
                repeat(filler, rest);
            }
            word += noise_bytes.div_ceil(noise::WORD_BYTES) as u64;
        }
    }

    /// The seed of a block that is, or may be, made again; None where it is made once, which costs less.
    fn choose_seed(&mut self) -> Option<u64> {
        if self.same.is_some() || self.dedupe_percent == 0 {
            return self.same;
        }
        let drawn = self.rng.next_u64();
        // The high half draws whether, the low half which.
        let repeats = (drawn >> 32) * 100 < u64::from(self.dedupe_percent) << 32;
        let index = ((drawn & u64::from(u32::MAX)) * self.written.len() as u64) >> 32;
        let earlier = usize::try_from(index).ok().and_then(|index| self.written.get(index));
        if let Some(earlier) = earlier.filter(|_| repeats) {
            return Some(*earlier);
        }
        self.remember(drawn);
        Some(drawn)
    }

    fn remember(&mut self, seed: u64) {
        if self.written.len() < WORKING_SET {
            self.written.push(seed);
        } else if let Some(slot) = self.written.get_mut(self.oldest) {
            *slot = seed;
            self.oldest = (self.oldest + 1) % WORKING_SET;
        }
    }
}

#[cfg(test)]
mod tests;
