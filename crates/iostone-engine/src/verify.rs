//! Verification: every unit written says where it belongs, in which generation and with which checksum, and every
//! unit read is compared with what the [`Ledger`] knows of it.
//!
//! A thread has one [`Verifier`]; all share one ledger and own disjoint parts of it. Which generation is right: the
//! one that was acknowledged last. Where a later one was submitted and never acknowledged (its write failed, or the
//! process was killed meanwhile) either is. After a power cut any generation from the last that a sync made durable
//! to the last that was submitted is. Which one was found is then noted, so that the next check knows it.

mod check;
mod content;
mod header;
mod ledger;
mod read_back;
mod report;

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Arc;

use iostone_model::load::{RequestFlag, SyncMode};
use iostone_model::units::Bytes;

use crate::arena::Arena;
use crate::job::{Checksum, Content, Data, Job, Verify};
use crate::payload::{self, Payload};
use crate::source::{Part, Request};
use report::MOST_KEPT;

pub use check::{ExpectedUnit, Finding, MismatchKind, check_pattern, check_unit};
pub use header::{HEADER_BYTES, HeaderError, UnitChecksum, UnitContent, UnitHeader, identify_job};
pub(crate) use ledger::Ledger;
pub use ledger::check_ledger_head;
pub use report::{Mismatch, VerifyReport};

use ledger::Entry;

/// With more units than this to be made durable, all of the thread's are gone over instead of listing them.
const MOST_UNSYNCED: usize = 1 << 20;

/// The form of a job's units.
#[derive(Debug)]
enum Form {
    Units { checksum: UnitChecksum, content: UnitContent, job: u32 },
    Pattern(Vec<u8>),
}

impl Form {
    fn of(job: &Job) -> Self {
        let checksum = match job.verify.as_ref().map(|verify| &verify.checksum) {
            Some(Checksum::Pattern(pattern)) => return Self::Pattern(pattern.clone()),
            Some(Checksum::Sha256) => UnitChecksum::Sha256,
            Some(Checksum::Crc32c) | None => UnitChecksum::Crc32c,
        };
        let Data { content, compress_percent, dedupe_percent, .. } = &job.data;
        let is_noise = (content, *compress_percent, *dedupe_percent) == (&Content::Noise, 0, 0);
        let content = if is_noise { UnitContent::Noise } else { UnitContent::Any };
        Self::Units { checksum, content, job: identify_job(job.seed) }
    }
}

/// Which units are in flight, one bit each.
#[derive(Debug)]
struct Busy {
    first: u64,
    words: Vec<u64>,
}

impl Busy {
    fn of(units: &Range<u64>) -> Self {
        let words = (units.end - units.start).div_ceil(u64::BITS.into());
        Self { first: units.start, words: vec![0; usize::try_from(words).unwrap_or(0)] }
    }

    #[inline]
    fn locate(&self, unit: u64) -> (usize, u64) {
        let number = unit.wrapping_sub(self.first);
        (usize::try_from(number / 64).unwrap_or(usize::MAX), 1 << (number % 64))
    }

    #[inline]
    fn is_set(&self, unit: u64) -> bool {
        let (word, bit) = self.locate(unit);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    #[inline]
    fn set(&mut self, unit: u64, busy: bool) {
        let (word, bit) = self.locate(unit);
        if let Some(word) = self.words.get_mut(word) {
            *word = if busy { *word | bit } else { *word & !bit };
        }
    }
}

/// What a unit must be, by what the ledger knows of it.
#[derive(Debug)]
struct Rule {
    after_crash: bool,
    /// Units of which the ledger knows nothing need not be right.
    skips_unknown: bool,
}

impl Rule {
    fn of(job: &Job, verify: &Verify) -> Self {
        let skips_unknown = (job.rw.writes() && !verify.only) || verify.ledger.is_some();
        Self { after_crash: verify.after_crash, skips_unknown }
    }

    /// The generations of which a unit must be one; None when nothing is known of it and it may be anything.
    #[inline]
    fn generations_of(&self, entry: &Entry) -> Option<RangeInclusive<u32>> {
        match entry.issued() {
            0 if self.skips_unknown => None,
            0 => Some(1..=u32::MAX),
            issued if self.after_crash => Some(entry.durable()..=issued),
            issued => Some(entry.acknowledged()..=issued),
        }
    }
}

/// Which job a unit says it is of.
fn job_of(unit: &[u8]) -> Option<u32> {
    UnitHeader::parse(unit).ok().map(|header| header.job)
}

/// When what was acknowledged becomes durable.
#[derive(Debug)]
enum Durability {
    /// Nothing in the job sees to it.
    Never,
    /// When it is acknowledged.
    AtOnce,
    /// With the next sync, which makes these units durable.
    BySync(Vec<u64>),
    /// With the next sync, and these are too many to list.
    BySyncOfAll,
}

impl Durability {
    fn of(job: &Job) -> Self {
        let flags = [RequestFlag::Dsync, RequestFlag::Sync];
        if job.sync != SyncMode::None || job.flags.iter().any(|flag| flags.contains(flag)) {
            Self::AtOnce
        } else if job.fsync > 0 || job.fdatasync > 0 || job.end_fsync {
            Self::BySync(Vec::new())
        } else {
            Self::Never
        }
    }

