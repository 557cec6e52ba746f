//! A matrix of loads as coloured cells, each with its figure where there is room and a sign where colour means something.

use std::fmt::Write as _;

use super::{Anchor, Drawing, NARROW, number};

/// Room to the left of the cells for the large loads.
const LEFT: f64 = 52.0;
/// Room above for the small loads and what they are.
const TOP: f64 = 40.0;
/// A cell wider than this would only be empty.
const WIDEST: f64 = 110.0;
/// Pixels of a digit in a cell.
const DIGIT: f64 = 7.4;
/// Pixels of a sign beside the figure, with the room that parts them.
const SIGN: f64 = 16.0;
/// Steps of the scale that goes from least to most, classes `h0` to `h6` of the style sheet.
const STEPS: f64 = 7.0;

/// What is drawn.
#[derive(Debug, Clone)]
pub(crate) struct HeatMap {
    /// For those who do not see it.
    pub(crate) title: String,
    /// What a column's load counts, and a row's.
    pub(crate) axes: (String, String),
    /// The small loads.
    pub(crate) columns: Vec<u32>,
    /// The large loads.
    pub(crate) rows: Vec<u32>,
    /// Row by row, as many as there are columns; an empty place was not measured.
    pub(crate) cells: Vec<Vec<Option<Cell>>>,
    /// In one sentence.
    pub(crate) description: String,
}

/// One load point.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Class of its colour.
    pub(crate) class: String,
    /// The figure, as short as it can be.
    pub(crate) text: String,
    /// What stands before the figure, apart from it, and alone where there is no room for both; may be empty.
    pub(crate) sign: String,
    /// Said to those who point at it.
    pub(crate) tip: String,
    /// Not measured but estimated: hatched.
    pub(crate) estimated: bool,
}

/// The class of a value between the least and the most, on a logarithmic scale where they lie far apart.
pub(crate) fn step(value: f64, (low, high): (f64, f64)) -> String {
    let share = if high <= low {
        0.5
    } else if low > 0.0 && high / low > 20.0 {
        (value / low).ln() / (high / low).ln()
    } else {
        (value - low) / (high - low)
    };
    let thresholds = (1..7).filter(|step| share * STEPS >= f64::from(*step));
    format!("h{}", thresholds.count())
}

/// Draws it `width` pixels wide; nothing without a cell.
pub(crate) fn draw(map: &HeatMap, width: f64, id: &str) -> Option<String> {
    if map.columns.is_empty() || !map.cells.iter().flatten().any(Option::is_some) {
        return None;
    }
    let narrow = width < NARROW;
    let cell_width = ((width - LEFT - 4.0) / map.columns.len() as f64).min(WIDEST);
    let cell_height = if narrow { 22.0 } else { 27.0 };
    let height = TOP + cell_height * map.rows.len() as f64 + 4.0;
    let right = LEFT + cell_width * map.columns.len() as f64;
    let mut drawing = Drawing::new(width, height);
    drawing.text("tick", (LEFT, 13.0), Anchor::Start, &format!("{} →", map.axes.0));
    drawing.text("tick", (0.0, TOP - 8.0), Anchor::Start, &format!("{} ↓", map.axes.1));
    let room = widest_label(&map.columns);
    let every = ((room + 8.0) / cell_width).ceil().max(1.0);
    for (at, load) in map.columns.iter().enumerate() {
        let x = LEFT + cell_width * (at as f64 + 0.5);
        // The last one always, and none that would touch it.
        let last = map.columns.len() - 1;
        let shown = at == last || (at as f64 % every == 0.0 && (last - at) as f64 >= every);
        if shown && x - room / 2.0 > LEFT - 14.0 {
            drawing.text("tick", (x, TOP - 8.0), Anchor::Middle, &load.to_string());
        }
    }
    for (at, (load, cells)) in map.rows.iter().zip(&map.cells).enumerate() {
        let top = TOP + cell_height * at as f64;
        let middle = top + cell_height / 2.0 + 4.0;
        drawing.text("tick", (LEFT - 10.0, middle), Anchor::End, &load.to_string());
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let left = LEFT + cell_width * column as f64;
            draw_cell(&mut drawing, cell, (left, top), (cell_width, cell_height));
        }
    }
    drawing.line("axis", (LEFT, TOP - 2.0), (right, TOP - 2.0));
    Some(drawing.finish(id, &map.title, &map.description))
}

