//! The volatile write cache between the server and the medium: what is in it and not flushed is lost with the power.
//!
//! It holds whole blocks of 4 KiB, of which a partial write first reads the rest, so that a block on the medium is
//! never torn: it is as one write left it, or as another did. Writes are acknowledged once they are in the cache;
//! when it is full, a block chosen at random goes to the medium first, and some do so by and by, as in a drive
//! that reorders. A flush brings everything to the medium, a write with FUA the blocks that it touches. Writes to the
//! medium are taken as durable: what survives a power cut is what [`Medium::write_at`] was given.

mod power;

use std::collections::HashMap;
use std::io;

use iostone_model::units::{Bytes, Fraction};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::model::EIO;
pub use power::{CacheCounters, PowerCut, PowerSwitch};

/// Bytes of a block of the cache.
pub const BLOCK_BYTES: u64 = 4096;

/// From one round of destaging in the background to the next.
const DESTAGE_EVERY_NS: u64 = 100_000_000;
/// Each round takes one block of so many: a block stays 3.2 seconds on average where nothing presses.
const DESTAGE_ONE_OF: usize = 32;
/// A flush writes neighbours together up to so many bytes.
const GATHER_BYTES: usize = 1 << 20;

/// What lies under a cache.
pub trait Medium {
    /// Fills the buffer from `offset` on.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of the data at `offset`.
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<()>;
    /// Makes what was written survive a crash of this machine itself.
    fn flush(&mut self) -> io::Result<()>;
}

/// A volatile write cache over a medium.
#[derive(Debug)]
pub struct VolatileCache<M> {
    medium: M,
    volume_bytes: u64,
    capacity_blocks: usize,
    /// The blocks in no order, so that one is chosen and removed in constant time.
    dirty: Vec<DirtyBlock>,
    /// Where in `dirty` a block is.
    places: HashMap<u64, usize>,
    /// Memory of blocks that went to the medium.
    spare: Vec<Box<[u8]>>,
    next_destage_ns: Option<u64>,
    random: Xoshiro256PlusPlus,
    powered: bool,
    counters: CacheCounters,
}

#[derive(Debug)]
struct DirtyBlock {
    number: u64,
    data: Box<[u8]>,
}

/// Why a block goes to the medium.
#[derive(Debug, Clone, Copy)]
enum Reason {
    Full,
    ByAndBy,
    Flush,
}

impl<M: Medium> VolatileCache<M> {
    /// An empty cache of `size` (at least one block) over the medium of a volume of `volume_bytes`.
    pub fn new(medium: M, volume_bytes: u64, size: Bytes, seed: u64) -> Self {
        let capacity_blocks = usize::try_from(size.0 / BLOCK_BYTES).unwrap_or(usize::MAX).max(1);
        Self {
            medium,
            volume_bytes,
            capacity_blocks,
            dirty: Vec::new(),
            places: HashMap::new(),
            spare: Vec::new(),
            next_destage_ns: None,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            powered: true,
            counters: CacheCounters { capacity_blocks: capacity_blocks as u64, ..CacheCounters::default() },
        }
    }

