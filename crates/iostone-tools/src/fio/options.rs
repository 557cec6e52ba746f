//! What a job's options, as fio repeats them in its JSON, tell of its work: labels, sizes, caching, flushing.
//!
//! fio lists the options that were given with a value (and since 3.0, by our reading of its `print_option`, all of
//! those); flags without a value (`time_based`, `stonewall`, `group_reporting`, `zero_buffers`) it leaves out. So an
//! option that takes a value and is not listed had its default.

use std::collections::BTreeMap;

use iostone_model::dataset::{DataKind, Facts, Observation};

/// Options that name things or say what to write down, and change nothing of the work.
const NOT_WORK: &[&str] = &[
    "name",
    "description",
    "filename",
    "directory",
    "filename_format",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "per_job_logs",
    "percentile_list",
    "lat_percentiles",
    "clat_percentiles",
    "slat_percentiles",
    "group_reporting",
    "unified_rw_reporting",
    "aux-path",
];

/// The option and the label that it becomes.
const LABELS: &[(&str, &str)] = &[
    ("rw", "rw"),
    ("readwrite", "rw"),
    ("bs", "bs"),
    ("blocksize", "bs"),
    ("iodepth", "iodepth"),
    ("numjobs", "numjobs"),
    ("ioengine", "ioengine"),
];

/// The options of a job, over those of all jobs.
#[derive(Debug, Clone, Default)]
pub(super) struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    pub(super) fn new(globals: &'a BTreeMap<String, String>, own: &'a BTreeMap<String, String>) -> Self {
        let both = globals.iter().chain(own);
        Self(both.map(|(name, value)| (name.as_str(), value.as_str())).collect())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// Whether a yes-or-no option is on; None where it was not given.
    fn is_on(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !matches!(value, "" | "0" | "none"))
    }

    /// Whether percentiles were asked of the total latency, from queueing to completion.
    pub(super) fn has_total_percentiles(&self) -> bool {
        self.is_on("lat_percentiles") == Some(true)
    }

    /// How many clones of the job ran; 1 where nothing else was asked.
    pub(super) fn clones(&self) -> u32 {
        self.get("numjobs").and_then(|value| value.parse().ok()).unwrap_or(1).max(1)
    }

    /// Adds what they tell to an observation of `members` clones.
    pub(super) fn tell(&self, observation: &mut Observation, members: u32) {
        if self.0.is_empty() {
            return;
        }
        for (option, label) in LABELS {
            if let Some(value) = self.get(option) {
                observation.labels.insert((*label).to_owned(), value.to_owned());
            }
        }
        let work = self.0.iter().filter(|(name, _)| !NOT_WORK.contains(name));
        let work: Vec<String> = work.map(|(name, value)| format!("{name}={value}")).collect();
        let writes = observation.facts.claimed_written_bytes.is_some_and(|bytes| bytes > 0);
        let facts = &mut observation.facts;
        facts.work = Some(work.join(" "));
        facts.direct = Some(self.is_direct());
        if writes {
            facts.flushed = Some(self.is_flushed());
            facts.data = self.data();
        }
        facts.source = None;
        self.tell_size(facts, members);
    }

    /// `direct` and its opposite `buffered`; buffered by default (fio(1)).
    fn is_direct(&self) -> bool {
        self.is_on("direct").or(self.is_on("buffered").map(|buffered| !buffered)).unwrap_or(false)
    }

    /// Whether writes were direct, synchronous or followed by fsync(2) before the clock was stopped. fio flushes for
    /// `end_fsync` and `fsync_on_close` within the time that it counts.
    fn is_flushed(&self) -> bool {
        const FLUSHING: &[&str] =
            &["end_fsync", "fsync_on_close", "fsync", "fdatasync", "sync", "sync_file_range"];
        self.is_direct() || FLUSHING.iter().any(|option| self.is_on(option) == Some(true))
    }

    /// What the buffers held, where an option with a value says so.
    fn data(&self) -> Option<DataKind> {
        if self.is_on("zero_buffers") == Some(true) {
            return Some(DataKind::Zeros);
        }
        let pattern = self.get("buffer_pattern")?;
        let zeros = pattern.trim_start_matches("0x").chars().all(|digit| digit == '0');
        Some(if zeros { DataKind::Zeros } else { DataKind::Repeated })
    }

    /// `size` is that of all files of one clone; clones have files of their own unless a file is named.
    fn tell_size(&self, facts: &mut Facts, members: u32) {
        let base = self.get("kb_base").and_then(|value| value.parse().ok()).unwrap_or(1024);
        let size = match self.get("size") {
            Some(size) => parse_bytes(size, base),
            None => self.get("filesize").and_then(|size| parse_bytes(size, base)).and_then(|size| {
                let files = self.get("nrfiles").map_or(Some(1), |files| files.parse::<u64>().ok())?;
                size.checked_mul(files)
            }),
        };
        let copies = if self.get("filename").is_some() { 1 } else { u64::from(members) };
        facts.working_set_bytes = size.and_then(|size| size.checked_mul(copies));
    }
}

