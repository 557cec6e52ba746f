//! Imported figures for the terminal: a line for each condition and figure, and what the audit makes of them.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use iostone_model::audit::AuditReport;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::median::median;
use iostone_model::metric::DBENCH_OPERATIONS;

use super::wrap::wrap;
use super::{Page, TextStyle, audit};
use crate::figures::{counted, figure, range};
use crate::ink::{Ink, clean, dye};

/// Lines of the table; more would not be read, and the JSON has all.
const MOST_LINES: usize = 40;

/// See [`crate::dataset_text()`].
pub(crate) fn write(dataset: &Dataset, report: &AuditReport, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let title = format!("{}: {}", clean(&dataset.name), contents(dataset));
    page.add(dye(Ink::Bold, &wrap(&title, page.width)));
    add_figures(&mut page, dataset);
    page.add(dye(Ink::Bold, &wrap(&format!("Audit: {}", audit::summary(report)), page.width)));
    audit::add_findings(&mut page, report, true);
    page.finish(style)
}

pub(crate) fn contents(dataset: &Dataset) -> String {
    let mut tools: Vec<&str> = dataset.files.iter().map(|file| file.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    let files = counted(dataset.files.len(), "file");
    let observations = counted(dataset.observations.len(), "observation");
    format!("{observations} from {files} of {}", clean(&tools.join(", ")))
}

/// A line of the table: one figure under one condition.
pub(crate) struct Row {
    pub(crate) condition: String,
    pub(crate) metric: String,
    pub(crate) values: Vec<f64>,
}

impl Row {
    /// The lowest and the highest figure.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let all = self.values.iter();
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.values).unwrap_or(f64::NAN)
    }
}

fn add_figures(page: &mut Page, dataset: &Dataset) {
    let rows = rows(dataset);
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(page.width).unwrap_or(u16::MAX));
    let header = ["condition", "figure", "n", "median", "lowest to highest"];
    table.set_header(header.map(|title| Cell::new(dye(Ink::Dim, title))));
    for row in rows.iter().take(MOST_LINES) {
        let unit = dataset.unit_of(&row.metric);
        let (low, high) = row.bounds();
        let spread = if row.values.len() > 1 { range(unit, low, high) } else { String::new() };
        let title = dataset.metrics.get(&row.metric).map_or(row.metric.as_str(), |note| note.title.as_str());
        let cells = [
            dye(Ink::Bold, &clean(&row.condition)),
            clean(title),
            row.values.len().to_string(),
            figure(unit, row.median()),
            spread,
        ];
        table.add_row(cells.map(Cell::new));
    }
    for index in [2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if !rows.is_empty() {
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        let last = lines.len().saturating_sub(1);
        let is_rule = |line: &str| line.chars().all(|c| matches!(c, '\u{2500}' | '\u{2550}'));
        let kept: Vec<&str> = lines
            .iter()
            .enumerate()
            // A rule between all rows hides more than it shows; those around the header stay.
            .filter(|(at, line)| !is_rule(line) || *at <= 2 || *at == last)
            .map(|(_, line)| line.as_str())
            .collect();
        page.add(kept.join("\n").replace('\u{2550}', "\u{2500}"));
    }
    if rows.len() > MOST_LINES {
        let more = format!("and {} more lines; --json has everything", rows.len() - MOST_LINES);
        page.add(dye(Ink::Dim, &more));
    }
}

/// Whether a figure need not be shown beside the others: those of single operations, CPU shares and longest operations of
/// phases, and those of a direction that is the only one, so that they stand there without it.
pub fn is_detail(observation: &Observation, name: &str) -> bool {
    let Some((of, figure)) = name.split_once('.') else { return false };
    let whole = observation.value(figure);
    let alone =
        whole.is_some_and(|whole| observation.value(name).is_some_and(|own| own.total_cmp(&whole).is_eq()));
    let phase = observation.figures.contains_key(of) && matches!(figure, "cpu" | "latency_max");
    DBENCH_OPERATIONS.contains(&of) || phase || alone
}

/// Labels that tell observations apart where nobody said what was varied; a label of each its own would tell too much.
fn varying(dataset: &Dataset) -> Vec<String> {
    let mut labels: Vec<&String> = dataset.observations.iter().flat_map(|o| o.labels.keys()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.retain(|label| dataset.values_of(label).len() > 1);
    labels.into_iter().cloned().collect()
}

/// Every condition with every figure of it but details.
pub(crate) fn rows(dataset: &Dataset) -> Vec<Row> {
    let telling = if dataset.factors.is_empty() { varying(dataset) } else { dataset.factors.clone() };
    let several_files =
        dataset.observations.iter().any(|o| dataset.observations.first().is_some_and(|f| f.file != o.file));
    let mut conditions: Vec<(String, Vec<&Observation>)> = Vec::new();
    for observation in &dataset.observations {
        let condition = format!("{} {}", observation.table, observation.condition(&telling));
        let condition = match condition.trim() {
            "" if several_files => observation.file.clone(),
            condition => condition.to_owned(),
        };
        match conditions.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, members)) => members.push(observation),
            None => conditions.push((condition, vec![observation])),
        }
    }
    let mut rows = Vec::new();
    for (condition, members) in conditions {
        let told = |member: &&Observation, name: &String| !is_detail(member, name);
        let mut metrics: Vec<&String> = members
            .iter()
            .flat_map(|member| member.figures.keys().filter(|name| told(member, name)))
            .collect();
        metrics.sort_unstable();
        metrics.dedup();
        for metric in metrics {
            let values = members.iter().filter_map(|member| member.value(metric)).collect();
            rows.push(Row { condition: condition.clone(), metric: metric.clone(), values });
        }
    }
    rows
}
