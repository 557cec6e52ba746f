//! What the volumes of Amazon EBS themselves say of their limits: for how long of a trial more was asked for than they allow.

use iostone_model::sample::NvmeCounters;
use iostone_model::trial::TrialRecord;
use iostone_model::units::three_digits;

/// A shorter share of the time is no ceiling.
const WORTH_SAYING: f64 = 0.01;

/// A limit, with its microseconds of the counters.
type Exceeded = (&'static str, fn(&NvmeCounters) -> Option<u64>);

const LIMITS: &[Exceeded] = &[
    ("the volume's IOPS limit", |grown| grown.volume_iops_exceeded_us),
    ("the volume's throughput limit", |grown| grown.volume_throughput_exceeded_us),
    ("the instance's IOPS limit", |grown| Some(grown.instance_iops_exceeded_us)),
    ("the instance's throughput limit", |grown| Some(grown.instance_throughput_exceeded_us)),
];

/// A sentence for each limit that was exceeded in the trials, of each device: "nvme1n1: the volume's IOPS limit was exceeded
/// 41.0 s of 60.0 s". That none was is said once, for it is a proof as well.
pub(super) fn of(trials: &[&TrialRecord]) -> Vec<String> {
    let activities = || trials.iter().flat_map(|trial| &trial.signals.nvme);
    let mut devices: Vec<&str> = activities().map(|activity| activity.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut proofs = Vec::new();
    for device in devices {
        let own = || activities().filter(|activity| activity.device == device);
        let seconds: f64 = own().map(|activity| activity.seconds).sum();
        let before = proofs.len();
        for (limit, counter) in LIMITS {
            let exceeded = own().filter_map(|activity| counter(&activity.grown)).sum::<u64>() as f64 / 1e6;
            if seconds > 0.0 && exceeded > WORTH_SAYING * seconds {
                proofs.push(format!(
                    "{device}'s own counters: {limit} was exceeded {} s of {} s",
                    three_digits(exceeded),
                    three_digits(seconds)
                ));
            }
        }
        if proofs.len() == before && seconds > 0.0 {
            proofs.push(format!(
                "{device}'s own counters: no limit was exceeded in {} s",
                three_digits(seconds)
            ));
        }
    }
    proofs
}

#[cfg(test)]
mod tests {
    use iostone_model::sample::{NvmeActivity, NvmeKind};

    use super::super::tests::trial;
    use super::*;

    #[test]
    fn time_above_a_limit_is_told_of_all_trials_together() {
        let with = |iops_us: u64| {
            let mut made = trial(1, 0, 0, "on", 1.0, 0);
            let grown = NvmeCounters { volume_iops_exceeded_us: Some(iops_us), ..NvmeCounters::default() };
            made.signals.nvme = vec![NvmeActivity {
                device: "nvme1n1".to_owned(),
                kind: NvmeKind::Ebs,
                seconds: 30.0,
                grown,
                queue_length_before: 0,
                queue_length_after: 0,
            }];
            made
        };
        let (one, other) = (with(20_000_000), with(21_000_000));
        assert_eq!(
            of(&[&one, &other]),
            ["nvme1n1's own counters: the volume's IOPS limit was exceeded 41.0 s of 60.0 s"]
        );
        assert_eq!(of(&[&with(0)]), ["nvme1n1's own counters: no limit was exceeded in 30.0 s"]);
        assert_eq!(of(&[&trial(1, 0, 0, "on", 1.0, 0)]), Vec::<String>::new());
    }
}
