//! The report as one HTML page that loads nothing, runs no script but its own, and reads without that one too.

mod allowance;
pub(crate) mod casebook;
mod cpu;
mod curves;
pub(crate) mod dataset;
mod digest;
mod downloads;
mod explanation;
mod facts;
mod findings;
pub(crate) mod fleet;
mod glossary;
pub(crate) mod history;
mod landing;
pub(crate) mod orion;
pub(crate) mod prediction;
mod prose;
pub(crate) mod recommendation;
pub mod site;
mod standing;
mod sweep;

use std::sync::LazyLock;

use askama::Template;
use iostone_model::run::RunRecord;
use iostone_model::verdict::Verdict;

use crate::figures::{NO_FIGURE, count, counted, declared_percent, duration, figure, percent, range};
use crate::latency::Latencies;
use crate::svg::forest::capitalised;
use crate::svg::{Drawing, forest, latency, ratios, run_order, sparkline, timeline};
use crate::view::{Row, View};
use crate::{environment, price, wording};
use allowance::AllowancePart;
use cpu::CpuSection;
use curves::Curves;
use explanation::ExplanationPart;
use facts::{Chip, DiscardLine, ServedLine};
use findings::Findings;
use glossary::Term;
use landing::LandingSection;
use prose::Prose;
use standing::Badge;
use sweep::SweepSection;

pub(crate) const STYLE: &str = include_str!("../templates/style.css");

/// Widths in pixels of figures: across the page, half of it, and on a telephone.
const FULL: f64 = 1100.0;
const HALF: f64 = 538.0;
const SLIM: f64 = 346.0;

/// The page's script without comments and indentation.
fn script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| shortened(include_str!("../templates/script.js")));
    &SCRIPT
}

/// A script without comments, indentation and line ends.
fn shortened(script: &str) -> String {
    script.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect()
}

/// A figure in two widths; the style sheet shows one.
struct Figure {
    wide: String,
    narrow: String,
}

/// A row of the table of configurations.
struct TableRow {
    mark: String,
    name: String,
    baseline: bool,
    median: String,
    interval: String,
    ratio: String,
    ratio_interval: String,
    verdict: String,
    verdict_class: &'static str,
    trials: String,
    spread: String,
    sparkline: String,
}

