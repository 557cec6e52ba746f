//! What the columns of a described table are: as the file says, and as their names tell where it says nothing.

use iostone_model::dataset::{Facts, MetricNote};
use iostone_model::metric::{self, Direction, Unit};

use super::DescribedError;
use super::entry::{Entry, Section};
use super::known::one_of;
use crate::csv_table::{
    Column, FigureColumn, KEYS, Meaning, Measure, Sheet, guess, note, note_of, set_fact, written_unit,
};
use crate::import::words;

const FORMS: &str = "`\"label\"`, `\"run\"`, `\"block\"`, `\"order\"`, `\"tool\"`, `\"ignore\"`, `{ label = \"...\" }`, \
                     `{ fact = \"...\" }` or `{ metric = \"...\", unit = \"...\" }`";

/// The columns of a table.
pub(super) fn describe(section: &Section<'_>, sheet: &Sheet) -> Result<Vec<Column>, DescribedError> {
    let mut columns = guess(sheet);
    let Some(entry) = section.get("columns") else {
        return Ok(columns);
    };
    let mut metrics: Vec<String> = Vec::new();
    for (name, entry) in entry.section()?.entries() {
        let Some(index) = sheet.columns.iter().position(|column| column == name) else {
            let known: Vec<&str> = sheet.columns.iter().map(String::as_str).collect();
            return Err(entry.unknown_key(name, &known));
        };
        let meaning = meaning(&entry, sheet, index)?;
        if let Meaning::Figure(figure) = &meaning {
            if metrics.contains(&figure.metric) {
                return Err(entry.wrong("a figure for each column", format!("`{}` twice", figure.metric)));
            }
            metrics.push(figure.metric.clone());
        }
        if let Some(column) = columns.get_mut(index) {
            column.meaning = meaning;
            column.remark = None;
        }
    }
    // What was only guessed gives way to what was said.
    for column in &mut columns {
        let said = entry.section()?.get(&column.name).is_some();
        if let Meaning::Figure(figure) = &mut column.meaning
            && !said
            && metrics.contains(&figure.metric)
        {
            figure.metric.clone_from(&column.name);
        }
    }
    Ok(columns)
}

fn meaning(entry: &Entry<'_>, sheet: &Sheet, index: usize) -> Result<Meaning, DescribedError> {
    let name = sheet.columns.get(index).cloned().unwrap_or_default();
    if entry.is_text() {
        return match entry.text()?.as_str() {
            "label" => Ok(Meaning::Label(name)),
            "run" => Ok(Meaning::Run),
            "block" => Ok(Meaning::Block),
            "order" => Ok(Meaning::Order),
            "tool" => Ok(Meaning::Tool),
            "ignore" => Ok(Meaning::Ignored),
            _ => Err(entry.unexpected(FORMS)),
        };
    }
    let section = entry.section().map_err(|_| entry.unexpected(FORMS))?;
    let label = section.text("label")?;
    if let Some(fact) = section.get("fact") {
        section.check_keys(&["fact", "unit", "label"])?;
        return read_fact(&section, &fact, label);
    }
    if let Some(metric) = section.get("metric") {
        section.check_keys(&["metric", "unit", "better", "title"])?;
        return read_figure(&section, &metric, sheet, index);
    }
    section.check_keys(&["label", "fact", "metric"])?;
    label.map(Meaning::Label).ok_or_else(|| entry.unexpected(FORMS))
}

fn read_fact(
    section: &Section<'_>,
    fact: &Entry<'_>,
    label: Option<String>,
) -> Result<Meaning, DescribedError> {
    let name = fact.text()?;
    let key = KEYS.iter().find(|key| **key == name);
    let key = key.ok_or_else(|| fact.unexpected(&one_of("a fact", &name, KEYS)))?;
    let unit = section.text("unit")?.unwrap_or_default();
    if let Some(entry) = section.get("unit") {
        set_fact(&mut Facts::default(), key, &format!("1{unit}"))
            .map_err(|expected| entry.unexpected(&format!("the unit of {expected}")))?;
    }
    Ok(Meaning::Fact { key, unit, label })
}

fn read_figure(
    section: &Section<'_>,
    metric: &Entry<'_>,
    sheet: &Sheet,
    index: usize,
) -> Result<Meaning, DescribedError> {
    let name = metric.text()?;
    if name.is_empty() {
        return Err(metric.unexpected("the name of a figure"));
    }
    let (unit, factor) = match section.get("unit") {
        Some(entry) => {
            let measure = Measure::of_text(entry.text()?.trim()).ok_or_else(|| {
                entry.unexpected(
                    "a unit, as in `MB/s`, `KiB/s`, `Mbps`, `ms`, `GiB`, `/s`, `%`, `share` or `plain`",
                )
            })?;
            (measure.unit, Some(measure.factor))
        }
        None => match written_unit(sheet, index) {
            Some(unit) if unit != Unit::Plain => (unit, None),
            _ => (Unit::Plain, Some(1.0)),
        },
    };
    let mut noted = match metric::find(&name) {
        Some(known) if known.unit == unit => note_of(known),
        Some(known) => {
            let expected = format!("a unit of {}, in which `{name}` is counted", words(known.unit));
            let said = section.get("unit").map(|entry| entry.text()).transpose()?;
            let found = said.map_or_else(|| "no `unit`".to_owned(), |unit| format!("`unit = \"{unit}\"`"));
            return Err(metric.wrong(&expected, found));
        }
        None => note(unit, &name),
    };
    amend(&mut noted, section, metric::find(&name).map(|known| known.direction))?;
    Ok(Meaning::Figure(FigureColumn { metric: name, note: noted, factor, remark: None }))
}

/// Sets what a section says of a figure: which way it is better, and its title.
pub(super) fn amend(
    note: &mut MetricNote,
    section: &Section<'_>,
    known: Option<Direction>,
) -> Result<(), DescribedError> {
    if let Some(entry) = section.get("better") {
        let better = direction(&entry)?;
        if known.is_some_and(|known| known != better) {
            return Err(entry.unexpected("the other way, which is that of every figure of this name"));
        }
        note.better = Some(better);
    }
    if let Some(title) = section.text("title")? {
        note.title = title;
    }
    Ok(())
}

pub(super) fn direction(entry: &Entry<'_>) -> Result<Direction, DescribedError> {
    match entry.text()?.as_str() {
        "higher" => Ok(Direction::Higher),
        "lower" => Ok(Direction::Lower),
        _ => Err(entry.unexpected("`higher` or `lower`")),
    }
}
