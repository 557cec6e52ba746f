//! `_summary.txt`, and the same lines as ORION prints them on a terminal; also files of histograms alone.
//!
//! What a test found best becomes an observation of its own (`max_iops`, `max_throughput`, `min_latency`, each at a point
//! that is told in a remark); what is told of a single point, since 12c, becomes an observation of that point.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ending, Facts, Observation};

use super::histogram::{self, Histogram};
use super::matrix::LatencyUnit;
use super::{MEGABYTE_REMARK, at_point};
use crate::units::figure;
use crate::{Input, Malformed, ReadError, input::Line};

/// What the latency lines of 12c are about.
pub(super) const KINDS: &[&str] = &["read", "write", "large_read", "large_write"];

const MAXIMA: &str = "`Maximum Small IOPS=`, `Maximum Large MBPS=` or `Minimum Small Latency=`";
const OWN: &[&str] = &[
    "ORION VERSION ",
    "ORION: ORacle IO Numbers",
    "This maps to this test:",
    "Maximum Large MBPS=",
    "Maximum Small IOPS=",
    "Minimum Small Latency=",
];
/// What ORION says when it cannot go on.
const FAILURES: &[&str] = &[
    "Error in input parameters",
    "Failure in opening .lun file",
    "SKGFR Returned Error",
    "Failed to allocate",
    "rwbase_issue_req",
];
/// Settings that are told in the summary, and the labels they become.
const SETTINGS: &[(&str, &str)] = &[
    ("Small IO size:", "small_size"),
    ("Large IO size:", "large_size"),
    ("IO Types:", "io_types"),
    ("Simulated Array Type:", "simulated_array"),
    ("Write:", "write"),
    ("Cache Size:", "cache_size"),
    ("Duration for each Data Point:", "duration"),
];

/// Whether it is a line that only ORION prints.
pub(super) fn is_own(line: &str) -> bool {
    let line = line.trim_start();
    OWN.iter().any(|begin| line.starts_with(begin))
}

/// One test being read.
#[derive(Debug, Default)]
struct Test {
    line: u64,
    labels: BTreeMap<String, String>,
    command: Option<String>,
    working_set_bytes: u64,
    summary: Observation,
    /// By small and large load.
    points: BTreeMap<(u64, u64), Observation>,
    histogram: Option<((u64, u64), Histogram)>,
    failure: Option<String>,
    awaits_command: bool,
    awaits_prefix: bool,
}

/// Reads a file from that line on.
pub(super) fn read(first: Line, input: &mut Input<'_>, test: &str) -> Result<Vec<Observation>, ReadError> {
    let mut observations = Vec::new();
    let mut open = Test { line: first.number, ..Test::default() };
    let mut next = Some(first);
    while let Some(line) = next {
        if begins(&line.text) && open.has_begun() {
            let line = line.number;
            let done = std::mem::replace(&mut open, Test { line, ..Test::default() });
            observations.extend(done.finish(line, test)?);
        }
        open.take(&line)?;
        next = input.next_line()?;
    }
    observations.extend(open.finish(input.line() + 1, test)?);
    Ok(observations)
}

fn begins(line: &str) -> bool {
    line.starts_with("ORION VERSION ") || line.starts_with("ORION: ORacle IO Numbers")
}

impl Test {
    fn has_begun(&self) -> bool {
        self.command.is_some() || self.failure.is_some() || !self.summary.figures.is_empty()
    }