    /// The medium, as it would be found after losing everything in the cache.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium, to be written past the cache only where the cache holds nothing.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Reads what was written last, flushed or not.
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_access(buffer.len(), offset)?;
        self.medium.read_at(buffer, offset)?;
        if self.dirty.is_empty() {
            return Ok(());
        }
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (number, within, length) = piece_at(at, rest.len());
            let (piece, after) = rest.split_at_mut(length);
            let cached = self.places.get(&number).and_then(|place| self.dirty.get(*place));
            if let Some(bytes) = cached.and_then(|block| block.data.get(within..within + length)) {
                piece.copy_from_slice(bytes);
            }
            at += length as u64;
            rest = after;
        }
        Ok(())
    }

    /// Takes data in; where the cache is full, blocks chosen at random make room. With `fua`, the blocks written are on
    /// the medium afterwards. After an error, a part of the data may have been taken in, as in a real drive.
    pub fn write_at(&mut self, data: &[u8], offset: u64, fua: bool) -> io::Result<()> {
        self.check_access(data.len(), offset)?;
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (number, within, length) = piece_at(at, rest.len());
            let (piece, after) = rest.split_at(length);
            let place = self.place_of(number, within, length)?;
            if let Some(block) = self.dirty.get_mut(place)
                && let Some(bytes) = block.data.get_mut(within..within + length)
            {
                bytes.copy_from_slice(piece);
            }
            if fua {
                self.destage(place, Reason::Flush)?;
            }
            at += length as u64;
            rest = after;
        }
        Ok(())
    }

    /// Brings everything to the medium; [`Medium::flush`] is left to the caller, who may not want to wait for it here.
    pub fn destage_all(&mut self) -> io::Result<()> {
        self.check_power()?;
        let mut order = std::mem::take(&mut self.dirty);
        order.sort_unstable_by_key(|block| block.number);
        let written = self.write_in_order(&order);
        let mut unwritten = order.split_off(*written.as_ref().unwrap_or_else(|(count, _)| count));
        self.counters.flushed_blocks += order.len() as u64;
        self.places.clear();
        self.spare.extend(order.into_iter().map(|block| block.data));
        self.places.extend(unwritten.iter().enumerate().map(|(place, block)| (block.number, place)));
        self.dirty.append(&mut unwritten);
        written.map(|_| ()).map_err(|(_, error)| error)
    }

    /// Makes everything durable: [`destage_all`](Self::destage_all), then the medium's own flush.
    pub fn flush(&mut self) -> io::Result<()> {
        self.destage_all()?;
        self.medium.flush()
    }

    /// Brings some blocks to the medium if it is time, and says when it is time again; never while the cache is empty.
    pub fn destage_due(&mut self, now_ns: u64) -> io::Result<Option<u64>> {
        if self.dirty.is_empty() || !self.powered {
            self.next_destage_ns = None;
            return Ok(None);
        }
        let due_ns = *self.next_destage_ns.get_or_insert(now_ns.saturating_add(DESTAGE_EVERY_NS));
        if now_ns < due_ns {
            return Ok(Some(due_ns));
        }
        for _ in 0..self.dirty.len().div_ceil(DESTAGE_ONE_OF) {
            let place = self.choose(self.dirty.len());
            self.destage(place, Reason::ByAndBy)?;
        }
        self.next_destage_ns = (!self.dirty.is_empty()).then(|| now_ns.saturating_add(DESTAGE_EVERY_NS));
        Ok(self.next_destage_ns)
    }

    /// Where in `dirty` a block is that is about to be written from `within` for `length` bytes; it is brought there.
    fn place_of(&mut self, number: u64, within: usize, length: usize) -> io::Result<usize> {
        if let Some(place) = self.places.get(&number) {
            return Ok(*place);
        }
        if self.dirty.len() >= self.capacity_blocks {
            let victim = self.choose(self.dirty.len());
            self.destage(victim, Reason::Full)?;
        }
        let mut data = self.spare.pop().unwrap_or_else(|| vec![0; block_length()].into_boxed_slice());
        let valid = self.valid_bytes(number);
        if (within > 0 || length < valid)
            && let Some(bytes) = data.get_mut(..valid)
        {
            self.medium.read_at(bytes, number * BLOCK_BYTES)?;
        }
        let place = self.dirty.len();
        self.dirty.push(DirtyBlock { number, data });
        self.places.insert(number, place);
        Ok(place)
    }

    /// Writes one block to the medium and forgets it; after an error it is still there.
    fn destage(&mut self, place: usize, reason: Reason) -> io::Result<()> {
        let Some(block) = self.dirty.get(place) else { return Ok(()) };
        let valid = self.valid_bytes(block.number);
        let bytes = block.data.get(..valid).unwrap_or_default();
        self.medium.write_at(bytes, block.number * BLOCK_BYTES)?;
        self.forget(place);
        match reason {
            Reason::Full => self.counters.evicted_blocks += 1,
            Reason::ByAndBy => self.counters.destaged_blocks += 1,
            Reason::Flush => self.counters.flushed_blocks += 1,
        }
        Ok(())
    }

    fn forget(&mut self, place: usize) {
        let block = self.dirty.swap_remove(place);
        self.places.remove(&block.number);
        self.spare.push(block.data);
        if let Some(moved) = self.dirty.get(place) {
            self.places.insert(moved.number, place);
        }
    }

    /// Writes blocks in their order, neighbours together; with an error, how many are surely on the medium.
    fn write_in_order(&mut self, blocks: &[DirtyBlock]) -> Result<usize, (usize, io::Error)> {
        let mut written = 0;
        let mut gathered = Vec::new();
        let follows = |a: &DirtyBlock, b: &DirtyBlock| a.number + 1 == b.number;
        for neighbours in blocks.chunk_by(follows) {
            for part in neighbours.chunks(GATHER_BYTES / block_length()) {
                let Some(first) = part.first() else { continue };
                gathered.clear();
                for block in part {
                    let valid = self.valid_bytes(block.number);
                    gathered.extend_from_slice(block.data.get(..valid).unwrap_or_default());
                }
                let offset = first.number * BLOCK_BYTES;
                self.medium.write_at(&gathered, offset).map_err(|error| (written, error))?;
                written += part.len();
            }
        }
        Ok(written)
    }

    /// A number below `below`, all alike; the bias of the multiplication is below 2^-40 for any cache that fits memory.
    #[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below `below`")]
    fn choose(&mut self, below: usize) -> usize {
        ((u128::from(self.random.next_u64()) * below as u128) >> 64) as usize
    }

    /// Bytes of a block that lie within the volume: all, but for the last block of an uneven volume.
    fn valid_bytes(&self, number: u64) -> usize {
        let left = self.volume_bytes.saturating_sub(number.saturating_mul(BLOCK_BYTES));
        usize::try_from(left.min(BLOCK_BYTES)).unwrap_or_default()
    }

    fn check_access(&self, length: usize, offset: u64) -> io::Result<()> {
        self.check_power()?;
        match offset.checked_add(length as u64) {
            Some(end) if end <= self.volume_bytes => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "beyond the end of the volume")),
        }
    }

    fn check_power(&self) -> io::Result<()> {
        if self.powered { Ok(()) } else { Err(io::Error::from_raw_os_error(EIO)) }
    }
}

