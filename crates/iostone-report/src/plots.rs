//! The plots of a report as files of their own: each drawing of the page with the part of its style sheet that it uses.
//!
//! Colours are those of the light theme. On the page they are CSS variables, which few programs besides browsers know, so they
//! are replaced by what they stand for: those of the page everywhere, and those of a class in rules that name both classes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Its name, from the id of the drawing on the page: `forest`, `ratio`, `order`.
    pub name: String,
    /// The document.
    pub svg: String,
}

/// A rule of the style sheet: its selectors and its declarations.
type Rule<'a> = (&'a str, String);

/// The drawings of a page in their order, those for narrow screens left out.
pub(crate) fn of_page(page: &str, style: &str) -> Vec<Plot> {
    let rules = rules(style);
    let mut plots: Vec<Plot> = Vec::new();
    for (at, _) in page.match_indices("<svg xmlns=") {
        let before = page.get(..at).unwrap_or_default();
        let drawing = page.get(at..).unwrap_or_default();
        let Some(end) = drawing.find("</svg>") else { continue };
        let drawing = drawing.get(..end + "</svg>".len()).unwrap_or_default();
        let name = between(drawing, "aria-labelledby=\"", "-t ").filter(|name| !name.is_empty());
        if before.trim_end().ends_with("<div class=\"narrow\">") || name.is_none() {
            continue;
        }
        let name = name.unwrap_or_default();
        let name = name.strip_suffix("-wide").unwrap_or(name);
        let name = name.strip_suffix("-figure").unwrap_or(name).to_owned();
        if plots.iter().all(|plot| plot.name != name) {
            plots.push(Plot { name, svg: standalone(drawing, &rules) });
        }
    }
    plots
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}

/// The rules outside of media queries, with the page's variables and the light theme's colours put in.
fn rules(style: &str) -> Vec<Rule<'_>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let mut rest = style;
    while let Some((selector, after)) = rest.split_once('{') {
        let Some((body, next)) = after.split_once('}') else { break };
        if selector.trim_start().starts_with('@') {
            // It holds rules of its own, up to a brace that closes none of them.
            let mut depth = 1;
            let end = after.char_indices().find(|(_, character)| {
                depth += match character {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                depth == 0
            });
            rest = end.and_then(|(end, _)| after.get(end + 1..)).unwrap_or_default();
        } else {
            found.push((selector.trim(), body));
            rest = next;
        }
    }
    let root = found.iter().find(|(selector, _)| *selector == ":root").map_or("", |(_, body)| body);
    let variables = variables(&light(root));
    found.iter().map(|(selector, body)| (*selector, put_in(&light(body), &variables))).collect()
}

/// `light-dark(a, b)` as `a`.
fn light(body: &str) -> String {
    let mut text = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("light-dark(") {
        let (both, next) = after.split_once(')').unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(both.split(',').next().unwrap_or_default().trim());
        rest = next;
    }
    text + rest
}

/// The custom properties that declarations set.
fn variables(body: &str) -> BTreeMap<String, String> {
    let declarations = body.split(';').filter_map(|one| one.trim().strip_prefix("--")?.split_once(':'));
    declarations.map(|(name, value)| (format!("var(--{})", name.trim()), value.trim().to_owned())).collect()
}

fn put_in(body: &str, variables: &BTreeMap<String, String>) -> String {
    variables.iter().fold(body.to_owned(), |body, (name, value)| body.replace(name, value))
}

fn standalone(drawing: &str, rules: &[Rule<'_>]) -> String {
    let used: BTreeSet<&str> = drawing
        .split("class=\"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .flat_map(str::split_whitespace)
        .collect();
    let mut style = String::new();
    // What a class of colours stands for, by class.
    let colours: Vec<(&str, BTreeMap<String, String>)> = rules
        .iter()
        .filter_map(|(selector, body)| Some((selector.strip_prefix('.')?, variables(body))))
        .filter(|(class, variables)| used.contains(class) && !variables.is_empty())
        .collect();
    for (selectors, body) in rules {
        for selector in selectors.split(',').map(str::trim).filter(|selector| is_of_drawing(selector, &used))
        {
            for (class, variables) in &colours {
                let own = put_in(body, variables);
                if own != *body && !own.contains("var(") {
                    let _ = writeln!(style, "{selector}.{class} {{{own}}}");
                }
            }
            if !body.contains("var(") {
                let _ = writeln!(style, "{selector} {{{body}}}");
            }
        }
    }
    let (open, content) = drawing.split_once('>').unwrap_or((drawing, ""));
    let style = style.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{open}>\n<style>\n{style}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{content}\n"
    )
}

/// Whether a selector can mean something in a drawing with these classes: `svg`, `svg text`, `.mark.hollow`.
fn is_of_drawing(selector: &str, used: &BTreeSet<&str>) -> bool {
    if selector.contains([':', '#', '[', '>', '+', '~', '*']) {
        return false;
    }
    let words: Vec<&str> = selector.split_whitespace().collect();
    let [.., last] = words.as_slice() else { return false };
    let is_ours = words.iter().rev().skip(1).all(|word| *word == "svg");
    let (element, classes) = last.split_once('.').unwrap_or((last, ""));
    let fits = matches!(element, "" | "svg" | "text") && !last.is_empty();
    is_ours && fits && classes.split('.').filter(|class| !class.is_empty()).all(|class| used.contains(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_takes_its_colours_along() {
        let style = ":root { --ink: light-dark(#111, #eee); }\n.c0 { --c: light-dark(#222, #333); }\n\
                     @media print { .mark { fill: red; } }\nsvg text { fill: var(--ink); }\n.mark { fill: var(--c); }\n\
                     .unused { fill: var(--ink); }\nth > a { color: var(--ink); }";
        let drawing = "<svg xmlns=\"x\" aria-labelledby=\"forest-figure-wide-t forest-figure-wide-d\"><path class=\"c0 mark\"/></svg>";
        let page = format!("<div class=\"wide\">{drawing}</div><div class=\"narrow\">{drawing}</div>");
        let plots = of_page(&page, style);
        assert_eq!(plots.iter().map(|plot| plot.name.as_str()).collect::<Vec<_>>(), ["forest"]);
        let svg = &plots[0].svg;
        assert!(
            svg.contains("svg text { fill: #111; }") && svg.contains(".mark.c0 { fill: #222; }"),
            "{svg}"
        );
        assert!(!svg.contains("var(") && !svg.contains("unused") && !svg.contains("red"), "{svg}");
    }
}
