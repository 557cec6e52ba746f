//! Puts the reports of a job's threads together into its outcome.

mod series;

use std::time::Duration;

use iostone_model::units::{Bytes, Span};

use crate::driver::RawFault;
use crate::fault::{IoFault, Operation, name_errno};
use crate::job::Job;
use crate::outcome::{
    CpuTime, CpuUse, EngineKind, EngineReport, Layout, Outcome, Scheduling, Steadiness, Syncs, Transfers,
};
use crate::verify::VerifyReport;
use crate::worker::{Report, SharedJob};
use series::SeriesSum;

/// What is known of a job besides the reports of its threads.
pub(crate) struct Ending {
    /// Why this engine.
    pub(crate) reason: String,
    pub(crate) open_flags: Vec<String>,
    pub(crate) layout: Layout,
    pub(crate) steadiness: Option<Steadiness>,
    /// By how much the rate fell short, if that ended the job.
    pub(crate) fell_short: Option<String>,
}

/// The sum of the threads' reports.
#[derive(Default)]
struct Sum {
    transfers: [Transfers; 3],
    syncs: Syncs,
    series: SeriesSum,
    submitters: CpuTime,
    scheduling: Scheduling,
    ramp_ios: u64,
    io_workers: u32,
    interrupted: bool,
    ended_ns: u64,
    fault: Option<RawFault>,
    errors: u64,
    unserved: u64,
    depth_levels: [u64; 7],
    verify: Option<VerifyReport>,
}

impl Sum {
    fn add(&mut self, engine: &mut EngineReport, report: Report) {
        let Report { tally, features, declined, cpu, scheduling, io_workers } = report;
        for (sum, count) in self.transfers.iter_mut().zip(&tally.of) {
            sum.ios += count.ios;
            sum.bytes.0 += count.bytes;
            sum.latency.merge(&count.service);
            sum.response.merge(&count.response);
        }
        self.series.add(&tally.recorder);
        self.syncs.latency.merge(&tally.sync_latency);
        self.syncs.durable_write.merge(&tally.durable_latency);
        if let Some(failed) = tally.fault
            && self.fault.is_none_or(|first| failed.at_ns < first.at_ns)
        {
            self.fault = Some(failed);
        }
        self.errors += tally.errors;
        self.unserved += tally.unserved;
        for (sum, count) in self.depth_levels.iter_mut().zip(tally.depth_levels) {
            *sum += count;
        }
        if let Some(verify) = tally.verify {
            self.verify.get_or_insert_default().merge(verify);
        }
        self.ramp_ios += tally.ramp_ios;
        self.interrupted |= tally.interrupted;
        self.ended_ns = self.ended_ns.max(tally.ended_ns);
        self.io_workers += io_workers;
        self.submitters.user.0 += cpu.user.0;
        self.submitters.system.0 += cpu.system.0;
        self.scheduling.voluntary_switches += scheduling.voluntary_switches;
        self.scheduling.involuntary_switches += scheduling.involuntary_switches;
        self.scheduling.major_faults += scheduling.major_faults;
        self.scheduling.minor_faults += scheduling.minor_faults;
        add_missing(&mut engine.features, features);
        add_missing(&mut engine.declined, declined);
    }
}

/// Merges what the threads have counted. The window is as long as the thread that was at it longest.
pub(crate) fn summarise(shared: &SharedJob<'_>, reports: Vec<Report>, ending: Ending) -> Outcome {
    let job = shared.job;
    let Ending { reason, open_flags, layout, steadiness, fell_short } = ending;
    let mut engine = EngineReport { kind: shared.engine, reason, features: Vec::new(), declined: Vec::new() };
    let mut sum = Sum::default();
    for report in reports {
        sum.add(&mut engine, report);
    }
    // What only some threads were granted is not something to rely on.
    let declined = &engine.declined;
    engine.features.retain(|feature| !declined.iter().any(|line| line.starts_with(&format!("{feature}:"))));
    sum.syncs.count = sum.syncs.latency.count();

    let begun = shared.begun_ns.get().map_or(0, |begun| begun + nanoseconds(job.start_delay.0));
    let opened_ns = begun + nanoseconds(job.ramp_time.0);
    let elapsed = Duration::from_nanos(sum.ended_ns.saturating_sub(opened_ns));
    let completed = sum.transfers.iter().map(|transfers| transfers.ios).sum::<u64>() + sum.ramp_ios;
    let error = match (sum.fault, fell_short) {
        (Some(fault), _) => Some(describe_fault(fault, job, completed)),
        (None, Some(sentence)) => Some(describe_shortfall(sentence, completed)),
        (None, None) => None,
    };
    let (series, series_of) = sum.series.complete(elapsed);
    let [reads, writes, trims] = sum.transfers;
    Outcome {
        engine,
        open_flags,
        threads: job.numjobs,
        seed: job.seed,
        elapsed: Span(elapsed),
        reads,
        writes,
        trims,
        syncs: sum.syncs,
        series,
        series_of,
        unserved: sum.unserved,
        depth_levels: sum.depth_levels,
        ramp_ios: sum.ramp_ios,
        cpu: CpuUse { process: shared.process.used(), submitters: sum.submitters },
        io_workers: if shared.engine == EngineKind::IoUring { sum.io_workers } else { 0 },
        stamp: job.stamp,
        clock: shared.clock.kind(),
        interrupted: sum.interrupted,
        error,
        errors: sum.errors,
        verify: sum.verify,
        steady: steadiness,
        scheduling: sum.scheduling,
        layout,
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn add_missing(lines: &mut Vec<String>, more: Vec<String>) {
    for line in more {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
}

fn describe_fault(fault: RawFault, job: &Job, completed_ios: u64) -> IoFault {
    let RawFault { operation, errno, request, transferred_bytes, .. } = fault;
    let name = match (errno, operation) {
        (0, Operation::Write) => "short write".to_owned(),
        (0, Operation::Trim) => "short discard".to_owned(),
        (0, _) => "short read".to_owned(),
        (errno, _) => name_errno(errno),
    };
    let of_a_target = match operation {
        Operation::Submit | Operation::KeepRate => false,
        // These are of a volume as a whole; what is read or written is of the member that failed.
        Operation::Sync | Operation::TooSlow => job.volume.is_none(),
        _ => true,
    };
    let target = job.targets.get(request.target as usize).filter(|_| of_a_target).cloned();
    IoFault {
        operation,
        target,
        errno,
        name,
        offset: Bytes(request.offset_bytes),
        length: Bytes(u64::from(request.length_bytes)),
        transferred: Bytes(u64::from(transferred_bytes)),
        completed_ios,
    }
}

fn describe_shortfall(sentence: String, completed_ios: u64) -> IoFault {
    IoFault {
        operation: Operation::KeepRate,
        target: None,
        errno: libc::ETIMEDOUT,
        name: sentence,
        offset: Bytes(0),
        length: Bytes(0),
        transferred: Bytes(0),
        completed_ios,
    }
}
