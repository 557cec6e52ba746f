//! Reads what sysbench 0.4 to 1.1 prints: fileio with its options, cpu, memory, threads, mutex and OLTP tests.

mod lines;

use std::collections::BTreeMap;

use iostone_model::dataset::{DataKind, Ending, Figure, MetricNote, Observation, Order};
use iostone_model::metric::{self, Direction, Unit};

use crate::error::Malformed;
use crate::samples::DecimatedSeries;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

use lines::{Said, Setting};

/// The output of sysbench.
pub(crate) struct Sysbench;

/// What the statistics of every version end with, as messages call it.
const END: &str = "sysbench's statistics to their end: `total time:` or `Latency (ms):` with its `max:`";

/// Labels of a run, in the order in which its work is described.
const LABELS: &[&str] = &["test", "mode", "io_mode", "working_set", "block_size", "threads", "fsync"];

impl Format for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn title(&self) -> &'static str {
        "sysbench 0.4 to 1.1: fileio, cpu and the others"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let mut lines = head.text.lines();
        if lines.any(|line| lines::version(line).is_some()) {
            return Likeness::Certain;
        }
        let threads =
            head.text.contains("Threads fairness:") && head.text.contains("total number of events:");
        if threads { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut log = Log::default();
        while let Some(line) = input.next_line()? {
            let said = lines::read(&line)?;
            if !input.line_has_end() && said.as_ref().is_some_and(Said::has_figures) {
                return Err(line
                    .malformed("the end of the line: the file is cut off, perhaps within a number")
                    .into());
            }
            log.take(line.number, said);
        }
        if log.run.is_cut_off() {
            return Err(Malformed::at_end(input.line() + 1, END).into());
        }
        log.close();
        let observations = log.observations;
        if observations.is_empty() {
            return Err(
                Malformed::at_end(input.line(), "sysbench's statistics (`total time:` and others)").into()
            );
        }
        let differ = |label: &&&str| {
            let mut values = observations.iter().map(|observation| observation.labels.get(**label));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let factors = LABELS.iter().filter(differ).map(|label| (*label).to_owned()).collect();
        let order = if observations.len() > 1 { Order::AsListed } else { Order::Unknown };
        Ok(Reading { metrics: notes(&observations), observations, factors, order })
    }
}

/// What is to be said of figures that are in no table: OLTP's, and percentiles other than the usual.
fn notes(observations: &[Observation]) -> BTreeMap<String, MetricNote> {
    let names = observations.iter().flat_map(|observation| observation.figures.keys());
    let unknown = names.filter(|name| metric::find(name).is_none());
    let noted = unknown.map(|name| {
        let (unit, better, title) = match name.as_str() {
            "transactions" => (Unit::PerSecond, Direction::Higher, "transactions per second".to_owned()),
            "queries" => (Unit::PerSecond, Direction::Higher, "queries per second".to_owned()),
            other => {
                (Unit::Seconds, Direction::Lower, format!("{} latency", other.trim_start_matches("latency_")))
            }
        };
        (name.clone(), MetricNote { unit, better: Some(better), title })
    });
    noted.collect()
}

/// One run, while its lines are read.
#[derive(Default)]
struct Run {
    line: u64,
    labels: BTreeMap<String, String>,
    figures: BTreeMap<String, Figure>,
    courses: BTreeMap<&'static str, (Unit, DecimatedSeries)>,
    /// Reads, writes and other operations, of versions that print totals only.
    operations: Option<[Figure; 3]>,
    bytes: Option<[u64; 2]>,
    events: Option<Figure>,
    working_set: Option<u64>,
    direct: Option<bool>,
    flushed: bool,
    validated: bool,
    ending: Option<Ending>,
}

#[derive(Default)]
struct Log {
    observations: Vec<Observation>,
    run: Run,
}

/// An interval report comes once a second at most.
const LONGEST_COURSE: usize = 100_000;

