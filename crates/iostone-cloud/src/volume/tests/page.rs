//! The page about volume types has what the table has, and the table reads back as it is written.

use super::*;
use crate::volume::words::grouped;

const PAGE: &str = include_str!("../../../../../docs/reference/volumes.md");

/// The page's line for a row.
fn line(row: &VolumeRow, next: Option<&VolumeRow>) -> String {
    let or_unknown = |words: Option<String>| words.unwrap_or_else(|| "not known".to_owned());
    format!(
        "| `{}` | {} | {} | {} | {} |",
        row.name,
        row.period(next),
        or_unknown(row.sizes()),
        or_unknown(row.iops_words()),
        or_unknown(row.throughput_words()),
    )
}

#[test]
fn the_page_has_every_row_and_no_other() {
    let mut lines = Vec::new();
    for name in types().names() {
        let rows = types().history(name).expect(name);
        lines.extend(rows.iter().enumerate().map(|(index, row)| line(row, rows.get(index + 1))));
    }
    let missing: Vec<&String> = lines.iter().filter(|line| !PAGE.lines().any(|own| own == *line)).collect();
    assert!(missing.is_empty(), "docs/reference/volumes.md misses\n{missing:#?}");
    // The rows of that table have five columns and begin with a name in backticks.
    let shown = PAGE.lines().filter(|line| line.starts_with("| `") && line.split(" | ").count() == 5).count();
    assert_eq!(shown, lines.len());
}

#[test]
fn the_page_has_every_tier() {
    for tier in
        types().names().filter_map(|name| types().history(name).ok()?.last()).flat_map(|row| &row.tiers)
    {
        let Some(name) = &tier.name else { continue };
        let figures = (tier.iops.expect("IOPS"), tier.throughput.expect("a throughput").0 / 1e6);
        let line = format!("| {name} | {} | {} | {} |", tier.size, grouped(figures.0), grouped(figures.1));
        assert!(PAGE.contains(&line), "docs/reference/volumes.md misses {line}");
    }
}

#[test]
fn the_page_has_every_key_of_a_row() {
    for row in types().names().filter_map(|name| types().history(name).ok()).flatten() {
        let toml::Value::Table(keys) = toml::Value::try_from(row).expect("a table") else { continue };
        for key in keys.keys() {
            assert!(PAGE.contains(&format!("`{key}`")), "docs/reference/volumes.md misses `{key}`");
        }
    }
}

#[test]
fn what_is_written_reads_back() {
    for row in types().names().filter_map(|name| types().history(name).ok()).flatten() {
        let text = toml::to_string(row).expect("written");
        let again: VolumeRow = toml::from_str(&text).expect(&text);
        assert_eq!(&again, row, "{text}");
    }
}
