//! Where the bytes landed, on the terminal: the place of each configuration, and what its work took.

use iostone_model::run::RunRecord;

use super::wrap::{hang, wrap};
use super::{Page, columns};
use crate::ink::{Ink, clean, dye};
use crate::landing::{self, Cost, Landing, landings, told_costs};
use crate::view::View;

/// Adds the section; nothing where it does not matter, see [`landings`].
pub(super) fn add(page: &mut Page, run: &RunRecord, view: &View<'_>) {
    let landings = landings(run, view);
    if landings.is_empty() {
        return;
    }
    let mut lines = vec![dye(Ink::Bold, &wrap("Where the bytes landed", page.width))];
    let has_containers = landings.iter().any(|landing| landing.container.is_some());
    lines.extend(table(page.width, &place_header(has_containers), &landings, true, |landing| {
        places(landing, has_containers)
    }));
    for landing in landings.iter().filter(|landing| landing.container.is_some()) {
        let engine = landing.engine().map(|engine| format!("; {engine}")).unwrap_or_default();
        let sentence = clean(&format!("{}: {}{engine}", landing.name, landing.mount()));
        lines.push(hang(&sentence, page.width, "  ", "    "));
    }
    let told = told_costs(&landings);
    if !told.is_empty() {
        let header: Vec<String> = told.iter().map(|cost| cost.name().to_owned()).collect();
        lines.extend(table(page.width, &header, &landings, false, |landing| costs(landing, &told)));
    }
    lines.push(dye(Ink::Dim, &wrap(&landing::note(&landings), page.width)));
    page.add(lines.join("\n"));
}

fn place_header(has_containers: bool) -> Vec<String> {
    let heads: &[&str] =
        if has_containers { &["place", "layers", "fsync", "device"] } else { &["filesystem", "device"] };
    heads.iter().map(|head| (*head).to_owned()).collect()
}

fn places(landing: &Landing<'_>, has_containers: bool) -> Vec<String> {
    let device = landing.device.clone().unwrap_or_else(|| "memory".to_owned());
    let cells = if has_containers {
        vec![landing.place(), landing.layers(), landing.sync.to_owned(), device]
    } else {
        vec![landing.layers(), device]
    };
    cells.iter().map(|cell| clean(cell)).collect()
}

fn costs(landing: &Landing<'_>, told: &[Cost]) -> Vec<String> {
    told.iter()
        .map(|cost| landing.cost(*cost).map_or_else(|| "not told".to_owned(), |value| cost.write(value)))
        .collect()
}

/// A line a configuration where that fits, else a sentence each. Words stand left, figures right.
fn table(
    width: usize,
    heads: &[String],
    landings: &[Landing<'_>],
    words: bool,
    cells: impl Fn(&Landing<'_>) -> Vec<String>,
) -> Vec<String> {
    let header: Vec<String> = std::iter::once(String::new()).chain(heads.iter().cloned()).collect();
    let rows: Vec<Vec<String>> = landings
        .iter()
        .map(|landing| std::iter::once(clean(landing.name)).chain(cells(landing)).collect())
        .collect();
    if columns::width(&header, &rows) + 2 <= width {
        return columns::lines(&header, &rows, if words { header.len() } else { 1 })
            .iter()
            .map(|line| format!("  {}", line.trim_end()))
            .collect();
    }
    let told = |row: &Vec<String>| {
        let told: Vec<String> = heads
            .iter()
            .zip(row.iter().skip(1))
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(head, cell)| format!("{head} {cell}").replace(' ', "\u{a0}"))
            .collect();
        hang(&format!("{}: {}", row.first().map_or("", String::as_str), told.join(", ")), width, "  ", "    ")
    };
    rows.iter().map(told).collect()
}
