//! Reads what dbench 3, 4 and 5 print, also several runs in one file and the machine-readable form of version 5.
//!
//! Which figure is which follows from the source of versions 3.04, 4.0 and 5.0: the one-second lines carry the mean rate
//! *since the measured part began*, in units of 10^6 bytes, and from version 4 on the `Throughput` of the last line is that
//! of the last such line, not of the whole run.

mod line;
mod run;

use iostone_model::dataset::Order;

use crate::{Format, Head, Input, Likeness, Malformed, ReadError, Reading};
use line::Line;
use run::Run;

/// The output of dbench.
pub(crate) struct Dbench;

impl Format for Dbench {
    fn name(&self) -> &'static str {
        "dbench"
    }

    fn title(&self) -> &'static str {
        "dbench 3, 4 and 5 logs"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let own = |line: &str| {
            line.trim_start().starts_with("dbench version ")
                || (line.contains(" MB/sec")
                    && matches!(Line::of(line), Ok(Line::Second(_) | Line::Throughput(_))))
        };
        if head.text.lines().any(own) { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        let mut open: Option<Run> = None;
        while let Some(text) = input.next_line()? {
            let line = Line::of(&text.text).map_err(|expected| text.malformed(expected))?;
            let begins = match line {
                Line::Version(_) => true,
                Line::Running { .. } => open.as_ref().is_some_and(Run::is_running),
                _ => false,
            };
            if let Some(run) = open.take_if(|_| begins) {
                let left = run.cut_short().map_err(|expected| text.malformed(expected))?;
                reading.observations.extend(left);
            }
            if matches!(line, Line::Other) && open.is_none() {
                continue;
            }
            let run = open.get_or_insert_with(|| Run::begun_at(text.number));
            if run.take(line, &text)? {
                reading.observations.extend(open.take().map(Run::into_observation));
            }
        }
        if let Some(run) = open {
            let left = run.cut_short().map_err(|expected| Malformed::at_end(input.line() + 1, expected))?;
            reading.observations.extend(left);
        }
        if reading.observations.is_empty() {
            return Err(Malformed::at_end(input.line() + 1, line::THROUGHPUT).into());
        }
        for observation in &reading.observations {
            run::note_metrics(observation, &mut reading.metrics);
        }
        reading.factors = vec!["clients".to_owned(), "sync".to_owned()];
        if reading.observations.len() > 1 {
            reading.order = Order::AsListed;
        }
        Ok(reading)
    }
}
