//! From cumulative counters to what happened during the measured part of a trial.

use std::time::Duration;

use iostone_model::sample::{CpuTimes, Sample};
use iostone_model::trial::{DeviceActivity, SignalSummary};

use super::account::{add_up, difference};
use super::series::build_sample;
use super::{DeviceEnd, DeviceRecord, Mark, Recording, State};
use crate::signal::Reading;
use crate::signal::disk::{DiskSeries, subtract_counters};

/// Shares of all CPU time between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct CpuShares {
    steal: f64,
    busy: f64,
}

/// Makes the recording of a probe whose thread, which used `thread_time`, has ended.
pub(super) fn summarise(state: &mut State, thread_time: Duration) -> Recording {
    let mut samples = state.series.samples();
    for mark in [&state.start, &state.end].into_iter().flatten() {
        insert_mark(&mut samples, mark);
    }
    let mut summary = SignalSummary {
        probe_cpu_seconds: (thread_time + state.outside).as_secs_f64(),
        ..SignalSummary::default()
    };
    let mut measured_ns = (0, 0);
    if let (Some(start), Some(end)) = (&state.start, &state.end) {
        measured_ns = (start.reading.at_ns, end.reading.at_ns);
        // A counter that moved since the start of the machine proves that the kernel sees steal, whatever was thought.
        let sees_steal = state.signals.sees_steal || end.reading.cpu.steal_ns > 0;
        summarise_readings(&mut summary, &start.reading, &end.reading, sees_steal);
        summary.cpu = Some(add_up(&start.reading, &end.reading, state.processors, sees_steal));
        let within = |sample: &&Sample| (measured_ns.0..=measured_ns.1).contains(&sample.at_ns);
        summary.samples = u32::try_from(samples.iter().filter(within).count()).unwrap_or(u32::MAX);
        // The peak that was kept while sampling has seen the samples that thinning took.
        let kept_peak = samples.iter().filter(within).map(|sample| sample.dirty_bytes).max();
        summary.dirty_peak_bytes = state.dirty_peak_bytes.max(kept_peak.unwrap_or_default());
        summary.clock_jump_seconds = start.clocks.jump_seconds(end.clocks);
        let served = start.counters.iter().zip(&end.counters);
        summary.devices = state
            .signals
            .disks
            .series
            .iter()
            .zip(served)
            .map(|(series, (before, after))| DeviceActivity {
                name: series.name.clone(),
                role: series.role.as_str().to_owned(),
                served: subtract_counters(before, after),
                flushes_counted: series.flushes_counted && series.counting,
                volatile_cache: series.volatile_cache,
            })
            .collect();
    }
    let mut losses = std::mem::take(&mut state.signals.losses);
    let series = &state.signals.disks.series;
    losses.extend(series.iter().filter_map(|one| one.ending.as_ref().map(|ending| ending.reason.clone())));
    losses.extend(series.iter().filter(|one| !one.counting).map(|one| {
        format!("`{}` does not count its I/O: write 1 to `/sys/class/block/{0}/queue/iostats`", one.name)
    }));
    Recording {
        samples,
        summary,
        devices: series.iter().map(record_device).collect(),
        measured_ns,
        interval: state.interval,
        missed: state.missed,
        losses,
    }
}

/// Puts a mark back that thinning took; one that is still there is not doubled.
fn insert_mark(samples: &mut Vec<Sample>, mark: &Mark) {
    if let Err(place) = samples.binary_search_by_key(&mark.reading.at_ns, |sample| sample.at_ns) {
        samples.insert(place, build_sample(&mark.reading, &mark.counters));
    }
}

fn record_device(series: &DiskSeries) -> DeviceRecord {
    DeviceRecord {
        name: series.name.clone(),
        role: series.role,
        flushes_counted: series.flushes_counted,
        counting: series.counting,
        ended: series
            .ending
            .as_ref()
            .map(|ending| DeviceEnd { at_ns: ending.at_ns, reason: ending.reason.clone() }),
    }
}

