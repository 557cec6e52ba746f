//! Fills what was never written with data that neither compresses nor repeats, and keeps what is there.

use std::fs::{File, OpenOptions};
use std::hash::Hasher;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_engine::{NoiseStream, Pin, claim_device};
use iostone_model::orion::LunKind;
use rustix::fs::{Advice, fadvise};

use super::buffer::{AlignedBuffer, is_zero};
use super::find_unwritten;
use crate::error::OrionError;
use crate::lun::Lun;

/// Looked at and written at a time; as long as what [`NoiseStream`] hands out.
const PIECE_BYTES: u64 = 1 << 20;
/// Made durable and dropped from the page cache so often, so that neither fills memory.
const DURABLE_EVERY_BYTES: u64 = 256 << 20;

/// What is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefill {
    /// Holes of files, and their extents that were never written. Nothing of a block device.
    NeverWritten,
    /// Those, and then each aligned MiB that is read as nothing but zeros: it reads the whole LUN.
    ZerosToo,
}

/// Fills a LUN with data that neither compresses nor repeats, makes it durable and gives the bytes written. What holds
/// anything else is never overwritten. Each LUN draws its own data from the seed.
///
/// `progress` hears, a few times a second at most storage speeds, how many bytes were dealt with and how many there are.
/// Whoever calls it for a block device has to have made sure that nothing else lives there; the kernel moreover refuses
/// devices that are mounted or held (`O_EXCL` of open(2)).
///
/// # Errors
/// That it cannot be opened, read, written or made durable; [`OrionError::Interrupted`] once `stop` is set, with what was
/// written until then durable.
pub fn prefill(
    lun: &Lun,
    what: Prefill,
    seed: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, OrionError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(lun.way())
        .map_err(|error| OrionError::file("open to fill", &lun.path, error))?;
    // Shared with who has claimed it already for this test.
    let _claim = match lun.kind {
        LunKind::Device => Some(claim(lun)?),
        LunKind::File => None,
    };
    let (unwritten, _) = find_unwritten(lun, &file)?;
    let holes: u64 = unwritten.iter().map(|range| range.end - range.start).sum();
    let total = holes + if what == Prefill::ZerosToo { lun.bytes } else { 0 };
    let mut filler = Filler {
        lun,
        file,
        noise: NoiseStream::new(seed_of(lun, seed)),
        stop,
        progress,
        done: 0,
        total,
        written: 0,
        since: 0,
    };
    let outcome = filler.fill_holes(&unwritten).and_then(|()| match what {
        Prefill::NeverWritten => Ok(()),
        Prefill::ZerosToo => filler.fill_zeros(),
    });
    // Also after an interruption, so that a second attempt finds what the first one did.
    filler.make_durable()?;
    outcome.map(|()| filler.written)
}

fn claim(lun: &Lun) -> Result<Arc<File>, OrionError> {
    let opened = match &lun.pin {
        Some(pin) => Ok(pin.clone()),
        None => File::open(&lun.path).map(Pin::new),
    };
    let pin = opened.map_err(|error| OrionError::file("open to fill", &lun.path, error))?;
    Ok(claim_device(&lun.path, &pin)?)
}

/// Two LUNs of one seed must not hold the same data: storage may keep it once.
fn seed_of(lun: &Lun, seed: u64) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(lun.name.as_bytes());
    seed ^ hasher.finish()
}

struct Filler<'a> {
    lun: &'a Lun,
    file: File,
    noise: NoiseStream,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(u64, u64),
    done: u64,
    total: u64,
    written: u64,
    /// Bytes dealt with since the last time that all was made durable.
    since: u64,
}

impl Filler<'_> {
    fn fill_holes(&mut self, holes: &[Range<u64>]) -> Result<(), OrionError> {
        for hole in holes {
            for piece in pieces(hole) {
                self.write(&piece)?;
                self.goes_on(&piece)?;
            }
        }
        Ok(())
    }

    fn fill_zeros(&mut self) -> Result<(), OrionError> {
        let mut buffer = AlignedBuffer::new(usize::try_from(PIECE_BYTES).unwrap_or(1 << 20));
        for piece in pieces(&(0..self.lun.bytes)) {
            let length = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
            let bytes = buffer.bytes().get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(bytes, piece.start).map_err(|error| self.error("read", error))?;
            if is_zero(bytes) {
                self.write(&piece)?;
            }
            self.goes_on(&piece)?;
        }
        Ok(())
    }

    fn write(&mut self, piece: &Range<u64>) -> Result<(), OrionError> {
        let length = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
        let noise = self.noise.next_chunk();
        let bytes = noise.get(..length).unwrap_or(noise);
        self.file
            .write_all_at(bytes, piece.start)
            .map_err(|error| OrionError::file("fill", &self.lun.path, error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn goes_on(&mut self, piece: &Range<u64>) -> Result<(), OrionError> {
        let length = piece.end - piece.start;
        self.done += length;
        self.since += length;
        if self.since >= DURABLE_EVERY_BYTES {
            self.make_durable()?;
        }
        (self.progress)(self.done, self.total);
        if self.stop.load(Ordering::Relaxed) { Err(OrionError::Interrupted) } else { Ok(()) }
    }

    fn make_durable(&mut self) -> Result<(), OrionError> {
        self.file.sync_all().map_err(|error| self.error("make durable", error))?;
        self.since = 0;
        // Only a hint: what stays in memory is read around by direct I/O.
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        Ok(())
    }

    fn error(&self, action: &'static str, error: io::Error) -> OrionError {
        OrionError::file(action, &self.lun.path, error)
    }
}

/// Cut at multiples of a piece.
fn pieces(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = (at / PIECE_BYTES + 1).saturating_mul(PIECE_BYTES).min(end);
            std::mem::replace(&mut at, next)..next
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_at_whole_mebibytes() {
        let mib = PIECE_BYTES;
        let cut: Vec<Range<u64>> = pieces(&(100..2 * mib + 5)).collect();
        assert_eq!(cut, [100..mib, mib..2 * mib, 2 * mib..2 * mib + 5]);
        assert_eq!(pieces(&(7..7)).count(), 0);
    }
}
