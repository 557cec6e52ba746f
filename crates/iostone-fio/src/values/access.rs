//! How a target is gone over: direction, order, durability.

use serde::Serialize;

use crate::number::whole;
use crate::values::KbBase;

/// Direction and order of the I/O; fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    #[default]
    Read,
    /// Sequential writes.
    Write,
    /// Sequential trims.
    Trim,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random trims.
    RandTrim,
    /// Sequential, reads and writes mixed by `rwmixread`.
    ReadWrite,
    /// Random, reads and writes mixed by `rwmixread`.
    RandRw,
    /// Each block is trimmed, then written.
    TrimWrite,
    /// The same in random order.
    RandTrimWrite,
}

impl Rw {
    pub(crate) const CHOICES: &[(&str, Self)] = &[
        ("read", Self::Read),
        ("write", Self::Write),
        ("trim", Self::Trim),
        ("randread", Self::RandRead),
        ("randwrite", Self::RandWrite),
        ("randtrim", Self::RandTrim),
        ("rw", Self::ReadWrite),
        ("readwrite", Self::ReadWrite),
        ("randrw", Self::RandRw),
        ("trimwrite", Self::TrimWrite),
        ("randtrimwrite", Self::RandTrimWrite),
    ];

    /// Whether it reads.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::RandRead | Self::ReadWrite | Self::RandRw)
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::RandWrite
                | Self::ReadWrite
                | Self::RandRw
                | Self::TrimWrite
                | Self::RandTrimWrite
        )
    }

    /// Whether it discards.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::RandTrim | Self::TrimWrite | Self::RandTrimWrite)
    }

    /// Whether blocks are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandTrim | Self::RandRw | Self::RandTrimWrite)
    }
}

/// `rw` with the number behind its colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Access {
    /// Direction and order.
    pub rw: Rw,
    /// Random: a new offset is drawn after this many I/Os, which otherwise follow `rw_sequencer` (default 1).
    pub ios_per_offset: Option<u32>,
    /// Sequential: bytes added to the offset after each I/O, beyond its length; negative goes backwards (default 0).
    pub skip_bytes: i64,
}

/// Reads `randread:8`, `write:4k`, `read:-8k`.
pub(crate) fn read_shape(text: &str, kb_base: KbBase) -> Result<Access, String> {
    let (word, modifier) = match text.split_once(':') {
        Some((word, modifier)) => (word, Some(modifier)),
        None => (text, None),
    };
    let rw = crate::raw::choose(word, Rw::CHOICES)?;
    let mut access = Access { rw, ios_per_offset: None, skip_bytes: 0 };
    if let Some(modifier) = modifier {
        if rw.is_random() {
            let most = i64::from(u32::MAX);
            access.ios_per_offset = u32::try_from(whole(modifier, kb_base, 1, most)?).ok();
        } else {
            access.skip_bytes = whole(modifier, kb_base, i64::MIN, i64::MAX)?;
        }
    }
    Ok(access)
}

/// What the number behind `rw` means for random I/O; fio's `rw_sequencer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RwSequencer {
    /// The I/Os after a random offset follow it in sequence.
    #[default]
    Sequential,
    /// They repeat it.
    Identical,
}

/// Whether each write is durable before it completes; fio's `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncIo {
    /// No.
    #[default]
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// How often `sync_file_range(2)` is called, and with which flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SyncFileRange {
    /// `SYNC_FILE_RANGE_WAIT_BEFORE`.
    pub wait_before: bool,
    /// `SYNC_FILE_RANGE_WRITE`.
    pub write: bool,
    /// `SYNC_FILE_RANGE_WAIT_AFTER`.
    pub wait_after: bool,
    /// After this many writes.
    pub every: u32,
}

/// Reads `wait_before,write:8`.
pub(crate) fn read_sync_file_range(text: &str, kb_base: KbBase) -> Result<SyncFileRange, String> {
    let mut read = SyncFileRange { wait_before: false, write: false, wait_after: false, every: 1 };
    for part in text.split(',') {
        let (word, every) = part.split_once(':').map_or((part, None), |(word, every)| (word, Some(every)));
        match word {
            "wait_before" => read.wait_before = true,
            "write" => read.write = true,
            "wait_after" => read.wait_after = true,
            _ => return Err(format!("`{word}` is not one of wait_before, write, wait_after")),
        }
        if let Some(every) = every {
            let every = whole(every, kb_base, 1, i64::from(u32::MAX))?;
            read.every = u32::try_from(every).unwrap_or(u32::MAX);
        }
    }
    Ok(read)
}
