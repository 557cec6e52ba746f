//! Figures in aligned columns, without rules: one line a row.

use super::wrap;
use crate::ink::{Ink, dye};

/// Between columns.
const GAP: usize = 2;

/// The lines of a table, its header dimmed, the first `left` columns flushed left and the others right.
pub(super) fn lines(header: &[String], rows: &[Vec<String>], left: usize) -> Vec<String> {
    let widths = widths(header, rows);
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            let space = " ".repeat(width.saturating_sub(wrap::columns(cell)));
            if at < left { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        padded.collect::<Vec<String>>().join(&" ".repeat(GAP))
    };
    let header = dye(Ink::Dim, line(header).trim_end());
    std::iter::once(header).chain(rows.iter().map(|row| line(row))).collect()
}

/// Columns that the table takes on the terminal.
pub(super) fn width(header: &[String], rows: &[Vec<String>]) -> usize {
    let widths = widths(header, rows);
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Shortens the texts of a column by so many columns as the table is too wide, though to no fewer than `least`.
pub(super) fn narrow(
    header: &mut [String],
    rows: &mut [Vec<String>],
    at: usize,
    excess: usize,
    least: usize,
) {
    if excess == 0 {
        return;
    }
    let own = widths(header, rows).get(at).copied().unwrap_or(0);
    let room = own.saturating_sub(excess).max(least);
    for cell in rows.iter_mut().map(Vec::as_mut_slice).chain([header]).filter_map(|row| row.get_mut(at)) {
        *cell = clipped(cell, room);
    }
}

/// A text in at most so many columns, with an ellipsis where something is left out.
pub(super) fn clipped(text: &str, room: usize) -> String {
    if wrap::columns(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        short.push(character);
        if wrap::columns(&short) >= room {
            short.pop();
            break;
        }
    }
    format!("{short}…")
}

fn widths(header: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let of = |at: usize, row: &[String]| row.get(at).map_or(0, |cell| wrap::columns(cell));
    (0..header.len())
        .map(|at| rows.iter().map(|row| of(at, row)).chain([of(at, header)]).max().unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_clipped() {
        assert_eq!(clipped("日本語abc", 6), "日本…");
        assert_eq!(clipped("short", 5), "short");
        let mut rows = vec![vec!["a name that goes on".to_owned(), "9 s".to_owned()]];
        let mut header = vec![String::new(), String::new()];
        narrow(&mut header, &mut rows, 0, 9, 4);
        assert_eq!(rows[0][0], "a name th…");
    }

    #[test]
    fn names_stand_left_and_figures_right() {
        let text = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let (header, rows) = (text(["", "wall"]), vec![text(["none", "9 s"]), text(["日本語", "19 s"])]);
        assert_eq!(width(&header, &rows), 12);
        assert_eq!(lines(&header, &rows, 1)[1..], ["none     9 s", "日本語  19 s"]);
    }
}