    fn take(&mut self, line: &Line) -> Result<(), Malformed> {
        let text = line.text.trim();
        if let Some((point, mut histogram)) = self.histogram.take() {
            if histogram.take(text).map_err(|expected| line.malformed(expected))? {
                self.histogram = Some((point, histogram));
                return Ok(());
            }
            histogram.finish(self.point(point, line.number));
        }
        if std::mem::take(&mut self.awaits_prefix) && is_prefix(text) {
            self.labels.insert("test".to_owned(), text.to_owned());
        } else if self.awaits_command && !text.is_empty() {
            self.command = Some(format!("orion {text}"));
            self.awaits_command = false;
        } else if let Some(version) = text.strip_prefix("ORION VERSION ") {
            self.version(version);
        } else if let Some((_, version)) =
            text.split_once("-- Version ").filter(|_| text.starts_with("ORION: ORacle IO Numbers"))
        {
            self.version(version);
            self.awaits_prefix = true;
        } else if text == "Commandline:" {
            self.awaits_command = true;
        } else if let Some(test) = text.strip_prefix("Test:") {
            self.labels.insert("test_name".to_owned(), test.trim().to_owned());
        } else if let Some((_, size)) = text.strip_prefix("Name:").and_then(|rest| rest.rsplit_once("Size:"))
        {
            let size: u64 =
                size.trim().parse().map_err(|_| line.malformed("a size in bytes after `Size:`"))?;
            self.working_set_bytes = self.working_set_bytes.saturating_add(size);
        } else if histogram::is_title(text) {
            let point = text.split_once('@').and_then(|(_, point)| point_of(point));
            let point = point.ok_or_else(|| line.malformed("`@ Small=N and Large=N`"))?;
            self.histogram = Some((point, Histogram::titled(text)));
        } else if FAILURES.iter().any(|failure| text.contains(failure)) {
            self.failure.get_or_insert_with(|| text.to_owned());
        } else if let Some((begin, label)) = SETTINGS.iter().find(|(begin, _)| text.starts_with(begin)) {
            let value = text.trim_start_matches(begin).trim().to_owned();
            self.labels.insert((*label).to_owned(), value);
        } else {
            self.take_figure(line, text)?;
        }
        Ok(())
    }

    fn version(&mut self, version: &str) {
        self.labels.insert("tool_version".to_owned(), version.trim().to_owned());
    }

    fn point(&mut self, point: (u64, u64), line: u64) -> &mut Observation {
        self.points.entry(point).or_insert_with(|| {
            let mut observation = Observation { line: Some(line), ..Observation::default() };
            at_point(&mut observation, point.0, point.1);
            observation
        })
    }

    /// A line that ends with `@ Small=N and Large=N`.
    fn take_figure(&mut self, line: &Line, text: &str) -> Result<(), Malformed> {
        let maximum = text.starts_with("Maximum ") || text.starts_with("Minimum ");
        let detail = KINDS.iter().find(|kind| text.starts_with(&detail_of(kind)));
        if !maximum && detail.is_none() {
            return Ok(());
        }
        let (figures, point) =
            text.split_once('@').ok_or_else(|| line.malformed("`@ Small=N and Large=N`"))?;
        let point = point_of(point).ok_or_else(|| line.malformed("`@ Small=N and Large=N`"))?;
        if let Some(kind) = detail {
            return self.take_detail(line, kind, figures, point);
        }
        let (title, value) = figures.split_once('=').ok_or_else(|| line.malformed(MAXIMA))?;
        let value = value.trim();
        let (name, read) = match title {
            "Maximum Small IOPS" => ("max_iops", figure(value, 1.0)),
            "Maximum Large MBPS" => ("max_throughput", figure(&format!("{value}e6"), 1.0)),
            "Minimum Small Latency" => ("min_latency", latency(value)),
            _ => return Err(line.malformed(MAXIMA)),
        };
        let read = read.ok_or_else(|| line.malformed(format!("a number after `{title}=`")))?;
        self.summary.figures.insert(name.to_owned(), read);
        let remarks = &mut self.summary.facts.remarks;
        remarks.push(format!("{name} is that of Small={} and Large={}", point.0, point.1));
        if name == "min_latency" && !value.contains(' ') && !self.labels.contains_key("tool_version") {
            remarks.push(
                "min_latency stands there without a unit, as ORION prints milliseconds up to 11.1".to_owned(),
            );
        }
        if name == "max_throughput" {
            remarks.push(MEGABYTE_REMARK.to_owned());
        }
        Ok(())
    }