struct FlagLine {
    subject: Option<String>,
    name: Prose,
    message: Prose,
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    directory: &'a str,
    identity: String,
    eyebrow: String,
    question: &'a str,
    headline: Prose,
    ended: Option<Prose>,
    badges: Vec<Badge>,
    chips: Vec<Chip>,
    metric_title: String,
    direction: &'a str,
    judges_curves: bool,
    has_curves: bool,
    curves: Option<Curves>,
    curves_rule: Prose,
    sweep: Option<SweepSection>,
    compares: bool,
    forest: Option<Figure>,
    forest_start: &'static str,
    rows: Vec<TableRow>,
    flags: Vec<FlagLine>,
    audit: Option<Findings>,
    ratios: Option<Figure>,
    remarks: Vec<(String, Prose)>,
    margin: String,
    confidence: String,
    explanation: Option<ExplanationPart>,
    cpu: Option<CpuSection>,
    landing: Option<LandingSection>,
    allowances: Vec<AllowancePart>,
    latency: Option<Figure>,
    operations: String,
    run_order: Option<Figure>,
    timeline: Option<Figure>,
    timeline_left_out: usize,
    verified: Vec<(String, Prose)>,
    served: Vec<ServedLine>,
    discards: Vec<DiscardLine>,
    prices: Vec<(String, String)>,
    permanent: String,
    environment: Vec<(&'static str, String)>,
    reproduce: String,
    experiment_text: &'a str,
    trials_csv: Option<String>,
    verdicts_json: Option<String>,
    glossary: Vec<Term>,
    method: String,
    amount: Prose,
}

/// See [`crate::html()`].
pub(crate) fn write(run: &RunRecord) -> Result<String, askama::Error> {
    let view = View::of_run(run);
    let verdicts = run.verdicts.as_ref();
    let experiment = &run.plan.experiment;
    let decide = &experiment.decide;
    let (margin, confidence) = (decide.margin.0, decide.confidence.0);
    let discards = wording::discards(run);
    let both = |draw: &dyn Fn(f64, &str) -> Option<String>, wide: f64, id: &str| {
        let wide = draw(wide, &format!("{id}-wide"))?;
        Some(Figure { wide, narrow: draw(SLIM, &format!("{id}-narrow"))? })
    };
    let any_figure = view.rows.iter().any(|row| row.centre().is_some());
    let latency = both(&|width, id| latency::draw(&view, width, id), HALF, "latency-figure");
    let order_width = if latency.is_some() { HALF } else { FULL };
    let curves = Curves::of(run, &view);
    let page = ReportPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: &run.plan.iostone_version,
        directory: &run.directory,
        identity: format!("made by iostone {}", run.plan.iostone_version),
        eyebrow: eyebrow(run),
        question: experiment.question.as_deref().unwrap_or(&experiment.name),
        headline: Prose::of(&wording::headline(run)),
        ended: wording::premature_end(run).map(|sentence| Prose::of(&sentence)),
        badges: standing::badges(run, &view),
        chips: facts::chips(run, &view, &discards),
        metric_title: capitalised(view.metric_title()),
        direction: view.direction_words(),
        judges_curves: view.curve,
        has_curves: curves.as_ref().is_some_and(|curves| !curves.charts.is_empty()),
        curves,
        curves_rule: curves::rule(&declared_percent(confidence), &declared_percent(margin)),
        sweep: view.found.map(|found| SweepSection::of(&view, found, margin)),
        compares: view.compares(),
        forest: any_figure
            .then(|| both(&|width, id| Some(forest::draw(&view, width, id).0), FULL, "forest-figure"))
            .flatten(),
        forest_start: forest::draw(&view, FULL, "forest").1.sentence(),
        rows: if view.curve {
            Vec::new()
        } else {
            view.rows.iter().enumerate().map(|(index, row)| table_row(&view, index, row, margin)).collect()
        },
        flags: flags(run, &view),
        audit: run.audit.as_ref().map(Findings::of),
        ratios: both(&|width, id| ratios::draw(&view, margin, width, id), FULL, "ratio-figure"),
        remarks: remarks(run, &view),
        margin: declared_percent(margin),
        confidence: declared_percent(confidence),
        explanation: run.explanation.as_ref().map(ExplanationPart::of),
        cpu: CpuSection::of(&view),
        landing: LandingSection::of(run, &view),
        allowances: allowance::parts(run, &view),
        operations: operations(&view),
        run_order: both(
            &|width, id| run_order::draw(&view, &discards, width, id),
            order_width,
            "order-figure",
        ),
        latency,
        timeline: both(&|width, id| Some(timeline::draw(&view, width, id)?.0), FULL, "timeline-figure"),
        timeline_left_out: timeline::draw(&view, FULL, "timeline").map_or(0, |(_, left_out)| left_out),
        verified: verdicts
            .map(|v| v.evidence.iter().map(|e| (e.configuration.clone(), Prose::of(&e.sentence))).collect())
            .unwrap_or_default(),
        served: facts::served(&view),
        discards: facts::discard_lines(&discards),
        prices: price::sentences(run, &view),
        permanent: verdicts.map(|v| v.permanent.join("\n")).unwrap_or_default(),
        environment: environment::lines(run),
        reproduce: reproduce(run),
        experiment_text: &run.experiment_text,
        trials_csv: downloads::trials_csv(run, &view),
        verdicts_json: downloads::verdicts_json(run),
        glossary: glossary(run),
        method: method(run, &view),
        amount: Prose::of(&format!("{}.", wording::blocks_sentence(run))),
    };
    Ok(prose::without_controls(&page.render()?))
}

/// "Experiment · ext4-barrier · 21 Nov 2026 19:40 UTC · 24 trials in 12 blocks · 6 min".
fn eyebrow(run: &RunRecord) -> String {
    let seconds: f64 = run.trials.iter().map(|trial| trial.total_seconds).filter(|s| s.is_finite()).sum();
    let trials = counted(run.trials.len() as u64, "trial");
    let blocks = counted(run.blocks.len() as u64, "block");
    let mut parts = vec![
        "Experiment".to_owned(),
        run.plan.experiment.name.clone(),
        date(&run.plan.created_at),
        format!("{trials} in {blocks}, randomised"),
    ];
    if seconds > 0.0 {
        parts.push(duration(seconds));
    }
    parts.join(" · ")
}

