//! Reads what dd prints: GNU of every version and locale, busybox and BSD, with progress, signals and failures.

mod command;
mod full;
mod status;

use iostone_model::dataset::{Ending, Figure, Observation, Order};
use iostone_model::metric::Unit;

use crate::error::Malformed;
use crate::samples::DecimatedSeries;
use crate::transcript;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

use command::Command;
use status::{Records, Status};

/// The output of dd.
pub(crate) struct Dd;

impl Format for Dd {
    fn name(&self) -> &'static str {
        "dd"
    }

    fn title(&self) -> &'static str {
        "dd: GNU of every version and locale, busybox, BSD"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let found = head.text.split(['\n', '\r']).any(|line| Status::find(line).is_some());
        if found { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut log = Log::default();
        while let Some(line) = input.next_line()? {
            let within_progress = line.text.contains('\r');
            for piece in line.text.split('\r').filter(|piece| !piece.trim().is_empty()) {
                log.take(line.number, piece, within_progress);
            }
        }
        log.close();
        log.fail(input.line());
        if !log.observations.iter().any(|observation| observation.figures.contains_key("throughput")) {
            let expected = if log.records_seen {
                "dd's line of bytes and seconds after its records (`status=noxfer` and some busyboxes print none)"
            } else {
                "dd's line of bytes and seconds, `... bytes (...) copied, ... s, ... MB/s`"
            };
            return Err(Malformed::at_end(input.line(), expected).into());
        }
        let observations = log.observations;
        let mut factors = Vec::new();
        for label in ["block_size", "flags"] {
            let mut values = observations.iter().map(|observation| observation.labels.get(label));
            let first = values.next();
            if values.any(|value| Some(value) != first) {
                factors.push(label.to_owned());
            }
        }
        let order = if observations.len() > 1 { Order::AsListed } else { Order::Unknown };
        Ok(Reading { observations, factors, order, ..Reading::default() })
    }
}

/// One dd, while its lines are read: what it told last, and before.
struct Copy {
    line: u64,
    status: Status,
    records: Option<(Records, Option<Records>)>,
    /// Its rate between what `status=progress` or signals made it tell, and when and how far that was last.
    course: DecimatedSeries,
    reached: (f64, f64),
    ended: bool,
    /// What dd complained of before it told this.
    ending: Option<Ending>,
    remarks: Vec<String>,
    /// That an earlier status was taken for one of the same dd, without its command to tell.
    guessed: bool,
}

impl Copy {
    /// Goes on to a later status of the same dd.
    fn advance(&mut self, status: &Status) {
        let (at, bytes) = self.reached;
        if status.seconds.value > at {
            self.course.push(
                status.seconds.value,
                (status.bytes as f64 - bytes) / (status.seconds.value - at),
                LONGEST_COURSE,
            );
            self.reached = (status.seconds.value, status.bytes as f64);
        }
    }
}

/// Progress comes once a second: more than a day of it is averaged in pairs.
const LONGEST_COURSE: usize = 100_000;

#[derive(Default)]
struct Log {
    observations: Vec<Observation>,
    copy: Option<Copy>,
    command: Option<Command>,
    /// Records read and written, of the status that follows.
    records: Vec<Records>,
    records_seen: bool,
    ending: Option<Ending>,
    remarks: Vec<String>,
}

impl Log {
    fn take(&mut self, number: u64, text: &str, within_progress: bool) {
        if let Some(status) = Status::find(text) {
            self.status(number, status, within_progress);
        } else if let Some(records) = Records::find(text) {
            // The third line of records belongs to the next status.
            if self.records.len() == 2 {
                self.records.clear();
            }
            self.records.push(records);
            self.records_seen = true;
        } else if full::says_so(text) {
            self.ending = Some(Ending::DiskFull);
        } else if let Some(message) = complaint(text) {
            self.complain(number, message);
        } else if let Some(command) = transcript::command(text, "dd").and_then(Command::parse) {
            self.close();
            self.command = Some(command);
        }
    }

    fn complain(&mut self, number: u64, message: &str) {
        if message.contains("warning:") {
            self.remarks.push(format!("dd says: {message}"));
            return;
        }
        self.ending = Some(Ending::Failed(message.to_owned()));
        if message.contains("open") && self.records.is_empty() {
            self.fail(number);
        }
    }

    /// A dd that complained and told nothing else, if there is one.
    fn fail(&mut self, line: u64) {
        let Some(ending) = self.ending.take() else { return };
        self.close();
        let mut observation =
            Observation { tool: "dd".to_owned(), line: Some(line), ..Observation::default() };
        if let Some(command) = &self.command {
            command.describe(&mut observation, None);
        }
        observation.facts.ending = Some(ending);
        observation.facts.remarks.append(&mut self.remarks);
        self.observations.push(observation);
    }

