//! What is shown while a run goes on: a bar with the time left on a terminal, one durable line a trial otherwise.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostone_lab::conclude::Subject;
use iostone_lab::{Observer, Progress, estimate};
use iostone_model::fleet::{HostStatus, STATUS_SCHEMA};
use iostone_model::run::Plan;
use iostone_model::trial::WorkloadReport;
use iostone_model::warm_up::SteadyState;
use iostone_report::clean;

use crate::printer::Printer;

/// Figures are aligned behind names of up to so many columns.
const WIDEST_NAME: usize = 48;

/// Tells people how a run goes on.
pub(crate) struct RunProgress<'a> {
    printer: &'a mut Printer,
    bar: Option<ProgressBar>,
    plan: &'a Plan,
    subject: Subject,
    /// The longest name of a configuration, for columns that stay in line.
    width: usize,
    block: u32,
    /// The fewest blocks that are expected to decide, of the plan and then of the forecasts.
    fewest: u32,
    /// Where a host of a fleet says how far it is.
    status: Option<PathBuf>,
}

impl<'a> RunProgress<'a> {
    pub(crate) fn new(printer: &'a mut Printer, plan: &'a Plan) -> Self {
        let experiment = &plan.experiment;
        let bar = printer.shows_bars().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(u64::from(experiment.decide.blocks.max)),
                ProgressDrawTarget::stderr(),
            );
            if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {pos}/{len} blocks  {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let width =
            experiment.configurations.iter().map(|c| clean(&c.name).chars().count()).max().unwrap_or(0);
        // A longer name stands as it is, and only its own line is longer.
        let width = width.min(WIDEST_NAME);
        let expected = estimate(plan);
        let progress = Self {
            printer,
            bar,
            plan,
            subject: Subject::of(plan),
            width,
            block: 0,
            fewest: expected.blocks.0,
            status: None,
        };
        if let Some(most) = expected.most {
            progress.doing(left_words(expected.least.unwrap_or_default(), most));
        }
        progress
    }

    /// The same, which also writes a status file after each trial.
    pub(crate) fn with_status(mut self, status: Option<&Path>) -> Self {
        self.status = status.map(Path::to_owned);
        self
    }

    /// Says in the status file how far the run is. Between trials, when records are written anyway; without a flush, for what it
    /// says is in the records too.
    fn write_status(&self, trials: u32, blocks: u32, budget: u32) {
        let Some(path) = &self.status else { return };
        let status = HostStatus {
            schema: STATUS_SCHEMA.to_owned(),
            iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            trials,
            blocks,
            budget,
            ..HostStatus::default()
        };
        let _ = iostone_fleet::write_status(path, &status);
    }

    /// A line that stays, above the bar where there is one.
    fn line(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.note(text)),
            None => self.printer.note(text),
        }
    }

    fn doing(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }
}

