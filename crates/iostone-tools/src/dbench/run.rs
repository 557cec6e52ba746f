//! One run of dbench, put together from its lines.

use std::collections::BTreeMap;

use iostone_model::dataset::{DISK_FULL, DataKind, Ending, Facts, Figure, MetricNote, Observation, Series};
use iostone_model::metric::{self, Direction, Unit};

use super::line::{Line, Phase, Second, THROUGHPUT, Throughput, is_short_write};
use crate::{Malformed, input};

/// The loadfile that comes with dbench 3 and 4, `client.txt`: its lines, and the bytes that one pass reads and writes.
const CLIENT_LINES: f64 = 458_344.0;
const CLIENT_READ_SHARE: f64 = 1472.1 / (1472.1 + 1016.0);

/// Shorter runs say little: one second more or less of the loadfile's changing mix moves the figure.
const SHORT_SECONDS: u64 = 10;

/// Complaints kept of one run; a run that fails repeats itself thousands of times.
const COMPLAINTS: usize = 5;

/// A run being read.
#[derive(Debug, Default)]
pub(super) struct Run {
    line: u64,
    version: Option<String>,
    seconds: Option<u64>,
    warm_up_seconds: Option<u64>,
    loadfile: Option<String>,
    clients: Option<u64>,
    warm_up: Track,
    execute: Track,
    /// The rate and time at the true end, which version 3 reports.
    ended: Option<Second>,
    table: Table,
    operations: Vec<(String, Option<Figure>, Option<Figure>)>,
    complaints: Vec<String>,
    unspoken: usize,
    failed: Option<String>,
    disk_full: bool,
    throughput: Option<Throughput>,
}

/// The one-second lines of a phase.
#[derive(Debug, Default)]
struct Track {
    seconds: Vec<f64>,
    rates: Vec<f64>,
    latencies: Vec<f64>,
    first: Option<(f64, u64)>,
    last: Option<(f64, u64)>,
    /// The counter of lines has run over.
    overrun: bool,
    last_rate: Option<Figure>,
}

/// Where among the tables of operations the reading stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Table {
    #[default]
    Before,
    Within,
    /// Those of single clients follow, which the first one sums up.
    Done,
}

impl Run {
    /// One whose first line is that one.
    pub(super) fn begun_at(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// Whether it is already told what it runs.
    pub(super) fn is_running(&self) -> bool {
        self.seconds.is_some()
    }

    /// Takes one line more; says whether it was the last.
    pub(super) fn take(&mut self, line: Line<'_>, text: &input::Line) -> Result<bool, Malformed> {
        match line {
            Line::Version(version) => self.version = Some(version.to_owned()),
            Line::Running { seconds, loadfile, warm_up_seconds } => {
                self.seconds = Some(seconds);
                self.loadfile = Some(loadfile.to_owned());
                self.warm_up_seconds = Some(warm_up_seconds);
            }
            Line::Second(second) => self.take_second(second),
            Line::Heading if self.table == Table::Before => self.table = Table::Within,
            Line::PerClient => self.table = Table::Done,
            Line::Operation { name, count, mean, max } => self.take_operation(name, count, mean, max),
            Line::Complaint(complaint) => self.complain(complaint),
            Line::Failed(why) => {
                self.failed = Some(why.to_owned());
                return Ok(true);
            }
            Line::Throughput(throughput) => {
                self.throughput = Some(throughput);
                return Ok(true);
            }
            Line::Heading => {}
            Line::Other => {
                let row = text.text.trim();
                if self.table == Table::Within && !row.starts_with("---") {
                    if row.is_empty() {
                        self.table = Table::Done;
                    } else if let Line::Operation { name, count, mean, max } =
                        Line::operation(row).map_err(|expected| text.malformed(expected))?
                    {
                        self.take_operation(name, count, mean, max);
                    }
                }
            }
        }
        Ok(false)
    }

    fn take_second(&mut self, second: Second) {
        self.clients = self.clients.max(second.clients);
        match second.phase {
            Phase::WarmUp => self.warm_up.take(second),
            Phase::Execute => self.execute.take(second),
            Phase::CleanUp => {
                self.ended.get_or_insert(second);
            }
        }
    }

    fn take_operation(&mut self, name: &str, count: u64, mean: Option<Figure>, max: Option<Figure>) {
        if self.table != Table::Done && count > 0 {
            self.operations.push((operation(name).to_owned(), mean, max));
        }
    }

    fn complain(&mut self, complaint: &str) {
        self.disk_full |= complaint.contains(DISK_FULL) || is_short_write(complaint);
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(complaint.to_owned());
        } else {
            self.unspoken += 1;
        }
    }

