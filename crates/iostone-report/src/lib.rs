//! Reports of a run: for the terminal, as JSON for machines, and as one self-contained HTML page.
//!
//! Everything here draws and words what was recorded and concluded elsewhere. No verdict, interval or flag is
//! computed in this crate: what it works out itself are positions on a page, and the percentiles that are read off
//! the recorded latency histograms.
//!
//! Whatever came from outside (names, tool output, host names) is data: it is escaped in HTML, and what a terminal would
//! act upon is shown instead.

mod cpu_split;
mod environment;
pub mod export;
mod figures;
mod fleet;
mod gate;
mod governed;
mod history;
mod html;
mod ink;
mod json;
mod landing;
mod latency;
mod listing;
mod load_points;
mod plots;
mod prediction;
mod price;
mod recommendation;
mod svg;
mod sweep;
mod text;
mod trial_cost;
mod view;
mod warm_up;
mod wording;

pub use html::site;
pub use ink::{clean, clean_lines, harmless, steers};
pub use json::REPORT_SCHEMA;
pub use plots::Plot;
pub use text::TextStyle;
pub use text::dataset::is_detail;

use iostone_model::answer::Answers;
use iostone_model::audit::AuditReport;
use iostone_model::case::CaseReport;
use iostone_model::dataset::Dataset;
use iostone_model::difference::Difference;
use iostone_model::explanation::Explanation;
use iostone_model::fleet::FleetReport;
use iostone_model::history::{Change, History};
use iostone_model::orion::{OrionFindings, OrionRecord};
use iostone_model::recommendation::Recommendation;
use iostone_model::run::RunRecord;
use iostone_model::summary::RunListing;
use iostone_model::trial::CpuAccount;
use iostone_model::verdict::{GateState, Verdicts};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The record does not go into JSON.
    #[error("cannot write the report of `{directory}` as JSON: {source}")]
    Json {
        /// The run directory's name.
        directory: String,
        /// What the serialiser said.
        source: serde_json::Error,
    },
    /// The page's template failed.
    #[error("cannot write the report of `{directory}` as HTML: {source}")]
    Html {
        /// The run directory's name.
        directory: String,
        /// What the template engine said.
        source: askama::Error,
    },
}

/// How much of a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The answer and its table.
    Brief,
    /// What bears on a decision, on one screen.
    Screen,
    /// All of it.
    Full,
}

/// Runs in a line each, in their order.
pub fn listing_text(runs: &[RunListing], width: usize, style: TextStyle) -> String {
    listing::lines(runs, width, style)
}

/// A ratio to the baseline with its interval: `+4.2 % [+1.0, +7.5] %`, `×2.11 ×[1.90, 2.34]`.
pub fn ratio_words(estimate: Option<f64>, interval: [Option<f64>; 2]) -> String {
    let text = figures::ratio(estimate, interval);
    let interval = text.interval_with_unit().map(|interval| format!(" {interval}")).unwrap_or_default();
    format!("{}{interval}", text.estimate)
}

/// The report of a run for the terminal: the answer first, then the figures, then what speaks for and against them.
///
/// ANSI escapes occur only where `style.colour` asks for them. Ends with a line feed.
pub fn text(run: &RunRecord, extent: Extent, style: TextStyle) -> String {
    match extent {
        Extent::Brief => text::screen::write_run(run, true, style),
        Extent::Screen => text::screen::write_run(run, false, style),
        Extent::Full => text::write_run(run, style),
    }
}

/// Where the CPU time of one trial went, for the terminal: a bar and each part on a line, or nothing where it does not
/// tell. Lines are indented by two and end with a line feed.
pub fn cpu_text(account: &CpuAccount, width: usize) -> String {
    text::cpu::of_trial(account, width)
}

/// Verdicts without a run behind them, for the terminal: figures that were measured elsewhere and judged here.
pub fn verdicts_text(verdicts: &Verdicts, extent: Extent, style: TextStyle) -> String {
    match extent {
        Extent::Brief => text::screen::write_verdicts(verdicts, true, style),
        Extent::Screen => text::screen::write_verdicts(verdicts, false, style),
        Extent::Full => text::write_verdicts(verdicts, style),
    }
}

/// What a gate came to, for the terminal, above the report of its run: its state, and what it would take where it is open.
pub fn gate_text(run: &RunRecord, state: GateState, style: TextStyle) -> String {
    gate::write_text(run, state, style)
}

/// What is written in the place of a gate's report where the gate failed: nothing was judged.
pub fn gate_failure(reason: &str, markdown: bool) -> String {
    gate::write_failure(reason, markdown)
}

/// What a gate came to, as a comment on a pull request.
pub fn gate_markdown(run: &RunRecord, state: GateState) -> String {
    gate::write_markdown(run, state)
}

/// Runs side by side, for the terminal: what differs first, then the figures; `full` shows all of both.
pub fn difference_text(found: &Difference, full: bool, style: TextStyle) -> String {
    text::difference::write(found, full, style)
}

/// The history of an experiment, for the terminal.
pub fn history_text(history: &History, style: TextStyle) -> String {
    text::history::write(history, style)
}

