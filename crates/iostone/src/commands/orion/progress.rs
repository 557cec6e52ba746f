//! How a test gets on: a bar with the time left on a terminal, a durable line for each point, ORION's own with `-verbose`.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostone_model::metric::Unit;
use iostone_model::orion::{LoadPoint, OrionHeader, PointRecord};
use iostone_model::units::{Bytes, Span};
use iostone_orion::point::{Divergence, divergences};
use iostone_orion::record::RecordFile;
use iostone_orion::{Observer, OrionError};
use iostone_report::clean;

use crate::printer::Printer;
use crate::progress::in_words;

/// Records what is measured, and tells of it.
pub(super) struct TestProgress<'a> {
    printer: &'a mut Printer,
    bar: Option<ProgressBar>,
    record: &'a mut RecordFile,
    /// ORION's lines with `-verbose`: on standard output, unless that is for a document.
    verbose: bool,
    json: bool,
    direct: bool,
    /// What is printed once nothing is in the way any more.
    announcement: String,
    duration: Duration,
    total: Option<u32>,
    at: Option<LoadPoint>,
}

impl<'a> TestProgress<'a> {
    pub(super) fn new(
        header: &OrionHeader,
        record: &'a mut RecordFile,
        json: bool,
        announcement: String,
        printer: &'a mut Printer,
    ) -> Self {
        let bar = printer.shows_bars().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style("{spinner} {bar:24} {pos} points  {msg}"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let test = &header.test;
        Self {
            printer,
            bar,
            record,
            verbose: test.verbose,
            json,
            direct: header.direct,
            announcement,
            duration: test.duration.0,
            total: None,
            at: None,
        }
    }

    /// Lets something be printed without the bar in between.
    fn print(&mut self, print: impl FnOnce(&mut Printer)) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print(self.printer)),
            None => print(self.printer),
        }
    }

    /// How many points there are, as far as is known: `/29`.
    fn of_total(&self) -> String {
        self.total.map(|total| format!("/{total}")).unwrap_or_default()
    }

    fn time_left(&self, number: u32) -> String {
        let Some(left) = self.total.map(|total| total.saturating_sub(number)).filter(|left| *left > 0) else {
            return String::new();
        };
        format!(", about {} left", in_words(self.duration * left))
    }
}

impl Drop for TestProgress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for TestProgress<'_> {
    fn ready(&mut self) {
        let (text, json) = (std::mem::take(&mut self.announcement), self.json);
        // With `--json`, standard output is for the document alone.
        self.print(|printer| if json { printer.note(text.trim_end()) } else { printer.preface(&text) });
    }

    fn begins(&mut self, number: u32, total: Option<u32>, point: LoadPoint) {
        (self.total, self.at) = (total, Some(point));
        if self.verbose {
            let of = total.map(|total| format!(" out of {total}")).unwrap_or_default();
            let LoadPoint { small, large } = point;
            let lines = format!("Running point: Small={small}, Large={large}\nPoint {number}{of}\n");
            let json = self.json;
            self.print(|printer| if json { printer.note(lines.trim_end()) } else { printer.data(&lines) });
        }
        let left = self.time_left(number);
        if let Some(bar) = &self.bar {
            if let Some(total) = total {
                bar.set_length(total.into());
                bar.set_style(style("{spinner} {bar:24} {pos}/{len} points  {msg}"));
            }
            bar.set_position(number.saturating_sub(1).into());
            bar.set_message(format!("small {}, large {}{left}", point.small, point.large));
        }
    }

    fn goes_on(&mut self, what: &'static str, elapsed: Span, most: Span) {
        let (Some(bar), Some(point)) = (&self.bar, self.at) else { return };
        let (since, most) = (in_words(elapsed.0), in_words(most.0));
        bar.set_message(format!("small {}, large {}: {what}, {since} of {most}", point.small, point.large));
    }

    fn measured(&mut self, record: &PointRecord) -> Result<(), OrionError> {
        self.record.append_point(record)?;
        let number = format!("{}{}", record.number, self.of_total());
        let mut line = format!("point {number:<8} small {:<4} large {:<4}", record.small, record.large);
        for figure in figures(record) {
            let _ = write!(line, "  {figure:>10}");
        }
        for note in notes(record, self.direct) {
            let _ = write!(line, "  ! {}", clean(&note));
        }
        self.print(|printer| printer.note(line.trim_end()));
        if let Some(bar) = &self.bar {
            bar.set_position(record.number.into());
        }
        Ok(())
    }
}

/// What a point came to: rates, and the small I/Os' mean latency.
fn figures(record: &PointRecord) -> impl Iterator<Item = String> {
    let of = |unit: Unit, value: Option<f64>| value.map(|value| unit.format(value));
    [
        of(Unit::PerSecond, record.iops()),
        of(Unit::Seconds, record.latency()),
        of(Unit::BytesPerSecond, record.throughput()),
    ]
    .into_iter()
    .flatten()
}

/// The notes of a point. What devices served is said in a few words: it is much the same at every point, and explained once
/// at the end.
fn notes(record: &PointRecord, direct: bool) -> Vec<String> {
    let divergences = divergences(record, !direct);
    let told: Vec<String> = divergences.iter().map(ToString::to_string).collect();
    let short = divergences.iter().map(Divergence::in_short);
    short.chain(record.notes.iter().filter(|note| !told.contains(note)).cloned()).collect()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// How far the filling of a LUN is.
pub(super) struct Filling<'a> {
    printer: &'a mut Printer,
    line: Option<ProgressBar>,
}

impl<'a> Filling<'a> {
    pub(super) fn new(printer: &'a mut Printer) -> Self {
        let line = printer.shows_bars().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(style("{spinner} {msg}"));
            line
        });
        Self { printer, line }
    }

    /// So much of it is done.
    pub(super) fn tell(&self, name: &str, done: Bytes, of: Bytes) {
        let Some(line) = &self.line else { return };
        line.set_message(format!("filling {}: {} of {}", clean(name), done.approximate(), of.in_words()));
        line.tick();
    }

    /// All of it is.
    pub(super) fn made(&mut self, name: &str, written: Bytes) {
        let text = format!("filled {} with {} of random data", clean(name), written.in_words());
        match &self.line {
            Some(line) => line.suspend(|| self.printer.note(text)),
            None => self.printer.note(text),
        }
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::{LoadFigures, ServedAtPoint, TransferFigures};

    use super::*;

    #[test]
    fn a_line_of_a_point_says_in_short_what_devices_served() {
        let reads = TransferFigures { ios: 10, bytes: 1_000, latency: None };
        let mut record = PointRecord {
            seconds: 10.0,
            small_io: Some(LoadFigures { reads, ..LoadFigures::default() }),
            served: Some(ServedAtPoint {
                devices: vec!["vda".to_owned()],
                reads: 50,
                read_bytes: 5_000,
                ..ServedAtPoint::default()
            }),
            ..PointRecord::default()
        };
        record.notes = divergences(&record, false).iter().map(ToString::to_string).collect();
        record.notes.push("another".to_owned());
        assert_eq!(notes(&record, true), ["vda served 5.0x", "another"]);
    }
}
