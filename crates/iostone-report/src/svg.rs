//! Figures of the page, drawn as SVG that prints, needs no script and follows the page's colours.
//!
//! Colours come from classes that the style sheet defines, so that one drawing serves the light and the dark theme.
//! Every configuration has a shape of its own beside its colour.

pub(crate) mod balance;
pub(crate) mod cpu_bars;
pub(crate) mod curves;
pub(crate) mod forest;
pub(crate) mod heat_map;
pub(crate) mod history;
pub(crate) mod hosts;
pub(crate) mod latency;
pub(crate) mod marker;
pub(crate) mod pareto;
mod plot;
pub(crate) mod prediction;
pub(crate) mod ratios;
pub(crate) mod run_order;
pub(crate) mod scale;
pub(crate) mod sparkline;
pub(crate) mod steadiness;
pub(crate) mod strips;
pub(crate) mod sweep;
mod thinning;
pub(crate) mod timeline;

use std::fmt::Write as _;

/// A drawing narrower than this puts labels above what they label instead of beside it.
pub(crate) const NARROW: f64 = 480.0;

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing under way, in pixels from its upper left corner.
#[derive(Debug)]
pub(crate) struct Drawing {
    width: f64,
    height: f64,
    body: String,
    /// From where to where a plot reaches that can be zoomed.
    panel: Option<(f64, f64)>,
}

impl Drawing {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new(), panel: None }
    }

    /// Draws nothing where a coordinate is not a number: a missing mark, never a broken page.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        if [from.0, from.1, to.0, to.1].iter().all(|value| value.is_finite()) {
            self.push(&format!(
                r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
                number(from.0),
                number(from.1),
                number(to.0),
                number(to.1)
            ));
        }
    }

    /// A rectangle by its corner and size, with an explanation for those who point at it.
    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), tip: &str) {
        if [corner.0, corner.1, size.0, size.1].iter().all(|value| value.is_finite()) {
            let shape = format!(
                r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}""#,
                number(corner.0),
                number(corner.1),
                number(size.0.max(0.0)),
                number(size.1.max(0.0))
            );
            self.push_with_tip(&shape, "rect", tip);
        }
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        if !(at.0.is_finite() && at.1.is_finite()) {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        self.push(&format!(
            r#"<text class="{class}" x="{}" y="{}"{anchor}>{}</text>"#,
            number(at.0),
            number(at.1),
            escape(text)
        ));
    }

    /// A line through points in order.
    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let separator = if path.is_empty() { "" } else { " " };
            // Writing into a string does not fail.
            let _ = write!(path, "{separator}{},{}", number(*x), number(*y));
        }
        if !path.is_empty() {
            self.push(&format!(r#"<polyline class="{class}" points="{path}"/>"#));
        }
    }

    pub(crate) fn path(&mut self, class: &str, path: &str, tip: &str) {
        self.push_with_tip(&format!(r#"<path class="{class}" d="{path}""#), "path", tip);
    }

    /// The mark of the configuration at `index`, centred.
    pub(crate) fn mark(&mut self, index: usize, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        if at.0.is_finite() && at.1.is_finite() {
            let class = format!("{} {class}", marker::colour_class(index));
            self.path(&class, &marker::path(index, at, radius), tip);
        }
    }

    /// A dot in the colour of the configuration at `index`.
    pub(crate) fn dot(&mut self, index: usize, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        if at.0.is_finite() && at.1.is_finite() {
            let colour = marker::colour_class(index);
            let shape = format!(
                r#"<circle class="{colour} {class}" cx="{}" cy="{}" r="{}""#,
                number(at.0),
                number(at.1),
                number(radius)
            );
            self.push_with_tip(&shape, "circle", tip);
        }
    }

    fn push_with_tip(&mut self, open: &str, element: &str, tip: &str) {
        if tip.is_empty() {
            self.push(&format!("{open}/>"));
        } else {
            self.push(&format!("{open}><title>{}</title></{element}>", escape(tip)));
        }
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The finished drawing; `id` is its own on the page, `title` and `description` are for those who do not see it.
    pub(crate) fn finish(self, id: &str, title: &str, description: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{}</title>\n\
             <desc id=\"{id}-d\">{}</desc>\n{}{}</svg>",
            escape(title),
            escape(description),
            self.clip(id),
            self.body
        )
    }

    /// The finished drawing as mere decoration of a text beside it.
    pub(crate) fn finish_hidden(self) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">{}</svg>",
            self.body.replace('\n', "")
        )
    }
}

/// A coordinate with at most one decimal.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for element content and attribute values, and drops what XML 1.0 does not allow at all.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(' '),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// `DejaVu` Sans, the widest of the usual fonts, takes about 7.6 pixels a letter at 13 pixels, bold 8.5.
const LETTER: f64 = 8.2;

/// About how many pixels a label takes at the figures' type size.
pub(crate) fn text_width(text: &str) -> f64 {
    let wide = |c: char| if unicode_width::UnicodeWidthChar::width(c).unwrap_or(1) > 1 { 1.7 } else { 1.0 };
    text.chars().map(wide).sum::<f64>() * LETTER
}

/// Shortens a label to about `width` pixels at the figures' type size.
pub(crate) fn fit(label: &str, width: f64) -> String {
    if text_width(label) <= width {
        return label.to_owned();
    }
    let mut short = String::new();
    for character in label.chars() {
        short.push(character);
        if text_width(&short) + LETTER > width {
            short.pop();
            break;
        }
    }
    format!("{}\u{2026}", short.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_control_characters_are_dropped() {
        assert_eq!(escape("<script>&\"'\u{1}\n"), "&lt;script&gt;&amp;&quot;&#39;\u{fffd} ");
    }

    #[test]
    fn long_labels_are_shortened() {
        assert_eq!(fit("short", 100.0), "short");
        let long = fit("a name of sixty characters that nobody wants to see in full here", 120.0);
        assert!(long.ends_with('…') && long.chars().count() < 17, "{long}");
    }

    #[test]
    fn what_is_not_a_number_is_not_drawn() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.line("a", (f64::NAN, 0.0), (1.0, 1.0));
        drawing.polyline("a", &[(f64::INFINITY, 0.0)]);
        assert!(!drawing.finish_hidden().contains("NaN"));
    }
}
