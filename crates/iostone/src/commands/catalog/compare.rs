//! `iostone catalog compare`: instance types side by side.

use std::fmt::Write;

use anyhow::{Result, bail};
use clap::Args;
use iostone_cloud::{Catalogue, Instance, catalogue};
use iostone_model::units::ratio_digits;
use iostone_report::clean;
use serde_json::json;

use super::facts::{self, Fact, UNKNOWN};
use super::show::{entry, unknown};
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Instance types; the first is the reference
    #[arg(required = true, num_args = 2.., value_name = "TYPE")]
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Space between columns.
const GAP: usize = 2;

/// What marks a row whose cells differ.
const DIFFERS: &str = "*";

pub(super) fn compare(arguments: &CompareArguments, printer: &mut Printer) -> Result<ExitCode> {
    let catalogue = catalogue();
    let mut instances: Vec<&Instance> = Vec::new();
    for name in &arguments.names {
        match catalogue.instance(name) {
            Ok(instance) => instances.push(instance),
            Err(_) if catalogue.volumes().history(name).is_ok() => {
                bail!(
                    "`{}` is a volume type; only instance types can be compared; see `iostone catalog show {}`",
                    clean(name),
                    clean(name)
                )
            }
            Err(_) => return Err(unknown(catalogue, name)),
        }
    }
    if arguments.json {
        let entries =
            instances.iter().map(|instance| entry(catalogue, instance)).collect::<Result<Vec<_>>>()?;
        let document = json!({ "schema": "iostone/catalogue-compare/1", "instances": entries });
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        printer.data(&text(catalogue, &instances, printer.table_width()));
    }
    Ok(ExitCode::Success)
}

/// A row of the comparison: its label, and a cell for each type.
struct Row {
    label: String,
    cells: Vec<String>,
    /// What is compared: the whole words, where the cells may be short or have a ratio.
    bare: Vec<Option<String>>,
}

impl Row {
    fn differs(&self, columns: &[usize]) -> bool {
        let bare = |column: &usize| self.bare.get(*column).cloned().flatten();
        columns.iter().any(|column| bare(column) != columns.first().and_then(bare))
    }
}

fn text(catalogue: &Catalogue, instances: &[&Instance], width: usize) -> String {
    let all: Vec<Vec<Fact>> = instances.iter().map(|instance| facts::of(catalogue, instance)).collect();
    let rows = rows(&all);
    let label_width = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or_default();
    let names: Vec<String> = instances.iter().map(|instance| clean(&instance.name)).collect();
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or_default().max(names.get(column).map_or(0, |name| name.chars().count()))
    };
    let widths: Vec<usize> = (0..names.len()).map(width_of).collect();
    let mut text = String::new();
    // As many as fit beside the first, which stands in every block.
    let mut next = 1;
    while next < names.len() {
        let mut block = vec![0];
        let mut used = DIFFERS.len() + 1 + label_width + GAP + widths.first().copied().unwrap_or_default();
        while let Some(column) = widths.get(next) {
            if block.len() > 1 && used + GAP + column > width {
                break;
            }
            used += GAP + column;
            block.push(next);
            next += 1;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let line = |mark: &str, label: &str, cell: &dyn Fn(usize) -> String| {
            let mut line = format!("{mark} {label:<label_width$}");
            for column in &block {
                let width = widths.get(*column).copied().unwrap_or_default();
                let _ = write!(line, "{}{:<width$}", " ".repeat(GAP), cell(*column));
            }
            line.trim_end().to_owned()
        };
        let head = line(" ", "", &|column| names.get(column).cloned().unwrap_or_default());
        let _ = writeln!(text, "{}", bold(&head));
        for row in &rows {
            let mark = if row.differs(&block) { DIFFERS } else { " " };
            let _ = writeln!(
                text,
                "{}",
                line(mark, &row.label, &|column| row.cells.get(column).cloned().unwrap_or_default())
            );
        }
    }
    let first = names.first().map_or("", String::as_str);
    let _ = writeln!(text, "\n{DIFFERS} differs; in brackets the ratio to {first}.");
    text
}

fn rows(all: &[Vec<Fact>]) -> Vec<Row> {
    let mut labels: Vec<&str> = Vec::new();
    for facts in all {
        for (index, fact) in facts.iter().enumerate() {
            if !labels.contains(&fact.label.as_str()) {
                // Behind the one that goes before it here.
                let before = index.checked_sub(1).and_then(|before| facts.get(before));
                let place = before.and_then(|before| labels.iter().position(|label| *label == before.label));
                labels.insert(place.map_or(labels.len(), |place| place + 1), &fact.label);
            }
        }
    }
    let row = |label: &str| {
        let of_type = |facts: &'_ Vec<Fact>| facts.iter().position(|fact| fact.label == label);
        let found: Vec<Option<&Fact>> =
            all.iter().map(|facts| of_type(facts).and_then(|index| facts.get(index))).collect();
        let first = found.first().copied().flatten().and_then(|fact| fact.figure);
        let cells: Vec<String> = found
            .iter()
            .enumerate()
            .map(|(index, fact)| {
                let Some(fact) = fact else { return "-".to_owned() };
                let words =
                    fact.short.clone().or_else(|| fact.words.clone()).unwrap_or_else(|| UNKNOWN.to_owned());
                match (first, fact.figure) {
                    (Some(first), Some(figure))
                        if index > 0 && first > 0.0 && first.to_bits() != figure.to_bits() =>
                    {
                        format!("{words} ({}x)", ratio_digits(figure / first))
                    }
                    _ => words,
                }
            })
            .collect();
        let bare = found.iter().map(|fact| fact.and_then(|fact| fact.words.clone())).collect();
        Row { label: label.to_owned(), cells, bare }
    };
    labels.into_iter().map(row).collect()
}
