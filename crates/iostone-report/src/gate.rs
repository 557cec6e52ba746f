//! What a gate came to: a line for the terminal, and a comment for a pull request.

use std::fmt::Write as _;

use iostone_model::run::RunRecord;
use iostone_model::verdict::{Comparison, GateState, Verdicts};

use crate::figures::{declared_percent, duration, figure, own_interval, percent, signed_percent};
use crate::ink::{Ink, clean, dye, render};
use crate::text::TextStyle;
use crate::view::View;
use crate::{environment, wording};

/// The state in two words.
fn word(state: GateState) -> &'static str {
    match state {
        GateState::NotWorse => "not worse",
        GateState::Unsettled => "cannot tell",
        GateState::Worse => "worse",
    }
}

/// "Gate: not worse", and where it cannot tell what it would take. Ends with a line feed.
pub(crate) fn write_text(run: &RunRecord, state: GateState, style: TextStyle) -> String {
    let ink = match state {
        GateState::NotWorse => Ink::Good,
        GateState::Unsettled => Ink::Caution,
        GateState::Worse => Ink::Bad,
    };
    let mut text = format!("{}\n", dye(ink, &format!("Gate: {}", word(state))));
    if let Some(needed) = needed(run).filter(|_| state == GateState::Unsettled) {
        let _ = writeln!(text, "{}", clean(&needed));
    }
    render(&text, style.colour)
}

/// What it would take to prove that levels are equal which are, at the noise and the pace of this run.
fn needed(run: &RunRecord) -> Option<String> {
    let verdicts = run.verdicts.as_ref()?;
    let open = verdicts.comparisons.iter().filter(|one| one.gate == Some(GateState::Unsettled));
    let needed = open.filter_map(|one| one.blocks_to_prove).max()?;
    let a_block = run.trials.iter().map(|trial| trial.total_seconds).sum::<f64>() / run.blocks.len() as f64;
    let time = duration(a_block * f64::from(needed));
    let budget = verdicts.blocks.maximum;
    let beyond = if needed > budget {
        format!(", more than the {budget} that it may take (`decide.blocks.max`)")
    } else {
        String::new()
    };
    Some(format!(
        "At this noise about {needed} blocks in all ({time} of trials) prove that equal levels are within {}{beyond}; a quieter machine \
         or a wider margin needs fewer.",
        declared_percent(verdicts.margin)
    ))
}

/// What stands in the place of a report where the gate itself failed. Ends with a line feed.
pub(crate) fn write_failure(reason: &str, markdown: bool) -> String {
    if markdown {
        return format!("### ❌ gate: failed\n\n{}\n", escape(reason));
    }
    format!("Gate: failed\n{}\n", clean(reason))
}

/// A comment in Markdown, as GitHub and GitLab render it.
pub(crate) fn write_markdown(run: &RunRecord, state: GateState) -> String {
    let view = View::of_run(run);
    let mark = match state {
        GateState::NotWorse => "✅",
        GateState::Unsettled => "❔",
        GateState::Worse => "❌",
    };
    let mut text = format!("### {mark} {}: {}\n\n", escape(&run.plan.experiment.name), word(state));
    let _ = writeln!(text, "{}\n", escape(&wording::headline(run)));
    if let Some(needed) = needed(run).filter(|_| state == GateState::Unsettled) {
        let _ = writeln!(text, "{}\n", escape(&needed));
    }
    let Some(verdicts) = &run.verdicts else { return text };
    let held = declared_percent(verdicts.confidence);
    let _ = writeln!(
        text,
        "| level | {} | typical change | at worst ({held}) | blocks | gate |\n| --- | ---: | ---: | ---: | ---: | --- |",
        escape(view.metric_title())
    );
    for row in view.rows.iter().filter(|row| row.baseline) {
        let median = row.summary.and_then(|summary| summary.median);
        let median = median.map_or_else(String::new, |median| figure(view.unit, median));
        let _ = writeln!(text, "| {} (baseline) | {median} | | | | |", escape(row.name));
    }
    for comparison in &verdicts.comparisons {
        let _ = writeln!(text, "{}", table_row(comparison, verdicts, &view));
    }
    let _ = writeln!(text, "\n<details><summary>How it was measured</summary>\n");
    let terms = wording::terms(&view, verdicts.margin, verdicts.confidence);
    let _ = writeln!(text, "* {}", escape(&terms));
    let _ = writeln!(
        text,
        "* {}, levels in random order within each block",
        escape(&wording::blocks_sentence(run))
    );
    for comparison in &verdicts.comparisons {
        if let Some(spread) = comparison.spread {
            let level = escape(&comparison.level);
            let _ = writeln!(text, "* noise: ratios of {level} within a block spread by {}", percent(spread));
        }
    }
    for (place, name, message) in wording::flags(&view, Some(verdicts)) {
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let _ = writeln!(text, "* flag `{}`: {}", escape(name), escape(&format!("{place}{message}")));
    }
    for (label, value) in environment::brief(run) {
        let _ = writeln!(text, "* {label}: {}", escape(&value));
    }
    let _ =
        writeln!(text, "* run `{}`, iostone {}", escape(&run.plan.run_id), escape(&run.plan.iostone_version));
    let _ = writeln!(text, "\n</details>");
    text
}

fn table_row(comparison: &Comparison, verdicts: &Verdicts, view: &View<'_>) -> String {
    let change = |ratio: Option<f64>| {
        let [own, _] = own_interval(verdicts.better, [ratio, ratio]);
        own.map_or_else(String::new, |own| signed_percent(own - 1.0))
    };
    let level = [comparison.level.as_str(), &comparison.stratum, &comparison.point];
    let level: Vec<String> = level.into_iter().filter(|part| !part.is_empty()).map(escape).collect();
    let of_row = view.rows.iter().find(|row| {
        row.comparison.is_some_and(|own| own.level == comparison.level && own.stratum == comparison.stratum)
    });
    let median = of_row.and_then(|row| row.summary?.median).filter(|_| comparison.point.is_empty());
    let median = median.map_or_else(String::new, |median| figure(view.unit, median));
    let state = comparison.gate.unwrap_or(GateState::Unsettled);
    format!(
        "| {} | {median} | {} | {} | {} | {} |",
        level.join(", "),
        change(comparison.ratio),
        change(comparison.equivalence_interval[0]),
        comparison.blocks,
        word(state)
    )
}

/// Text from outside within Markdown: nothing in it is markup, a mention, or ends a table's cell.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in clean(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A zero-width character keeps the hosts from making a mention or a reference of it.
            '@' => escaped.push_str("@\u{200b}"),
            '#' => escaped.push_str("#\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(escape("a|b <img> @all #1 `x`"), "a\\|b &lt;img&gt; @\u{200b}all #\u{200b}1 \\`x\\`");
    }
}
