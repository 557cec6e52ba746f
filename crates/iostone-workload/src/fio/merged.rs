//! fio's JSON+ as one trial's figures: rates of all jobs summed, percentiles from their merged histograms.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::metric::{FIO_METRICS, Unit};
use serde::Deserialize;
use serde_json::Value;

use crate::Measurement;

/// The percentiles that are kept, with the names of their figures.
const PERCENTILES: &[(&str, f64)] = &[
    ("latency_p50", 0.5),
    ("latency_p90", 0.9),
    ("latency_p99", 0.99),
    ("latency_p99_9", 0.999),
    ("latency_p99_99", 0.9999),
];

/// The figures of every workload that are reckoned from what it claims of one direction.
const PER_CLAIMED_BYTE: [&str; 2] = ["read_per_claimed_byte", "written_per_claimed_byte"];

/// The document as far as it is used. Names and units are those of fio 3 (stat.c, `show_thread_status_json`).
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(rename = "fio version", default)]
    version: String,
    #[serde(default)]
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Job {
    #[serde(default)]
    jobname: String,
    #[serde(default)]
    groupid: i64,
    /// An errno; 0 is none.
    #[serde(default)]
    error: i32,
    #[serde(default)]
    sync: Sync,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// One direction of a job.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Transfers {
    io_bytes: u64,
    /// Bytes a second.
    bw_bytes: f64,
    iops: f64,
    /// Milliseconds.
    runtime: f64,
    total_ios: u64,
    clat_ns: Times,
    lat_ns: Times,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sync {
    lat_ns: Times,
}

/// Times in nanoseconds. `bins` is JSON+'s: the middle of each bin of fio's histogram, and how many fell into it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Times {
    max: f64,
    mean: f64,
    #[serde(rename = "N")]
    count: u64,
    bins: BTreeMap<String, u64>,
}

/// Times of several jobs together.
#[derive(Debug, Default)]
struct Histogram {
    bins: BTreeMap<u64, u64>,
    count: u64,
    sum_ns: f64,
    max_ns: f64,
}

impl Histogram {
    fn add(&mut self, times: &Times) {
        for (bin, count) in &times.bins {
            if let Ok(bin) = bin.parse() {
                *self.bins.entry(bin).or_default() += count;
            }
        }
        self.count += times.count;
        self.sum_ns += times.mean * times.count as f64;
        self.max_ns = self.max_ns.max(times.max);
    }

    fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// As fio counts them (stat.c, `calc_clat_percentiles`): the first bin up to which so large a share lies.
    fn percentile_ns(&self, share: f64) -> Option<u64> {
        let total: u64 = self.bins.values().sum();
        let mut seen = 0u64;
        self.bins.iter().find_map(|(bin, count)| {
            seen += count;
            (seen as f64 >= share * total as f64).then_some(*bin)
        })
    }

    fn fill(&self, prefix: &str, percentiles: &[(&str, f64)], metrics: &mut BTreeMap<String, f64>) {
        if self.count == 0 {
            return;
        }
        for (name, share) in percentiles {
            if let Some(ns) = self.percentile_ns(*share) {
                metrics.insert(format!("{prefix}{name}"), ns as f64 / 1e9);
            }
        }
        metrics.insert(format!("{prefix}latency_mean"), self.sum_ns / self.count as f64 / 1e9);
    }

    fn pairs(&self) -> Vec<(u64, u64)> {
        self.bins.iter().map(|(bin, count)| (*bin, *count)).collect()
    }
}

/// One direction over all jobs.
#[derive(Debug, Default)]
struct Sum {
    bytes: u64,
    operations: u64,
    bytes_per_second: f64,
    operations_per_second: f64,
    latency: Histogram,
}

/// What all jobs of a run did together.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// By `read`, `write`, `trim`, or `mixed` where fio was told to report them as one.
    sums: BTreeMap<&'static str, Sum>,
    syncs: Histogram,
    seconds: f64,
    jobs: Vec<String>,
    by_total_latency: bool,
    in_phases: bool,
    error: Option<String>,
    errno: Option<i32>,
}

