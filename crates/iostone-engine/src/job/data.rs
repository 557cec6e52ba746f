//! What is written, and how it is checked when it is read again.

use std::path::PathBuf;

use iostone_model::units::Bytes;
use serde::Serialize;

/// What writes carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Data {
    /// The bytes that do not compress.
    pub content: Content,
    /// Share of each chunk that compresses to nothing, in percent; fio's `buffer_compress_percentage`.
    pub compress_percent: u32,
    /// Length of a chunk; 512 bytes when not given. fio's `buffer_compress_chunk`.
    pub compress_chunk: Option<Bytes>,
    /// Share of blocks that repeat an earlier one, in percent; fio's `dedupe_percentage`.
    pub dedupe_percent: u32,
    /// Fill every block anew instead of stamping each of its sectors; fio's `refill_buffers`.
    pub refill: bool,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            content: Content::Noise,
            compress_percent: 0,
            compress_chunk: None,
            dedupe_percent: 0,
            refill: false,
        }
    }
}

/// The bytes that do not compress.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Random bytes, every sector of every write different.
    #[default]
    Noise,
    /// Random bytes once; writes repeat them. fio's `scramble_buffers=0`.
    Same,
    /// Zeros; fio's `zero_buffers`.
    Zeros,
    /// These bytes over and over; fio's `buffer_pattern`. Never empty.
    Pattern(Vec<u8>),
}

/// Every block written carries its place, its generation and a checksum, and blocks read must match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of fio's by itself")]
pub struct Verify {
    /// Over all of a unit but the checksum itself.
    pub checksum: Checksum,
    /// Bytes per header; each I/O is a multiple of it. The smallest block size when not given. fio's
    /// `verify_interval`.
    pub unit: Option<Bytes>,
    /// After the writes of a job, read all that it wrote and check it; fio's `do_verify`.
    pub read_back: bool,
    /// Read back after every this many blocks written instead of at the end; 0 for the end. fio's `verify_backlog`.
    pub backlog: u32,
    /// Write nothing: check what an earlier process wrote. fio's `verify_only`.
    pub only: bool,
    /// End at the first mismatch instead of counting on; fio's `verify_fatal`.
    pub fatal: bool,
    /// A file that remembers each unit's generation, so that another process can tell a stale block. It should lie
    /// on a device that is not the one under test.
    pub ledger: Option<PathBuf>,
    /// The machine or the device lost power since: a unit may hold any generation from the last that a sync made
    /// durable to the last that was submitted.
    pub after_crash: bool,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            checksum: Checksum::default(),
            unit: None,
            read_back: true,
            backlog: 0,
            only: false,
            fatal: false,
            ledger: None,
            after_crash: false,
        }
    }
}

/// How a unit's bytes are summed up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// CRC-32C (Castagnoli), as storage protocols use it.
    #[default]
    Crc32c,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// No header and no checksum: every byte must be that of the pattern. fio's `verify=pattern`.
    Pattern(Vec<u8>),
}
