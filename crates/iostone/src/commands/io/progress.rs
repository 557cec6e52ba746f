//! How far a load is, on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use iostone_engine::{Phase, Progress};
use iostone_model::metric::Unit;

use crate::cli::Eta;
use crate::printer::Printer;
use crate::progress::in_words;

/// One line that changes; nothing where nobody watches.
pub(super) struct LoadProgress {
    line: Option<ProgressBar>,
    /// I/Os and time when the rate was last told.
    last: Option<(Phase, Duration, u64)>,
}

impl LoadProgress {
    pub(super) fn new(printer: &Printer, eta: Eta) -> Self {
        let line = (printer.shows_bars() && eta != Eta::Never).then(|| {
            let line = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                line.set_style(style);
            }
            line
        });
        Self { line, last: None }
    }

    pub(super) fn tell(&mut self, now: Progress) {
        let Some(line) = &self.line else { return };
        let since = in_words(now.elapsed.0);
        let message = match now.phase {
            Phase::Layout => format!("laying out: {} in {since}", now.bytes.approximate()),
            Phase::Ramp => format!("ramp: {since}"),
            Phase::Measure => format!("measuring: {since}{}", self.rate(now)),
            Phase::Verify => "reading back what was written".to_owned(),
        };
        line.set_message(message);
        line.tick();
        self.last = Some((now.phase, now.elapsed.0, now.ios));
    }

    /// The rate since it was last told.
    fn rate(&self, now: Progress) -> String {
        let Some((Phase::Measure, before, ios)) = self.last else { return String::new() };
        let passed = now.elapsed.0.saturating_sub(before).as_secs_f64();
        if passed <= 0.0 {
            return String::new();
        }
        let rate = now.ios.saturating_sub(ios) as f64 / passed;
        format!(", {}", Unit::PerSecond.format(rate))
    }
}

impl Drop for LoadProgress {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
