//! What an earlier session of a test that was killed left on its files: the mark that it was writing.

use std::fs::File;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use iostone_machine::Failure;
use iostone_model::orion::{LargeIo, OrionHeader, OrionRecord};
use iostone_model::units::Bytes;
use iostone_orion::Lun;
use iostone_stack::{file_writing, keeps_marks};

/// Warming without `-cache_size` takes so long, and with it one of so few bytes a second.
const WARMING: Duration = Duration::from_secs(120);
const SLOWEST_WARMING_BYTES: u64 = 10_000_000;
/// Between the last I/O of a point and its line in the record, and for clocks that differ.
const LEEWAY: Duration = Duration::from_secs(10);

/// The earlier sessions of a test that is gone on with.
#[derive(Debug)]
pub(in super::super) struct Before {
    writer: String,
    /// Whether it has no end: it was killed.
    killed: bool,
    /// The latest time that the record tells of.
    last_sign: SystemTime,
    /// How long after that the test can have written before it gave another sign.
    within: Duration,
}

/// As whom a test marks the files that it writes to.
pub(in super::super) fn writer_of(header: &OrionHeader) -> String {
    format!("orion/{}/{}", header.started_at.replace(' ', "_"), header.seed)
}

impl Before {
    /// What a record tells of them.
    pub(in super::super) fn of(record: &OrionRecord) -> Self {
        let header = &record.header;
        let began = moment(&header.started_at, 0.0);
        let points = record.points.iter().filter_map(|point| moment(&point.started_at, point.seconds));
        let ended = record.end.as_ref().and_then(|end| moment(&end.ended_at, 0.0));
        Self {
            writer: writer_of(header),
            killed: record.end.is_none(),
            last_sign: began.into_iter().chain(points).chain(ended).max().unwrap_or(SystemTime::UNIX_EPOCH),
            within: header.test.duration.0 + warming(header) + LEEWAY,
        }
    }

    /// Whether a file is one that the test was writing to when it was killed, and that nobody wrote to long after.
    pub(super) fn left(&self, lun: &Lun, file: &File) -> Result<bool> {
        let writing = file_writing(file, &lun.path).map_err(Failure::from)?;
        Ok(writing.is_some_and(|writing| {
            writing.writer == self.writer && writing.is_its_own(self.last_sign, self.within)
        }))
    }

    /// Why a file is not taken for that, where the test was killed.
    pub(super) fn objection(&self, lun: &Lun, file: &File) -> Option<String> {
        if !self.killed {
            return None;
        }
        let marked = file_writing(file, &lun.path).ok().flatten().is_some_and(|it| it.writer == self.writer);
        let why = if marked {
            "it was written to again long after that"
        } else if keeps_marks(file) {
            "its mark of that is gone, so that somebody may have written to it since"
        } else {
            "its filesystem keeps no extended attributes, by which it could be told whether anybody else wrote to it since"
        };
        Some(format!("the test was writing to it when it was killed, but {why}"))
    }
}

fn moment(began: &str, seconds: f64) -> Option<SystemTime> {
    let began = SystemTime::from(began.parse::<jiff::Timestamp>().ok()?);
    began.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
}

/// The longest that is written before a point without a line in the record.
fn warming(header: &OrionHeader) -> Duration {
    match header.test.cache_size {
        _ if header.test.large_io != LargeIo::Seq => Duration::ZERO,
        None => WARMING,
        Some(Bytes(bytes)) => Duration::from_secs(bytes / SLOWEST_WARMING_BYTES),
    }
}
