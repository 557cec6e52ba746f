//! Pages that are served instead of kept: every run, every experiment, differences, runs in progress, tables of the catalogue.
//!
//! A page that is also written to a file comes through [`served`] too, which puts the links of the site above it.

use std::fmt::Write as _;
use std::sync::LazyLock;

use askama::Template;
use iostone_model::difference::{Difference, FigureRow};
use iostone_model::metric::{Unit, find};
use iostone_model::overview::Overview;
use iostone_model::summary::RunListing;
use iostone_model::underway::Underway;
use iostone_model::verdict::Verdict;

use super::prose::{Prose, without_controls};
use super::{STYLE, date, digest, script};
use crate::figures::{counted, figure};
use crate::listing::{badges, plain_answer};
use crate::svg::sparkline::draw_lines;
use crate::text::difference::{grounds, headline, letter, sentence};

/// A page, and the policy that its headers must state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The page.
    pub html: String,
    /// Its Content Security Policy: nothing, but for the style and the scripts that are on it, by digest.
    pub policy: String,
}

/// The parts of the site, as their links name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// All runs, and each by itself.
    Runs,
    /// All experiments, and the history of each.
    Experiments,
    /// Instance and volume types.
    Catalogue,
    /// Predictions.
    Predict,
    /// The casebook.
    Casebook,
}

impl Section {
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Runs, "/", "Runs"),
        (Self::Experiments, "/experiments", "Experiments"),
        (Self::Catalogue, "/catalog", "Catalogue"),
        (Self::Predict, "/predict", "Predict"),
        (Self::Casebook, "/casebook", "Casebook"),
    ];
}

/// Something that is asked for: the parameter's name, its label, what was typed, and an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The parameter.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// What was typed.
    pub value: String,
    /// An example.
    pub hint: &'static str,
}

/// A list of runs as it is asked for.
#[derive(Debug, Clone, Default)]
pub struct RunsAsked<'a> {
    /// The runs of this page, in their order.
    pub runs: &'a [RunListing],
    /// What was typed in each field.
    pub fields: Vec<Field>,
    /// The verdict that was chosen.
    pub verdict: String,
    /// What is wrong with what was typed.
    pub complaint: Option<String>,
    /// Runs that fit, over all pages.
    pub found: usize,
    /// Runs there are.
    pub all: usize,
    /// The place of the first run of this page among those that fit.
    pub start: usize,
    /// The addresses of the page before and the page behind.
    pub newer: Option<String>,
    /// As above.
    pub older: Option<String>,
    /// Directories that cannot be read, each with the reason.
    pub damaged: &'a [(String, String)],
}

/// A page of tables, with a form above them where something can be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    /// What stands above the title.
    pub eyebrow: String,
    /// The title.
    pub title: String,
    /// A sentence or two.
    pub lede: String,
    /// Where the form leads.
    pub action: &'static str,
    /// Its fields; none makes no form.
    pub fields: Vec<Field>,
    /// Its button.
    pub button: &'static str,
    /// What is wrong with what was typed.
    pub complaint: Option<String>,
    /// The tables.
    pub tables: Vec<Table>,
}

/// A table of a [`Sheet`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// Heads of columns, each with whether figures stand below it.
    pub heads: Vec<(&'static str, bool)>,
    /// The rows.
    pub rows: Vec<TableLine>,
    /// A note below.
    pub note: String,
}

/// A row of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableLine {
    /// Its name.
    pub name: String,
    /// Where the name leads.
    pub href: Option<String>,
    /// Its cells, each with whether it is a figure.
    pub cells: Vec<(String, bool)>,
}

/// A text as a part of an address.
pub fn address_part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric()
            || b"-_~".contains(&byte)
            || (byte == b'.' && text != "." && text != "..")
        {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
    }
    part
}

/// The address of a run.
pub fn run_address(directory: &str) -> String {
    format!("/run/{}/", address_part(directory))
}

fn history_address(experiment: &str) -> String {
    format!("/history?experiment={}", address_part(experiment))
}

/// The page's script for runs in progress without comments and indentation.
fn live_script() -> &'static str {
    static SCRIPT: LazyLock<String> =
        LazyLock::new(|| super::shortened(include_str!("../../templates/live.js")));
    &SCRIPT
}

/// A page of the report with the links of the site above it, and the policy that fits it.
pub fn served(html: &str, section: Option<Section>) -> Page {
    served_with(html, section, false)
}