    /// What is left of a run that another, or the end of the file, cut off: nothing if it never got to work.
    ///
    /// # Errors
    /// It was at work, so that its last line is missing: what should stand there.
    pub(super) fn cut_short(self) -> Result<Option<Observation>, String> {
        if self.disk_full || !self.complaints.is_empty() {
            return Ok(Some(self.into_observation()));
        }
        let idle =
            self.execute.seconds.is_empty() && self.warm_up.seconds.is_empty() && self.operations.is_empty();
        if idle && self.seconds.is_none() {
            return Ok(None);
        }
        let begun = self.line;
        Err(format!("{THROUGHPUT} that began on line {begun}"))
    }

    /// What it measured.
    pub(super) fn into_observation(mut self) -> Observation {
        let mut observation =
            Observation { line: Some(self.line), tool: "dbench".to_owned(), ..Observation::default() };
        self.label(&mut observation.labels);
        observation.facts = Facts {
            work: self.work(),
            data: Some(DataKind::Zeros),
            ending: Some(self.ending()),
            ..Facts::default()
        };
        self.measure(&mut observation);
        for (name, mean, max) in &self.operations {
            observation.figures.extend(mean.map(|mean| (format!("{name}.latency_mean"), mean)));
            observation.figures.extend(max.map(|max| (format!("{name}.latency_max"), max)));
        }
        let facts = &mut observation.facts;
        facts.remarks.append(&mut self.complaints);
        if self.unspoken > 0 {
            facts.remarks.push(format!("{} more complaints of its clients", self.unspoken));
        }
        self.execute.into_series("", &mut observation.series);
        self.warm_up.into_series("warm_up.", &mut observation.series);
        observation
    }

    fn label(&self, labels: &mut BTreeMap<String, String>) {
        let last = self.throughput.as_ref();
        let clients = last.map(|last| last.clients.unwrap_or(last.processes)).or(self.clients);
        labels.extend(clients.map(|clients| ("clients".to_owned(), clients.to_string())));
        if let Some(last) = last {
            if last.clients.is_some_and(|clients| clients != last.processes) {
                labels.insert("procs".to_owned(), last.processes.to_string());
            }
            if !last.sync.is_empty() {
                labels.insert("sync".to_owned(), last.sync.clone());
            }
        }
        labels.extend(self.version.clone().map(|version| ("tool_version".to_owned(), version)));
    }

    fn work(&self) -> Option<String> {
        let (seconds, loadfile) = (self.seconds?, self.loadfile.as_ref()?);
        let clients =
            self.throughput.as_ref().map(|last| last.clients.unwrap_or(last.processes)).or(self.clients);
        let clients = clients.map_or_else(String::new, |clients| format!(", {clients} clients"));
        Some(format!("dbench for {seconds} s with load {loadfile}{clients}"))
    }

    fn ending(&self) -> Ending {
        match (&self.failed, &self.throughput) {
            _ if self.disk_full => Ending::DiskFull,
            (Some(why), _) => Ending::Failed(why.clone()),
            (None, Some(_)) => Ending::Completed,
            (None, None) => Ending::Failed(self.complaints.first().cloned().unwrap_or_default()),
        }
    }

    /// Rates, latencies, the time of a pass and the bytes moved.
    fn measure(&self, observation: &mut Observation) {
        let Some(last) = &self.throughput else { return };
        let remarks = &mut observation.facts.remarks;
        let old = self.version.as_ref().map_or(last.clients.is_none(), |version| version.starts_with('3'));
        let (rate, seconds) = if old {
            (Some(last.rate), self.ended.map(|ended| ended.seconds))
        } else {
            (self.last_rate(last, remarks), self.execute.seconds.last().copied())
        };
        if let Some(rate) = rate {
            observation.figures.insert("throughput".to_owned(), rate);
            // Zero is what stands there when no second was ever watched.
            observation.figures.extend(last.latency_max.map(|latency| ("latency_max".to_owned(), latency)));
        }
        if let Some(seconds) = self.seconds.filter(|seconds| *seconds < SHORT_SECONDS) {
            remarks.push(format!("it ran for {seconds} s only, too short for a figure that can be repeated"));
        }
        if self.loadfile.as_ref().is_none_or(|path| path.rsplit('/').next() != Some("client.txt")) {
            return;
        }
        if let Some(pass) = self.pass_time() {
            if self.passes() < 1.0 {
                remarks.push(format!("the time of a pass is projected from {:.2} of one", self.passes()));
            }
            observation.figures.insert("pass_time".to_owned(), pass);
        }
        if let (Some(rate), Some(seconds), true) = (rate, seconds, self.passes() >= 1.0) {
            let bytes = rate.value * seconds;
            observation.facts.claimed_read_bytes = whole(bytes * CLIENT_READ_SHARE);
            observation.facts.claimed_written_bytes = whole(bytes * (1.0 - CLIENT_READ_SHARE));
            remarks.push(
                "claimed bytes are rate times time, shared out as the loadfile reads and writes".to_owned(),
            );
        }
    }

