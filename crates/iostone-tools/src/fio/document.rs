//! fio's JSON documents: what is used of them; everything else is passed over while it is read.

use std::collections::BTreeMap;

use iostone_model::dataset::{Figure, Observation};
use serde::Deserialize;
use serde::de::Deserializer;

use super::flow::{Flow, Latency, Served, Way, ending, observe, put_sync};
use super::latency::Printed;
use super::options::Options;
use super::state::{Progress, State};

/// One document: the results of one execution of fio, or, with `--status-interval`, of a part of it.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version")]
    version: Option<String>,
    /// Seconds since 1970, when it was printed.
    timestamp: Option<f64>,
    #[serde(rename = "global options", default, deserialize_with = "options")]
    globals: BTreeMap<String, String>,
    jobs: Option<Vec<Job>>,
    /// Instead of `jobs`, of several hosts.
    client_stats: Option<Vec<Job>>,
    #[serde(default)]
    disk_util: Vec<Served>,
}

/// A job, a group of its clones, or all of a client's jobs together.
#[derive(Debug, Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: i64,
    #[serde(default)]
    error: i64,
    /// Seconds since fio was started.
    elapsed: Option<f64>,
    /// Milliseconds since 1970; since 3.34.
    #[serde(rename = "job_start")]
    start: Option<f64>,
    #[serde(rename = "job options", default, deserialize_with = "options")]
    options: BTreeMap<String, String>,
    read: Option<Side>,
    write: Option<Side>,
    trim: Option<Side>,
    mixed: Option<Side>,
    sync: Option<Syncs>,
    /// Percent of the time of a clone.
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
    total_err: Option<u64>,
    first_error: Option<i64>,
    hostname: Option<String>,
    steadystate: Option<Steady>,
}

/// A direction of a job.
#[derive(Debug, Deserialize)]
struct Side {
    /// In bytes where `io_kbytes` is there too (since 2.21), else in KiB.
    #[serde(default)]
    io_bytes: f64,
    io_kbytes: Option<f64>,
    /// KiB/s.
    #[serde(default)]
    bw: f64,
    /// Since 3.2.
    bw_bytes: Option<f64>,
    #[serde(default)]
    iops: f64,
    /// Milliseconds.
    #[serde(default)]
    runtime: f64,
    /// Operations; since 2.1.
    total_ios: Option<f64>,
    short_ios: Option<u64>,
    drop_ios: Option<u64>,
    clat_ns: Option<Printed>,
    lat_ns: Option<Printed>,
    clat: Option<Printed>,
    lat: Option<Printed>,
}

#[derive(Debug, Deserialize)]
struct Syncs {
    lat_ns: Option<Printed>,
}

#[derive(Debug, Deserialize)]
struct Steady {
    attained: Option<f64>,
}

/// Options with their values as text, whatever JSON makes of them.
fn options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    let text = |value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(values.into_iter().map(|(name, value)| (name, text(value))).collect())
}

impl Document {
    /// Its jobs as observations, in their order; None if it has no list of jobs.
    pub(super) fn into_state(self) -> Option<State> {
        let jobs = self.client_stats.or(self.jobs)?;
        let names: Vec<(String, i64)> = jobs.iter().map(|job| (job.jobname.clone(), job.groupid)).collect();
        let progress = jobs.iter().map(Job::progress).collect();
        let elapsed = jobs.first().and_then(|job| job.elapsed);
        let begun = self.timestamp.zip(elapsed).map(|(printed, elapsed)| printed - elapsed);
        let milliseconds = jobs.iter().map(Job::milliseconds).max().unwrap_or(0);
        let mut observations: Vec<Observation> = Vec::with_capacity(jobs.len());
        let mut seen: BTreeMap<(String, i64), u64> = BTreeMap::new();
        let mut counts: BTreeMap<(String, i64), u64> = BTreeMap::new();
        for name in &names {
            *counts.entry(name.clone()).or_default() += 1;
        }
        for (job, name) in jobs.into_iter().zip(&names) {
            let count = counts.get(name).copied().unwrap_or(1);
            let mut observation = job.observe(&self.globals, count, self.timestamp);
            if let Some(version) = &self.version {
                observation.labels.insert("tool_version".to_owned(), version.clone());
            }
            if count > 1 && !observation.labels.contains_key("host") {
                let number = seen.entry(name.clone()).or_default();
                *number += 1;
                observation.labels.insert("clone".to_owned(), number.to_string());
            }
            observations.push(observation);
        }
        // Disks are counted for the whole execution, so that only a single job's share of a single disk is known.
        if let ([only], [served]) = (observations.as_mut_slice(), self.disk_util.as_slice()) {
            served.tell(only, milliseconds);
        }
        Some(State { observations, jobs: progress, begun, elapsed })
    }
}

impl Job {
    fn progress(&self) -> Progress {
        let sides = [&self.read, &self.write, &self.trim, &self.mixed];
        Progress {
            name: self.jobname.clone(),
            group: self.groupid,
            options: self.options.clone(),
            done: sides.into_iter().flatten().map(|side| side.total_ios.unwrap_or(side.io_bytes)).sum(),
            milliseconds: self.milliseconds(),
        }
    }