fn served_with(html: &str, section: Option<Section>, is_live: bool) -> Page {
    static STYLE_SOURCE: LazyLock<String> =
        LazyLock::new(|| digest::source_expression(&format!("\n{STYLE}")));
    static SCRIPT_SOURCE: LazyLock<String> = LazyLock::new(|| digest::source_expression(script()));
    let mut links = String::from("<body>\n<nav class=\"site\" aria-label=\"Pages\">");
    for (one, href, words) in Section::ALL {
        let current = if section == Some(one) { " aria-current=\"page\"" } else { "" };
        let _ = writeln!(links, "<a href=\"{href}\"{current}>{words}</a>");
    }
    links.push_str("</nav>\n<header>");
    let live =
        if is_live { format!(" '{}'", digest::source_expression(live_script())) } else { String::new() };
    let connect = if is_live { "; connect-src 'self'" } else { "" };
    Page {
        html: html.replacen("<body>\n<header>", &links, 1),
        policy: format!(
            "default-src 'none'; style-src '{}'; script-src '{}'{live}{connect}; img-src data:; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'",
            *STYLE_SOURCE, *SCRIPT_SOURCE
        ),
    }
}

struct RunRow {
    directory: String,
    href: String,
    experiment: String,
    history: String,
    host: String,
    trials: u32,
    began: String,
    badges: Vec<(&'static str, String)>,
    answer: String,
    tags: String,
}

impl RunRow {
    fn of(run: &RunListing) -> Self {
        let badges = badges(run);
        Self {
            directory: run.directory.clone(),
            href: run_address(&run.directory),
            experiment: run.experiment.clone(),
            history: history_address(&run.experiment),
            host: run.host.clone(),
            trials: run.trials,
            began: date(&run.created_at),
            answer: plain_answer(run, !badges.is_empty()),
            badges,
            tags: run.tags.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        }
    }
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage<'a> {
    style: &'a str,
    script: &'a str,
    version: &'a str,
    lede: String,
    fields: &'a [Field],
    verdicts: Vec<(&'static str, bool)>,
    complaint: Option<&'a str>,
    damaged: Vec<(&'a str, Prose)>,
    rows: Vec<RunRow>,
    newer: &'a Option<String>,
    older: &'a Option<String>,
    range: String,
}

/// See [`crate::site`].
pub fn runs(asked: &RunsAsked<'_>) -> Result<Page, askama::Error> {
    let all = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, Verdict::Undecided, Verdict::Unstable];
    let page = RunsPage {
        style: STYLE,
        script: script(),
        version: env!("CARGO_PKG_VERSION"),
        lede: match (asked.all, asked.found) {
            (0, _) => "There are no runs yet.".to_owned(),
            (all, found) if all == found => format!("{}, the newest first.", counted(all as u64, "run")),
            (all, found) => format!("{found} of {} fit.", counted(all as u64, "run")),
        },
        fields: &asked.fields,
        verdicts: all.map(|one| (one.word(), one.word() == asked.verdict)).to_vec(),
        complaint: asked.complaint.as_deref(),
        damaged: asked.damaged.iter().map(|(name, why)| (name.as_str(), Prose::of(why))).collect(),
        rows: asked.runs.iter().map(RunRow::of).collect(),
        newer: &asked.newer,
        older: &asked.older,
        range: format!("{} to {} of {}", asked.start + 1, asked.start + asked.runs.len(), asked.found),
    };
    Ok(served(&without_controls(&page.render()?), Some(Section::Runs)))
}

struct OverviewRow {
    experiment: String,
    history: String,
    host: String,
    runs: u32,
    sparkline: String,
    legend: String,
    href: String,
    began: String,
    badges: Vec<(&'static str, String)>,
    answer: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    style: &'a str,
    script: &'a str,
    version: &'a str,
    lede: String,
    rows: Vec<OverviewRow>,
    most_points: usize,
}

/// A row for each experiment on each host.
pub fn overview(rows: &[Overview], most_points: usize) -> Result<Page, askama::Error> {
    let row = |one: &Overview| {
        let latest = RunRow::of(&one.latest);
        OverviewRow {
            experiment: latest.experiment,
            history: latest.history,
            host: latest.host,
            runs: one.runs,
            sparkline: draw_lines(one.lines.iter().map(|line| line.values.as_slice())).unwrap_or_default(),
            legend: one.lines.iter().map(|line| line.configuration.as_str()).collect::<Vec<_>>().join(", "),
            href: latest.href,
            began: latest.began,
            badges: latest.badges,
            answer: latest.answer,
        }
    };
    let page = OverviewPage {
        style: STYLE,
        script: script(),
        version: env!("CARGO_PKG_VERSION"),
        lede: match rows.len() {
            0 => "There are no runs yet.".to_owned(),
            some => format!("{}, each on one host, the latest first.", counted(some as u64, "experiment")),
        },
        rows: rows.iter().map(row).collect(),
        most_points,
    };
    Ok(served(&without_controls(&page.render()?), Some(Section::Experiments)))
}

struct ColumnHead {
    letter: String,
    name: String,
    href: String,
    began: String,
}

struct FigurePart {
    title: String,
    rows: Vec<FigureLine>,
}

struct FigureLine {
    letter: String,
    value: String,
    words: String,
}

#[derive(Template)]
#[template(path = "difference.html")]
struct DifferencePage<'a> {
    style: &'a str,
    script: &'a str,
    version: &'a str,
    title: String,
    headline: String,
    columns: Vec<ColumnHead>,
    circumstances: Vec<(&'a str, Vec<String>)>,
    figures: Vec<FigurePart>,
    grounds: String,
}

/// Runs side by side.
pub fn difference(found: &Difference) -> Result<Page, askama::Error> {
    let page = DifferencePage {
        style: STYLE,
        script: script(),
        version: env!("CARGO_PKG_VERSION"),
        title: format!("{} side by side", counted(found.columns.len() as u64, "run")),
        headline: headline(found),
        columns: found
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| ColumnHead {
                letter: letter(at),
                name: column.name.clone(),
                href: run_address(&column.name),
                began: date(&column.started_at),
            })
            .collect(),
        circumstances: found
            .circumstances
            .iter()
            .map(|row| {
                let word =
                    |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
                (row.name.as_str(), row.values.iter().map(word).collect())
            })
            .collect(),
        figures: found.figures.iter().map(figure_part).collect(),
        grounds: grounds(found),
    };
    Ok(served(&without_controls(&page.render()?), Some(Section::Runs)))
}

fn figure_part(row: &FigureRow) -> FigurePart {
    let line = |(at, value): (usize, &Option<f64>)| FigureLine {
        letter: letter(at),
        value: value.map_or_else(|| "no figure".to_owned(), |value| figure(row.unit, value)),
        words: at.checked_sub(1).and_then(|at| row.answers.get(at)).map(sentence).unwrap_or_default(),
    };
    FigurePart {
        title: format!("{}, {}", row.configuration, row.title),
        rows: row.values.iter().enumerate().map(line).collect(),
    }
}

/// A run in progress in words.
#[derive(serde::Serialize)]
struct Shown {
    experiment: String,
    metric: String,
    headline: String,
    state: String,
    blocks: String,
    trials: String,
    next: String,
    recent: Vec<[String; 6]>,
    over: bool,
}

impl Shown {
    fn of(run: &Underway) -> Self {
        let discarded = match run.discarded {
            0 => String::new(),
            some => format!(", {some} discarded"),
        };
        Self {
            experiment: run.experiment.clone(),
            metric: find(&run.metric).map_or_else(|| run.metric.clone(), |metric| metric.title.to_owned()),
            headline: run.headline.clone().unwrap_or_else(|| "No verdict yet.".to_owned()),
            state: match &run.ended {
                Some(reason) => format!("ended: {reason}"),
                None => "running".to_owned(),
            },
            blocks: format!("{} of at most {} blocks{discarded}", run.counted, run.most_blocks),
            trials: counted(run.trials, "trial"),
            next: match run.waiting.as_slice() {
                [] => "between blocks".to_owned(),
                [one] => format!("then {one}"),
                [one, rest @ ..] => format!("then {one} and {} more of this block", rest.len()),
            },
            recent: run.recent.iter().map(|trial| recent(trial, run.unit)).collect(),
            over: run.ended.is_some(),
        }
    }
}

fn recent(trial: &iostone_model::underway::RecentTrial, unit: Unit) -> [String; 6] {
    [
        trial.trial.to_string(),
        trial.block.to_string(),
        trial.configuration.clone(),
        trial.value.map_or_else(|| "no figure".to_owned(), |value| figure(unit, value)),
        if trial.valid { "passed" } else { "failed" }.to_owned(),
        trial.at.get(11..19).unwrap_or(&trial.at).to_owned(),
    ]
}

#[derive(Template)]
#[template(path = "underway.html")]
struct UnderwayPage<'a> {
    style: &'a str,
    script: &'a str,
    live: &'a str,
    version: &'a str,
    directory: &'a str,
    report: String,
    shown: Shown,
}

/// A run in progress, which its events keep up to date.
pub fn underway(directory: &str, run: &Underway) -> Result<Page, askama::Error> {
    let page = UnderwayPage {
        style: STYLE,
        script: script(),
        live: live_script(),
        version: env!("CARGO_PKG_VERSION"),
        directory,
        report: format!("{}report", run_address(directory)),
        shown: Shown::of(run),
    };
    Ok(served_with(&without_controls(&page.render()?), Some(Section::Runs), true))
}

/// The same as the data of an event: a line of JSON.
pub fn underway_event(run: &Underway) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Shown::of(run))
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage<'a> {
    style: &'a str,
    script: &'a str,
    version: &'a str,
    lede: Prose,
    complaint: Option<Prose>,
    sheet: &'a Sheet,
}

/// A page of tables.
pub fn sheet(sheet: &Sheet, section: Option<Section>) -> Result<Page, askama::Error> {
    let page = SheetPage {
        style: STYLE,
        script: script(),
        version: env!("CARGO_PKG_VERSION"),
        lede: Prose::of(&sheet.lede),
        complaint: sheet.complaint.as_deref().map(Prose::of),
        sheet,
    };
    Ok(served(&without_controls(&page.render()?), section))
}
