//! Memory that direct I/O takes, and the question whether it holds nothing but zeros.

/// Direct I/O takes memory and offsets at multiples of the logical block, which nowhere is larger.
pub(super) const ALIGNMENT: usize = 4096;

static ZEROS: [u8; ALIGNMENT] = [0; ALIGNMENT];

/// Bytes that begin at a multiple of [`ALIGNMENT`].
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    pub(super) fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, start, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let end = self.start + self.length;
        self.memory.get_mut(self.start..end).unwrap_or_default()
    }
}

/// Whether there is nothing but zeros.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(ALIGNMENT).all(|chunk| ZEROS.starts_with(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_of_its_length() {
        let mut buffer = AlignedBuffer::new(5000);
        assert_eq!(buffer.bytes().len(), 5000);
        assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
    }

    #[test]
    fn one_byte_is_not_nothing() {
        let mut bytes = vec![0; 10_000];
        assert!(is_zero(&bytes));
        assert!(is_zero(&[]));
        bytes[9_999] = 1;
        assert!(!is_zero(&bytes));
    }
}
