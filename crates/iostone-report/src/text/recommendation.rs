//! Recommendations for the terminal: the answer, what each further dollar buys, and why less fails.

use iostone_model::recommendation::{Choice, Recommendation};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, columns};
use crate::ink::{Ink, clean, dye};
use crate::prediction::dollars;
use crate::recommendation::{
    considered, headline, left_out, misses, rented, sentences, short_performance, subject,
};

/// More steps than this are only listed where all are asked for.
const STEPS: usize = 10;
/// Volumes are left so many columns at least.
const READABLE: usize = 18;

/// See [`crate::recommendation_text()`].
pub(crate) fn write(found: &Recommendation, all: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let ink = if found.is_met { Ink::Bold } else { Ink::Caution };
    page.add(dye(ink, &wrap(&clean(&format!("{}.", headline(found))), page.width)));
    page.add(dye(Ink::Dim, &wrap(&clean(&subject(found)), page.width)));
    add_choice(&mut page, found, if found.is_met { "Cheapest" } else { "Fastest" }, &found.chosen);
    if let Some(runner_up) = &found.runner_up {
        add_choice(&mut page, found, "Runner-up", runner_up);
    }
    add_front(&mut page, found, all);
    let cheaper: Vec<(String, String)> =
        misses(found).into_iter().map(|(name, why)| (clean(&name), clean(&why))).collect();
    page.add_list("Cheaper, and not enough", &cheaper);
    page.add(wrap(&clean(&considered(found)), page.width));
    let unknown: Vec<(String, String)> =
        left_out(found, all).into_iter().map(|(why, who)| (clean(&why), clean(&who))).collect();
    page.add_list("Left out, since something is not known", &unknown);
    add_points(&mut page, "Taken for granted", &found.assumptions);
    add_points(&mut page, "Prices", &found.sources);
    page.finish(style)
}

fn add_points(page: &mut Page, title: &str, sentences: &[String]) {
    let lines: Vec<String> = sentences
        .iter()
        .map(|sentence| hang(&clean(&format!("{sentence}.")), page.width, "  - ", "    "))
        .collect();
    page.add(format!("{}\n{}", dye(Ink::Bold, title), lines.join("\n")));
}

fn add_choice(page: &mut Page, found: &Recommendation, title: &str, choice: &Choice) {
    let name = format!("{title}: {}", rented(choice));
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&name), page.width))];
    lines.extend(sentences(found, choice).iter().map(|line| hang(&clean(line), page.width, "  ", "  ")));
    // A command is not broken into lines, so that it can be copied.
    lines.push(format!("  {}", clean(&choice.predict)));
    page.add(lines.join("\n"));
}

/// A line for each step, the first being the cheapest that is enough.
fn add_front(page: &mut Page, found: &Recommendation, all: bool) {
    if found.front.len() < 2 {
        return;
    }
    let shown = if all { found.front.len() } else { STEPS };
    let least = found.chosen.usd_per_hour;
    let what = if found.target.within_seconds.is_some() { "time" } else { "rate" };
    let mut header = ["  instance", "volumes", "$/h", "more", what, "held by"].map(str::to_owned).to_vec();
    let mut rows: Vec<Vec<String>> = found
        .front
        .iter()
        .take(shown)
        .map(|choice| {
            vec![
                format!("  {}", clean(&choice.instance)),
                clean(&choice.volumes),
                dollars(choice.usd_per_hour),
                format!("+{}", dollars(choice.usd_per_hour - least)),
                short_performance(found, choice),
                choice.binds.word().to_owned(),
            ]
        })
        .collect();
    let excess = columns::width(&header, &rows).saturating_sub(page.width);
    columns::narrow(&mut header, &mut rows, 1, excess, READABLE);
    let mut lines = vec![dye(Ink::Bold, "What each further dollar buys")];
    lines.extend(columns::lines(&header, &rows, 2).iter().map(|line| line.trim_end().to_owned()));
    let more = found.front.len().saturating_sub(shown);
    if more > 0 {
        lines.push(format!("  and {more} more, which --all shows"));
    }
    page.add(lines.join("\n"));
}
