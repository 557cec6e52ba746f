//! Buffers that are used again: getting and zeroing new memory for each request would cost more than the request.

/// Kept in all; what is given back beyond goes to the system.
const MOST_KEPT_BYTES: usize = 64 << 20;
/// A class for each power of two.
const CLASSES: usize = usize::BITS as usize;

/// Buffers that nobody uses, by size.
#[derive(Debug)]
pub(crate) struct Buffers {
    classes: Vec<Vec<Vec<u8>>>,
    kept_bytes: usize,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self { classes: vec![Vec::new(); CLASSES], kept_bytes: 0 }
    }

    /// A buffer of that length; it may hold what it held before, so all of it has to be written over.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        let size = length.next_power_of_two();
        let kept = self.classes.get_mut(class_of(size)).and_then(Vec::pop);
        let mut buffer = match kept {
            Some(buffer) => {
                self.kept_bytes = self.kept_bytes.saturating_sub(buffer.capacity());
                buffer
            }
            None => Vec::with_capacity(size),
        };
        if buffer.len() > length {
            buffer.truncate(length);
        } else {
            buffer.resize(length, 0);
        }
        buffer
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        // The capacity may have come about otherwise; the class is the largest that it surely serves.
        let Some(class) = bytes.checked_ilog2() else { return };
        if self.kept_bytes + bytes > MOST_KEPT_BYTES {
            return;
        }
        if let Some(kept) = self.classes.get_mut(class as usize) {
            self.kept_bytes += bytes;
            kept.push(buffer);
        }
    }
}

fn class_of(power_of_two: usize) -> usize {
    power_of_two.trailing_zeros() as usize
}
