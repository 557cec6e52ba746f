//! Jobs as fio means them, made into jobs of the engine: clones, names of files, sizes, order.
//!
//! fio's clones each go over the whole region, so each is an engine job of one thread. Where the engine cannot do what
//! an option says, the option is refused at its line, or dropped and named where the caller is lenient.

mod data;
mod order;
mod pace;
mod shape;
mod sizes;
mod targets;

use std::collections::HashMap;
use std::time::Duration;

use iostone_engine::{Job, Preparation};
use iostone_model::load::{IoEngine, RequestFlag};
use iostone_model::units::{Bytes, Span};

use crate::job_file::{Dropped, JobFile, Remark, Section};
use crate::options::FioOptions;
use crate::place::Place;
use crate::problem::{Problem, Reason};
use crate::values::{ContinueOn, CpuPolicy, Engine};
pub use targets::{Look, Targets};

/// Everything that is to be done, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Jobs that run beside each other; each phase begins when the one before it has ended.
    pub phases: Vec<Phase>,
    /// What is done otherwise than it may seem.
    pub remarks: Vec<Remark>,
    /// Options that were dropped because the caller is lenient.
    pub dropped: Vec<Dropped>,
}

/// Jobs that run beside each other; see `iostone_engine::run_together`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Phase {
    /// The jobs, clones one by one.
    pub jobs: Vec<PlannedJob>,
}

/// One clone of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// The name that reports show.
    pub name: String,
    /// Which of [`JobFile::sections`] it is of; how it is reported and logged is in that section's options.
    pub section: usize,
    /// Which clone of the section, from 0.
    pub clone: u32,
    /// Which job of all, from 1; fio's thread number.
    pub number: u32,
    /// fio's group of reports, from 0.
    pub group: u32,
    /// What the engine is to do; `numjobs` is 1.
    pub job: Job,
    /// Delete the targets that are files once the phase is over.
    pub unlink: bool,
}

/// What a plan is made with.
pub struct Planning<'a> {
    /// What is known of files and devices.
    pub targets: &'a dyn Targets,
    /// Drops what the engine cannot do instead of refusing it.
    pub lenient: bool,
    /// The seed of jobs with `randrepeat=0`.
    pub entropy: u64,
}

/// Makes jobs of the engine.
///
/// # Errors
/// Everything that the engine cannot do, by its line.
pub fn plan(jobs: &JobFile, planning: &Planning<'_>) -> Result<Plan, Vec<Problem>> {
    let mut planner =
        Planner { planning, plan: Plan::default(), problems: Vec::new(), number: 0, made: HashMap::new() };
    let places = order::order(&jobs.sections, &mut planner);
    let is_exit_all = jobs.sections.iter().any(|section| section.options.exitall == Some(true));
    for (index, (section, place)) in jobs.sections.iter().zip(&places).enumerate() {
        let made = planner.plan_section(index, section, place.group, is_exit_all);
        let phases = &mut planner.plan.phases;
        if phases.len() <= place.phase {
            phases.resize_with(place.phase + 1, Phase::default);
        }
        if let Some(phase) = phases.get_mut(place.phase) {
            phase.jobs.extend(made);
        }
    }
    planner.plan.phases.retain(|phase| !phase.jobs.is_empty());
    if planner.problems.is_empty() { Ok(planner.plan) } else { Err(planner.problems) }
}

pub(crate) struct Planner<'a> {
    planning: &'a Planning<'a>,
    plan: Plan,
    problems: Vec<Problem>,
    number: u32,
    /// Files that jobs before will have made or grown, with their sizes: fio lays all files out before any job runs.
    made: HashMap<String, u64>,
}