    #[inline]
    fn note(&mut self, unit: u64, entry: &Entry) {
        match self {
            Self::AtOnce => entry.make_durable(),
            Self::BySync(units) if units.len() < MOST_UNSYNCED => units.push(unit),
            Self::BySync(_) => *self = Self::BySyncOfAll,
            Self::Never | Self::BySyncOfAll => {}
        }
    }
}

/// Seals what one thread writes and checks what it reads.
#[derive(Debug)]
pub(crate) struct Verifier {
    ledger: Arc<Ledger>,
    form: Form,
    rule: Rule,
    durability: Durability,
    targets: Vec<PathBuf>,
    /// The thread's part of each target.
    parts: Vec<Part>,
    busy: Vec<Busy>,
    fatal: bool,
    /// Units may be of any job: this one writes none, and no ledger says whose they are.
    takes_any_job: bool,
    direct: bool,
    backlog: u32,
    /// Writes acknowledged since the last reading back, where there is a backlog.
    recent: Vec<Request>,
    /// The memory that is read back into, once there was a need for it.
    arena: Option<Arena>,
    report: VerifyReport,
}

impl Verifier {
    /// The verifier of a thread that reads and writes `parts`, one of each target.
    pub(crate) fn new(job: &Job, ledger: Arc<Ledger>, parts: Vec<Part>) -> Self {
        let verify = job.verify.clone().unwrap_or_default();
        let busy = (0..)
            .zip(&parts)
            .map(|(target, part)| Busy::of(&ledger.units_of(target, part.offset_bytes, part.length_bytes)))
            .collect();
        Self {
            form: Form::of(job),
            rule: Rule::of(job, &verify),
            durability: Durability::of(job),
            targets: job.targets.clone(),
            busy,
            parts,
            ledger,
            fatal: verify.fatal,
            takes_any_job: verify.ledger.is_none() && (verify.only || !job.rw.writes()),
            direct: job.direct,
            backlog: verify.backlog,
            recent: Vec::with_capacity(verify.backlog.min(1 << 16) as usize),
            arena: None,
            report: VerifyReport::default(),
        }
    }

    /// Whether a unit of it is in flight, so that it must wait: what two I/Os on one unit at a time leave there, or
    /// see, is anybody's guess.
    #[inline]
    pub(crate) fn is_busy(&self, request: &Request) -> bool {
        let Some(busy) = self.busy.get(request.target as usize) else { return false };
        self.ledger.units_of_request(request).any(|unit| busy.is_set(unit))
    }

    /// Whether the job is to end because of a mismatch.
    #[inline]
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal && self.report.mismatch_count > 0
    }

    /// Notes that a read is about to be submitted.
    #[inline]
    pub(crate) fn begin_read(&mut self, request: &Request) {
        self.mark(request, true);
    }

    #[inline]
    fn mark(&mut self, request: &Request, is_busy: bool) {
        let units = self.ledger.units_of_request(request);
        if let Some(busy) = self.busy.get_mut(request.target as usize) {
            units.for_each(|unit| busy.set(unit, is_busy));
        }
    }

    /// Makes `block` what a write carries: each unit of it in its next generation, which is on record from now on.
    /// The request must not be [busy](Self::is_busy), and is so then.
    pub(crate) fn seal(&mut self, request: &Request, block: &mut [u8], payload: &mut Payload) {
        let unit_bytes = self.ledger.unit_bytes();
        if let Form::Units { content: UnitContent::Any, .. } = self.form {
            payload.renew(block);
        }
        let units = self.ledger.units_of_request(request);
        let pieces = block.chunks_exact_mut(usize::try_from(unit_bytes).unwrap_or(usize::MAX));
        for ((unit, piece), offset_bytes) in
            units.zip(pieces).zip((request.offset_bytes..).step_by(step_of(unit_bytes)))
        {
            let Some(entry) = self.ledger.entry(unit) else { continue };
            let generation = entry.issue();
            match &self.form {
                Form::Units { checksum, content, job } => UnitHeader {
                    checksum: *checksum,
                    content: *content,
                    unit_bytes: u32::try_from(unit_bytes).unwrap_or(u32::MAX),
                    generation,
                    offset_bytes,
                    target: request.target,
                    job: *job,
                }
                .seal(piece),
                Form::Pattern(pattern) => payload::repeat(pattern, piece),
            }
        }
        self.mark(request, true);
    }