    fn status(&mut self, line: u64, status: Status, within_progress: bool) {
        let records = match std::mem::take(&mut self.records).as_slice() {
            [read, written] => Some((*read, Some(*written))),
            [read] => Some((*read, None)),
            _ => None,
        };
        let ended = records.is_some() && !within_progress;
        let mut next = Copy {
            line,
            course: DecimatedSeries::default(),
            reached: (0.0, 0.0),
            guessed: false,
            ending: self.ending.take(),
            remarks: std::mem::take(&mut self.remarks),
            status,
            records,
            ended,
        };
        if let Some(copy) = self.copy.take() {
            if self.goes_on(&copy, &next.status, records) {
                next.guessed = copy.guessed || (copy.ended && self.command.is_none());
                next.course = copy.course;
                next.reached = copy.reached;
                next.remarks.splice(0..0, copy.remarks);
            } else {
                self.copy = Some(copy);
                self.close();
            }
        }
        let status = next.status.clone();
        next.advance(&status);
        self.copy = Some(next);
    }

    /// Whether a status tells more of the same dd: after progress lines always, after a status that a signal asked for
    /// (SIGUSR1, SIGINFO) where the numbers say so.
    fn goes_on(&self, copy: &Copy, status: &Status, records: Option<(Records, Option<Records>)>) -> bool {
        let grew = status.bytes >= copy.status.bytes && status.seconds.value >= copy.status.seconds.value;
        if !grew || copy.ending.is_some() || status.dialect != copy.status.dialect {
            return false;
        }
        if !copy.ended {
            // Progress is told in whole seconds since 8.28, and without records always.
            return records.is_some() || copy.status.seconds.step >= 1.0;
        }
        let command = self.command.as_ref();
        if command.is_some_and(|command| command.repeated) {
            return false;
        }
        if let Some(whole) = command.and_then(Command::bytes) {
            return copy.status.bytes < whole && status.bytes > copy.status.bytes;
        }
        // Without the command: blocks of the same size, more of them, and before a number nobody would have asked for.
        let (Some((before, written)), Some((after, _))) = (copy.records, records) else { return false };
        let interrupted = written.is_some_and(|written| written != before) || !is_round(before.whole);
        status.bytes > copy.status.bytes
            && interrupted
            && before.block(copy.status.bytes).is_some_and(|block| after.may_be(status.bytes, block))
    }

    /// The dd that was being read is done.
    fn close(&mut self) {
        let Some(copy) = self.copy.take() else { return };
        let mut observation =
            Observation { tool: "dd".to_owned(), line: Some(copy.line), ..Observation::default() };
        let Status { bytes, seconds, .. } = copy.status;
        observation.figures.insert("wall_time".to_owned(), seconds);
        if bytes > 0 && seconds.value > 0.0 {
            let rate = bytes as f64 / seconds.value;
            // Bytes are exact: the rate is as coarse as the time.
            let step = rate * seconds.step / seconds.value;
            observation.figures.insert("throughput".to_owned(), Figure { value: rate, step });
        }
        observation.facts.work = Some(format!("dd of {bytes} bytes"));
        if let Some(command) = &self.command {
            command.describe(&mut observation, Some(bytes));
        }
        observation.facts.ending = Some(copy.ending.unwrap_or(Ending::Completed));
        observation.facts.remarks.extend(copy.remarks);
        observation.facts.remarks.extend(copy.status.contradiction());
        if let Some((read, _)) = copy.records.filter(|(read, _)| read.partial > 0) {
            observation.facts.remarks.push(format!(
                "{} of {} reads were short: with `iflag=fullblock` every block is full",
                read.partial,
                read.partial + read.whole
            ));
        }
        if copy.guessed {
            let remark =
                "earlier lines with fewer bytes are taken for the same dd, asked by a signal how far it was";
            observation.facts.remarks.push(remark.to_owned());
        }
        let series = copy.course.into_series(Unit::BytesPerSecond);
        if series.values.len() > 1 {
            observation.series.insert("throughput".to_owned(), series);
        }
        self.observations.push(observation);
    }
}

/// Whether people ask for that many blocks: at most two digits that count, in decimal or in powers of two.
fn is_round(blocks: u64) -> bool {
    let mut decimal = blocks;
    while decimal > 0 && decimal.is_multiple_of(10) {
        decimal /= 10;
    }
    let odd = blocks >> blocks.trailing_zeros().min(63);
    decimal < 100 || odd < 16
}

/// What dd itself complains of: `dd: error writing 'x': Input/output error`.
fn complaint(text: &str) -> Option<&str> {
    let start = text.find("dd: ")?;
    let before = text[..start].trim_end();
    let own = before.is_empty() || before.ends_with('/') || before.ends_with(':');
    own.then(|| text[start + 4..].trim())
}
