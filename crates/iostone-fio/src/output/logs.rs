//! fio's logs of bandwidth, I/Os per second and latency: `write_bw_log`, `write_iops_log`, `write_lat_log`.
//!
//! A line is `time (ms), value, direction, block size, priority`, by fio's manual, "Log File Formats": bandwidth in
//! KiB/s, latency in nanoseconds, directions 0 read, 1 write, 2 trim. Averaged lines have block size and priority 0.
//! The engine keeps 100 ms series, so entries are averages over multiples of that.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use iostone_engine::{Outcome, SERIES_INTERVAL, Series};

use iostone_model::load::Direction;

use super::figures::{Windows, intervals_in, latency_of, milliseconds, transfers_of, whole};

/// A kind of log that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// What its name begins with, the job's name where the option has no value; may hold folders.
    pub prefix: String,
    /// `log_avg_msec`, or the shorter one of it and `bwavgtime` or `iopsavgtime` where those are given for a log of
    /// theirs. A multiple of 100 ms.
    pub window: Duration,
}

/// What an entry holds; fio's `log_window_value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogValue {
    /// The mean.
    #[default]
    Average,
    /// The largest.
    Largest,
    /// The mean, then the largest: one column more.
    Both,
}

/// The logs that are wanted of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogRequest {
    /// `write_bw_log`.
    pub bandwidth: Option<LogFile>,
    /// `write_iops_log`.
    pub iops: Option<LogFile>,
    /// `write_lat_log`: files of total, submission and completion latency.
    pub latency: Option<LogFile>,
    /// The job's number among all, from 1.
    pub number: u32,
    /// `per_job_logs=0`: the jobs' entries follow each other in one file, after whatever is in it.
    pub is_shared: bool,
    /// `log_window_value`.
    pub value: LogValue,
    /// `log_alternate_epoch`: when the measured window opened, since 1970; added to times.
    pub epoch: Option<Duration>,
}

/// A log of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogText {
    /// The name that fio gives its file, relative to the working directory.
    pub path: PathBuf,
    /// Its lines.
    pub lines: String,
}

/// Why logs cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The series has no such windows.
    #[error("logs are averages over multiples of 100 ms, and {} ms is none; set `log_avg_msec`", .0.as_millis())]
    Window(Duration),
}

/// Checks that a log over windows of this length can be made.
///
/// # Errors
/// [`LogError::Window`] where it is not a multiple of 100 ms, 0 (every I/O by itself) included.
pub fn check_log_window(window: Duration) -> Result<(), LogError> {
    let is_multiple = window.as_nanos().is_multiple_of(SERIES_INTERVAL.as_nanos());
    if is_multiple && !window.is_zero() { Ok(()) } else { Err(LogError::Window(window)) }
}

/// The files that the logs of a job go to, in the order of [`logs_of`].
pub fn log_paths(request: &LogRequest) -> Vec<PathBuf> {
    let of = |file: &Option<LogFile>, kinds: &[&str]| -> Vec<PathBuf> {
        file.iter().flat_map(|file| kinds.iter().map(|kind| path_of(request, file, kind))).collect()
    };
    [
        of(&request.bandwidth, &["bw"]),
        of(&request.iops, &["iops"]),
        of(&request.latency, &["lat", "slat", "clat"]),
    ]
    .concat()
}

/// The logs of a job, under fio's names.
///
/// As by fio's synchronous engines, the file of submission latency is empty. In an open loop the series knows response
/// times only, which are total latency: the file of completion latency is empty then, too.
///
/// # Errors
/// See [`LogError`].
pub fn logs_of(request: &LogRequest, outcome: &Outcome) -> Result<Vec<LogText>, LogError> {
    let mut logs = Vec::new();
    let mut push = |file: &LogFile, kind: &str, lines: String| {
        logs.push(LogText { path: path_of(request, file, kind), lines });
    };
    for file in [&request.bandwidth, &request.iops, &request.latency].into_iter().flatten() {
        check_log_window(file.window)?;
    }
    if let Some(file) = &request.bandwidth {
        let lines = rate_lines(request, file, outcome, |series| &series.bytes, 1024);
        push(file, "bw", lines);
    }
    if let Some(file) = &request.iops {
        let lines = rate_lines(request, file, outcome, |series| &series.ios, 1);
        push(file, "iops", lines);
    }
    if let Some(file) = &request.latency {
        let total = latency_lines(request, file, outcome, |_| true);
        let completion = latency_lines(request, file, outcome, |direction| {
            transfers_of(outcome, direction).response.is_empty()
        });
        push(file, "lat", total);
        push(file, "slat", String::new());
        push(file, "clat", completion);
    }
    Ok(logs)
}