impl<M: Medium> PowerSwitch for VolatileCache<M> {
    fn power_cut(&mut self, keep: Fraction) -> io::Result<PowerCut> {
        if !self.powered {
            return Ok(PowerCut::default());
        }
        self.powered = false;
        let total = self.dirty.len();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 0 up to all blocks"
        )]
        let kept = (total as f64 * keep.0.clamp(0.0, 1.0)).round() as usize;
        let mut outcome = Ok(());
        for _ in 0..kept {
            let place = self.choose(self.dirty.len());
            let Some(block) = self.dirty.get(place) else { break };
            let valid = self.valid_bytes(block.number);
            let bytes = block.data.get(..valid).unwrap_or_default();
            outcome = outcome.and(self.medium.write_at(bytes, block.number * BLOCK_BYTES));
            self.forget(place);
        }
        let lost_blocks = self.dirty.len() as u64;
        self.counters.lost_blocks += lost_blocks;
        self.dirty.clear();
        self.places.clear();
        self.next_destage_ns = None;
        outcome.map(|()| PowerCut { kept_blocks: kept as u64, lost_blocks })
    }

    fn restore(&mut self) {
        self.powered = true;
    }

    fn cache_counters(&self) -> CacheCounters {
        CacheCounters { dirty_blocks: self.dirty.len() as u64, ..self.counters }
    }
}

/// The block in which `offset` lies, where in it, and how much of `length` lies there too.
fn piece_at(offset: u64, length: usize) -> (u64, usize, usize) {
    let within = usize::try_from(offset % BLOCK_BYTES).unwrap_or_default();
    (offset / BLOCK_BYTES, within, length.min(block_length() - within))
}

/// [`BLOCK_BYTES`] as the length of a slice.
const fn block_length() -> usize {
    4096
}

#[cfg(test)]
mod tests;