    /// Notes that a write has completed.
    pub(crate) fn acknowledge(&mut self, request: &Request) {
        for unit in self.ledger.units_of_request(request) {
            let Some(entry) = self.ledger.entry(unit) else { continue };
            entry.acknowledge();
            self.durability.note(unit, entry);
        }
        if self.backlog > 0 {
            self.recent.push(*request);
        }
        self.mark(request, false);
    }

    /// Notes that a read or write has failed. Of a write, either generation may be there then.
    pub(crate) fn give_up(&mut self, request: &Request) {
        self.mark(request, false);
    }

    /// Notes that a sync of all targets has completed which began when all writes up to then were acknowledged.
    pub(crate) fn made_durable(&mut self) {
        match &mut self.durability {
            Durability::Never | Durability::AtOnce => {}
            Durability::BySync(units) => {
                units.drain(..).filter_map(|unit| self.ledger.entry(unit)).for_each(Entry::make_durable);
            }
            Durability::BySyncOfAll => {
                for (target, part) in (0..).zip(&self.parts) {
                    let units = self.ledger.units_of(target, part.offset_bytes, part.length_bytes);
                    units.filter_map(|unit| self.ledger.entry(unit)).for_each(Entry::make_durable);
                }
                self.durability = Durability::BySync(Vec::new());
            }
        }
    }

    /// Checks what a read of the job brought.
    pub(crate) fn check(&mut self, request: &Request, block: &[u8]) {
        self.mark(request, false);
        self.judge_all(request.target, request.offset_bytes, block);
    }

    /// What was found.
    pub(crate) fn report(self) -> VerifyReport {
        self.report
    }

    /// Judges the units that lie one after the other in `bytes`, which begin at `offset_bytes`.
    fn judge_all(&mut self, target: u32, offset_bytes: u64, bytes: &[u8]) {
        let unit_bytes = self.ledger.unit_bytes();
        let units = self.ledger.units_of(target, offset_bytes, bytes.len() as u64);
        let pieces = bytes.chunks_exact(usize::try_from(unit_bytes).unwrap_or(usize::MAX));
        for ((unit, piece), offset_bytes) in
            units.zip(pieces).zip((offset_bytes..).step_by(step_of(unit_bytes)))
        {
            self.judge(target, unit, offset_bytes, piece);
            if self.is_fatal() {
                return;
            }
        }
    }

    #[inline]
    fn judge(&mut self, target: u32, unit: u64, offset_bytes: u64, bytes: &[u8]) {
        let generations = self.ledger.entry(unit).and_then(|entry| self.rule.generations_of(entry));
        let Some(generations) = generations else {
            self.report.units_skipped += 1;
            return;
        };
        // What was there before the first write of a unit may be there still if no later one is certain.
        let may_be_anything = *generations.start() == 0;
        let checked = match &self.form {
            Form::Units { checksum, content, job } => check_unit(
                bytes,
                &ExpectedUnit {
                    checksum: *checksum,
                    content: *content,
                    job: if self.takes_any_job { job_of(bytes).unwrap_or(*job) } else { *job },
                    target,
                    offset_bytes,
                    generations,
                },
            )
            .map(Some),
            Form::Pattern(pattern) => check_pattern(bytes, pattern).map(|()| None),
        };
        match checked {
            Ok(found) => {
                if let (Some(generation), Some(entry)) = (found, self.ledger.entry(unit))
                    && entry.issued() > 0
                    && entry.acknowledged() != generation
                {
                    entry.settle(generation);
                }
            }
            Err(finding) if may_be_anything && finding.kind.is_of_nobody() => {
                self.report.units_skipped += 1;
                return;
            }
            Err(finding) => self.note(target, offset_bytes, *finding),
        }
        self.report.units_checked += 1;
        self.report.bytes_checked.0 += bytes.len() as u64;
    }

    #[cold]
    fn note(&mut self, target: u32, offset_bytes: u64, finding: Finding) {
        self.report.mismatch_count += 1;
        if self.report.mismatches.len() >= MOST_KEPT {
            return;
        }
        let Finding { kind, at, expected, found } = finding;
        self.report.mismatches.push(Mismatch {
            target: self.targets.get(target as usize).cloned().unwrap_or_default(),
            offset: Bytes(offset_bytes),
            at: Bytes(offset_bytes + at as u64),
            kind,
            expected,
            found,
        });
    }
}

/// A unit's length as the step of offsets.
fn step_of(unit_bytes: u64) -> usize {
    usize::try_from(unit_bytes).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests;
