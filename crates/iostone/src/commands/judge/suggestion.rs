//! What `iostone judge` would take where nobody says: the columns, a choice of them, and the line to type.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use iostone_model::figures::{list, quoted};
use iostone_report::clean;

use super::figures::{Asked, prepare};
use super::groups::Groups;
use super::outline::{Column, Kind, columns, heading};
use super::source::{Content, Source};
use super::{decide, direction};
use crate::cli::{Better, JudgeArguments};
use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// What people ask of output of tools, in this order.
const USUAL_FIGURES: [&str; 5] = ["iops", "throughput", "wall_time", "latency_mean", "latency_p50"];

/// Names of what others are compared with. `off` and `none` are none: which of two switches is usual differs.
const BASELINES: [&str; 15] = [
    "baseline",
    "base",
    "default",
    "defaults",
    "before",
    "old",
    "control",
    "reference",
    "ref",
    "stock",
    "main",
    "master",
    "current",
    "original",
    "unpatched",
];

/// What an option would be, and why.
struct Choice {
    option: &'static str,
    value: String,
    why: String,
}

/// Prints what the columns are and what would be judged. What is missing is never judged without being named.
pub(super) fn suggest(
    arguments: &JudgeArguments,
    by: Option<String>,
    source: &Source,
    printer: &mut Printer,
) -> Result<ExitCode> {
    let columns = columns(source);
    let found = choose(arguments, by, source, &columns);
    let missing = missing(arguments);
    if arguments.json || arguments.fail_if.is_given() {
        let hint = match &found {
            Ok(choices) => format!("`{}`", clean(&line(arguments, choices))),
            Err(error) => clean(&error.to_string()),
        };
        bail!("{} missing: {hint}", missing_words(&missing));
    }
    printer.data(&outline(source, &columns));
    let choices = match found {
        Ok(choices) => choices,
        Err(error) => bail!("nothing to suggest for {}: {error}", list(&quoted(&missing))),
    };
    let mut text = String::new();
    let width = choices.iter().map(|choice| shown(choice).chars().count()).max().unwrap_or(0);
    for choice in &choices {
        let _ = writeln!(text, "  {:width$}  {}", clean(&shown(choice)), clean(&choice.why));
    }
    let _ = writeln!(text, "\nTo judge:\n  {}", clean(&line(arguments, &choices)));
    printer.data(&text);
    Ok(ExitCode::Success)
}

fn missing(arguments: &JudgeArguments) -> Vec<&'static str> {
    let options =
        [("--metric", &arguments.metric), ("--by", &arguments.by), ("--baseline", &arguments.baseline)];
    options.into_iter().filter(|(_, given)| given.is_none()).map(|(option, _)| option).collect()
}

fn missing_words(missing: &[&str]) -> String {
    let verb = if missing.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", list(&quoted(missing)))
}

/// The columns as a table.
fn outline(source: &Source, columns: &[Column]) -> String {
    let name = if source.name == "-" { "standard input" } else { &source.name };
    let mut text = format!("{}: {}\n\n", clean(name), heading(source));
    let width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for Column { name, kind } in columns {
        let _ = writeln!(text, "  {:width$}  {}", clean(name), clean(&kind.words()));
    }
    text.push('\n');
    text
}

fn shown(choice: &Choice) -> String {
    if choice.value.is_empty() {
        choice.option.to_owned()
    } else {
        format!("{} {}", choice.option, quote(&choice.value))
    }
}

