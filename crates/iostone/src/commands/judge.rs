//! `iostone judge`: verdicts on figures from anywhere.

mod audited;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use iostone_lab::conclude::headline;
use iostone_lab::{is_import, read_import};
use iostone_model::dataset::Dataset;
use iostone_model::metric::{Direction, Unit};
use iostone_model::verdict::{
    BlockCount, Comparison, ConfigurationSummary, Flag, VERDICTS_SCHEMA, Verdict, Verdicts,
};
use iostone_report::clean;
use iostone_stats::judge::{Figure, Looks, Rules, judge as judge_figures};
use iostone_stats::median::summarize;
use iostone_stats::resolution::infer;
use iostone_tools::NamedFigure;

use crate::cli::{Better, JudgeArguments};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;
use table::Table;

pub(crate) fn judge(arguments: &JudgeArguments, printer: &mut Printer) -> Result<ExitCode> {
    let name = arguments.file.display().to_string();
    if !(arguments.margin.0 > 0.0 && arguments.margin.0 < 1.0) {
        bail!("`--margin {}` must be above 0% and below 100%", arguments.margin);
    }
    let Source { figures, dataset, unit, better, resolution, randomised } = read(arguments, printer)?;
    let rules = Rules {
        margin: arguments.margin.0,
        confidence: arguments.confidence.0,
        budget: arguments.planned.unwrap_or(arguments.budget),
        looks: if arguments.planned.is_some() { Looks::Once } else { Looks::Sequential },
        resolution,
        randomised,
        ..Rules::new(&arguments.baseline, better)
    };
    let judgement = judge_figures(&figures, &rules)
        .map_err(|error| anyhow!("`{}`: {}", clean(&name), clean(&error.to_string())))?;
    let complete = judgement.comparisons.iter().map(|comparison| comparison.blocks).max().unwrap_or(0);
    let mut verdicts = Verdicts {
        sweep: None,
        schema: VERDICTS_SCHEMA.to_owned(),
        source: if arguments.file.is_file() { name } else { dataset.name.clone() },
        question: None,
        headline: String::new(),
        metric: arguments.metric.clone(),
        unit,
        better: rules.direction,
        margin: rules.margin,
        confidence: rules.confidence,
        baseline: rules.baseline.clone(),
        configurations: summaries(&figures, arguments),
        blocks: BlockCount { complete, superblock: 0, discarded: 0, maximum: rules.budget },
        flags: judgement
            .flags
            .into_iter()
            .chain(fewer_blocks(&judgement.comparisons, &rules))
            .chain(rounded(&judgement.comparisons, &rules).filter(|_| arguments.resolution.is_none()))
            .chain(not_audited(figures.len()))
            .collect(),
        comparisons: judgement.comparisons,
        evidence: Vec::new(),
        ceilings: Vec::new(),
        predictions: Vec::new(),
        permanent: Vec::new(),
        noise: None,
        audit: (figures.len() <= MOST_AUDITED_ROWS).then(|| iostone_audit::audit(&dataset)),
        curves: Vec::new(),
        flatness: Vec::new(),
        scope: "judged from a table; the measurement conditions are unknown".to_owned(),
    };
    verdicts.headline = headline(&verdicts);
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&verdicts)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::verdicts_text(&verdicts, printer.extent(arguments.full), style));
    }
    arguments.fail_if.judge(&verdicts, printer)
}

/// `fewer-blocks`: what stayed open was held against limits that leave room for looks still to come.
fn fewer_blocks(comparisons: &[Comparison], rules: &Rules) -> Option<Flag> {
    let is_open = |one: &&Comparison| one.verdict == Some(Verdict::Undecided) && !one.is_withheld();
    let open = comparisons.iter().filter(is_open);
    let blocks = open.map(|comparison| comparison.blocks).max()?;
    (rules.looks == Looks::Sequential && blocks < rules.budget).then(|| {
        let message = format!(
            "the verdict limits are planned for up to {} blocks and there are {blocks}; if the number was fixed in advance, \
             `--planned {blocks}` analyses once and detects smaller differences",
            rules.budget
        );
        Flag::new("fewer-blocks", message)
    })
}

