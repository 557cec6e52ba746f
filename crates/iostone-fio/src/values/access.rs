//! How a target is gone over: direction, order, durability.

use iostone_model::load::{Rw, SyncFileRange};

use crate::number::whole;
use crate::values::KbBase;

const RW_CHOICES: &[(&str, Rw)] = &[
    ("read", Rw::Read),
    ("write", Rw::Write),
    ("trim", Rw::Trim),
    ("randread", Rw::RandRead),
    ("randwrite", Rw::RandWrite),
    ("randtrim", Rw::RandTrim),
    ("rw", Rw::ReadWrite),
    ("readwrite", Rw::ReadWrite),
    ("randrw", Rw::RandRw),
    ("trimwrite", Rw::TrimWrite),
    ("randtrimwrite", Rw::RandTrimWrite),
];

/// `rw` with the number behind its colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    let rw = crate::raw::choose(word, RW_CHOICES)?;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RwSequencer {
    /// The I/Os after a random offset follow it in sequence.
    #[default]
    Sequential,
    /// They repeat it.
    Identical,
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