impl Planner<'_> {
    /// Refuses an option that was given, or drops it; jobs that share a `[global]` share its mistakes.
    fn refuse(&mut self, section: &Section, option: &str, why: impl Into<String>) {
        let why = why.into();
        let Some(given) = section.find_given(option).cloned() else {
            return self.push(Problem::new(&section.place, Reason::Contradiction { why }));
        };
        if self.planning.lenient {
            let dropped = Dropped { option: given, why };
            if !self.plan.dropped.contains(&dropped) {
                self.plan.dropped.push(dropped);
            }
            return;
        }
        self.push(Problem::new(
            &given.place,
            Reason::NotHonoured { name: given.written, value: given.value, why },
        ));
    }

    /// Refuses what no leniency can mend.
    fn refuse_job(&mut self, section: &Section, option: &str, why: impl Into<String>) {
        let place = section.place_of(option).unwrap_or(&section.place).clone();
        self.push(Problem::new(&place, Reason::Contradiction { why: why.into() }));
    }

    fn push(&mut self, problem: Problem) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn remark(&mut self, place: &Place, text: impl Into<String>) {
        let remark = Remark { place: place.clone(), text: text.into() };
        if !self.plan.remarks.contains(&remark) {
            self.plan.remarks.push(remark);
        }
    }

    fn plan_section(
        &mut self,
        index: usize,
        section: &Section,
        group: u32,
        exit_all: bool,
    ) -> Vec<PlannedJob> {
        let options = &section.options;
        let clones = options.numjobs.unwrap_or(1);
        let pattern = self.plan_pattern(section);
        let mut made = Vec::new();
        let mut before = None;
        for clone in 0..clones {
            self.number += 1;
            let Some(sized) = self.plan_sizes(section, &pattern, clone) else { return Vec::new() };
            self.check_clones(section, &pattern, before.as_ref(), &sized);
            let mut job = pattern.clone();
            job.targets = sized.targets.iter().map(Into::into).collect();
            job.offset = Bytes(sized.offset_bytes);
            job.size = sized.length_bytes.map(Bytes);
            job.io_size = sized.io_bytes.map(Bytes);
            job.ios = sized.ios;
            job.exit_all = exit_all;
            job.seed = self.seed(options);
            job.start_delay = self.start_delay(options, job.seed);
            job.cpus = self.cpus(options);
            if let Some(verify) = &mut job.verify {
                verify.ledger = data::ledger(section, clone);
            }
            if let Err(error) = job.check() {
                self.refuse_job(section, data::option_of(&error), error.to_string());
                return Vec::new();
            }
            let unlink = options.unlink == Some(true);
            let name = section.title().to_owned();
            made.push(PlannedJob { name, section: index, clone, number: self.number, group, job, unlink });
            before = Some(sized);
        }
        made
    }

    /// What all clones of a section have in common.
    fn plan_pattern(&mut self, section: &Section) -> Job {
        let options = &section.options;
        let mut job = Job::new("", options.access().rw);
        job.rwmixread = options.rwmixread.unwrap_or(50);
        job.bs = self.plan_blocks(section);
        job.walk = self.plan_walk(section, &job.bs);
        job.service = options.file_service_type.clone().unwrap_or_default();
        self.plan_engine(section, &mut job);
        self.plan_durability(options, &mut job);
        self.plan_preparation(section, &mut job);
        self.plan_pace(section, &mut job);
        self.plan_data(section, &mut job);
        self.plan_errors(section, &mut job);
        job.runtime = options.runtime.filter(|runtime| !runtime.0.is_zero());
        job.ramp_time = options.ramp_time.unwrap_or_default();
        job.nice = options.nice.unwrap_or(0);
        job
    }

    fn plan_engine(&mut self, section: &Section, job: &mut Job) {
        let options = &section.options;
        let engine = options.engine();
        job.iodepth = if engine.is_synchronous() { 1 } else { options.iodepth.unwrap_or(1) };
        job.engine = match engine {
            Engine::Libaio | Engine::Posixaio | Engine::IoUring => IoEngine::IoUring,
            Engine::Mmap => IoEngine::Mmap,
            Engine::Null => IoEngine::Null,
            Engine::Sync | Engine::Psync | Engine::Vsync | Engine::Pvsync | Engine::Pvsync2 => IoEngine::Sync,
        };
        let place = section.place_of("ioengine").unwrap_or(&section.place).clone();
        if matches!(engine, Engine::Libaio | Engine::Posixaio) {
            self.remark(&place, format!("the depth of `{}` is kept by `io_uring`", engine.name()));
        }
        if engine.is_synchronous() && options.iodepth.is_some_and(|depth| depth > 1) {
            let place = section.place_of("iodepth").unwrap_or(&section.place).clone();
            self.remark(
                &place,
                format!("`iodepth` means nothing to `{}`, which has one I/O in flight", engine.name()),
            );
        }
        if let Some(batch) = options.iodepth_batch {
            job.batch = if batch == 0 { job.iodepth } else { batch.min(job.iodepth) };
        }
        job.iodepth_low = options.iodepth_low.filter(|low| *low > 0 && *low < job.iodepth);
        job.direct = options.direct == Some(true);
        for (given, flag) in [
            (options.hipri, RequestFlag::Hipri),
            (options.nowait, RequestFlag::Nowait),
            (options.uncached, RequestFlag::Dontcache),
            (options.atomic.filter(|_| job.rw.writes()), RequestFlag::Atomic),
        ] {
            if given == Some(true) {
                job.flags.push(flag);
            }
        }
    }

    #[expect(clippy::unused_self, reason = "one of the planner's steps")]
    fn plan_durability(&self, options: &FioOptions, job: &mut Job) {
        // Syncs and O_SYNC say nothing about reads; fio passes over them there.
        if !job.rw.writes() {
            return;
        }
        job.fsync = options.fsync.unwrap_or(0);
        job.fdatasync = options.fdatasync.unwrap_or(0);
        job.sync_file_range = options.sync_file_range;
        // A file is closed once, at the end.
        job.end_fsync = options.end_fsync == Some(true) || options.fsync_on_close == Some(true);
        job.sync = options.sync.unwrap_or_default();
    }

    fn plan_preparation(&mut self, section: &Section, job: &mut Job) {
        let options = &section.options;
        job.pre_read = options.pre_read == Some(true);
        job.advice = options.fadvise_hint.unwrap_or_default();
        job.invalidate = options.invalidate.unwrap_or(true) && !job.pre_read;
        job.preparation = if options.create_on_open == Some(true) {
            Preparation::Leave
        } else if job.rw.reads() || options.overwrite == Some(true) || job.engine == IoEngine::Mmap {
            Preparation::Fill
        } else {
            options.fallocate.unwrap_or(Preparation::Allocate)
        };
        let files = options.filename.len().max(options.nrfiles.unwrap_or(1) as usize);
        if options.openfiles.is_some_and(|open| open > 0 && (open as usize) < files) {
            self.refuse(section, "openfiles", "all files of a job are open at the same time");
        }
    }

    fn plan_errors(&mut self, section: &Section, job: &mut Job) {
        let Some(ContinueOn { read, write, verify: _ }) = section.options.continue_on_error else { return };
        // Blocks that do not verify never end a job before its end, unless `verify_fatal` says so.
        let wanted: Vec<bool> = [(job.rw.reads(), read), (job.rw.changes_target(), write)]
            .into_iter()
            .filter_map(|(has, goes_on)| has.then_some(goes_on))
            .collect();
        job.continue_on_error = wanted.contains(&true);
        if wanted.contains(&true) && wanted.contains(&false) {
            job.continue_on_error = false;
            self.refuse(
                section,
                "continue_on_error",
                "a job outlives the errors of all its directions, or of none",
            );
        }
    }

    fn seed(&self, options: &FioOptions) -> u64 {
        // fio's default seed; each clone has its own streams.
        const FIO_SEED: u64 = 0x89;
        let base = match (options.randseed, options.randrepeat) {
            (Some(seed), _) => seed,
            (None, Some(false)) => self.planning.entropy,
            (None, _) => FIO_SEED,
        };
        mix(base ^ u64::from(self.number).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[expect(clippy::unused_self, reason = "one of the planner's steps")]
    fn start_delay(&self, options: &FioOptions, seed: u64) -> Span {
        let Some((least, most)) = options.startdelay else { return Span::default() };
        let width = u64::try_from(most.0.saturating_sub(least.0).as_micros()).unwrap_or(u64::MAX - 1);
        let drawn = mix(seed ^ 0x5EED) % (width + 1);
        Span(least.0 + Duration::from_micros(drawn))
    }

    fn cpus(&self, options: &FioOptions) -> Vec<u32> {
        let Some(cpus) = &options.cpus_allowed else { return Vec::new() };
        if options.cpus_allowed_policy != Some(CpuPolicy::Split) {
            return cpus.clone();
        }
        // fio deals processors out by the number of the job among all.
        cpus.get((self.number - 1) as usize % cpus.len().max(1)).copied().into_iter().collect()
    }
}

/// `SplitMix64`: neighbouring numbers become seeds that have nothing in common.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
