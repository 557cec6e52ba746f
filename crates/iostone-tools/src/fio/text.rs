//! fio's text for people: the lines of each job, of its directions, latencies and percentiles.
//!
//! Written by `show_thread_status_normal` and `show_ddir_status` of `stat.c`. The form of 3.x,
//! `read: IOPS=10.1k, BW=39.3MiB/s (41.3MB/s)(39.4MiB/1002msec)`, came with 2.17; before it was
//! `read : io=437.0MB, bw=223232KB/s, iops=55808, runt=  2001msec`, with `KB` of 1024 bytes.

mod job;

use std::collections::BTreeMap;

use iostone_model::dataset::Observation;

use super::flow::Served;
use job::{Job, Place, block_size};

use crate::units::figure;
use crate::{Line, Malformed};

/// Whether a line begins the results of a job.
pub(super) fn is_job(line: &str) -> bool {
    line.contains(": (groupid=") && line.contains("err=")
}

/// Whether a line announces a job, before it runs.
pub(super) fn is_start(line: &str) -> bool {
    line.contains(": (g=") && line.contains(" rw=") && line.contains("ioengine=")
}

/// `<host> job: ...`, as a client prints what its servers announce, without the host.
fn without_host(text: &str) -> &str {
    let rest = text.strip_prefix('<').and_then(|text| text.split_once("> "));
    rest.map_or(text, |(_, rest)| rest)
}

/// What was read of the text so far.
#[derive(Debug, Default)]
pub(super) struct Text {
    version: Option<String>,
    /// What each job was announced with, by its name.
    announced: BTreeMap<String, BTreeMap<String, String>>,
    jobs: Vec<Job>,
    current: Option<Job>,
    /// The latencies that lines of percentiles belong to, and their unit in seconds.
    percentiles: Option<(Place, f64)>,
    /// Disks of the statistics at the end.
    disks: Vec<Served>,
    in_disks: bool,
}

impl Text {
    /// Reads one more line; those that say nothing of a job are passed over.
    ///
    /// # Errors
    /// A line of a known form with something else in it.
    pub(super) fn take(&mut self, line: &Line) -> Result<(), Malformed> {
        let text = without_host(line.text.trim());
        if let Some((place, unit)) = self.percentiles {
            if let Some(row) = text.strip_prefix('|') {
                return self.take_percentiles(line, row, place, unit);
            }
            self.percentiles = None;
        }
        if is_job(text) {
            self.end_job();
            self.in_disks = false;
            self.current = Some(Job::begin(line)?);
        } else if is_start(text) {
            self.announce(text);
        } else if text.starts_with("fio-") && !text.contains(' ') {
            self.version = Some(text.to_owned());
        } else if let Some((_, version)) =
            text.strip_prefix("hostname=").and_then(|host| host.split_once(", fio="))
        {
            self.version = version.split(',').next().map(str::to_owned);
        } else if text.starts_with("Run status group") {
            self.end_job();
        } else if text.starts_with("Disk stats") {
            self.in_disks = true;
            self.disks.clear();
        } else if self.in_disks {
            self.take_disk(text);
        } else if let Some(job) = &mut self.current {
            self.percentiles = job.take(line, text)?;
        }
        Ok(())
    }

    /// `randread: (g=0): rw=randread, bs=(R) 4096B-4096B, ..., ioengine=libaio, iodepth=4`
    fn announce(&mut self, text: &str) {
        let Some((name, rest)) = text.split_once(": (g=") else { return };
        let mut labels = BTreeMap::new();
        for (key, label) in
            [(" rw=", "rw"), (" ioengine=", "ioengine"), (" iodepth=", "iodepth"), (" bs=", "bs")]
        {
            let Some((_, value)) = rest.split_once(key) else { continue };
            let value = value.split(", ").next().unwrap_or_default();
            let value = value.strip_prefix("(R) ").unwrap_or(value).trim_end_matches("...");
            if let Some(value) = if label == "bs" { block_size(value) } else { Some(value.to_owned()) } {
                labels.insert(label.to_owned(), value);
            }
        }
        self.announced.insert(name.to_owned(), labels);
    }

    fn take_percentiles(&mut self, line: &Line, row: &str, place: Place, unit: f64) -> Result<(), Malformed> {
        let Some(job) = &mut self.current else { return Ok(()) };
        for item in row.split_inclusive(']') {
            let item = item.trim_start_matches([',', ' ']).trim();
            if item.is_empty() || item == "," {
                continue;
            }
            let expected = || line.malformed("percentiles, as in `99.00th=[ 1234]`");
            let (percent, value) = item.split_once("th=[").ok_or_else(expected)?;
            let percent: f64 = percent.trim().parse().map_err(|_| expected())?;
            let value = value.trim_end_matches(']').trim().trim_start_matches('>').trim_start_matches('=');
            let value = figure(value, unit).ok_or_else(expected)?;
            if let Some(latency) = job.latency(place) {
                latency.set_percentile(percent, value);
            }
        }
        Ok(())
    }

    /// `vda: ios=15378/1820, sectors=8/16, merge=31/47, ...`; the sectors since 3.36.
    fn take_disk(&mut self, text: &str) {
        if !text.contains(": ios=") {
            return;
        }
        let sectors = text.split_once("sectors=").map(|(_, rest)| rest.split(',').next().unwrap_or_default());
        let pair = sectors.and_then(|sectors| sectors.split_once('/'));
        self.disks.push(Served {
            read_sectors: pair.and_then(|(read, _)| read.parse().ok()),
            written_sectors: pair.and_then(|(_, written)| written.parse().ok()),
        });
    }

    fn end_job(&mut self) {
        let Some(job) = self.current.take() else { return };
        // `--status-interval` prints a job again and again; its process stays the same.
        let state = self.jobs.iter_mut().find(|earlier| earlier.name == job.name && earlier.pid == job.pid);
        match state {
            Some(earlier) => *earlier = job,
            None => self.jobs.push(job),
        }
    }

    /// The jobs, in their order.
    pub(super) fn finish(mut self) -> Vec<Observation> {
        self.end_job();
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for job in &self.jobs {
            *counts.entry(job.name.clone()).or_default() += 1;
        }
        let mut observations = Vec::new();
        for job in &self.jobs {
            let mut observation = job.observe();
            observation.labels.extend(self.announced.get(&job.name).cloned().unwrap_or_default());
            if let Some(version) = &self.version {
                observation.labels.insert("tool_version".to_owned(), version.clone());
            }
            if counts.get(&job.name).is_some_and(|count| *count > 1) {
                let number = seen.entry(job.name.clone()).or_default();
                *number += 1;
                observation.run = Some(number.to_string());
            }
            observations.push(observation);
        }
        let milliseconds = self.jobs.iter().map(|job| job.milliseconds).max().unwrap_or(0);
        if let ([only], [served]) = (observations.as_mut_slice(), self.disks.as_slice()) {
            served.tell(only, milliseconds);
        }
        observations
    }
}