/// The line to type.
fn line(arguments: &JudgeArguments, choices: &[Choice]) -> String {
    let mut words = vec!["iostone".to_owned(), "judge".to_owned()];
    words.extend(arguments.files.iter().map(|file| file.display().to_string()));
    for choice in choices.iter().filter(|choice| !choice.value.is_empty()) {
        words.extend([choice.option.to_owned(), choice.value.clone()]);
    }
    if arguments.randomised {
        words.push("--randomised".to_owned());
    }
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it; braces are quoted as well, which some shells expand.
fn quote(word: &str) -> String {
    if word.contains(['{', '}']) && !word.contains('\'') {
        format!("'{word}'")
    } else {
        shell_words::quote(word).into_owned()
    }
}

fn choose(
    arguments: &JudgeArguments,
    by: Option<String>,
    source: &Source,
    columns: &[Column],
) -> Result<Vec<Choice>> {
    let (metric, why_metric) = metric(arguments, source, columns)?;
    let (by, why_by) = levels(arguments, by, columns, &metric)?;
    let mut asked = Asked { metric, by, within: arguments.within.clone(), block: None, order: None };
    let values = values(source, columns, &asked.by)?;
    let (baseline, why_baseline) = baseline(arguments, &values)?;
    let why_within = within(arguments, source, columns, &baseline, &mut asked);
    let (block, order, why_block, why_order) = blocks(arguments, source, columns, &mut asked);
    let prepared = prepare(source, &asked)?;
    let assumed = direction(arguments, &asked.metric, prepared.note.better).is_err();
    let assumption = assumed.then_some(Better::Higher);
    let tried = JudgeArguments { better: arguments.better.or(assumption), ..arguments.clone() };
    decide(&tried, &source.origin(), &asked, &baseline, &prepared)?;
    let choice = |option: &'static str, value: String, why: String| Choice { option, value, why };
    let by_text = match (&arguments.by, guessed_pattern(arguments)) {
        (Some(given), _) => given.clone(),
        (None, Some(pattern)) => pattern,
        (None, None) => asked.by.clone(),
    };
    let mut choices = vec![
        choice("--metric", asked.metric.clone(), why_metric),
        choice("--by", by_text, why_by),
        choice("--baseline", baseline, why_baseline),
        choice("--block", block.unwrap_or_default(), why_block),
        choice("--order", order.unwrap_or_default(), why_order),
    ];
    let within = if asked.within.is_empty() { vec![String::new()] } else { asked.within };
    choices.extend(within.into_iter().map(|name| choice("--within", name, why_within.clone())));
    if assumed {
        let why = "a guess: `--better lower` where less is better".to_owned();
        choices.push(choice("--better", "higher".to_owned(), why));
    } else if let Some(better) = arguments.better {
        let word = if better == Better::Higher { "higher" } else { "lower" };
        choices.push(choice("--better", word.to_owned(), "as given".to_owned()));
    }
    Ok(choices)
}

/// The figures: as given, the usual ones of a tool, or the first of which it is known which way is better.
fn metric(arguments: &JudgeArguments, source: &Source, columns: &[Column]) -> Result<(String, String)> {
    if let Some(given) = &arguments.metric {
        return Ok((given.clone(), "as given".to_owned()));
    }
    let figures = |column: &&Column| matches!(column.kind, Kind::Figures { low, .. } if low > 0.0);
    let candidates: Vec<&Column> = columns.iter().filter(figures).collect();
    let usual = || {
        let named = |name: &str| candidates.iter().find(|column| column.name == name).copied();
        let of_tool = matches!(source.content, Content::Dataset { .. });
        USUAL_FIGURES.iter().filter(|_| of_tool).find_map(|name| named(name))
    };
    let directed = |column: &&&Column| matches!(column.kind, Kind::Figures { better: Some(_), .. });
    let first =
        usual().or_else(|| candidates.iter().find(directed).copied()).or_else(|| candidates.first().copied());
    let Some(first) = first else { bail!("no column holds numbers above zero that vary") };
    let mut others: Vec<&str> =
        candidates.iter().map(|column| column.name.as_str()).filter(|name| *name != first.name).collect();
    others.sort_by_key(|name| !USUAL_FIGURES.contains(name));
    Ok((first.name.clone(), or_others("the only figures", &others)))
}

/// What is said of a choice: that there is no other, or what else it could be.
fn or_others(only: &str, others: &[&str]) -> String {
    const LISTED: usize = 4;
    match others.len() {
        0 => only.to_owned(),
        1..=LISTED => format!("or {}", iostone_model::figures::choice(&quoted(others))),
        more => {
            let listed: Vec<&str> = others.iter().take(LISTED).copied().collect();
            format!("or {} and {} others", quoted(&listed).join(", "), more - LISTED)
        }
    }
}

/// The column of levels.
fn levels(
    arguments: &JudgeArguments,
    by: Option<String>,
    columns: &[Column],
    metric: &str,
) -> Result<(String, String)> {
    if let Some(by) = by {
        let why = if arguments.by.is_some() { "as given" } else { "from the names of the files" };
        return Ok((by, why.to_owned()));
    }
    let taken = |name: &str| name == metric || arguments.within.iter().any(|within| within == name);
    let candidates: Vec<&str> = columns
        .iter()
        .filter(|column| matches!(column.kind, Kind::Levels(_)) && !taken(&column.name))
        .map(|column| column.name.as_str())
        .collect();
    let Some((first, others)) = candidates.split_first() else { bail!("no column of levels varies") };
    Ok(((*first).to_owned(), or_others("the only column of levels that varies", others)))
}

/// The levels of a column, in the order of their first appearance.
fn values(source: &Source, columns: &[Column], by: &str) -> Result<Vec<String>> {
    let listed = columns.iter().find(|column| column.name == by);
    if let Some(Column { kind: Kind::Levels(values), .. }) = listed {
        return Ok(values.clone());
    }
    let values: Vec<String> = match &source.content {
        Content::Table(table) => table.cells(by).map(str::to_owned).collect(),
        Content::Dataset { dataset, .. } => dataset.values_of(by).into_iter().map(str::to_owned).collect(),
    };
    let mut seen = BTreeSet::new();
    let values: Vec<String> = values.into_iter().filter(|value| seen.insert(value.clone())).collect();
    if values.len() < 2 {
        bail!("`{}` has fewer than two levels", clean(by));
    }
    Ok(values)
}

/// The level that others are compared with.
fn baseline(arguments: &JudgeArguments, levels: &[String]) -> Result<(String, String)> {
    if let Some(given) = &arguments.baseline {
        return Ok((given.clone(), "as given".to_owned()));
    }
    let is_named = |level: &&String| BASELINES.iter().any(|name| level.eq_ignore_ascii_case(name));
    let named: Vec<&String> = levels.iter().filter(is_named).collect();
    let chosen = match named.as_slice() {
        [one] => one,
        _ => levels.first().ok_or_else(|| anyhow::anyhow!("there are no levels"))?,
    };
    let others: Vec<&str> = levels.iter().map(String::as_str).filter(|level| level != chosen).collect();
    Ok((chosen.clone(), or_others("the only level", &others)))
}

/// Adds every other column of levels in each of whose values levels stand beside the baseline.
fn within(
    arguments: &JudgeArguments,
    source: &Source,
    columns: &[Column],
    baseline: &str,
    asked: &mut Asked,
) -> String {
    if !arguments.within.is_empty() {
        return "as given".to_owned();
    }
    let others: Vec<String> = columns
        .iter()
        .filter(|Column { name, kind }| {
            *name != asked.by && *name != asked.metric && matches!(kind, Kind::Levels(_))
        })
        .map(|column| column.name.clone())
        .collect();
    // All columns at once, so that the rows are read once however many columns there are.
    let Ok(prepared) = prepare(source, &Asked { within: others.clone(), ..asked.clone() }) else {
        return "no".to_owned();
    };
    let mut groups = Groups::of(&prepared);
    let (mut uncrossed, mut confounded) = (Vec::new(), Vec::new());
    for name in &others {
        let values = groups.values(name);
        match groups.split(&values) {
            split if split.all_hold(baseline) => {
                groups = split;
                asked.within.push(name.clone());
            }
            _ if groups.is_one_for_each_level(&values) => confounded.push(name.as_str()),
            _ => uncrossed.push(name.as_str()),
        }
    }
    let reason = match (asked.within.as_slice(), uncrossed.as_slice()) {
        ([], []) if confounded.is_empty() => "no other column varies".to_owned(),
        ([], []) => "no".to_owned(),
        ([], names) => format!("no: {} not vary within a level alone", columns_do(names)),
        _ => format!("levels of `{}` are compared within each", asked.by),
    };
    if confounded.is_empty() {
        return reason;
    }
    let differ = if confounded.len() == 1 { "differs" } else { "differ" };
    format!("{reason}; {} {differ} with `{}`: a ratio would be of both", list(&quoted(&confounded)), asked.by)
}

fn columns_do(names: &[&str]) -> String {
    format!("{} {}", list(&quoted(names)), if names.len() == 1 { "does" } else { "do" })
}

/// The columns of blocks and of order, with the reasons. Repetitions are no blocks unless their order is known.
fn blocks(
    arguments: &JudgeArguments,
    source: &Source,
    columns: &[Column],
    asked: &mut Asked,
) -> (Option<String>, Option<String>, String, String) {
    let first = |fits: &dyn Fn(&Kind) -> bool| {
        columns.iter().find(|column| fits(&column.kind)).map(|column| column.name.clone())
    };
    let given = |option: &Option<String>| option.clone().map(|name| (name, "as given"));
    let run = first(&|kind| matches!(kind, Kind::Run(_)));
    let order = first(&|kind| matches!(kind, Kind::Order));
    let block = given(&arguments.block)
        .or_else(|| first(&|kind| matches!(kind, Kind::Block(_))).map(|name| (name, "trials of one round")));
    let paired = run.clone().filter(|_| order.is_some()).map(|name| (name, "repetitions, as rounds"));
    let block = block.or(paired).filter(|(name, _)| {
        let tried = Asked { block: Some(name.clone()), ..asked.clone() };
        prepare(source, &tried).is_ok()
    });
    asked.block = block.as_ref().map(|(name, _)| name.clone());
    let why_block = match (&block, &run) {
        (Some((_, why)), _) => (*why).to_owned(),
        (None, Some(run)) => {
            format!("none, so no verdict; `--block {run}` where `{run}` 1 of every level ran in one round")
        }
        (None, None) => "no column of rounds, so no verdict".to_owned(),
    };
    let order =
        given(&arguments.order).or_else(|| order.map(|name| (name, "shows whether the order was random")));
    let order = order.filter(|_| block.is_some() || arguments.order.is_some());
    asked.order = order.as_ref().map(|(name, _)| name.clone());
    let why_order = match (&order, &block) {
        (Some((_, why)), _) => (*why).to_owned(),
        (None, Some(_)) => {
            "none, so no verdict; `--randomised` where the order in each round was drawn".to_owned()
        }
        (None, None) => "not used without rounds".to_owned(),
    };
    (block.map(|(name, _)| name), order.map(|(name, _)| name), why_block, why_order)
}

/// The pattern that the names of several files follow, where nobody gives one: a setting, then the number of its run.
pub(super) fn guessed_pattern(arguments: &JudgeArguments) -> Option<String> {
    if arguments.by.is_some() || arguments.files.len() < 2 {
        return None;
    }
    let mut patterns = arguments.files.iter().map(|file| pattern_of(file));
    let first = patterns.next()??;
    patterns.all(|pattern| pattern.as_ref() == Some(&first)).then_some(first)
}

fn pattern_of(file: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    let ending =
        file.extension().map_or(Some(String::new()), |ending| Some(format!(".{}", ending.to_str()?)))?;
    let before = stem.trim_end_matches(|symbol: char| symbol.is_ascii_digit());
    let separator = before.chars().last().filter(|symbol| "-_.".contains(*symbol))?;
    let numbered = before.len() < stem.len() && before.len() > 1;
    let plain = !ending.contains(['{', '}', '*']);
    (numbered && plain).then(|| format!("{{setting}}{separator}{{run}}{ending}"))
}