    /// How long its longest direction took.
    fn milliseconds(&self) -> u64 {
        let sides = [&self.read, &self.write, &self.trim, &self.mixed];
        sides.into_iter().flatten().filter_map(|side| whole(side.runtime)).max().unwrap_or(0)
    }

    /// `count`: how many entries have its name. A single one stands for all clones that its options ask for.
    fn observe(&self, globals: &BTreeMap<String, String>, count: u64, printed: Option<f64>) -> Observation {
        let options = Options::new(globals, &self.options);
        let sides = [
            (Way::Read, &self.read),
            (Way::Write, &self.write),
            (Way::Trim, &self.trim),
            (Way::Mixed, &self.mixed),
        ];
        let total = options.has_total_percentiles();
        let active = |side: &&Side| side.io_bytes > 0.0 || side.total_ios.is_some_and(|ios| ios > 0.0);
        let sides: Vec<(Way, &Side)> =
            sides.into_iter().filter_map(|(way, side)| Some((way, side.as_ref().filter(active)?))).collect();
        let flows: Vec<Flow> = sides.iter().map(|(way, side)| side.flow(*way, total)).collect();
        let mut observation = observe(&self.jobname, &flows);
        if let Some(latency) = self.sync.as_ref().and_then(|syncs| syncs.lat_ns?.latency(1e-9)) {
            put_sync(&mut observation, &latency);
        }
        let members = if count == 1 { options.clones() } else { 1 };
        options.tell(&mut observation, members);
        if let Some(host) = &self.hostname
            && self.jobname != "All clients"
        {
            observation.labels.insert("host".to_owned(), host.clone());
        }
        observation.order =
            self.start.map(|start| start / 1000.0).or(printed).filter(|order| order.is_finite());
        observation.facts.ending = Some(ending(self.error, None));
        let busy = self.usr_cpu.zip(self.sys_cpu).map(|(user, system)| user + system);
        // Nothing at all is less than a tick of the clock, not idleness.
        let busy = busy.filter(|percent| *percent > 0.0);
        observation.facts.cpus_used =
            busy.map(|percent| percent / 100.0 * f64::from(members)).filter(|cpus| cpus.is_finite());
        let remarks = &mut observation.facts.remarks;
        for (_, side) in &sides {
            side.remark(remarks);
        }
        if let Some(errors) = self.total_err.filter(|errors| *errors > 0) {
            let first = self.first_error.unwrap_or(0);
            remarks.push(format!("fio went on after {errors} errors, the first of which was error {first}"));
        }
        if self.steadystate.as_ref().is_some_and(|steady| steady.attained == Some(0.0)) {
            remarks.push("the steady state that was asked for was not attained".to_owned());
        }
        if total && sides.iter().any(|(_, side)| !side.has_own_total_percentiles()) {
            remarks.push("percentiles are of the whole latency, from submission on".to_owned());
        }
        observation
    }
}

impl Side {
    fn flow(&self, way: Way, total: bool) -> Flow {
        let in_bytes = self.io_kbytes.is_some();
        let bytes = if in_bytes { self.io_bytes } else { self.io_bytes * 1024.0 };
        let throughput = match self.bw_bytes {
            Some(bytes) => Figure { value: bytes, step: 1.0 },
            None => Figure { value: self.bw * 1024.0, step: 1024.0 },
        };
        Flow {
            way,
            throughput: Some(throughput),
            iops: Some(Figure { value: self.iops, step: 1e-6 }),
            latency: self.latency(total).unwrap_or_default(),
            bytes: whole(bytes),
        }
    }

    fn completion(&self) -> Option<Latency> {
        self.clat_ns
            .and_then(|printed| printed.latency(1e-9))
            .or_else(|| self.clat.and_then(|printed| printed.latency(1e-6)))
    }

    fn whole_latency(&self) -> Option<Latency> {
        self.lat_ns
            .and_then(|printed| printed.latency(1e-9))
            .or_else(|| self.lat.and_then(|printed| printed.latency(1e-6)))
    }

    fn has_own_total_percentiles(&self) -> bool {
        self.whole_latency().is_some_and(|latency| latency.has_percentiles())
    }

    /// From submission to completion as a device sees it; the whole one where only that was measured, or where only it
    /// has percentiles. With `lat_percentiles`, versions before 3.16 put the whole one's into `clat`.
    fn latency(&self, total: bool) -> Option<Latency> {
        match (self.completion(), self.whole_latency()) {
            (Some(completion), Some(whole)) if whole.has_percentiles() && !completion.has_percentiles() => {
                Some(whole)
            }
            (Some(completion), Some(whole)) if total && !whole.has_percentiles() => {
                Some(Latency { percentiles: completion.percentiles, ..whole })
            }
            (completion, whole) => completion.or(whole),
        }
    }

    fn remark(&self, remarks: &mut Vec<String>) {
        for (count, what) in [(self.short_ios, "cut short"), (self.drop_ios, "dropped")] {
            if let Some(count) = count.filter(|count| *count > 0) {
                remarks.push(format!("{count} operations were {what}"));
            }
        }
    }
}

/// A count; None if it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value < 2f64.powi(63)).then_some(value as u64)
}
