//! What the buckets of an emulated stack held when a trial began and when it ended, reckoned from what the devices served.

use iostone_model::experiment::{Burst, Configuration, Volume};
use iostone_model::explanation::BucketBalance;
use iostone_model::metric::Unit;
use iostone_model::sample::DiskCounters;
use iostone_model::trial::TrialRecord;

use super::binding::middle;

/// The balance of every bucket of bytes: of the volumes, which share the load evenly, and of the link over them. What an I/O
/// counts as is the volume's to know, so buckets of I/Os are not reckoned.
pub(super) fn of(configuration: &Configuration, trials: &[&TrialRecord]) -> Vec<BucketBalance> {
    let stack = &configuration.stack;
    let Volume::Emulated(volume) = &stack.volume else { return Vec::new() };
    let mut balances = Vec::new();
    let count = f64::from(volume.count.max(1));
    if let (Some(burst), Some(base)) = (&volume.burst, volume.throughput) {
        let bucket = if volume.count > 1 {
            format!("the byte credits of {} volumes together", volume.count)
        } else {
            "the byte credits of the volume".to_owned()
        };
        balances.extend(balance(bucket, burst, base.0 as f64 * count, count, trials));
    }
    if let Some(link) = stack.link
        && let Some(burst) = &link.burst
    {
        let bucket = "the byte credits of the link".to_owned();
        balances.extend(balance(bucket, burst, link.throughput.0 as f64, 1.0, trials));
    }
    balances
}

/// What is spent beyond the base drains the bucket, and what stays unused below it fills it.
fn balance(
    bucket: String,
    burst: &Burst,
    base: f64,
    count: f64,
    trials: &[&TrialRecord],
) -> Option<BucketBalance> {
    let capacity = burst.credit_bytes?.0 as f64 * count;
    let start = capacity * burst.start.map_or(1.0, |start| start.0);
    let end = middle(trials.iter().filter_map(|trial| {
        let seconds = trial.signals.seconds;
        let served = trial.signals.members_served().or_else(|| Some(trial.signals.footing()?.served))?;
        (seconds > 0.0).then(|| (start + base * seconds - moved(&served)).clamp(0.0, capacity))
    }))?;
    Some(BucketBalance {
        bucket,
        unit: Unit::Bytes,
        capacity,
        start,
        end,
        source: "reckoned from what the devices served over the trial".to_owned(),
    })
}

fn moved(served: &DiskCounters) -> f64 {
    served.read_bytes as f64 + served.written_bytes as f64
}
