//! `iostone judge`: verdicts on figures from anywhere.

mod figures;
mod groups;
mod outline;
mod source;
mod suggestion;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use iostone_lab::conclude::headline;
use iostone_model::figures::{counted, list, quoted};
use iostone_model::metric::Direction;
use iostone_model::verdict::{
    BlockCount, Comparison, ConfigurationSummary, Flag, VERDICTS_SCHEMA, Verdict, Verdicts,
};
use iostone_report::clean;
use iostone_stats::judge::{Looks, Rules, judge as judge_figures};
use iostone_stats::median::summarize;
use iostone_tools::by::Pattern;

use crate::cli::{Better, JudgeArguments};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use figures::{Asked, Prepared, prepare};
use source::{Content, Origin, Source};

pub(crate) fn judge(arguments: &JudgeArguments, printer: &mut Printer) -> Result<ExitCode> {
    if !(arguments.margin.0 > 0.0 && arguments.margin.0 < 1.0) {
        bail!("`--margin {}` must be above 0% and below 100%", arguments.margin);
    }
    let pattern = source::pattern(arguments, suggestion::guessed_pattern(arguments).as_deref())?;
    let source = source::open(arguments, pattern.as_ref(), printer)?;
    let by = level_label(arguments, pattern.as_ref(), &source)?;
    let (Some(metric), Some(by), Some(baseline)) =
        (arguments.metric.clone(), by.clone(), arguments.baseline.as_ref())
    else {
        return suggestion::suggest(arguments, by, &source, printer);
    };
    let asked = Asked {
        metric,
        by,
        within: arguments.within.clone(),
        block: arguments.block.clone(),
        order: arguments.order.clone(),
    };
    let prepared = prepare(&source, &asked)?;
    // A long table takes more memory than its judgement.
    let origin = source.origin();
    drop(source);
    let verdicts = decide(arguments, &origin, &asked, baseline, &prepared)?;
    if prepared.missing > 0 {
        let rows = counted(prepared.missing, "row");
        printer.note(format_args!("{rows} without a figure in `{}` left out", clean(&asked.metric)));
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&verdicts)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::verdicts_text(&verdicts, printer.extent(arguments.full), style));
    }
    arguments.fail_if.judge(&verdicts, printer)
}

/// The label whose levels are compared: as named, or the one of a pattern's that nothing else is said of.
fn level_label(
    arguments: &JudgeArguments,
    pattern: Option<&Pattern>,
    source: &Source,
) -> Result<Option<String>> {
    let (Some(pattern), Content::Dataset { dataset, .. }) = (pattern, &source.content) else {
        return Ok(arguments.by.clone());
    };
    let free = |name: &&str| !arguments.within.iter().any(|within| within == name);
    let named: Vec<&str> = pattern.labels().filter(free).collect();
    let varied: Vec<&str> = named.iter().copied().filter(|name| dataset.values_of(name).len() > 1).collect();
    match (varied.as_slice(), named.as_slice()) {
        ([one], _) | ([], [one]) => Ok(Some((*one).to_owned())),
        ([], _) => bail!("`--by {pattern}` names nothing to compare; name it as in `{{setting}}-{{run}}`"),
        ([first, rest @ ..], _) => {
            let others: Vec<String> = rest.iter().map(|name| format!("--within {name}")).collect();
            bail!("`--by` names {}; to compare `{first}`: `{}`", list(&quoted(&varied)), others.join(" "))
        }
    }
}

/// Judges the figures.
fn decide(
    arguments: &JudgeArguments,
    source: &Origin,
    asked: &Asked,
    baseline: &str,
    prepared: &Prepared,
) -> Result<Verdicts> {
    let better = direction(arguments, &asked.metric, prepared.note.better)?;
    let rules = Rules {
        margin: arguments.margin.0,
        confidence: arguments.confidence.0,
        budget: arguments.planned.unwrap_or(arguments.budget),
        looks: match (arguments.planned, prepared.superblock) {
            (Some(_), _) => Looks::Once,
            (None, 0) => Looks::Sequential,
            (None, trials) => Looks::AfterSuperblock(trials),
        },
        resolution: prepared.resolution(arguments.resolution),
        randomised: arguments.randomised,
        ..Rules::new(baseline, better)
    };
    let figures = &prepared.figures;
    let judgement = judge_figures(figures, &rules)
        .map_err(|error| anyhow!("`{}`: {}", clean(&source.name), clean(&error.to_string())))?;
    let complete = judgement.comparisons.iter().map(|comparison| comparison.blocks).max().unwrap_or(0);
    let mut verdicts = Verdicts {
        sweep: None,
        schema: VERDICTS_SCHEMA.to_owned(),
        source: if source.name == "-" { "standard input".to_owned() } else { source.name.clone() },
        question: None,
        headline: String::new(),
        metric: asked.metric.clone(),
        unit: prepared.note.unit,
        better: rules.direction,
        margin: rules.margin,
        confidence: rules.confidence,
        baseline: rules.baseline.clone(),
        configurations: summaries(prepared, &asked.by, rules.confidence),
        blocks: BlockCount { complete, superblock: prepared.superblock, discarded: 0, maximum: rules.budget },
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
        audit: (figures.len() <= MOST_AUDITED_ROWS).then(|| iostone_audit::audit(&prepared.audited(better))),
        curves: Vec::new(),
        flatness: Vec::new(),
        scope: source.scope.to_owned(),
    };
    verdicts.headline = headline(&verdicts);
    Ok(verdicts)
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
fn direction(arguments: &JudgeArguments, metric: &str, known: Option<Direction>) -> Result<Direction> {
    match (arguments.better, known) {
        (Some(Better::Higher), _) => Ok(Direction::Higher),
        (Some(Better::Lower), _) => Ok(Direction::Lower),
        (None, Some(known)) => Ok(known),
        (None, None) => bail!(
            "`{}` is not a known metric or unit; give its direction: `--better higher` or `--better lower`",
            clean(metric)
        ),
    }
}

fn summaries(prepared: &Prepared, by: &str, confidence: f64) -> Vec<ConfigurationSummary> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<((&str, &str), Vec<f64>)> = Vec::new();
    for figure in &prepared.figures {
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
            let summary = summarize(&values, confidence);
            let mut levels = prepared.strata.get(stratum).cloned().unwrap_or_default();
            levels.insert(by.to_owned(), level.to_owned());
            let name = if stratum.is_empty() { level.to_owned() } else { format!("{level} ({stratum})") };
            summary.of_configuration(name, levels, 0)
        })
        .collect()
}
