//! Reads what ioping 0.6 to 1.3 and later prints: for people, in raw batches (`-B`, `-p`) and as JSON (`-J`).

mod json;
mod raw;
mod text;

use std::collections::BTreeMap;

use iostone_model::dataset::{Figure, Observation, Order};
use iostone_model::metric::Unit;

use crate::samples::DecimatedSeries;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of ioping.
pub(crate) struct Ioping;

impl Format for Ioping {
    fn name(&self) -> &'static str {
        "ioping"
    }

    fn title(&self) -> &'static str {
        "ioping text, raw and JSON"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let text = head.text.trim_start();
        if text.starts_with(['[', '{']) {
            let own =
                ["\"target\"", "\"fstype\"", "\"load\""].iter().filter(|key| text.contains(*key)).count() > 1
                    && (text.contains("\"stat\"") || text.contains("\"io\""));
            return if own { Likeness::Certain } else { Likeness::No };
        }
        if text.lines().any(text::is_own) {
            return Likeness::Certain;
        }
        // Ten bare numbers could be anybody's, if they did not fit each other so well.
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        let raw = lines.peek().is_some() && lines.take(100).all(|line| raw::Period::find(line).is_some());
        if raw { Likeness::Likely } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let first = input.reader().fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        let observations = match first {
            Some(b'[' | b'{') => json::read(input)?,
            _ => text::read(input)?,
        };
        let order = if observations.len() > 1 { Order::AsListed } else { Order::Unknown };
        Ok(Reading { observations, order, ..Reading::default() })
    }
}

/// One run of ioping: its totals and the course of its requests.
#[derive(Debug, Default)]
struct Run {
    line: Option<u64>,
    labels: BTreeMap<String, String>,
    figures: BTreeMap<String, Figure>,
    /// Latencies of single requests or periods.
    latencies: DecimatedSeries,
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    volume_bytes: Option<u64>,
    command: Option<String>,
    remarks: Vec<String>,
}

/// With `-i 0` a request comes every few microseconds.
const LONGEST_COURSE: usize = 100_000;

impl Run {
    fn set(&mut self, name: &str, figure: Figure) {
        self.figures.insert(name.to_owned(), figure);
    }

    fn into_observation(self) -> Observation {
        let mut observation = Observation {
            tool: "ioping".to_owned(),
            line: self.line,
            labels: self.labels,
            figures: self.figures,
            ..Observation::default()
        };
        if !self.latencies.is_empty() {
            observation.series.insert("latency_mean".to_owned(), self.latencies.into_series(Unit::Seconds));
        }
        let facts = &mut observation.facts;
        facts.claimed_read_bytes = self.read_bytes;
        facts.claimed_written_bytes = self.written_bytes;
        facts.volume_bytes = self.volume_bytes;
        facts.work.clone_from(&self.command);
        facts.command = self.command;
        facts.remarks = self.remarks;
        observation
    }
}