fn summarise_readings(summary: &mut SignalSummary, start: &Reading, end: &Reading, sees_steal: bool) {
    let elapsed_ns = end.at_ns.saturating_sub(start.at_ns);
    summary.seconds = elapsed_ns as f64 / 1e9;
    let shares = share_cpu(&start.cpu, &end.cpu);
    summary.steal = sees_steal.then_some(shares.steal);
    summary.cpu_busy = shares.busy;
    summary.throttled = start.throttling.zip(end.throttling).map(|(before, after)| {
        let periods = after.periods.saturating_sub(before.periods);
        share(after.throttled_periods.saturating_sub(before.throttled_periods), periods)
    });
    summary.io_pressure = start.pressure.zip(end.pressure).map(|(before, after)| {
        let stalled_ns = after.io_some_us.saturating_sub(before.io_some_us).saturating_mul(1000);
        // The kernel brings the total up to date when it is read, so it may be ahead of our clock a little.
        share(stalled_ns, elapsed_ns).min(1.0)
    });
}

/// Shares of all CPU time, stolen time included, since that is what the machine would have had.
fn share_cpu(before: &CpuTimes, after: &CpuTimes) -> CpuShares {
    let times = difference(before, after);
    let busy = times.user_ns.saturating_add(times.system_ns);
    let all = [times.idle_ns, times.iowait_ns, times.steal_ns].into_iter().fold(busy, u64::saturating_add);
    CpuShares { steal: share(times.steal_ns, all), busy: share(busy, all) }
}

/// A part of a whole; of nothing, none.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use iostone_model::sample::{Pressure, Throttling};
    use proptest::prelude::*;

    use super::*;

    fn times(user_ns: u64, system_ns: u64, idle_ns: u64, iowait_ns: u64, steal_ns: u64) -> CpuTimes {
        CpuTimes { user_ns, system_ns, idle_ns, iowait_ns, steal_ns }
    }

    #[test]
    fn shares_are_of_all_time_with_the_stolen() {
        let shares = share_cpu(&times(5, 5, 5, 5, 5), &times(15, 15, 45, 15, 35));
        assert!((shares.steal - 0.3).abs() < 1e-12);
        assert!((shares.busy - 0.2).abs() < 1e-12);
    }

    #[test]
    fn iowait_that_slips_back_counts_as_nothing() {
        let shares = share_cpu(&times(0, 0, 0, 100, 0), &times(10, 0, 0, 40, 10));
        assert!((shares.busy - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_absent_signal_is_none_and_a_present_one_a_share() {
        let mut summary = SignalSummary::default();
        let end = Reading { at_ns: 2_000_000_000, ..Reading::default() };
        summarise_readings(&mut summary, &Reading::default(), &end, true);
        assert_eq!((summary.throttled, summary.io_pressure), (None, None));
        let start = Reading {
            pressure: Some(Pressure { io_some_us: 10, ..Pressure::default() }),
            throttling: Some(Throttling { periods: 10, throttled_periods: 2, throttled_ns: 0 }),
            ..Reading::default()
        };
        let end = Reading {
            pressure: Some(Pressure { io_some_us: 500_010, ..Pressure::default() }),
            throttling: Some(Throttling { periods: 30, throttled_periods: 7, throttled_ns: 0 }),
            ..end
        };
        summarise_readings(&mut summary, &start, &end, true);
        assert_eq!((summary.throttled, summary.io_pressure), (Some(0.25), Some(0.25)));
        let lost = Reading { throttling: None, ..end };
        summarise_readings(&mut summary, &start, &lost, false);
        assert_eq!(summary.steal, None, "what cannot be seen is not 0");
        assert_eq!(summary.throttled, None, "a group that went leaves no share");
    }

    proptest! {
        #[test]
        fn shares_stay_between_none_and_all(numbers: [u64; 10]) {
            let [a, b, c, d, e, f, g, h, i, j] = numbers;
            let shares = share_cpu(&times(a, b, c, d, e), &times(f, g, h, i, j));
            prop_assert!((0.0..=1.0).contains(&shares.steal));
            prop_assert!((0.0..=1.0).contains(&shares.busy));
        }
    }
}
