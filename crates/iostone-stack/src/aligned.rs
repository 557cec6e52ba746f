//! Memory for I/O past the page cache.

/// `O_DIRECT` wants memory, offset and length aligned; no block device asks for more than a page.
pub(crate) const ALIGNMENT: usize = 4096;

/// Memory at an address that `O_DIRECT` takes.
pub(crate) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Zeroed memory of that many bytes.
    pub(crate) fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start, length }
    }

    /// The memory to read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    /// The memory to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
