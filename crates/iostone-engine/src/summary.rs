//! Puts the reports of a job's threads together into its outcome.

use std::time::Duration;

use iostone_model::units::{Bytes, Span};

use crate::driver::{RawFault, Tally};
use crate::fault::{IoFault, Operation, name_errno};
use crate::histogram::LatencyHistogram;
use crate::outcome::{
    CpuTime, CpuUse, EngineKind, EngineReport, Layout, Outcome, SERIES_INTERVAL, Series, Syncs, Transfers,
};
use crate::worker::{Crew, Report};

/// Merges what the threads have counted. The window is as long as the thread that was at it longest.
pub(crate) fn summarise(
    crew: &Crew<'_>,
    reports: Vec<Report>,
    reason: String,
    open_flags: Vec<String>,
    layout: Layout,
) -> Outcome {
    let job = crew.job;
    let mut engine = EngineReport { kind: crew.engine, reason, features: Vec::new(), declined: Vec::new() };
    let mut latency = LatencyHistogram::new();
    let mut syncs = Syncs::default();
    let mut series_ios = Vec::new();
    let mut submitters = CpuTime::default();
    let (mut ramp_ios, mut io_workers, mut interrupted) = (0, 0, false);
    let mut ended_ns = 0;
    let mut fault: Option<RawFault> = None;
    for Report { tally, features, declined, cpu, io_workers: workers } in reports {
        let Tally { series, fault: failed, .. } = &tally;
        add_series(&mut series_ios, series);
        if let Some(failed) = failed
            && fault.is_none_or(|first| failed.at_ns < first.at_ns)
        {
            fault = Some(*failed);
        }
        latency.merge(&tally.latency);
        syncs.latency.merge(&tally.sync_latency);
        syncs.durable_write.merge(&tally.durable_latency);
        ramp_ios += tally.ramp_ios;
        interrupted |= tally.interrupted;
        ended_ns = ended_ns.max(tally.ended_ns);
        io_workers += workers;
        submitters.user.0 += cpu.user.0;
        submitters.system.0 += cpu.system.0;
        add_missing(&mut engine.features, features);
        add_missing(&mut engine.declined, declined);
    }
    // What only some threads were granted is not something to rely on.
    let declined = &engine.declined;
    engine.features.retain(|feature| !declined.iter().any(|line| line.starts_with(&format!("{feature}:"))));
    syncs.count = syncs.latency.count();

    let opened_ns = crew.begun_ns.get().map_or(0, |begun| begun + nanoseconds(job.ramp_time.0));
    let elapsed = Duration::from_nanos(ended_ns.saturating_sub(opened_ns));
    let block_bytes = u64::from(crew.block_bytes);
    let error = fault.map(|fault| describe_fault(fault, block_bytes, latency.count() + ramp_ios));
    let transfers = Transfers { ios: latency.count(), bytes: Bytes(latency.count() * block_bytes), latency };
    let (reads, writes) =
        if job.rw.writes() { (Transfers::default(), transfers) } else { (transfers, Transfers::default()) };
    Outcome {
        engine,
        open_flags,
        threads: job.numjobs,
        bs: job.bs,
        seed: job.seed,
        elapsed: Span(elapsed),
        reads,
        writes,
        syncs,
        series: complete_series(series_ios, elapsed, block_bytes),
        ramp_ios,
        cpu: CpuUse { process: crew.process.used(), submitters },
        io_workers: if crew.engine == EngineKind::IoUring { io_workers } else { 0 },
        stamp: job.stamp,
        clock: crew.clock.kind(),
        interrupted,
        error,
        layout,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn add_series(sum: &mut Vec<u64>, series: &[u64]) {
    if sum.len() < series.len() {
        sum.resize(series.len(), 0);
    }
    for (total, ios) in sum.iter_mut().zip(series) {
        *total += ios;
    }
}

fn add_missing(lines: &mut Vec<String>, more: Vec<String>) {
    for line in more {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
}

/// Brings the series to the length of the window, so that a stall at its end is seen. A completion in the very
/// last nanosecond of a full interval belongs to that interval, not to one of its own.
fn complete_series(mut ios: Vec<u64>, elapsed: Duration, block_bytes: u64) -> Series {
    let intervals = elapsed.as_nanos().div_ceil(SERIES_INTERVAL.as_nanos());
    let intervals = usize::try_from(intervals).unwrap_or(usize::MAX);
    let beyond: u64 = ios.iter().skip(intervals).sum();
    ios.resize(intervals, 0);
    if let Some(last) = ios.last_mut() {
        *last += beyond;
    }
    let bytes = ios.iter().map(|count| count * block_bytes).collect();
    Series { ios, bytes }
}

fn describe_fault(fault: RawFault, block_bytes: u64, completed_ios: u64) -> IoFault {
    let RawFault { operation, errno, offset_bytes, transferred_bytes, .. } = fault;
    let of_a_block = matches!(operation, Operation::Read | Operation::Write);
    let name = match (errno, operation) {
        (0, Operation::Write) => "short write".to_owned(),
        (0, _) => "short read".to_owned(),
        (errno, _) => name_errno(errno),
    };
    IoFault {
        operation,
        errno,
        name,
        offset: Bytes(offset_bytes),
        length: Bytes(if of_a_block { block_bytes } else { 0 }),
        transferred: Bytes(u64::from(transferred_bytes)),
        completed_ios,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_at_the_end_shows_in_the_series() {
        let series = complete_series(vec![5, 6], Duration::from_millis(450), 4096);
        assert_eq!(series.ios, [5, 6, 0, 0, 0]);
        assert_eq!(series.bytes, [20_480, 24_576, 0, 0, 0]);
    }

    #[test]
    fn nothing_is_lost_at_the_edge_of_the_last_interval() {
        let series = complete_series(vec![5, 6, 1], Duration::from_millis(200), 1);
        assert_eq!(series.ios, [5, 7]);
    }

    #[test]
    fn series_of_threads_add_up_interval_by_interval() {
        let mut sum = vec![1, 2];
        add_series(&mut sum, &[10, 20, 30]);
        add_series(&mut sum, &[100]);
        assert_eq!(sum, [111, 22, 30]);
    }
}
