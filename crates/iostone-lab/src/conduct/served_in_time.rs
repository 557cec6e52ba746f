//! What the devices served in the measured time alone, so that it can be held against what was claimed of that time.

use iostone_machine::Measured;
use iostone_model::experiment::Workload;
use iostone_model::sample::{DiskCounters, Sample};
use iostone_model::units::{round_count, three_digits};

use super::trial::ramp_seconds;

/// Load outside the measured time that is a smaller share of it than this leaves a figure as it is.
const LITTLE: f64 = 0.03;
/// A foreign program takes this long to start and to end, and moves nothing then.
const START_SECONDS: f64 = 0.3;

/// Bytes served in the measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Served {
    pub(super) read_bytes: f64,
    pub(super) written_bytes: f64,
}

/// Cuts the ramp off what was served; none where no device was watched.
///
/// # Errors
/// Why it cannot be cut off, in a sentence without its point.
pub(super) fn reckon(
    measured: &Measured,
    workload: &Workload,
    samples: &[Sample],
) -> Result<Option<Served>, String> {
    let Some(whole) = measured.signals.device_under_test() else { return Ok(None) };
    let scaled = |share: f64| Served {
        read_bytes: whole.served.read_bytes as f64 * share,
        written_bytes: whole.served.written_bytes as f64 * share,
    };
    let (seconds, all) = (measured.report.measured_seconds, measured.signals.seconds);
    // Each point has a ramp of its own under the same load, so that its share of the time is its share of the bytes.
    if let Some(lead_in) = measured.report.lead_in_seconds.filter(|_| seconds > 0.0) {
        return Ok(Some(scaled(seconds / (seconds + lead_in))));
    }
    let ramp = ramp_seconds(workload);
    if ramp > 0.0 {
        // What a program does once its time is over is not claimed; the engine then ends by its last syncs, which are.
        let until = if workload.profile().runs_here { all } else { (ramp + seconds).min(all) };
        if let Some(served) = between(measured, samples, ramp, until) {
            return Ok(Some(served));
        }
        if ramp <= LITTLE * seconds {
            return Ok(Some(scaled(1.0)));
        }
        return Err(format!(
            "the device served {} s of ramp as well, which is not claimed, and there are no samples to cut it off by",
            three_digits(ramp)
        ));
    }
    // Of a program's own ramp only the times tell.
    let may_ramp = workload.profile().ramp.is_none();
    let beyond = all - seconds - START_SECONDS;
    if may_ramp && beyond > LITTLE * seconds {
        return Err(format!(
            "the device was watched for {} s of which the program claims {} s only: what it served in the rest cannot be \
             told apart",
            three_digits(all),
            three_digits(seconds)
        ));
    }
    Ok(Some(scaled(1.0)))
}

/// What was served between two moments, seconds since the workload began: counters between two samples are interpolated. None
/// without samples on both sides, or of a device that has none.
fn between(measured: &Measured, samples: &[Sample], from: f64, until: f64) -> Option<Served> {
    // The last sample is the one that ended it.
    let start = samples.last()?.at_ns as f64 / 1e9 - measured.signals.seconds;
    if samples.len() < 2 || until <= from {
        return None;
    }
    let mut cut = measured.signals.clone();
    for (place, device) in cut.devices.iter_mut().enumerate() {
        let served = |counter: fn(&DiskCounters) -> u64| {
            let read = |sample: &Sample| Some(counter(sample.disks.get(place)?) as f64);
            let at = |moment| value_at(samples, start + moment, read);
            Some(round_count(at(until)? - at(from)?))
        };
        let of_it = served(|counters| counters.read_bytes).zip(served(|counters| counters.written_bytes));
        match of_it {
            Some((read_bytes, written_bytes)) => {
                device.served = DiskCounters { read_bytes, written_bytes, ..DiskCounters::default() };
            }
            // A disk of the host's below a guest is watched from elsewhere, and nothing is told of it here.
            None if device.role == "below" => {}
            None => return None,
        }
    }
    let served = cut.device_under_test()?.served;
    Some(Served { read_bytes: served.read_bytes as f64, written_bytes: served.written_bytes as f64 })
}

/// A cumulative counter at a moment of the probe's clock, interpolated between samples; none where a sample lacks it.
pub(super) fn value_at(
    samples: &[Sample],
    seconds: f64,
    counter: impl Fn(&Sample) -> Option<f64>,
) -> Option<f64> {
    let read = |sample: &Sample| Some((sample.at_ns as f64 / 1e9, counter(sample)?));
    let behind = samples.partition_point(|sample| (sample.at_ns as f64 / 1e9) < seconds);
    let (late, after) = read(samples.get(behind).or(samples.last())?)?;
    let (early, before) = read(samples.get(behind.saturating_sub(1))?)?;
    if late <= early || seconds >= late {
        return Some(after);
    }
    Some(before + (after - before) * ((seconds - early) / (late - early)).max(0.0))
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Timing;
    use iostone_model::trial::{DeviceActivity, SignalSummary, WorkloadReport};

    use super::*;

    /// A ramp of 3 s and a second of measured time at 1000 bytes each 100 ms.
    fn steady() -> (Measured, Workload, Vec<Sample>) {
        let text = include_str!("../../../../experiments/barrier.toml");
        let mut workload =
            iostone_model::experiment::read(text, &[]).unwrap().configurations[0].workload.clone();
        if let Workload::Io(io) = &mut workload {
            io.ramp_time = Timing::Fixed("3s".parse().unwrap());
        }
        let written = |written_bytes| DiskCounters { written_bytes, ..DiskCounters::default() };
        let device =
            DeviceActivity { role: "stack".to_owned(), served: written(40_000), ..DeviceActivity::default() };
        let measured = Measured {
            report: WorkloadReport {
                measured_seconds: 1.0,
                claimed_written_bytes: 10_000,
                ..WorkloadReport::default()
            },
            signals: SignalSummary { seconds: 4.0, devices: vec![device], ..SignalSummary::default() },
            ..Measured::default()
        };
        // The probe had run for half a second before.
        let samples = (0..=40u64)
            .map(|tick| Sample {
                at_ns: 500_000_000 + tick * 100_000_000,
                disks: vec![written(7000 + tick * 1000)],
                ..Sample::default()
            })
            .collect();
        (measured, workload, samples)
    }

    #[test]
    fn a_ramp_is_cut_off_by_the_samples_and_nothing_is_told_without_them() {
        let (measured, workload, samples) = steady();
        let served = reckon(&measured, &workload, &samples).unwrap().unwrap();
        assert!((served.written_bytes - 10_000.0).abs() < 2.0, "{served:?}");
        assert!(reckon(&measured, &workload, &[]).unwrap_err().contains("3.00 s of ramp"));
        assert_eq!(reckon(&Measured::default(), &workload, &samples), Ok(None));
    }

    #[test]
    fn points_with_a_lead_in_each_are_told_by_their_share_of_the_time() {
        let (mut measured, workload, _) = steady();
        measured.report.lead_in_seconds = Some(0.25);
        let served = reckon(&measured, &workload, &[]).unwrap().unwrap();
        assert!((served.written_bytes - 32_000.0).abs() < 1e-6, "{served:?}");
    }
}