    /// The rate of versions 4 and 5.
    fn last_rate(&self, last: &Throughput, remarks: &mut Vec<String>) -> Option<Figure> {
        let watched = self.execute.last_rate;
        if last.for_machines && last.rate.value == 0.0 {
            remarks.push(
                "dbench 5 prints a throughput of 0 for machines; that of its last one-second line is used"
                    .to_owned(),
            );
            return watched;
        }
        if watched.is_none() && last.rate.value == 0.0 {
            remarks.push(
                "it ended before its first one-second line, so its throughput of 0 is no measurement"
                    .to_owned(),
            );
            return None;
        }
        remarks.push("throughput is the figure of the last one-second line, not of the whole run".to_owned());
        Some(last.rate)
    }

    /// How often each client came through the loadfile while measured.
    fn passes(&self) -> f64 {
        let (_, lines) = self.span().unwrap_or_default();
        lines / CLIENT_LINES
    }

    /// Seconds and lines of the loadfile between the first and the last line of the measured part. Without a warm-up both
    /// count from the start.
    fn span(&self) -> Option<(f64, f64)> {
        let (from, begun) = if self.warm_up_seconds == Some(0) && self.warm_up.seconds.is_empty() {
            (0.0, 0)
        } else {
            self.execute.first?
        };
        let (to, ended) = self.execute.last.filter(|_| !self.execute.overrun)?;
        (to > from && ended > begun).then(|| (to - from, (ended - begun) as f64))
    }

    /// How long a client takes for the whole of `client.txt`, from the line counters.
    fn pass_time(&self) -> Option<Figure> {
        let (seconds, lines) = self.span()?;
        Some(Figure::from(CLIENT_LINES * seconds / lines))
    }
}

impl Track {
    fn take(&mut self, second: Second) {
        let before = self.last.map(|(_, lines)| lines);
        self.overrun |= second.lines < before;
        if let Some(lines) = second.lines {
            self.first.get_or_insert((second.seconds, lines));
            self.last = Some((second.seconds, lines));
        }
        self.last_rate = second.rate.or(self.last_rate);
        self.seconds.push(second.seconds);
        self.rates.extend(second.rate.map(|rate| rate.value));
        self.latencies.extend(second.latency.map(|latency| latency.value));
    }

    fn into_series(self, prefix: &str, series: &mut BTreeMap<String, Series>) {
        for (name, unit, values) in
            [("throughput", Unit::BytesPerSecond, self.rates), ("latency_max", Unit::Seconds, self.latencies)]
        {
            if !values.is_empty() && values.len() == self.seconds.len() {
                let at_seconds = self.seconds.clone();
                series.insert(format!("{prefix}{name}"), Series { unit, at_seconds, values });
            }
        }
    }
}

/// Bytes, of which there cannot be a part.
fn whole(bytes: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    (0.0..=9e18).contains(&bytes).then(|| bytes.round() as u64)
}

/// The name that versions 3 and 4 have for an operation; version 5 prints those of the loadfile.
fn operation(name: &str) -> &str {
    match name {
        "QUERY_PATH_INFORMATION" => "Qpathinfo",
        "QUERY_FILE_INFORMATION" => "Qfileinfo",
        "QUERY_FS_INFORMATION" => "Qfsinfo",
        "SET_FILE_INFORMATION" => "Sfileinfo",
        "FIND_FIRST" => "Find",
        other => other,
    }
}

/// Notes the figures that no table has: operations of version 5's other backends.
pub(super) fn note_metrics(observation: &Observation, notes: &mut BTreeMap<String, MetricNote>) {
    for name in observation.figures.keys().filter(|name| metric::find(name).is_none()) {
        let title = match name.rsplit_once('.') {
            Some((operation, "latency_mean")) => format!("mean latency of {operation}"),
            Some((operation, _)) => format!("maximum latency of {operation}"),
            None => continue,
        };
        notes.insert(name.clone(), MetricNote { unit: Unit::Seconds, better: Some(Direction::Lower), title });
    }
}
