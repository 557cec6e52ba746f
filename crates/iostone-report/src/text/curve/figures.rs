//! The figures of curves by themselves: a column for each configuration, where no verdict is claimed.

use comfy_table::{Cell, Table};
use iostone_model::verdict::{ConfigurationSummary, PointName};

use super::super::wrap::wrap;
use super::ROWS_SHOWN;
use super::rows::{arrange, fits, start, without_inner_rules};
use crate::figures::{counted, figure};
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
    let tables = (1..=configurations.len().clamp(1, CONFIGURATIONS_SHOWN)).rev();
    let mut tables =
        tables.filter_map(|shown| Some((shown, fill(&points, configurations.get(..shown)?, width))));
    // The last one holds a single configuration, which is shown though it be too wide.
    let fitting = tables.find(|(shown, table)| *shown == 1 || fits(table, width));
    let Some((shown, table)) = fitting else { return String::new() };
    let mut text = without_inner_rules(&table);
    let rows = points.len().saturating_sub(ROWS_SHOWN);
    let columns = configurations.len().saturating_sub(shown);
    let left = [(rows, "point"), (columns, "configuration")].into_iter().filter(|(count, _)| *count > 0);
    let left: Vec<String> = left.map(|(count, what)| counted(count, &format!("more {what}"))).collect();
    if !left.is_empty() {
        let more = format!("... and {}: `iostone report --format json` has them all", left.join(", "));
        text = format!("{text}\n{}", wrap(&more, width));
    }
    text
}

fn fill(points: &[PointName<'_>], shown: &[ConfigurationSummary], width: usize) -> Table {
    let mut table = start(width);
    let titles = ["", "Small", "Large"].map(str::to_owned).into_iter();
    let titles = titles.chain(shown.iter().map(|configuration| clean(&configuration.name)));
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
        let values = shown.iter().map(|configuration| {
            let own = configuration.points.iter().find(|(name, _)| PointName::parse(name) == *point);
            own.map_or_else(|| dye(Ink::Dim, "none"), |(_, value)| figure(point.unit(), *value))
        });
        table.add_row(place.into_iter().chain(values).map(Cell::new));
    }
    arrange(&mut table, &(3..3 + CONFIGURATIONS_SHOWN).collect::<Vec<_>>());
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn as_many_configurations_stand_side_by_side_as_have_room() {
        let configurations =
            ["ext4, host, read", "ext4, host, mixed", "ext4, host, write", "ext4, bind, read"].map(|name| {
                ConfigurationSummary {
                    name: name.to_owned(),
                    levels: BTreeMap::new(),
                    trials: 1,
                    invalid_trials: 0,
                    median: None,
                    median_interval: [None; 2],
                    minimum: None,
                    maximum: None,
                    cv: None,
                    points: BTreeMap::from([("iops@1,0".to_owned(), 79_000.0)]),
                }
            });
        let wide = draw(&configurations, 120);
        assert!(wide.contains("ext4, bind, read") && wide.contains("IOPS"), "{wide}");
        assert!(!wide.contains("more"), "{wide}");
        let narrow = draw(&configurations, 80);
        assert!(narrow.contains("IOPS") && !narrow.contains("ext4, bind, read"), "{narrow}");
        assert!(narrow.contains("... and 1 more configuration:"), "{narrow}");
        assert!(draw(&configurations, 10).contains("ext4, host, read"));
    }
}
