//! What bound the figures, on the terminal: a sentence a figure in reports, every ceiling in a table where that is asked for.

use iostone_model::explanation::{BucketBalance, ExplainedFigure, ExplainedPart, Explanation};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, columns};
use crate::figures::figure;
use crate::ink::{Ink, clean, dye};
use crate::wording::ceiling::{predicted_sentence, sentence, state};
use crate::wording::explanation::{balance_sentence, heading, machine_words, share_words, sources, summary};

/// See [`crate::explanation_text()`].
pub(crate) fn write(explanation: &Explanation, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let title = format!("{}: {}", heading(explanation), explanation.source);
    page.add(dye(Ink::Bold, &wrap(&clean(&title), page.width)));
    for part in &explanation.parts {
        add_part(&mut page, part);
    }
    add_rest(&mut page, explanation);
    add_sources(&mut page, explanation);
    page.finish(style)
}

fn add_sources(page: &mut Page, explanation: &Explanation) {
    let sources = sources(explanation);
    if sources.is_empty() {
        return;
    }
    let mut lines = vec![dye(Ink::Bold, "Sources")];
    for (ceilings, source) in sources {
        let text = clean(&format!("{ceilings}: {source}"));
        lines.push(dye(Ink::Dim, &hang(&text, page.width, "  ", "    ")));
    }
    page.add(lines.join("\n"));
}

/// Adds a section to a report: what stands at a ceiling or above one, a sentence each, and how many figures stand below.
pub(super) fn add(page: &mut Page, explanation: &Explanation) {
    let entries: Vec<(String, String)> = explanation
        .parts
        .iter()
        .filter_map(|part| {
            let told: Vec<String> = summary(part).iter().map(|sentence| clean(sentence)).collect();
            (!told.is_empty()).then(|| (clean(&part.configuration), told.join("\n")))
        })
        .collect();
    page.add_list(heading(explanation), &entries);
    if entries.is_empty() && !explanation.notes.is_empty() {
        page.add(dye(Ink::Bold, &wrap(heading(explanation), page.width)));
    }
    add_rest(page, explanation);
}

fn add_rest(page: &mut Page, explanation: &Explanation) {
    let predictions: Vec<(String, String)> = explanation
        .predictions
        .iter()
        .map(|predicted| (clean(&predicted.configuration), clean(&predicted_sentence(predicted))))
        .collect();
    page.add_list("Predicted and measured", &predictions);
    let notes: Vec<String> =
        explanation.notes.iter().map(|note| hang(&clean(note), page.width, "  ", "  ")).collect();
    page.add(notes.join("\n"));
}

fn add_part(page: &mut Page, part: &ExplainedPart) {
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&part.configuration), page.width))];
    lines.push(dye(Ink::Dim, &hang(&clean(&machine_words(part)), page.width, "  ", "  ")));
    for note in &part.notes {
        lines.push(hang(&clean(note), page.width, "  ! ", "    "));
    }
    page.add(lines.join("\n"));
    let telling = part.telling();
    let in_full = |figure: &&ExplainedFigure| {
        figure.stands() || telling.iter().any(|told| std::ptr::eq(*figure, *told))
    };
    for figure in part.figures.iter().filter(in_full) {
        add_figure(page, figure);
    }
    // What is below every ceiling takes a line.
    let others: Vec<String> = part
        .figures
        .iter()
        .filter(|figure| !in_full(figure))
        .map(|figure| hang(&clean(&sentence(figure)), page.width, "  ", "    "))
        .collect();
    page.add(others.join("\n"));
    let balances: Vec<String> =
        part.balances.iter().map(|balance: &BucketBalance| balance_sentence(balance)).collect();
    let said: Vec<String> = part
        .proofs
        .iter()
        .chain(&balances)
        .map(|sentence| hang(&clean(sentence), page.width, "  ", "    "))
        .collect();
    page.add(said.join("\n"));
}

fn add_figure(page: &mut Page, explained: &ExplainedFigure) {
    let mut lines = vec![hang(&clean(&sentence(explained)), page.width, "  ", "    ")];
    if !explained.ceilings.is_empty() {
        let mut header = ["ceiling", "at most", "at best", "share", "state"].map(str::to_owned).to_vec();
        let mut rows: Vec<Vec<String>> = explained
            .ceilings
            .iter()
            .map(|held| {
                let at_most = held.ceiling.at_most;
                let best = (held.at_best > at_most).then(|| figure(explained.unit, held.at_best));
                vec![
                    clean(&held.ceiling.name),
                    figure(explained.unit, at_most),
                    best.unwrap_or_default(),
                    share_words(held),
                    state(held.state).to_owned(),
                ]
            })
            .collect();
        let excess = (columns::width(&header, &rows) + 4).saturating_sub(page.width);
        columns::narrow(&mut header, &mut rows, 0, excess, 16);
        let table = columns::lines(&header, &rows, 1);
        lines.extend(table.iter().map(|line| format!("    {line}")));
    }
    page.add(lines.join("\n"));
}