fn widest_label(loads: &[u32]) -> f64 {
    loads.last().map_or(1.0, |load| load.to_string().len() as f64) * DIGIT
}

fn draw_cell(drawing: &mut Drawing, cell: &Cell, (left, top): (f64, f64), (width, height): (f64, f64)) {
    let gap = if width > 24.0 { 1.0 } else { 0.5 };
    let (corner, size) = ((left + gap, top + gap), (width - 2.0 * gap, height - 2.0 * gap));
    drawing.rect(&format!("cell {}", cell.class), corner, size, &cell.tip);
    if cell.estimated {
        drawing.path("hatch", &hatch(corner, size), "");
    }
    let baseline = top + height / 2.0 + 4.0;
    let (figure, sign) = (cell.text.chars().count() as f64 * DIGIT, cell.sign.chars().count() as f64 * SIGN);
    let mut write = |kind: &str, x: f64, text: &str| {
        if !text.is_empty() {
            drawing.text(&format!("{kind} {}", cell.class), (x, baseline), Anchor::Middle, text);
        }
    };
    let middle = left + width / 2.0;
    if figure + sign <= size.0 && !cell.text.is_empty() {
        write("cell-sign", middle - figure / 2.0, &cell.sign);
        write("cell-text", middle + sign / 2.0, &cell.text);
    } else if sign <= size.0 + 4.0 {
        write("cell-sign", middle, &cell.sign);
    }
}

/// Slanted lines within a rectangle, drawn one by one because a pattern would be a reference to something.
pub(super) fn hatch((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    const APART: f64 = 7.0;
    let mut path = String::new();
    let mut reach = APART;
    while reach < width + height {
        // From the left or lower edge up to the upper or right one.
        let start = (x + (reach - height).max(0.0), y + reach.min(height));
        let end = (x + reach.min(width), y + (reach - width).max(0.0));
        let (from, to) = ((number(start.0), number(start.1)), (number(end.0), number(end.1)));
        // Writing into a string does not fail.
        let _ = write!(path, "M{} {}L{} {}", from.0, from.1, to.0, to.1);
        reach += APART;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_have_the_ends_of_the_scale() {
        assert_eq!(step(1.0, (1.0, 5.0)), "h0");
        assert_eq!(step(5.0, (1.0, 5.0)), "h6");
        assert_eq!(step(3.0, (3.0, 3.0)), "h3");
        assert_eq!(step(10.0, (1.0, 100.0)), "h3", "half way in orders of magnitude");
    }

    #[test]
    fn what_was_not_measured_stays_empty_and_what_was_estimated_is_hatched() {
        let cell = |estimated| Cell {
            class: "h2".to_owned(),
            text: "480".to_owned(),
            sign: String::new(),
            tip: String::new(),
            estimated,
        };
        let map = HeatMap {
            title: "IOPS".to_owned(),
            axes: ("small".to_owned(), "large".to_owned()),
            columns: vec![1, 2],
            rows: vec![0, 1],
            cells: vec![vec![Some(cell(false)), Some(cell(true))], vec![None, Some(cell(false))]],
            description: String::new(),
        };
        let drawn = draw(&map, 600.0, "map").unwrap();
        assert_eq!(drawn.matches("<rect").count(), 3);
        assert_eq!(drawn.matches("class=\"hatch\"").count(), 1);
        assert!(!drawn.contains("url("));
    }
}
