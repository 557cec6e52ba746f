//! What the buckets of an emulated stack held when a trial began and when it ended, reckoned from what the devices served.

use iostone_cloud::{Accounting, Io, Pattern};
use iostone_model::experiment::{Burst, Configuration, Volume};
use iostone_model::explanation::{BucketBalance, Flow};
use iostone_model::metric::Unit;
use iostone_model::trial::TrialRecord;

use super::rates::{finite_median, fixed_io};

/// Whose bucket it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The volumes, which share the load evenly.
    Volumes,
    /// The link over them.
    Link,
}

/// The balance of every bucket of the volumes and of the link over them. What an I/O counts as is the volume's to know: buckets
/// of I/Os are reckoned where all are of one size, or merge.
pub(super) fn of(configuration: &Configuration, trials: &[&TrialRecord]) -> Vec<(Owner, BucketBalance)> {
    let stack = &configuration.stack;
    let Volume::Emulated(volume) = &stack.volume else { return Vec::new() };
    let count = f64::from(volume.count.max(1));
    let of_volumes = |what: &str| match volume.count {
        0 | 1 => format!("the {what} credits of the volume"),
        several => format!("the {what} credits of {several} volumes together"),
    };
    let of_link = |what: &str| format!("the {what} credits of the link");
    let io = fixed_io(configuration, Flow::Both, trials);
    let accounting =
        Accounting { size: volume.io_size.map(|size| size.0 as f64), merge: volume.merge, whole: false };
    let ios_per_byte = io.and_then(|io| {
        let pattern = if io.sequential { Pattern::Sequential } else { Pattern::Random };
        let request = io.request.map(|bytes| bytes as f64);
        accounting.ios_per_byte(Io { size: Some(io.bytes as f64), pattern, request }, None)
    });
    let mut balances = Vec::new();
    let mut add = |owner: Owner, bucket: Option<Bucket>| {
        let balance = bucket.and_then(|bucket| bucket.balance(trials));
        balances.extend(balance.map(|balance| (owner, balance)));
    };
    if let Some(burst) = &volume.burst {
        let base = volume.throughput.map(|rate| rate.0 as f64);
        add(Owner::Volumes, Bucket::of_bytes(of_volumes("byte"), burst, base, count));
        let base = volume.iops.map(f64::from);
        add(Owner::Volumes, Bucket::of_ios(of_volumes("I/O"), burst, base, count, ios_per_byte));
    }
    if let Some(link) = stack.link
        && let Some(burst) = &link.burst
    {
        let base = Some(link.throughput.0 as f64);
        add(Owner::Link, Bucket::of_bytes(of_link("byte"), burst, base, 1.0));
        add(Owner::Link, Bucket::of_ios(of_link("I/O"), burst, link.iops.map(f64::from), 1.0, ios_per_byte));
    }
    balances
}

/// A bucket of all that share the load.
struct Bucket {
    name: String,
    unit: Unit,
    capacity: f64,
    start: f64,
    /// What flows in, in its unit a second.
    base: f64,
    /// What a byte that the devices move takes out of it.
    per_byte: f64,
}

impl Bucket {
    fn of_bytes(name: String, burst: &Burst, base: Option<f64>, count: f64) -> Option<Self> {
        let capacity = burst.credit_bytes?.0 as f64 * count;
        let start = begun(burst, capacity);
        Some(Self { name, unit: Unit::Bytes, capacity, start, base: base? * count, per_byte: 1.0 })
    }

    fn of_ios(
        name: String,
        burst: &Burst,
        base: Option<f64>,
        count: f64,
        ios_per_byte: Option<f64>,
    ) -> Option<Self> {
        let capacity = burst.credits? as f64 * count;
        let start = begun(burst, capacity);
        Some(Self { name, unit: Unit::Plain, capacity, start, base: base? * count, per_byte: ios_per_byte? })
    }

    /// What is spent beyond the base drains the bucket, and what stays unused below it fills it.
    fn balance(self, trials: &[&TrialRecord]) -> Option<BucketBalance> {
        let end = finite_median(trials.iter().filter_map(|trial| {
            let seconds = trial.signals.seconds;
            let served =
                trial.signals.members_served().or_else(|| Some(trial.signals.device_under_test()?.served))?;
            let spent = (served.read_bytes as f64 + served.written_bytes as f64) * self.per_byte;
            (seconds > 0.0).then(|| (self.start + self.base * seconds - spent).clamp(0.0, self.capacity))
        }))?;
        Some(BucketBalance {
            bucket: self.name,
            unit: self.unit,
            capacity: self.capacity,
            start: self.start,
            end,
            source: "reckoned from what the devices served over the trial".to_owned(),
        })
    }
}

fn begun(burst: &Burst, capacity: f64) -> f64 {
    capacity * burst.start.map_or(1.0, |start| start.0)
}