    /// `avg=169.594 us, min=128.415 us, max=1924.721 us, std dev=13.566 us`.
    fn take_detail(
        &mut self,
        line: &Line,
        kind: &str,
        figures: &str,
        point: (u64, u64),
    ) -> Result<(), Malformed> {
        let expected = "`avg=N us, min=N us, max=N us, std dev=N us`";
        let (_, list) = figures.split_once(':').ok_or_else(|| line.malformed(expected))?;
        for part in list.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| line.malformed(expected))?;
            let name = match name.trim() {
                "avg" => "latency_mean",
                "min" => "latency_min",
                "max" => "latency_max",
                "std dev" => "latency_stddev",
                _ => return Err(line.malformed(expected)),
            };
            let value = latency(value).ok_or_else(|| line.malformed(expected))?;
            self.point(point, line.number).figures.insert(format!("{kind}.{name}"), value);
        }
        Ok(())
    }

    fn finish(mut self, line: u64, test: &str) -> Result<Vec<Observation>, Malformed> {
        if let Some((point, histogram)) = self.histogram.take() {
            histogram.finish(self.point(point, line));
        }
        let empty = self.summary.figures.is_empty();
        if empty && self.failure.is_none() && (self.points.is_empty() || self.command.is_some()) {
            return Err(Malformed::at_end(line, MAXIMA));
        }
        self.labels.entry("test".to_owned()).or_insert_with(|| test.to_owned());
        let facts = Facts {
            command: self.command,
            working_set_bytes: Some(self.working_set_bytes).filter(|bytes| *bytes > 0),
            ending: Some(self.failure.map_or(Ending::Completed, Ending::Failed)),
            ..Facts::default()
        };
        let mut observations = Vec::new();
        if !empty || facts.ending != Some(Ending::Completed) {
            self.summary.line = Some(self.line);
            self.summary.facts.work.clone_from(&facts.command);
            observations.push(self.summary);
        }
        observations.extend(self.points.into_values());
        for observation in &mut observations {
            observation.labels.extend(self.labels.clone());
            let of_its_own = std::mem::take(&mut observation.facts);
            observation.facts = Facts { work: of_its_own.work, remarks: of_its_own.remarks, ..facts.clone() };
        }
        Ok(observations)
    }
}

/// Whether it is the prefix of a test's files, which is printed below the banner: `firsttest_20180913_0034`.
fn is_prefix(text: &str) -> bool {
    let digits = |part: Option<&str>, count: usize| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = text.rsplitn(3, '_');
    digits(parts.next(), 4) && digits(parts.next(), 8) && parts.next().is_some_and(|name| !name.is_empty())
}

/// `large_read` as the summary writes it: `Large Read Latency:`.
fn detail_of(kind: &str) -> String {
    match kind {
        "read" => "Small Read Latency:".to_owned(),
        "write" => "Small Write Latency:".to_owned(),
        "large_read" => "Large Read Latency:".to_owned(),
        _ => "Large Write Latency:".to_owned(),
    }
}

/// ` Small=10 and Large=0`.
fn point_of(text: &str) -> Option<(u64, u64)> {
    let (small, large) = text.trim().strip_prefix("Small=")?.split_once(" and Large=")?;
    Some((small.trim().parse().ok()?, large.trim().parse().ok()?))
}

/// A latency with its unit: `97.677 usecs`, `avg` and the like in `us`. Up to 11.1 there is no word, and it is in ms.
fn latency(text: &str) -> Option<iostone_model::dataset::Figure> {
    let text = text.trim();
    let (number, unit) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let unit = match unit.trim() {
        "us" | "usec" | "usecs" => LatencyUnit::Microseconds,
        "" | "ms" | "msec" | "msecs" => LatencyUnit::Milliseconds,
        _ => return None,
    };
    unit.figure(number)
}