/// `2026-11-21T19:40:07Z` as `21 Nov 2026 19:40 UTC`; anything else as it is.
fn date(rfc3339: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let read = || {
        let (year, rest) = rfc3339.split_once('-')?;
        let (month, rest) = rest.split_once('-')?;
        let (day, time) = rest.split_once('T')?;
        let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        let day = day.parse::<u8>().ok()?;
        let clock = time.ends_with('Z').then(|| time.get(..5)).flatten()?;
        Some(format!("{day} {month} {year} {clock} UTC"))
    };
    read().unwrap_or_else(|| rfc3339.to_owned())
}

fn table_row(view: &View<'_>, index: usize, row: &Row<'_>, margin: f64) -> TableRow {
    let mut mark = Drawing::new(14.0, 14.0);
    mark.mark(index, "mark", (7.0, 7.0), 5.0, "");
    let interval = match row.median_interval() {
        Some((low, high)) => range(view.unit, low, high),
        None if row.centre().is_none() => String::new(),
        None if row.trial_counts().0 < 6 => "n<6: no interval".to_owned(),
        None => "no interval".to_owned(),
    };
    let (ratio, ratio_interval) = match row.comparison {
        Some(comparison) => ratios::written(comparison, view.better),
        None if row.baseline => ("baseline".to_owned(), String::new()),
        None => (String::new(), String::new()),
    };
    let (counting, invalid) = row.trial_counts();
    let trials = if invalid > 0 { format!("{counting} + {invalid} invalid") } else { count(counting) };
    TableRow {
        mark: mark.finish_hidden(),
        name: row.name.to_owned(),
        baseline: row.baseline,
        median: median(view, row),
        interval,
        ratio,
        ratio_interval,
        verdict: row
            .comparison
            .map(|c| wording::verdict_words(c, margin, view.rehearsal))
            .unwrap_or_default(),
        verdict_class: verdict_class(view, row),
        trials,
        spread: row.robust_spread().map(percent).unwrap_or_default(),
        sparkline: sparkline::draw(row, index).unwrap_or_default(),
    }
}

/// In brackets where it is that of trials that do not count.
fn median(view: &View<'_>, row: &Row<'_>) -> String {
    let written = row.centre().map(|centre| figure(view.unit, centre));
    match written {
        Some(median) if row.is_uncounted() => format!("({median})"),
        Some(median) => median,
        None => NO_FIGURE.to_owned(),
    }
}

fn verdict_class(view: &View<'_>, row: &Row<'_>) -> &'static str {
    if view.rehearsal {
        return "none";
    }
    row.comparison.and_then(|comparison| comparison.verdict).map_or("none", Verdict::word)
}

/// What is damaged first, then the flags.
fn flags(run: &RunRecord, view: &View<'_>) -> Vec<FlagLine> {
    let line = |subject: Option<String>, name: &str, message: &str| FlagLine {
        subject,
        name: glossary::named(name),
        message: Prose::of(message),
    };
    let defects = run.defects.iter().map(|defect| line(None, "damaged", defect));
    let of_curves = run.verdicts.as_ref().map(wording::curve::flags).unwrap_or_default();
    let flags = wording::flags(view, run.verdicts.as_ref()).into_iter();
    let flags = flags.map(|(subject, name, message)| line(subject, name, message));
    let of_curves = of_curves.iter().map(|(subject, name, message)| line(subject.clone(), name, message));
    defects.chain(of_curves).chain(flags).collect()
}

/// The meaning of every flag and finding.
fn glossary(run: &RunRecord) -> Vec<Term> {
    let verdicts = run.verdicts.iter();
    let of_run = verdicts.clone().flat_map(|verdicts| &verdicts.flags);
    let of_comparisons =
        verdicts.clone().flat_map(|v| &v.comparisons).flat_map(|comparison| &comparison.flags);
    let of_curves = verdicts.flat_map(|verdicts| &verdicts.curves).flat_map(|curve| &curve.flags);
    let flags = of_run.chain(of_comparisons).chain(of_curves).map(|flag| flag.name.as_str());
    let findings = run.audit.iter().flat_map(|audit| &audit.findings).map(|finding| finding.rule.as_str());
    glossary::terms(flags.chain(findings))
}

