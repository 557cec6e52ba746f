//! Imported figures as a page: plots by condition, the table, the audit, the files.

use askama::Template;
use iostone_model::audit::AuditReport;
use iostone_model::dataset::{Dataset, SourceFile};

use super::findings::Findings;
use super::glossary::{self, Term};
use super::prose::without_controls;
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::figures::{figure, range};
use crate::svg::forest::capitalised;
use crate::svg::strips::{self, Strip};
use crate::text::dataset::{Row, contents, rows};

/// Figures that get a plot; the table has all.
const MOST_PLOTS: usize = 4;
/// Conditions that a plot holds.
const MOST_STRIPS: usize = 40;

struct RowPart {
    condition: String,
    metric: String,
    count: usize,
    median: String,
    spread: String,
}

#[derive(Template)]
#[template(path = "dataset.html")]
struct DatasetPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    name: &'a str,
    contents: String,
    plots: Vec<(String, Figure)>,
    rows: Vec<RowPart>,
    findings: Findings,
    glossary: Vec<Term>,
    files: &'a [SourceFile],
}

/// See [`crate::dataset_html()`].
pub(crate) fn write(dataset: &Dataset, audit: &AuditReport) -> Result<String, askama::Error> {
    let rows = rows(dataset);
    let page = DatasetPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        name: &dataset.name,
        contents: capitalised(&contents(dataset)),
        plots: plots(dataset, &rows),
        rows: rows.iter().map(|row| part(dataset, row)).collect(),
        findings: Findings::of(audit),
        glossary: glossary::terms(audit.findings.iter().map(|finding| finding.rule.as_str())),
        files: &dataset.files,
    };
    Ok(without_controls(&page.render()?))
}

fn part(dataset: &Dataset, row: &Row) -> RowPart {
    let unit = dataset.unit_of(&row.metric);
    let (low, high) = row.bounds();
    RowPart {
        condition: row.condition.clone(),
        metric: title(dataset, &row.metric),
        count: row.values.len(),
        median: figure(unit, row.median()),
        spread: if row.values.len() > 1 { range(unit, low, high) } else { String::new() },
    }
}

fn title(dataset: &Dataset, metric: &str) -> String {
    dataset.metrics.get(metric).map_or_else(|| metric.to_owned(), |note| note.title.clone())
}

/// Those figures that most conditions have.
fn plots(dataset: &Dataset, rows: &[Row]) -> Vec<(String, Figure)> {
    let mut metrics: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        match metrics.iter_mut().find(|(name, _)| *name == row.metric) {
            Some((_, count)) => *count += 1,
            None => metrics.push((&row.metric, 1)),
        }
    }
    metrics.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let drawn = metrics.iter().take(MOST_PLOTS).enumerate().filter_map(|(index, (metric, _))| {
        let strips: Vec<Strip> = rows
            .iter()
            .filter(|row| row.metric == *metric)
            .take(MOST_STRIPS)
            .map(|row| Strip { name: row.condition.clone(), values: row.values.clone(), limits: Vec::new() })
            .collect();
        let title = capitalised(&title(dataset, metric));
        let draw = |width: f64, suffix: &str| {
            strips::draw(&title, dataset.unit_of(metric), &strips, width, &format!("plot-{index}-{suffix}"))
        };
        let figure = Figure { wide: draw(FULL, "wide")?, narrow: draw(SLIM, "narrow")? };
        Some((title.clone(), figure))
    });
    drawn.collect()
}
