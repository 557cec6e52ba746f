//! The rate over time at many load points, one small panel each: what was not steady stands out.

use super::scale::Scale;
use super::thinning::thinned;
use super::{Anchor, Drawing, NARROW};

const PANEL_HEIGHT: f64 = 46.0;
const CAPTION: f64 = 20.0;
const GAP: f64 = 18.0;
/// Points of a line; where there are more, each holds the extremes of its share, so that no stall is smoothed away.
const POINTS: usize = 80;
/// More panels than this would not be looked at.
pub(crate) const PANELS: usize = 48;

/// One load point.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// What it is: "Small=4".
    pub(crate) caption: String,
    /// Which colour is its own.
    pub(crate) index: usize,
    /// I/Os completed in each tenth of a second.
    pub(crate) slots: Vec<u64>,
    /// What is said of it to those who point at it.
    pub(crate) tip: String,
}

impl Panel {
    /// Standard deviation of its tenths of a second over their mean; none where nothing completed.
    pub(crate) fn variation(&self) -> Option<f64> {
        let count = self.slots.len() as f64;
        let mean = self.slots.iter().map(|slot| *slot as f64).sum::<f64>() / count;
        let square = self.slots.iter().map(|slot| (*slot as f64 - mean).powi(2)).sum::<f64>() / count;
        (mean > 0.0).then(|| square.sqrt() / mean)
    }
}

/// Draws the panels side by side; nothing without one.
pub(crate) fn draw(panels: &[Panel], width: f64, id: &str) -> Option<String> {
    if panels.is_empty() {
        return None;
    }
    let columns = if width < NARROW { 2 } else { 6.min(panels.len()) };
    let panel_width = (width - GAP * (columns as f64 - 1.0)) / columns as f64;
    let row_height = CAPTION + PANEL_HEIGHT + GAP;
    let mut drawing = Drawing::new(width, row_height * panels.len().div_ceil(columns) as f64 - GAP + 4.0);
    for (at, panel) in panels.iter().enumerate() {
        let left = (panel_width + GAP) * (at % columns) as f64;
        let top = row_height * (at / columns) as f64;
        draw_panel(&mut drawing, panel, (left, top), panel_width);
    }
    let captions: Vec<&str> = panels.iter().map(|panel| panel.caption.as_str()).collect();
    let description = format!("One panel each for {}", captions.join(", "));
    Some(drawing.finish(id, "I/Os in each tenth of a second at each load point", &description))
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, (left, top): (f64, f64), width: f64) {
    let (roof, floor) = (top + CAPTION, top + CAPTION + PANEL_HEIGHT);
    drawing.rect("highlight", (left, roof), (width, PANEL_HEIGHT), &panel.tip);
    drawing.text("tick", (left, top + 13.0), Anchor::Start, &panel.caption);
    if let Some(variation) = panel.variation() {
        let spread = crate::load_points::precision(variation);
        drawing.text("tick", (left + width, top + 13.0), Anchor::End, &spread);
    }
    let highest = panel.slots.iter().max().copied().unwrap_or(0).max(1) as f64;
    let vertical = Scale::linear((0.0, highest * 1.1), (floor, roof));
    let horizontal =
        Scale::linear((0.0, panel.slots.len().max(2) as f64 - 1.0), (left + 1.0, left + width - 1.0));
    drawing.line("axis", (left, floor), (left + width, floor));
    let points: Vec<(f64, f64)> = thinned(&panel.slots, POINTS)
        .into_iter()
        .map(|(slot, count)| (horizontal.at(slot as f64), vertical.at(count as f64)))
        .collect();
    drawing.polyline(&format!("series {}", super::marker::colour_class(panel.index)), &points);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_completed_has_no_variation() {
        let panel = |slots: Vec<u64>| Panel { caption: String::new(), index: 0, slots, tip: String::new() };
        assert_eq!(panel(vec![0, 0]).variation(), None);
        assert_eq!(panel(Vec::new()).variation(), None);
        assert_eq!(panel(vec![5, 5]).variation(), Some(0.0));
    }
}
