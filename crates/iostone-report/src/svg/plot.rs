//! The parts of a drawing that the page's script zooms and reads out; without the script they change nothing.
//!
//! A plot holds what is drawn over the horizontal axis, and says where its panel is. What has a tip is read out by its tip, a
//! line without tips off both axes. Ticks either move with the plot or are written anew at round numbers.

use super::scale::Scale;
use super::{Drawing, escape, number};

/// Marks at the edge of a panel reach so far beyond it.
const OVERHANG: f64 = 6.0;

impl Drawing {
    /// Opens a plot whose panel reaches from `left` to `right`; [`Drawing::close`] ends it.
    pub(crate) fn open_plot(&mut self, (left, right): (f64, f64)) {
        self.panel = Some((left, right));
        self.push(&format!(r#"<g class="plot" data-box="{} {}">"#, number(left), number(right)));
    }

    /// The same for a line whose points have no tips: figures a second over seconds, both on linear axes.
    pub(crate) fn open_series(&mut self, name: &str, horizontal: &Scale, vertical: &Scale) {
        let (left, right) = horizontal.range();
        self.panel = Some((left, right));
        self.push(&format!(
            r#"<g class="plot" data-box="{} {}" data-name="{}" data-x="{}" data-y="{}">"#,
            number(left),
            number(right),
            escape(name),
            line(horizontal),
            line(vertical)
        ));
    }

    /// Opens the ticks below plots; they move with them.
    pub(crate) fn open_ticks(&mut self) {
        self.push(r#"<g class="ticks">"#);
    }

    /// Opens ticks of a linear axis that are written anew at multiples of 1, 2 or 5 of at least `step`, with a unit.
    pub(crate) fn open_numbers(&mut self, horizontal: &Scale, step: f64, unit: &str) {
        let (axis, unit) = (line(horizontal), escape(unit));
        self.push(&format!(r#"<g class="ticks" data-x="{axis}" data-step="{step}" data-unit="{unit}">"#));
    }

    /// Ends what was opened last.
    pub(crate) fn close(&mut self) {
        self.push("</g>");
    }

    /// What a zoomed plot is cut to; nothing without one.
    pub(super) fn clip(&self, id: &str) -> String {
        let Some((left, right)) = self.panel else { return String::new() };
        format!(
            "<clipPath id=\"{id}-c\"><rect x=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
            number(left - OVERHANG),
            number(right - left + 2.0 * OVERHANG),
            number(self.height)
        )
    }
}

/// A linear axis as the value at pixel 0 and the change from one pixel to the next.
fn line(axis: &Scale) -> String {
    let ((low, high), (from, to)) = (axis.domain(), axis.range());
    let slope = (high - low) / (to - from);
    format!("{:.6e} {slope:.6e}", low - slope * from)
}