/// Reads what fio printed. `in_phases` says that groups ran one after another.
///
/// # Errors
/// A sentence: it is no JSON of fio's, or of a version before 3.
pub(super) fn read(text: &str, is_cut: bool, in_phases: bool) -> Result<Outcome, String> {
    if is_cut {
        return Err("fio printed more than 16 MiB of JSON, which was not kept to its end".to_owned());
    }
    // Warnings may stand before it.
    let start =
        text.lines().take_while(|line| !line.starts_with('{')).map(|line| line.len() + 1).sum::<usize>();
    let document: Document = serde_json::from_str(text.get(start..).unwrap_or_default())
        .map_err(|error| format!("what fio printed is not its JSON: {error}"))?;
    let major = document.version.strip_prefix("fio-").and_then(|version| version.split('.').next());
    if major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 3) {
        return Err(format!(
            "{} prints microseconds and no bytes a second; fio 3 is needed",
            document.version
        ));
    }
    if document.jobs.is_empty() {
        return Err("fio reported no job".to_owned());
    }
    Ok(Outcome::of(&document.jobs, in_phases))
}

impl Outcome {
    fn of(jobs: &[Job], in_phases: bool) -> Self {
        let mut outcome = Self::default();
        // The time of each group, by direction and over all.
        let mut group_seconds: BTreeMap<(&str, i64), f64> = BTreeMap::new();
        let mut times: BTreeMap<i64, f64> = BTreeMap::new();
        for job in jobs {
            if job.error != 0 && outcome.error.is_none() {
                let reason = std::io::Error::from_raw_os_error(job.error);
                outcome.error = Some(format!("fio's job `{}` failed: {reason}", job.jobname));
                outcome.errno = Some(job.error);
            }
            let mut said = Vec::new();
            for (name, transfers) in directions(job) {
                outcome.add(name, &transfers);
                let seconds = transfers.runtime / 1e3;
                let longest = |known: &mut f64| *known = known.max(seconds);
                longest(group_seconds.entry((name, job.groupid)).or_default());
                longest(times.entry(job.groupid).or_default());
                said.push(format!(
                    "{name} {}, {}",
                    Unit::BytesPerSecond.format(transfers.bw_bytes),
                    Unit::PerSecond.format(transfers.iops)
                ));
            }
            outcome.syncs.add(&job.sync.lat_ns);
            outcome.jobs.push(format!("{}: {}", job.jobname, said.join("; ")));
        }
        outcome.in_phases = in_phases && times.len() > 1;
        outcome.seconds = if outcome.in_phases {
            times.values().sum()
        } else {
            times.values().copied().fold(0.0, f64::max)
        };
        if outcome.in_phases {
            // Rates of jobs that did not run together do not add up: all bytes over all the time.
            for (name, sum) in &mut outcome.sums {
                let seconds: f64 = group_seconds
                    .iter()
                    .filter(|((direction, _), _)| direction == name)
                    .map(|(_, seconds)| seconds)
                    .sum();
                if seconds > 0.0 {
                    sum.bytes_per_second = sum.bytes as f64 / seconds;
                    sum.operations_per_second = sum.operations as f64 / seconds;
                }
            }
        }
        outcome
    }

    fn add(&mut self, name: &'static str, transfers: &Transfers) {
        // With `lat_percentiles` the histogram is that of the total latency, submission included.
        let total = transfers.clat_ns.bins.is_empty() && !transfers.lat_ns.bins.is_empty();
        self.by_total_latency |= total;
        let sum = self.sums.entry(name).or_default();
        sum.bytes += transfers.io_bytes;
        sum.operations += transfers.total_ios;
        sum.bytes_per_second += transfers.bw_bytes;
        sum.operations_per_second += transfers.iops;
        sum.latency.add(if total { &transfers.lat_ns } else { &transfers.clat_ns });
    }

    /// Puts figures, claims and facts into a measurement; no figures if the tool failed.
    pub(super) fn fill(&self, measured: &mut Measurement) {
        if let Some(error) = &self.error {
            // More telling than the status that fio ended with.
            measured.report.errno = self.errno;
            let said = measured.report.error.take();
            let line = said.as_deref().and_then(|said| said.split_once(", saying: ")).map(|(_, line)| line);
            measured.report.error =
                Some(line.map_or_else(|| error.clone(), |line| format!("{error}, saying: {line}")));
        }
        if measured.report.error.is_none() {
            if self.sums.values().all(|sum| sum.operations == 0) {
                measured.report.error = Some("fio did not complete one request".to_owned());
            } else {
                measured.metrics = self.metrics();
                measured.report.absent = self.absent(&measured.metrics);
            }
        }
        // Nothing is claimed where some of it is told as one: what was written would be looked for among what was read.
        let is_told_apart = !self.sums.contains_key("mixed");
        let bytes = |name: &str| self.sums.get(name).filter(|_| is_told_apart).map_or(0, |sum| sum.bytes);
        let report = &mut measured.report;
        report.measured_seconds = self.seconds;
        report.claimed_read_bytes = bytes("read");
        report.claimed_written_bytes = bytes("write");
        let mut latency = Histogram::default();
        self.sums.values().for_each(|sum| latency.merge(&sum.latency));
        report.latency_histogram = latency.pairs();
        report.sync_latency_histogram = self.syncs.pairs();
        measured.state("jobs", self.jobs.join(" | "));
        let latency = if self.by_total_latency {
            "from submission on (lat)"
        } else {
            "from the kernel's acceptance on (clat)"
        };
        measured.state("latency", latency);
        if self.in_phases {
            measured.state(
                "phases",
                "jobs ran one after another: rates are all bytes over the sum of their times",
            );
        }
    }