impl Drop for RunProgress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// "2 min 40 s".
pub(crate) fn in_words(duration: Duration) -> String {
    let seconds = (duration + Duration::from_millis(500)).as_secs();
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// "2 to 19 min left": between the fewest blocks that are expected to decide and the whole budget.
pub(crate) fn left_words(least: Duration, most: Duration) -> String {
    let (unit, seconds) = match most.as_secs() {
        0..120 => ("s", 1.0),
        120..7200 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    let (low, high) = ((least.as_secs_f64() / seconds).floor(), (most.as_secs_f64() / seconds).ceil());
    if low < 1.0 {
        format!("at most {high} {unit} left")
    } else if low + 1.0 >= high {
        format!("about {high} {unit} left")
    } else {
        format!("{low} to {high} {unit} left")
    }
}

impl Observer for RunProgress<'_> {
    fn observe(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Checked { notes } => {
                for note in notes {
                    self.line(&format!("  {}", clean(note)));
                }
            }
            Progress::WarmUp { configuration } => {
                let configuration = clean(configuration);
                self.doing(format!("warming up: {configuration}"));
                if self.bar.is_none() {
                    self.line(&format!("warm-up   {configuration}"));
                }
            }
            Progress::Repeated { configuration, reason } => {
                let (configuration, reason) = (clean(configuration), clean(reason));
                self.line(&format!("          {configuration} once more: {reason}"));
            }
            Progress::PilotBegun { configuration, runtime } => {
                self.doing(format!("pilot of {runtime}: {}", clean(configuration)));
            }
            Progress::PilotRecorded { record } => {
                let found = match record.cut {
                    Some(cut) if cut.at_limit => format!("still warming up after {}", cut.after),
                    Some(cut) => format!("warm-up {}", cut.after),
                    None => "too short to detect a warm-up".to_owned(),
                };
                let (width, runtime) = (self.width, record.runtime);
                let configuration = clean(&record.configuration);
                let failed: Vec<String> =
                    record.gates.iter().filter(|gate| !gate.passed).map(|gate| clean(&gate.message)).collect();
                let doubt = if failed.is_empty() { String::new() } else { format!("  ! {}", failed.join("; ")) };
                self.line(&format!("pilot     {configuration:<width$}  {runtime} run: {found}{doubt}"));
            }
            Progress::RampDeclared { ramp } => {
                let length =
                    if ramp.ramp.0.is_zero() { "no warm-up".to_owned() } else { format!("{} of warm-up", ramp.ramp) };
                self.line(&format!("          declared: {length} in every trial"));
                if let Some(runtime) = &ramp.runtime {
                    self.line(&format!("          declared: {runtime}"));
                }
            }
            Progress::CovariatesDeclared { covariates } => {
                for declared in covariates {
                    self.line(&format!("          declared: {}", clean(&declared.to_string())));
                }
            }
            Progress::TrialBegun { block, configuration } => {
                self.block = block;
                self.doing(format!("block {block}: {}", clean(configuration)));
            }
            Progress::TrialRecorded { record, blocks, budget, at_most, a_block } => {
                self.write_status(record.number, blocks, budget);
                let figure = self.subject.describe(self.plan, record);
                let figure = figure.unwrap_or_else(|| "no figure".to_owned());
                let least = a_block.unwrap_or_default() * self.fewest.saturating_sub(blocks + 1);
                let left = at_most.map(|most| format!("  {}", left_words(least, most))).unwrap_or_default();
                let failed: Vec<String> =
                    record.gates.iter().filter(|gate| !gate.passed).map(|gate| clean(&gate.message)).collect();
                let doubt = if failed.is_empty() {
                    String::new()
                } else {
                    format!("  ! {}{}", failed.join("; "), last_words(&record.workload))
                };
                // Beside the figure, not against it: the trial counts.
                let flag = record.steady_state.as_ref().and_then(SteadyState::flag);
                let flag = flag.map(|flag| format!("  {}", flag.name)).unwrap_or_default();
                let width = self.width;
                self.line(&format!(
                    "block {:<3} {:<width$}  {:>12}{doubt}{flag}{}",
                    self.block,
                    clean(&record.configuration),
                    figure,
                    if doubt.is_empty() { left.as_str() } else { "" }
                ));
                if let Some(bar) = &self.bar {
                    bar.set_position(u64::from(blocks));
                    bar.set_message(left.trim().to_owned());
                }
            }
            Progress::BlockDiscarded { reason } => {
                self.line(&format!(
                    "          block {}: {}",
                    if self.plan.quick { "failed" } else { "discarded and repeated" },
                    clean(reason)
                ));
            }
            Progress::Unfit { failed, begun } => self.line(&format!(
                "          machine too busy: {failed} of {begun} blocks failed a gate; all blocks are now kept, including the \
                 discarded ones"
            )),
            Progress::Looked { verdicts } => {
                let forecasts = verdicts.comparisons.iter().filter_map(|comparison| comparison.forecast?.between);
                self.fewest = forecasts.map(|[low, _]| low).max().unwrap_or(0).max(self.fewest);
                if let Some(bar) = &self.bar {
                    bar.set_position(u64::from(verdicts.blocks.complete));
                }
            }
        }
    }
}

/// The last line of what a failed workload complained of, where its reason does not hold the tool's own words already.
fn last_words(workload: &WorkloadReport) -> String {
    let Some(error) = workload.error.as_ref().filter(|error| !error.contains(", saying: ")) else {
        return String::new();
    };
    let tail = workload.stderr_tail.as_deref().unwrap_or_default();
    match tail.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) if !error.contains(line) => format!(", saying: {}", clean(line)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_workload_is_told_with_its_last_words() {
        let words = |error: Option<&str>, tail: Option<&str>| {
            last_words(&WorkloadReport {
                error: error.map(str::to_owned),
                stderr_tail: tail.map(str::to_owned),
                ..WorkloadReport::default()
            })
        };
        let failed = Some("`./hello.sh` ended with status 127");
        assert_eq!(words(failed, Some("one\ncat: not found\n\n")), ", saying: cat: not found");
        assert_eq!(words(failed, None), "");
        assert_eq!(words(Some("`tar` failed, saying: no"), Some("more\n")), "");
        assert_eq!(words(None, Some("a warning\n")), "");
    }

    #[test]
    fn the_time_left_is_a_range_in_one_unit() {
        let left = |least: u64, most: u64| left_words(Duration::from_secs(least), Duration::from_secs(most));
        assert_eq!(left(130, 1100), "2 to 19 min left");
        assert_eq!(left(0, 1100), "at most 19 min left");
        assert_eq!(left(10, 45), "10 to 45 s left");
        assert_eq!(left(1090, 1100), "about 19 min left");
        assert_eq!(left(4000, 20_000), "1 to 6 h left");
        assert_eq!(left(40, 40), "about 40 s left");
    }

    #[test]
    fn durations_are_written_in_words() {
        assert_eq!(in_words(Duration::from_secs(40)), "40 s");
        assert_eq!(in_words(Duration::from_secs(160)), "2 min 40 s");
        assert_eq!(in_words(Duration::from_secs(7260)), "2 h 1 min");
    }
}
