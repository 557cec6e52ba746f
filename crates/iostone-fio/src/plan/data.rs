//! What is written, and how it is verified.

use std::path::PathBuf;

use iostone_engine::{Checksum, Content, Data, EngineError, Job, Verify as EngineVerify};
use iostone_model::units::Bytes;

use crate::job_file::Section;
use crate::options::FioOptions;
use crate::plan::Planner;
use crate::plan::sizes::Sized;
use crate::values::{Portion, Verify};

impl Planner<'_> {
    pub(super) fn plan_data(&mut self, section: &Section, job: &mut Job) {
        let options = &section.options;
        let content = if let Some(pattern) = &options.buffer_pattern {
            Content::Pattern(pattern.bytes.clone())
        } else if options.zero_buffers == Some(true) {
            Content::Zeros
        } else if options.scramble_buffers == Some(false) {
            Content::Same
        } else {
            Content::Noise
        };
        job.data = Data {
            content,
            compress_percent: options.buffer_compress_percentage.unwrap_or(0),
            compress_chunk: options.buffer_compress_chunk.map(|chunk| {
                // 0 is one chunk for the whole block.
                Bytes(if chunk == 0 { job.bs.write.largest().0 } else { chunk })
            }),
            dedupe_percent: options.dedupe_percentage.unwrap_or(0),
            refill: options.refill_buffers == Some(true),
        };
        self.plan_verify(section, job);
    }

    fn plan_verify(&mut self, section: &Section, job: &mut Job) {
        let options = &section.options;
        let verify = options.verify.unwrap_or_default();
        let pattern = options.verify_pattern.as_ref();
        if pattern.is_some_and(|pattern| !pattern.offsets_at.is_empty()) {
            self.refuse(
                section,
                "verify_pattern",
                "the place of a block is in its header, not in a pattern (`%o`)",
            );
            return;
        }
        let place = section.place_of("verify").unwrap_or(&section.place).clone();
        let checksum = match verify {
            Verify::None => return,
            Verify::Null => {
                self.refuse(section, "verify", "a check that looks at nothing is not offered");
                return;
            }
            Verify::Pattern => {
                Checksum::Pattern(pattern.map(|pattern| pattern.bytes.clone()).unwrap_or_default())
            }
            Verify::Crc32c => Checksum::Crc32c,
            Verify::Crc7 | Verify::Crc16 | Verify::Crc32 | Verify::Meta | Verify::PatternHeader => {
                self.remark(&place, "blocks are checked by CRC-32C, which is stronger");
                Checksum::Crc32c
            }
            Verify::Crc64
            | Verify::Xxhash
            | Verify::Md5
            | Verify::Sha1
            | Verify::Sha256
            | Verify::Sha512
            | Verify::Sha3_224
            | Verify::Sha3_256
            | Verify::Sha3_384
            | Verify::Sha3_512 => {
                if verify != Verify::Sha256 {
                    self.remark(&place, "blocks are checked by SHA-256 instead");
                }
                Checksum::Sha256
            }
        };
        if verify != Verify::Pattern
            && let Some(pattern) = pattern
        {
            job.data.content = Content::Pattern(pattern.bytes.clone());
        }
        self.check_writers(section, job);
        let backlog = options.verify_backlog.unwrap_or(0);
        job.verify = Some(EngineVerify {
            checksum,
            unit: options.verify_interval.map(|bytes| Bytes(bytes.into())),
            read_back: options.do_verify.unwrap_or(true),
            backlog: u32::try_from(backlog).unwrap_or(u32::MAX),
            only: options.verify_only == Some(true),
            fatal: options.verify_fatal == Some(true),
            ledger: None,
            after_crash: false,
        });
    }

    /// The same of clones that begin at different places and come into each other's way.
    pub(super) fn check_clones(
        &mut self,
        section: &Section,
        job: &Job,
        before: Option<&Sized>,
        this: &Sized,
    ) {
        // With a backlog blocks are read back soon after they are written, and not again at the end.
        let at_the_end = job.verify.as_ref().is_some_and(|verify| !verify.only && verify.backlog == 0);
        let writes = job.rw.writes() && at_the_end;
        if writes && before.is_some_and(|before| before.meets(this)) {
            let option =
                if section.options.offset_increment.is_some() { "offset_increment" } else { "numjobs" };
            let why = "clones that write and verify the same blocks find each other's there: the region of each \
                       goes on where that of the next one begins";
            self.refuse_job(section, option, why);
        }
    }

    /// Clones that write the same blocks would find each other's.
    fn check_writers(&mut self, section: &Section, job: &Job) {
        let options = &section.options;
        let shares_files = !options.filename.is_empty();
        let moves_on = match options.offset_increment {
            Some(Portion::Bytes(step)) => step.0 > 0,
            Some(Portion::Percent(step)) => step > 0,
            None => false,
        };
        if job.rw.writes() && options.numjobs.is_some_and(|clones| clones > 1) && shares_files && !moves_on {
            let why = "clones that write and verify the same blocks find each other's there; give them an \
                       `offset_increment`, or files of their own";
            self.refuse_job(section, "numjobs", why);
        }
    }
}

/// Where a clone keeps what it wrote, for a later run to check against: beside the caller, as fio keeps its state.
pub(super) fn ledger(section: &Section, clone: u32) -> Option<PathBuf> {
    let FioOptions { verify_state_save, verify_state_load, .. } = section.options;
    let name = section.title().replace('/', "_");
    (verify_state_save == Some(true) || verify_state_load == Some(true))
        .then(|| PathBuf::from(format!("local-{name}-{clone}-verify.ledger")))
}

/// The option that the engine's complaint is about.
pub(super) fn option_of(error: &EngineError) -> &'static str {
    match error {
        EngineError::Invalid { field, .. } => match *field {
            "iodepth_batch" => "iodepth_batch",
            "ss_dur" => "steadystate_duration",
            "verify_pattern" => "verify_pattern",
            "preparation" => "fallocate",
            "flags" => "ioengine",
            field => field,
        },
        _ => "ioengine",
    }
}