/// `rounded-figures`: where the step that the figures themselves show matters.
fn rounded(comparisons: &[Comparison], rules: &Rules) -> Option<Flag> {
    let matters =
        |comparison: &Comparison| comparison.flags.iter().any(|flag| flag.name == "coarse-resolution");
    comparisons.iter().any(matters).then(|| {
        let digits = iostone_model::units::ratio_digits(rules.resolution);
        let step = match digits.split_once('.') {
            Some((_, fraction)) if !fraction.contains('e') => {
                digits.trim_end_matches('0').trim_end_matches('.')
            }
            _ => digits.as_str(),
        };
        let message = format!("the values appear to be rounded to {step}; override with `--resolution`");
        Flag::new("rounded-figures", message)
    })
}

/// Tables longer than that are recorded by a sampler, not trial by trial: they are judged, not audited.
const MOST_AUDITED_ROWS: usize = 50_000;

fn not_audited(rows: usize) -> Option<Flag> {
    (rows > MOST_AUDITED_ROWS).then(|| {
        let message =
            format!("{rows} rows exceed the audit limit of {MOST_AUDITED_ROWS}; audit a part of them");
        Flag::new("not-audited", message)
    })
}

/// Which way the figures are better: as the user says, or as is known of them.
fn direction(arguments: &JudgeArguments, known: Option<Direction>) -> Result<Direction> {
    match (arguments.better, known) {
        (Some(Better::Higher), _) => Ok(Direction::Higher),
        (Some(Better::Lower), _) => Ok(Direction::Lower),
        (None, Some(known)) => Ok(known),
        (None, None) => bail!(
            "`{}` is not a known metric or unit; give its direction: `--better higher` or `--better lower`",
            clean(&arguments.metric)
        ),
    }
}

/// What is judged: a table, or an import.
struct Source {
    figures: Vec<Figure>,
    /// Everything that is known of them.
    dataset: Dataset,
    unit: Unit,
    better: Direction,
    /// The step to which they were rounded, as the user says or they themselves.
    resolution: f64,
    /// Whether somebody vouches that the order of trials was drawn by lot.
    randomised: bool,
}

fn read(arguments: &JudgeArguments, printer: &mut Printer) -> Result<Source> {
    let standard_input = arguments.file == Path::new("-");
    // A mistyped file is told as such rather than as a run that is not there.
    let named = arguments.file.to_str().filter(|_| !standard_input && !arguments.file.is_file());
    let import = named.map(|name| runs::find(&arguments.runs.runs, name, printer));
    match import {
        Some(Ok(path)) if is_import(&path) => {
            let dataset = read_import(&path)?.dataset;
            let (figures, written) = audited::figures(&dataset, arguments)?;
            let unit = dataset.unit_of(&arguments.metric);
            let better =
                direction(arguments, dataset.metrics.get(&arguments.metric).and_then(|note| note.better))?;
            let resolution = arguments.resolution.unwrap_or_else(|| infer(&figures, written));
            // Files that are named by block say which trials belong together, not who drew their order.
            let randomised = arguments.randomised;
            Ok(Source { figures, dataset, unit, better, resolution, randomised })
        }
        Some(Ok(path)) => bail!(
            "`{}` is a run with its own verdicts: `iostone report {}`",
            clean(&path.display().to_string()),
            clean(&path.display().to_string())
        ),
        _ => {
            let table = Table::read(arguments)?;
            let NamedFigure { note, factor } = &table.column;
            let better = direction(arguments, note.better)?;
            let resolution = arguments
                .resolution
                .map_or_else(|| infer(&table.figures, table.written_step), |step| step * factor);
            let dataset = audited::dataset(&table, arguments, resolution, better);
            let (unit, randomised) = (note.unit, arguments.randomised);
            Ok(Source { figures: table.figures, dataset, unit, better, resolution, randomised })
        }
    }
}

fn summaries(figures: &[Figure], arguments: &JudgeArguments) -> Vec<ConfigurationSummary> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<((&str, &str), Vec<f64>)> = Vec::new();
    for figure in figures {
        let key = (figure.stratum.as_str(), figure.level.as_str());
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(figure.value),
            None => groups.push((key, vec![figure.value])),
        }
    }
    groups
        .into_iter()
        .map(|((stratum, level), values)| {
            let summary = summarize(&values, arguments.confidence.0);
            let mut levels = BTreeMap::from([(arguments.by.clone(), level.to_owned())]);
            if let (Some(column), false) = (&arguments.within, stratum.is_empty()) {
                let value = stratum.strip_prefix(&format!("{column}=")).unwrap_or(stratum);
                levels.insert(column.clone(), value.to_owned());
            }
            let name = if stratum.is_empty() { level.to_owned() } else { format!("{level} ({stratum})") };
            summary.of_configuration(name, levels, 0)
        })
        .collect()
}
