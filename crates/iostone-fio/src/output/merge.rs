//! Outcomes of several jobs put together as if they were one.

use iostone_engine::{IntervalLatency, Outcome, Series, Syncs, Transfers, VerifyReport};
use iostone_model::load::PerDirection;
use iostone_model::units::Span;

/// As many mismatches as one report keeps.
const MOST_MISMATCHES: usize = 100;

/// What several jobs that ran beside each other did together; None of none.
///
/// Counts, bytes, histograms and the time series add up exactly; the window is the longest. Two things are not what a
/// single job would have: the latencies of an interval in which several jobs completed something are left out of the
/// series, because percentiles cannot be added (their mean and maximum are in the single series), and the processor
/// time of the process, which each job saw all of, is the largest that any of them saw.
pub fn merge_outcomes(outcomes: &[&Outcome]) -> Option<Outcome> {
    let (first, others) = outcomes.split_first()?;
    let mut all = (*first).clone();
    for other in others {
        add(&mut all, other);
    }
    if !others.is_empty() {
        all.series = merge_series(outcomes, |outcome| &outcome.series);
        all.series_of = PerDirection {
            read: merge_series(outcomes, |outcome| &outcome.series_of.read),
            write: merge_series(outcomes, |outcome| &outcome.series_of.write),
            trim: merge_series(outcomes, |outcome| &outcome.series_of.trim),
        };
    }
    Some(all)
}

fn add(all: &mut Outcome, other: &Outcome) {
    // A feature counts if all have it.
    all.engine.features.retain(|feature| other.engine.features.contains(feature));
    add_missing(&mut all.engine.declined, &other.engine.declined);
    add_missing(&mut all.open_flags, &other.open_flags);
    all.threads += other.threads;
    all.elapsed = all.elapsed.max(other.elapsed);
    add_transfers(&mut all.reads, &other.reads);
    add_transfers(&mut all.writes, &other.writes);
    add_transfers(&mut all.trims, &other.trims);
    add_syncs(&mut all.syncs, &other.syncs);
    all.unserved += other.unserved;
    for (sum, count) in all.depth_levels.iter_mut().zip(other.depth_levels) {
        *sum += count;
    }
    all.ramp_ios += other.ramp_ios;
    add_span(&mut all.cpu.submitters.user, other.cpu.submitters.user);
    add_span(&mut all.cpu.submitters.system, other.cpu.submitters.system);
    all.cpu.process.user = all.cpu.process.user.max(other.cpu.process.user);
    all.cpu.process.system = all.cpu.process.system.max(other.cpu.process.system);
    all.io_workers += other.io_workers;
    all.interrupted |= other.interrupted;
    if all.error.is_none() {
        all.error.clone_from(&other.error);
    }
    all.errors += other.errors;
    if let Some(theirs) = &other.verify {
        add_verify(all.verify.get_or_insert_default(), theirs);
    }
    if let Some(theirs) = other.steady {
        let mine = all.steady.get_or_insert(theirs);
        mine.attained &= theirs.attained;
    }
    all.scheduling.voluntary_switches += other.scheduling.voluntary_switches;
    all.scheduling.involuntary_switches += other.scheduling.involuntary_switches;
    all.scheduling.major_faults += other.scheduling.major_faults;
    all.scheduling.minor_faults += other.scheduling.minor_faults;
    all.layout.created |= other.layout.created;
    all.layout.written.0 += other.layout.written.0;
    add_span(&mut all.layout.took, other.layout.took);
    all.layout.sparse |= other.layout.sparse;
}

fn add_missing(lines: &mut Vec<String>, more: &[String]) {
    for line in more {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
}

fn add_span(sum: &mut Span, more: Span) {
    sum.0 = sum.0.saturating_add(more.0);
}

fn add_transfers(all: &mut Transfers, other: &Transfers) {
    all.ios += other.ios;
    all.bytes.0 += other.bytes.0;
    all.latency.merge(&other.latency);
    all.response.merge(&other.response);
}

fn add_syncs(all: &mut Syncs, other: &Syncs) {
    all.count += other.count;
    all.latency.merge(&other.latency);
    all.durable_write.merge(&other.durable_write);
}

/// Counts add up; an interval's latencies are kept where one alone has any.
fn merge_series(outcomes: &[&Outcome], of: fn(&Outcome) -> &Series) -> Series {
    let series = || outcomes.iter().map(|outcome| of(outcome));
    let length = series().map(|series| series.ios.len()).max().unwrap_or(0);
    let sum = |of: fn(&Series) -> &Vec<u64>| -> Vec<u64> {
        (0..length).map(|index| series().filter_map(|series| of(series).get(index)).sum()).collect()
    };
    let latency = |index| {
        let mut some = series().filter_map(|series| series.latency.get(index).copied().flatten());
        let first: Option<IntervalLatency> = some.next();
        first.filter(|_| some.next().is_none())
    };
    Series {
        ios: sum(|series| &series.ios),
        bytes: sum(|series| &series.bytes),
        latency: (0..length).map(latency).collect(),
    }
}

fn add_verify(all: &mut VerifyReport, other: &VerifyReport) {
    all.units_checked += other.units_checked;
    all.bytes_checked.0 += other.bytes_checked.0;
    all.units_skipped += other.units_skipped;
    all.mismatch_count += other.mismatch_count;
    let room = MOST_MISMATCHES.saturating_sub(all.mismatches.len());
    all.mismatches.extend(other.mismatches.iter().take(room).cloned());
    all.took = all.took.max(other.took);
}
