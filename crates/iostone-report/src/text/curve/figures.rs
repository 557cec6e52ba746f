//! The figures of curves by themselves: a column for each configuration, where no verdict is claimed.

use comfy_table::Cell;
use iostone_model::verdict::{ConfigurationSummary, PointName};

use super::super::wrap::wrap;
use super::ROWS_SHOWN;
use super::rows::{arrange, start, without_inner_rules};
use crate::figures::figure;
use crate::ink::{Ink, clean, dye};

/// More columns fit no terminal.
const CONFIGURATIONS_SHOWN: usize = 4;

/// The median at every point; nothing where no configuration has any.
pub(super) fn draw(configurations: &[ConfigurationSummary], width: usize) -> String {
    let mut points: Vec<PointName<'_>> = Vec::new();
    for name in configurations.iter().flat_map(|configuration| configuration.points.keys()) {
        let point = PointName::parse(name);
        if !points.contains(&point) {
            points.push(point);
        }
    }
    if points.is_empty() {
        return String::new();
    }
    points.sort_by_key(|point| (point.figure, point.load.map(|load| (load.large, load.small))));
    let shown = configurations.iter().take(CONFIGURATIONS_SHOWN);
    let mut table = start(width);
    let titles = ["", "Small", "Large"].map(str::to_owned).into_iter();
    let titles = titles.chain(shown.clone().map(|configuration| clean(&configuration.name)));
    table.set_header(titles.map(|title| Cell::new(dye(Ink::Dim, &title))));
    let mut before = "";
    for point in points.iter().take(ROWS_SHOWN) {
        let words = point.figure_words();
        let named = if words == before { String::new() } else { dye(Ink::Bold, &clean(words)) };
        before = words;
        let load = |of: fn(iostone_model::orion::LoadPoint) -> u32| {
            point.load.map(|load| of(load).to_string()).unwrap_or_default()
        };
        let place = [named, load(|load| load.small), load(|load| load.large)];
        let values = shown.clone().map(|configuration| {
            let own = configuration.points.iter().find(|(name, _)| PointName::parse(name) == *point);
            own.map_or_else(|| dye(Ink::Dim, "none"), |(_, value)| figure(point.unit(), *value))
        });
        table.add_row(place.into_iter().chain(values).map(Cell::new));
    }
    arrange(&mut table, &(3..3 + CONFIGURATIONS_SHOWN).collect::<Vec<_>>());
    let mut text = without_inner_rules(&table);
    let rows = points.len().saturating_sub(ROWS_SHOWN);
    let columns = configurations.len().saturating_sub(CONFIGURATIONS_SHOWN);
    if rows + columns > 0 {
        let more = format!(
            "... and {rows} more points, {columns} more configurations: `iostone report --format json` has them all"
        );
        text = format!("{text}\n{}", wrap(&more, width));
    }
    text
}