    /// Why a figure of fio's is not there.
    fn absent(&self, metrics: &BTreeMap<String, f64>) -> BTreeMap<String, String> {
        let busy: Vec<&str> =
            self.sums.iter().filter(|(_, sum)| sum.operations > 0).map(|(name, _)| *name).collect();
        let missing =
            FIO_METRICS.iter().map(|metric| metric.name).filter(|name| !metrics.contains_key(*name));
        let why = |name: &str| match name.split_once('.') {
            None => {
                let apart: Vec<String> =
                    busy.iter().map(|direction| format!("`{direction}.{name}`")).collect();
                format!("it would mix reads and writes; decide by {}", apart.join(" or "))
            }
            Some(("sync", _)) => "the job syncs nothing (`fsync`, `fdatasync`)".to_owned(),
            Some((direction, _)) if busy == ["mixed"] => {
                format!("`unified_rw_reporting` leaves no figures of the direction `{direction}`")
            }
            Some((direction, _)) => format!("the job does no I/O in the direction `{direction}`"),
        };
        let mut absent: BTreeMap<String, String> = missing.map(|name| (name.to_owned(), why(name))).collect();
        if self.sums.contains_key("mixed") {
            let reason = "`unified_rw_reporting` does not tell the bytes read from those written";
            absent.extend(PER_CLAIMED_BYTE.map(|name| (name.to_owned(), reason.to_owned())));
        }
        absent
    }

    fn metrics(&self) -> BTreeMap<String, f64> {
        let mut metrics = BTreeMap::new();
        let busy: BTreeSet<&str> =
            self.sums.iter().filter(|(_, sum)| sum.operations > 0).map(|(name, _)| *name).collect();
        for (name, sum) in self.sums.iter().filter(|(name, _)| busy.contains(*name)) {
            if *name != "mixed" {
                metrics.insert(format!("{name}.throughput"), sum.bytes_per_second);
                metrics.insert(format!("{name}.iops"), sum.operations_per_second);
                sum.latency.fill(&format!("{name}."), PERCENTILES, &mut metrics);
                metrics.insert(format!("{name}.latency_max"), sum.latency.max_ns / 1e9);
            }
            if busy.len() == 1 {
                sum.latency.fill("", PERCENTILES, &mut metrics);
                metrics.insert("latency_max".to_owned(), sum.latency.max_ns / 1e9);
            }
        }
        let (mut throughput, mut iops) = (0.0, 0.0);
        if self.in_phases && self.seconds > 0.0 {
            throughput = self.sums.values().map(|sum| sum.bytes as f64).sum::<f64>() / self.seconds;
            iops = self.sums.values().map(|sum| sum.operations as f64).sum::<f64>() / self.seconds;
        } else {
            for sum in self.sums.values() {
                throughput += sum.bytes_per_second;
                iops += sum.operations_per_second;
            }
        }
        metrics.insert("throughput".to_owned(), throughput);
        metrics.insert("iops".to_owned(), iops);
        self.syncs.fill("sync.", &[("latency_p99", 0.99)], &mut metrics);
        metrics
    }
}

/// What a job did, by direction; `mixed` stands for all of them only where it stands alone.
fn directions(job: &Job) -> Vec<(&'static str, Transfers)> {
    let read = |name: &'static str| {
        let transfers: Transfers = serde_json::from_value(job.rest.get(name)?.clone()).ok()?;
        (transfers.total_ios > 0).then_some((name, transfers))
    };
    let apart: Vec<_> = ["read", "write", "trim"].into_iter().filter_map(read).collect();
    if apart.is_empty() { read("mixed").into_iter().collect() } else { apart }
}
