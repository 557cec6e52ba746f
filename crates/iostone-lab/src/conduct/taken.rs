//! What others took of the machine: in each second of a pilot, and over the measured time of a trial.

use iostone_machine::Measured;
use iostone_model::covariate::{SplitBytes, Taken};
use iostone_model::sample::{CpuTimes, DiskCounters, Sample};
use iostone_model::units::round_count;
use iostone_model::warm_up::PilotSecond;

use super::served_in_time::value_at;
use crate::pilot::{INTERVAL, whole_intervals};

/// The whole seconds of a pilot, from the start of its workload; none without a rate over time.
pub(super) fn by_second(measured: &Measured, samples: &[Sample]) -> Vec<PilotSecond> {
    let intervals = usize::try_from(1000 / INTERVAL.as_millis().max(1)).unwrap_or(1);
    whole_intervals(&measured.report)
        .chunks_exact(intervals)
        .zip(0_u32..)
        .map(|(operations, second)| PilotSecond {
            operations: operations.iter().sum(),
            taken: between(measured, samples, f64::from(second), f64::from(second) + 1.0),
        })
        .collect()
}

/// Between two moments, seconds since the workload began; of what is not seen nothing.
pub(super) fn between(measured: &Measured, samples: &[Sample], from: f64, until: f64) -> Taken {
    let Some(last) = samples.last().filter(|_| until > from) else { return Taken::default() };
    // The last sample is the one that ended it.
    let start = last.at_ns as f64 / 1e9 - measured.signals.seconds;
    let difference = |counter: &dyn Fn(&Sample) -> Option<f64>| {
        let at = |moment: f64| value_at(samples, start + moment, counter);
        Some(at(until)? - at(from)?)
    };
    Taken {
        seconds: until - from,
        steal: measured.signals.steal.and_then(|_| stolen(&difference)),
        disk_bytes: disk_bytes(measured, &difference),
    }
}

/// The difference of a counter.
type Difference<'a> = dyn Fn(&dyn Fn(&Sample) -> Option<f64>) -> Option<f64> + 'a;

fn stolen(difference: &Difference<'_>) -> Option<f64> {
    let time = |of: fn(&CpuTimes) -> u64| difference(&|sample| Some(of(&sample.cpu) as f64));
    let steal = time(|cpu| cpu.steal_ns)?;
    let others = [
        time(|cpu| cpu.user_ns)?,
        time(|cpu| cpu.system_ns)?,
        time(|cpu| cpu.idle_ns)?,
        time(|cpu| cpu.iowait_ns)?,
    ];
    Some(steal / (steal + others.iter().sum::<f64>())).filter(|share| share.is_finite())
}

fn disk_bytes(measured: &Measured, difference: &Difference<'_>) -> Option<SplitBytes> {
    let mut devices = measured.signals.devices.clone();
    for (place, device) in devices.iter_mut().enumerate() {
        let served = |counter: fn(&DiskCounters) -> u64| {
            difference(&|sample| Some(counter(sample.disks.get(place)?) as f64)).map(round_count)
        };
        device.served = DiskCounters {
            read_bytes: served(|counters| counters.read_bytes)?,
            written_bytes: served(|counters| counters.written_bytes)?,
            ..DiskCounters::default()
        };
    }
    SplitBytes::of(&devices)
}
