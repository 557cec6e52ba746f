//! What fio measured in one direction, whichever form it was printed in, and the figures that come of it.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ending, Figure, NO_SPACE, Observation};

/// The percentiles that have a figure of their own, in percent.
pub(super) const PERCENTS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// The names of those figures.
const PERCENTILE_NAMES: [&str; 5] =
    ["latency_p50", "latency_p90", "latency_p99", "latency_p99_9", "latency_p99_99"];

/// Which way data went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    Trim,
    /// All of them as one, by `unified_rw_reporting`.
    Mixed,
}

/// Latencies, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Latency {
    pub(super) mean: Option<Figure>,
    pub(super) max: Option<Figure>,
    /// Those of [`PERCENTS`].
    pub(super) percentiles: [Option<Figure>; 5],
}

impl Latency {
    /// Notes a percentile, if it is one that has a figure.
    pub(super) fn set_percentile(&mut self, percent: f64, latency: Figure) {
        if let Some(place) = index_of(percent)
            && let Some(slot) = self.percentiles.get_mut(place)
        {
            *slot = Some(latency);
        }
    }

    pub(super) fn has_percentiles(&self) -> bool {
        self.percentiles.iter().any(Option::is_some)
    }
}

/// Where a percentile stands among [`PERCENTS`].
pub(super) fn index_of(percent: f64) -> Option<usize> {
    PERCENTS.iter().position(|wanted| (wanted - percent).abs() < 1e-4)
}

/// What was measured in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Flow {
    pub(super) way: Way,
    /// Bytes a second.
    pub(super) throughput: Option<Figure>,
    /// Operations a second.
    pub(super) iops: Option<Figure>,
    pub(super) latency: Latency,
    pub(super) bytes: Option<u64>,
}

/// An observation of a job: its figures by direction, and over all of them where that makes sense.
///
/// Where only one direction did anything, its figures stand for the job; of several, throughput and operations add up
/// (trims, which carry no data, only count alone), and latencies do not.
pub(super) fn observe(name: &str, flows: &[Flow]) -> Observation {
    let mut observation = Observation {
        tool: "fio".to_owned(),
        labels: BTreeMap::from([("job".to_owned(), name.to_owned())]),
        ..Observation::default()
    };
    for flow in flows {
        let prefix = match flow.way {
            Way::Read => "read.",
            Way::Write => "write.",
            Way::Trim => "trim.",
            Way::Mixed => "",
        };
        put(&mut observation.figures, prefix, flow);
        let claimed = match flow.way {
            Way::Read => &mut observation.facts.claimed_read_bytes,
            Way::Write => &mut observation.facts.claimed_written_bytes,
            Way::Trim | Way::Mixed => continue,
        };
        *claimed = flow.bytes;
    }
    match flows {
        [only] => put(&mut observation.figures, "", only),
        several if several.iter().all(|flow| flow.way != Way::Mixed) => {
            let moving = || several.iter().filter(|flow| flow.way != Way::Trim);
            put_sum(&mut observation.figures, "throughput", moving().map(|flow| flow.throughput));
            put_sum(&mut observation.figures, "iops", moving().map(|flow| flow.iops));
        }
        _ => {}
    }
    observation
}

fn put(figures: &mut BTreeMap<String, Figure>, prefix: &str, flow: &Flow) {
    let latency = &flow.latency;
    let named = [
        ("throughput", flow.throughput),
        ("iops", flow.iops),
        ("latency_mean", latency.mean),
        ("latency_max", latency.max),
    ];
    let percentiles = PERCENTILE_NAMES.into_iter().zip(latency.percentiles);
    for (name, figure) in named.into_iter().chain(percentiles) {
        if let Some(figure) = figure.filter(is_finite) {
            figures.insert(format!("{prefix}{name}"), figure);
        }
    }
}

/// Whether it is a figure at all: a number that is too large for its unit is none.
fn is_finite(figure: &Figure) -> bool {
    figure.value.is_finite() && figure.step.is_finite()
}

/// The sum of figures that are all known, as exact as the least exact of them.
fn put_sum(figures: &mut BTreeMap<String, Figure>, name: &str, parts: impl Iterator<Item = Option<Figure>>) {
    let sum = parts.reduce(|sum, part| {
        let (sum, part) = (sum?, part?);
        Some(Figure { value: sum.value + part.value, step: sum.step.max(part.step) })
    });
    if let Some(figure) = sum.flatten().filter(is_finite) {
        figures.insert(name.to_owned(), figure);
    }
}

/// Latencies of `fsync` and its like.
pub(super) fn put_sync(observation: &mut Observation, latency: &Latency) {
    let [_, _, p99, ..] = latency.percentiles;
    for (name, figure) in [("sync.latency_mean", latency.mean), ("sync.latency_p99", p99)] {
        if let Some(figure) = figure.filter(is_finite) {
            observation.figures.insert(name.to_owned(), figure);
        }
    }
}

/// How a job with that error number ended; `said` is what fio said of it.
pub(super) fn ending(error: i64, said: Option<&str>) -> Ending {
    match (error, said) {
        (0, _) => Ending::Completed,
        (error, _) if error == i64::from(NO_SPACE) => Ending::DiskFull,
        (_, Some(said)) => Ending::Failed(format!("error {error}: {said}")),
        (_, None) => Ending::Failed(format!("error {error}")),
    }
}

/// fio looks at the counters of disks every 250 ms (`DISK_UTIL_MSEC`), so that shorter runs may have served what was
/// not seen; of ten times that, a tenth.
const SHORTEST_SERVED_MS: u64 = 2500;

/// What a disk served while fio ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
pub(super) struct Served {
    /// Of 512 bytes, whatever the disk's own are; since 3.36.
    pub(super) read_sectors: Option<u64>,
    #[serde(rename = "write_sectors")]
    pub(super) written_sectors: Option<u64>,
}

impl Served {
    /// Tells it of the only job, if that ran long enough on the only disk.
    pub(super) fn tell(&self, observation: &mut Observation, milliseconds: u64) {
        if milliseconds < SHORTEST_SERVED_MS {
            return;
        }
        let bytes = |sectors: Option<u64>| sectors.and_then(|sectors| sectors.checked_mul(512));
        observation.facts.served_read_bytes = bytes(self.read_sectors);
        observation.facts.served_written_bytes = bytes(self.written_sectors);
    }
}