/// What is open, and what the typical ratio does not tell.
fn remarks(run: &RunRecord, view: &View<'_>) -> Vec<(String, Prose)> {
    let mut remarks = Vec::new();
    for (name, comparison) in view.comparisons() {
        let outlook = if view.rehearsal { None } else { wording::outlook(comparison, view.better) };
        let said = [
            outlook,
            wording::unpaired(comparison, view.better),
            wording::mean_note(comparison, view.better),
        ];
        remarks.extend(said.into_iter().flatten().map(|remark| (format!("{name}:"), Prose::of(&remark))));
    }
    if let Some((noise, blocks)) =
        run.verdicts.as_ref().and_then(|v| Some((v.noise.as_ref()?, v.blocks.complete)))
    {
        remarks.push(("Noise:".to_owned(), Prose::of(&wording::noise_sentence(noise, blocks))));
    }
    remarks
}

fn operations(view: &View<'_>) -> String {
    let total: u64 = view.rows.iter().filter_map(Latencies::of).map(|latencies| latencies.operations()).sum();
    counted(total, "operation")
}

fn reproduce(run: &RunRecord) -> String {
    let mut command = "iostone run experiment.toml".to_owned();
    if run.plan.quick {
        command.push_str(" --quick");
    }
    if run.plan.identical_levels {
        command.push_str(" --aa");
    }
    let seed = format!("trials.seed={}", run.plan.seed);
    for setting in run.plan.overrides.iter().chain([&seed]) {
        command.push_str(" \\\n  --set ");
        command.push_str(&quote(setting));
    }
    format!("{command}\niostone report {}", run.directory)
}

/// A word as a shell takes it: in quotes unless it is plain.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-=/:%+,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// What was done with the figures, in the words of somebody who has to rely on them.
fn method(run: &RunRecord, view: &View<'_>) -> String {
    let decide = &run.plan.experiment.decide;
    let (confidence, margin) = (declared_percent(decide.confidence.0), declared_percent(decide.margin.0));
    if crate::sweep::is_sweep(run) {
        return format!(
            "The levels of the sweep are raced. Block 1 runs every level once, in an order drawn from the seed; each block \
             after it runs those that may still be the best, or that the search has yet to hold against it. Levels are \
             compared within blocks, where whatever else the machine was doing met both: the logarithms of their ratios are \
             ranked by size and their signs counted (Wilcoxon's signed-rank statistic, with limits computed for a look after \
             every block). A level leaves the race once it is shown to be worse. The chance that the best level is lost on the \
             way, over all levels and interim checks, is at most what {confidence} leaves. Levels not shown to be worse by more \
             than the margin of {margin} declared beforehand are named beside the best. The metric is {metric}, {direction}.",
            metric = view.metric_title(),
            direction = view.direction_words(),
        );
    }
    let (start, statistic) = match run.plan.superblock {
        0 => (String::new(), "Wilcoxon's signed-rank statistic"),
        trials => (
            format!(
                "The run begins with a superblock: {trials} trials of every configuration in one random order, which count as \
                 {trials} blocks. If two configurations were equal, every such order of their trials would be as likely, so it \
                 is counted how often a trial of one is ahead of one of the other. "
            ),
            "Wilcoxon's signed-rank statistic, added to twice Mann and Whitney's U of the superblock",
        ),
    };
    format!(
        "{start}Each block runs every configuration once, in an order drawn from the seed. If two configurations were equal, \
         which of them wins a block would be a coin toss whatever else the machine was doing, so the logarithms of the \
         ratios within blocks are ranked by size and their signs counted ({statistic}, with limits \
         computed for a look after every block from {minimum} up to {maximum}). The typical ratio is the Hodges-Lehmann \
         estimate; its interval is the set of ratios that those limits do not reject, and it covers all comparisons \
         and interim checks jointly at {confidence}. Equivalent means that the interval of the equivalence test lies within the \
         margin of {margin} declared beforehand. The metric is {metric}, {direction}; ratios are turned so that more \
         than 1 is better.",
        minimum = decide.blocks.min,
        maximum = decide.blocks.max,
        metric = view.metric_title(),
        direction = view.direction_words(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_for_people_where_they_are_dates() {
        assert_eq!(date("2026-11-21T19:40:07Z"), "21 Nov 2026 19:40 UTC");
        assert_eq!(date("2026-11-21T19:40:07+09:00"), "2026-11-21T19:40:07+09:00");
        assert_eq!(date("yesterday"), "yesterday");
    }
}