/// What to do about a change whose old state no experiment can bring back.
pub fn confirming_words(change: &Change) -> String {
    history::confirming_words(change)
}

/// The history of an experiment, as one HTML page that loads nothing from anywhere.
pub fn history_html(history: &History) -> Result<String, ReportError> {
    html::history::write(history)
        .map_err(|source| ReportError::Html { directory: history.experiment.clone(), source })
}

/// What an audit found, for the terminal.
pub fn audit_text(audit: &AuditReport, style: TextStyle) -> String {
    text::audit::write(audit, style)
}

/// Imported figures and what an audit makes of them, for the terminal.
pub fn dataset_text(dataset: &Dataset, audit: &AuditReport, style: TextStyle) -> String {
    text::dataset::write(dataset, audit, style)
}

/// What bound the figures of a run or a dataset, for the terminal: every figure against each ceiling.
pub fn explanation_text(explanation: &Explanation, style: TextStyle) -> String {
    text::explanation::write(explanation, style)
}

/// The same with a sentence for each figure, as documents have it.
pub fn worded(explanation: Explanation) -> Explanation {
    wording::ceiling::worded(explanation)
}

/// A reconsidered investigation, for the terminal.
pub fn case_text(case: &CaseReport, style: TextStyle) -> String {
    text::case::write(case, style)
}

/// Reconsidered investigations as one HTML page that loads nothing from anywhere.
pub fn casebook_html(cases: &[CaseReport]) -> Result<String, ReportError> {
    html::casebook::write(cases)
        .map_err(|source| ReportError::Html { directory: "casebook".to_owned(), source })
}

/// Imported figures and what an audit makes of them, as one HTML page that loads nothing from anywhere.
pub fn dataset_html(dataset: &Dataset, audit: &AuditReport) -> Result<String, ReportError> {
    html::dataset::write(dataset, audit)
        .map_err(|source| ReportError::Html { directory: dataset.name.clone(), source })
}

/// The report of a run as JSON, [`REPORT_SCHEMA`]; `docs/reference/report-json.md` describes every field.
pub fn json(run: &RunRecord) -> Result<String, ReportError> {
    json::write(run).map_err(|source| ReportError::Json { directory: run.directory.clone(), source })
}

/// The report of a run as one HTML page that loads nothing from anywhere.
pub fn html(run: &RunRecord) -> Result<String, ReportError> {
    html::write(run).map_err(|source| ReportError::Html { directory: run.directory.clone(), source })
}

/// Every plot of a run's page as an SVG document of its own.
pub fn plots(run: &RunRecord) -> Result<Vec<Plot>, ReportError> {
    Ok(plots::of_page(&html(run)?, html::STYLE))
}

/// An ORION test and what was found in it, for the terminal: the answers, the load points as bars and the matrix.
pub fn orion_text(record: &OrionRecord, findings: &OrionFindings, style: TextStyle) -> String {
    text::orion::write(record, findings, style)
}

/// An ORION test and what was found in it, as one HTML page that loads nothing from anywhere.
pub fn orion_html(record: &OrionRecord, findings: &OrionFindings) -> Result<String, ReportError> {
    html::orion::write(record, findings)
        .map_err(|source| ReportError::Html { directory: record.header.test.test_name.clone(), source })
}

/// What to rent, for the terminal: the answer, what each further dollar buys, and why less fails; `all` names what was left out.
pub fn recommendation_text(found: &Recommendation, all: bool, style: TextStyle) -> String {
    text::recommendation::write(found, all, style)
}

/// What to rent, as one HTML page that loads nothing from anywhere; `asked` is the command that asked.
pub fn recommendation_html(found: &Recommendation, asked: &str) -> Result<String, ReportError> {
    html::recommendation::write(found, asked)
        .map_err(|source| ReportError::Html { directory: "recommendation".to_owned(), source })
}

/// Predictions for the terminal: the answer, what binds when, the ceilings, and what would lift them; several side by side.
pub fn predictions_text(answers: &Answers, style: TextStyle) -> String {
    text::prediction::write(answers, style)
}

/// Predictions as one HTML page that loads nothing from anywhere. `asked` is the command line that asked for them.
pub fn predictions_html(answers: &Answers, asked: &str) -> Result<String, ReportError> {
    html::prediction::write(answers, asked)
        .map_err(|source| ReportError::Html { directory: "prediction".to_owned(), source })
}

/// The answer of a fleet in a sentence or two.
pub fn fleet_headline(report: &FleetReport) -> String {
    fleet::headline(report)
}

/// What the hosts of a fleet found, for the terminal: on one screen, or with every host.
pub fn fleet_text(report: &FleetReport, full: bool, style: TextStyle) -> String {
    text::fleet::write(report, full, style)
}

/// What the hosts of a fleet found, as one HTML page that loads nothing from anywhere.
pub fn fleet_html(report: &FleetReport) -> Result<String, ReportError> {
    html::fleet::write(report)
        .map_err(|source| ReportError::Html { directory: report.fleet.experiment.clone(), source })
}