fn path_of(request: &LogRequest, file: &LogFile, kind: &str) -> PathBuf {
    let prefix = &file.prefix;
    PathBuf::from(if request.is_shared {
        format!("{prefix}_{kind}.log")
    } else {
        format!("{prefix}_{kind}.{}.log", request.number)
    })
}

/// One entry per window and direction in which something was counted. A window cut off by the end is left out, as by
/// fio, unless it is the only one.
fn rate_lines(
    request: &LogRequest,
    file: &LogFile,
    outcome: &Outcome,
    of: fn(&Series) -> &Vec<u64>,
    unit: u64,
) -> String {
    let elapsed = outcome.elapsed.0;
    let windows = Windows::new(file.window, elapsed);
    let mut lines = String::new();
    if windows.count == 0 {
        for direction in Direction::ALL {
            let sum: u64 = of(outcome.series_of.of(direction)).iter().sum();
            if sum > 0 && !elapsed.is_zero() {
                let rate = whole(sum as f64 / elapsed.as_secs_f64()) / unit;
                push_line(&mut lines, request, elapsed, (rate, rate), direction);
            }
        }
        return lines;
    }
    let sums =
        Direction::ALL.map(|direction| windows.sums(of(outcome.series_of.of(direction))).collect::<Vec<_>>());
    for index in 0..windows.count {
        for (direction, sums) in Direction::ALL.into_iter().zip(&sums) {
            if let Some(sum) = sums.get(index).filter(|sum| **sum > 0) {
                let rate = windows.per_second(*sum) / unit;
                push_line(&mut lines, request, end_of(index, file.window), (rate, rate), direction);
            }
        }
    }
    lines
}

/// One entry per window and direction in which something completed, the last one at the end of the run.
fn latency_lines(
    request: &LogRequest,
    file: &LogFile,
    outcome: &Outcome,
    is_known: impl Fn(Direction) -> bool,
) -> String {
    let mut lines = String::new();
    let intervals = intervals_in(file.window);
    let longest = Direction::ALL.map(|direction| outcome.series_of.of(direction).ios.len());
    let windows = longest.into_iter().max().unwrap_or(0).div_ceil(intervals);
    for index in 0..windows {
        let at = end_of(index, file.window).min(outcome.elapsed.0);
        let window = index * intervals..(index + 1) * intervals;
        for direction in Direction::ALL.into_iter().filter(|direction| is_known(*direction)) {
            if let Some((mean_ns, max_ns)) = latency_of(outcome.series_of.of(direction), window.clone()) {
                push_line(&mut lines, request, at, (whole(mean_ns + 0.5), max_ns), direction);
            }
        }
    }
    lines
}

fn end_of(index: usize, window: Duration) -> Duration {
    window * u32::try_from(index + 1).unwrap_or(u32::MAX)
}

fn push_line(
    lines: &mut String,
    request: &LogRequest,
    at: Duration,
    (average, largest): (u64, u64),
    direction: Direction,
) {
    let time = milliseconds(at.saturating_add(request.epoch.unwrap_or_default()));
    let direction = direction as u8;
    // Writing to a string does not fail.
    let _ = match request.value {
        LogValue::Average => writeln!(lines, "{time}, {average}, {direction}, 0, 0"),
        LogValue::Largest => writeln!(lines, "{time}, {largest}, {direction}, 0, 0"),
        LogValue::Both => writeln!(lines, "{time}, {average}, {largest}, {direction}, 0, 0"),
    };
}