/// A size as fio reads it (fio(1), "Parameter types"): with `kb_base` 1024, the default, `k` and `kb` are 1024 and
/// `ki` and `kib` are 1000; with 1000 it is the other way round. A share of the target (`20%`) is no size, nor a range.
fn parse_bytes(text: &str, base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let (unit, inverted) = unit.strip_suffix('i').map_or((unit, false), |unit| (unit, true));
    let power = super::numbers::power_of(unit)?;
    let factor: u64 = if (base == 1000) == inverted { 1024 } else { 1000 };
    number.parse::<u64>().ok()?.checked_mul(factor.checked_pow(power.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(options: &[(&str, &str)], members: u32) -> Observation {
        let own = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut observation = Observation::default();
        observation.facts.claimed_written_bytes = Some(1);
        Options::new(&BTreeMap::new(), &own).tell(&mut observation, members);
        observation
    }

    #[test]
    fn sizes_are_read_with_the_prefixes_that_fio_takes() {
        assert_eq!(parse_bytes("8m", 1024), Some(8 << 20));
        assert_eq!(parse_bytes("4KiB", 1024), Some(4000));
        assert_eq!(parse_bytes("4kb", 1000), Some(4000));
        assert_eq!(parse_bytes("4Ki", 1000), Some(4096));
        assert_eq!(parse_bytes("512", 1024), Some(512));
        assert_eq!(parse_bytes("20%", 1024), None);
        assert_eq!(parse_bytes("4k-8k", 1024), None);
        assert_eq!(parse_bytes("99999999999p", 1024), None);
    }

    #[test]
    fn an_option_that_is_not_given_has_its_default() {
        let facts = told(&[("rw", "write"), ("size", "1g")], 4).facts;
        assert_eq!((facts.direct, facts.flushed), (Some(false), Some(false)));
        assert_eq!(facts.working_set_bytes, Some(4 << 30));
        let facts = told(&[("direct", "1"), ("size", "1g"), ("filename", "/dev/x")], 4).facts;
        assert_eq!((facts.direct, facts.flushed), (Some(true), Some(true)));
        assert_eq!(facts.working_set_bytes, Some(1 << 30));
        assert_eq!(told(&[("end_fsync", "1")], 1).facts.flushed, Some(true));
        assert_eq!(told(&[("buffered", "0")], 1).facts.direct, Some(true));
        assert_eq!(told(&[], 1).facts.direct, None);
    }

    #[test]
    fn the_work_is_what_the_options_ask_and_not_where() {
        let observation = told(&[("rw", "randread"), ("bs", "4k"), ("filename", "/x"), ("iodepth", "8")], 1);
        assert_eq!(observation.facts.work.as_deref(), Some("bs=4k iodepth=8 rw=randread"));
        assert_eq!(observation.labels.get("bs").map(String::as_str), Some("4k"));
    }

    #[test]
    fn a_pattern_tells_what_the_data_is() {
        assert_eq!(told(&[("buffer_pattern", "0x00")], 1).facts.data, Some(DataKind::Zeros));
        assert_eq!(told(&[("buffer_pattern", "0xdeadbeef")], 1).facts.data, Some(DataKind::Repeated));
        assert_eq!(told(&[("rw", "write")], 1).facts.data, None);
    }
}