impl Log {
    fn take(&mut self, line: u64, said: Option<Said>) {
        let Some(said) = said else { return };
        if self.run.line == 0 {
            self.run.line = line;
        }
        match said {
            Said::Begins { version } => {
                if self.run.is_cut_off() {
                    self.run.figures.clear();
                    self.run.ending =
                        Some(Ending::Failed("it broke off before its statistics ended".to_owned()));
                }
                self.close();
                self.run.line = line;
                self.run.labels.insert("tool_version".to_owned(), version);
            }
            Said::Is(Setting::Label(label, value)) => {
                self.run.labels.insert(label.to_owned(), value);
            }
            Said::Is(Setting::Primes(mode)) => {
                self.run.labels.insert("test".to_owned(), "cpu".to_owned());
                self.run.labels.insert("mode".to_owned(), mode);
            }
            Said::Is(Setting::WorkingSet(bytes, text)) => {
                self.run.working_set = Some(bytes);
                self.run.labels.insert("test".to_owned(), "fileio".to_owned());
                self.run.labels.insert("working_set".to_owned(), text);
            }
            Said::Is(Setting::OpenFlags { direct, synchronous }) => {
                self.run.direct = Some(direct);
                self.run.flushed |= synchronous;
            }
            Said::Is(Setting::Flushed) => self.run.flushed = true,
            Said::Is(Setting::Validated) => self.run.validated = true,
            Said::Figures(figures) => {
                for (name, figure) in figures {
                    self.run.figures.insert(name, figure);
                }
            }
            Said::Operations(operations) => self.run.operations = Some(operations),
            Said::Bytes(bytes) => self.run.bytes = Some(bytes),
            Said::Events(events) => self.run.events = Some(events),
            Said::Interval { at_seconds, figures } => {
                for (name, unit, value) in figures {
                    let (_, course) =
                        self.run.courses.entry(name).or_insert_with(|| (unit, DecimatedSeries::default()));
                    course.push(at_seconds, value, LONGEST_COURSE);
                }
            }
            Said::Prepared { bytes, seconds } => self.prepared(line, bytes, seconds),
            Said::DiskFull => self.run.ending = Some(Ending::DiskFull),
            Said::Fatal(message) => {
                self.run.ending.get_or_insert(Ending::Failed(message));
            }
        }
    }

    /// `prepare` times the writing of its files.
    fn prepared(&mut self, line: u64, bytes: u64, seconds: Figure) {
        self.run.line = line;
        self.run.labels.insert("test".to_owned(), "fileio".to_owned());
        self.run.labels.insert("mode".to_owned(), "prepare".to_owned());
        self.run.bytes = Some([0, bytes]);
        self.run.figures.insert("wall_time".to_owned(), seconds);
        self.close();
    }

    fn close(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        run.rates();
        if run.figures.is_empty() && run.ending.is_none() {
            return;
        }
        let mut observation = Observation {
            tool: "sysbench".to_owned(),
            line: Some(run.line),
            labels: run.labels,
            figures: run.figures,
            ..Observation::default()
        };
        for (name, (unit, course)) in run.courses {
            observation.series.insert(name.to_owned(), course.into_series(unit));
        }
        let named =
            LABELS.iter().filter_map(|label| Some(format!("{label} {}", observation.labels.get(*label)?)));
        let work = named.collect::<Vec<_>>().join(", ");
        let facts = &mut observation.facts;
        facts.work = Some(work).filter(|work| !work.is_empty());
        facts.working_set_bytes = run.working_set;
        facts.direct = run.direct;
        if observation.labels.get("test").is_some_and(|test| test == "fileio") {
            // Without `--validate`, its buffers are cleared and never filled (sb_fileio.c).
            facts.data = (!run.validated).then_some(DataKind::Zeros);
            facts.flushed = Some(run.flushed || run.direct == Some(true));
        }
        if let Some([read, written]) = run.bytes {
            facts.claimed_read_bytes = Some(read);
            facts.claimed_written_bytes = Some(written);
        }
        facts.ending = Some(run.ending.unwrap_or(Ending::Completed));
        self.observations.push(observation);
    }
}

impl Run {
    /// Whether it got to work, but its statistics are not there to their end.
    fn is_cut_off(&self) -> bool {
        let begun = !self.figures.is_empty() || !self.courses.is_empty();
        let has = |name: &str| self.figures.contains_key(name);
        let ended = has("latency_max") || (has("wall_time") && !has("latency_min"));
        begun && !ended && self.ending.is_none()
    }

    /// Divides what older versions print as totals; a printed rate is kept as it is.
    fn rates(&mut self) {
        let Some(wall) = self.figures.get("wall_time").copied().filter(|wall| wall.value > 0.0) else {
            return;
        };
        let rate = |count: f64| Figure {
            value: count / wall.value,
            step: count / wall.value * wall.step / wall.value,
        };
        if let Some([reads, writes, _]) = self.operations {
            self.figures.insert("reads".to_owned(), rate(reads.value));
            self.figures.insert("writes".to_owned(), rate(writes.value));
            if let Some([_, _, other]) = self.operations {
                self.figures.insert("fsyncs".to_owned(), rate(other.value));
            }
        }
        if let Some([read, written]) = self.bytes {
            for (name, bytes) in [("read.throughput", read), ("write.throughput", written)] {
                if bytes > 0 && !self.figures.contains_key(name) {
                    self.figures.insert(name.to_owned(), rate(bytes as f64));
                }
            }
        }
        if let Some(events) = self.events {
            self.figures.entry("events".to_owned()).or_insert_with(|| rate(events.value));
        }
    }
}
