//! What is to be reported: the jobs with their outcomes, and what stands beside them in fio's results.

use std::time::Duration;

use iostone_engine::{Job, Outcome};

use super::disk_util::DiskUtil;

/// The version that tools which read fio's results are told: that of the schema.
pub const FIO_VERSION: &str = "fio-3.33";

/// fio's default `percentile_list`, in percent.
pub const DEFAULT_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Everything that one call of the program did.
#[derive(Debug, Clone)]
pub struct Session<'a> {
    /// What stands for fio's version; tools look at it, see [`FIO_VERSION`].
    pub version: &'a str,
    /// When it ended, in the time zone of the reader.
    pub finished: jiff::Zoned,
    /// How long it took, layout included.
    pub elapsed: Duration,
    /// The options of `[global]`, names and values as they were given, those without a value left out as fio does.
    pub global_options: Vec<(String, String)>,
    /// The jobs in order, clones one by one; those with `stats=0` left out.
    pub jobs: Vec<Reported<'a>>,
    /// What the block devices below the targets did; empty with `disk_util=0`.
    pub disk_util: Vec<DiskUtil>,
}

/// Which latencies have percentiles, and which percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentiles {
    /// `slat_percentiles`. The engine has no submission latency of its own, so nothing comes of it.
    pub submission: bool,
    /// `clat_percentiles`: of service times.
    pub completion: bool,
    /// `lat_percentiles`: of response times in an open loop, else of service times.
    pub total: bool,
    /// In percent, above 0 and at most 100, in any order; at most 20 are reported, as by fio.
    pub list: Vec<f64>,
}

impl Default for Percentiles {
    fn default() -> Self {
        Self { submission: false, completion: true, total: false, list: DEFAULT_PERCENTILES.to_vec() }
    }
}

impl Percentiles {
    /// Ascending, and no more than fio takes.
    pub(super) fn sorted(&self) -> Vec<f64> {
        let mut list: Vec<f64> =
            self.list.iter().copied().filter(|percent| *percent > 0.0 && *percent <= 100.0).collect();
        list.sort_by(f64::total_cmp);
        list.truncate(MOST_PERCENTILES);
        list
    }
}

/// `FIO_IO_U_LIST_MAX_LEN` of fio's `stat.h`.
pub(super) const MOST_PERCENTILES: usize = 20;

/// fio's `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unified {
    /// Reads, writes and discards apart.
    #[default]
    Separate,
    /// All in one.
    Mixed,
    /// Apart, and all in one as well.
    Both,
}

/// One job, or one clone of it, and what it did.
#[derive(Debug, Clone)]
pub struct Reported<'a> {
    /// Its name.
    pub name: &'a str,
    /// fio's group, from 0.
    pub group: u32,
    /// `group_reporting`: jobs of the same group that follow each other and have it are one.
    pub is_grouped: bool,
    /// Its own options, names and values as they were given, those without a value left out as fio does.
    pub options: Vec<(String, String)>,
    /// `description`.
    pub description: Option<&'a str>,
    /// `percentile_list` and its switches; see [`Percentiles::default`] for fio's.
    pub percentiles: Percentiles,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `bwavgtime`, or `log_avg_msec` where bandwidth is logged: the length of the samples behind `bw_min` to
    /// `bw_samples`; multiples of 100 ms. fio's default is 500 ms.
    pub bandwidth_window: Duration,
    /// `iopsavgtime`, likewise for `iops_min` to `iops_samples`.
    pub iops_window: Duration,
    /// What it was to do.
    pub job: &'a Job,
    /// What it did.
    pub outcome: &'a Outcome,
}

impl<'a> Reported<'a> {
    /// A job with fio's defaults for everything about reports.
    pub fn new(name: &'a str, job: &'a Job, outcome: &'a Outcome) -> Self {
        Self {
            name,
            group: 0,
            is_grouped: false,
            options: Vec::new(),
            description: None,
            percentiles: Percentiles::default(),
            unified: Unified::default(),
            bandwidth_window: Duration::from_millis(500),
            iops_window: Duration::from_millis(500),
            job,
            outcome,
        }
    }
}
