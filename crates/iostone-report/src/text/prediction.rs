//! Predictions for the terminal: the answer, what binds when, the ceilings, and what would lift them.

use iostone_model::answer::{Answer, Answers};
use iostone_model::metric::Unit;

use super::wrap::{columns as columns_of, hang, wrap};
use super::{Page, TextStyle, columns, sparkline};
use crate::figures::{figure, range};
use crate::ink::{Ink, clean, dye};
use crate::prediction::{
    USED_NOTE, assumptions, binds_words, bucket_curves, dollars, expected_lines, headline, lift_sentences,
    measured_sentence, moved_words, notes, phase_span, price_sentence, race, rounded, shares_words, sources,
    span_words, subject, time_words, used_share,
};

/// Columns of a bucket's curve.
const CURVE_COLUMNS: usize = 24;
/// More phases than this are not listed.
const PHASES: usize = 12;
/// Columns of the words before a comparison's figures, and of each of its columns at most and at least.
const LABEL_COLUMNS: usize = 16;
const WIDEST: usize = 26;
const NARROWEST: usize = 16;
/// A ceiling's name is left so many columns at least.
const READABLE: usize = 20;

/// See [`crate::predictions_text()`].
pub(crate) fn write(answers: &Answers, style: TextStyle) -> String {
    let mut page = Page::new(style);
    if let [only] = answers.predictions.as_slice()
        && answers.unpredicted.is_empty()
    {
        page.add(dye(Ink::Bold, &wrap(&clean(&headline(only)), page.width)));
        page.add(dye(Ink::Dim, &wrap(&clean(&subject(only)), page.width)));
        add_whole(&mut page, only);
    } else {
        add_comparison(&mut page, answers);
    }
    let unpredicted: Vec<(String, String)> =
        answers.unpredicted.iter().map(|one| (clean(&one.label), clean(&one.reason))).collect();
    page.add_list("Not predicted", &unpredicted);
    let assumed: Vec<String> = assumptions(&answers.predictions)
        .into_iter()
        .map(|sentence| hang(&clean(sentence), page.width, "  - ", "    "))
        .collect();
    if !assumed.is_empty() {
        page.add(format!("{}\n{}", dye(Ink::Bold, "Taken for granted"), assumed.join("\n")));
    }
    let named: Vec<(String, String)> = sources(&answers.predictions)
        .into_iter()
        .map(|(name, source)| (clean(&name), clean(&source)))
        .collect();
    page.add_list("Sources", &named);
    page.finish(style)
}

/// All that is known of one.
fn add_whole(page: &mut Page, answer: &Answer) {
    add_warnings(page, answer);
    add_phases(page, answer);
    add_notes(page, answer);
    add_ceilings(page, answer);
    add_buckets(page, answer);
    let lifts: Vec<(String, String)> =
        lift_sentences(answer).into_iter().map(|(name, sentence)| (clean(&name), clean(&sentence))).collect();
    page.add_list("If it were lifted", &lifts);
    add_beside(page, answer);
    if let Some(sentence) = price_sentence(&answer.prediction) {
        page.add(wrap(&clean(&sentence), page.width));
    }
}

fn add_warnings(page: &mut Page, answer: &Answer) {
    let warnings: Vec<String> = answer
        .prediction
        .warnings
        .iter()
        .map(|flag| page.heed(&format!("{}: {}", flag.name, flag.message)))
        .collect();
    page.add(warnings.join("\n"));
}

fn add_phases(page: &mut Page, answer: &Answer) {
    let prediction = &answer.prediction;
    let phases = prediction.told_phases();
    let rows: Vec<[String; 3]> = phases
        .iter()
        .take(PHASES)
        .map(|phase| {
            [
                phase_span(phase, prediction.seconds),
                figure(Unit::BytesPerSecond, phase.bytes_per_second),
                clean(&phase.binding),
            ]
        })
        .collect();
    let widest = |at: usize, least: &str| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| columns_of(cell));
        cells.max().unwrap_or(0).max(columns_of(least))
    };
    let (when, rate) = (widest(0, "when"), widest(1, "rate"));
    let before = 2 + when + 2 + rate + 2;
    let mut lines = Vec::new();
    if before + READABLE <= page.width {
        lines.push(dye(Ink::Dim, &format!("  {:when$}  {:rate$}  what binds", "when", "rate")));
        for [span, moved, binding] in &rows {
            let space = |cell: &str, width: usize| " ".repeat(width.saturating_sub(columns_of(cell)));
            let first = format!("  {span}{}  {moved}{}  ", space(span, when), space(moved, rate));
            lines.push(hang(binding, page.width, &first, &" ".repeat(before)));
        }
    } else {
        for [span, moved, binding] in &rows {
            lines.push(hang(&format!("{span}: {moved}"), page.width, "  ", "  "));
            lines.push(hang(binding, page.width, "    ", "    "));
        }
    }
    let more = phases.len().saturating_sub(PHASES);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    page.add(lines.join("\n"));
}

fn add_ceilings(page: &mut Page, answer: &Answer) {
    let prediction = &answer.prediction;
    let bursts = prediction.ceilings.iter().any(|row| row.burst.is_some());
    let rate = |rate: f64| figure(Unit::BytesPerSecond, rate);
    let mut header = vec!["  ceiling".to_owned(), "in the long run".to_owned()];
    header.extend(bursts.then(|| "burst".to_owned()));
    header.extend(["used", "binds for"].map(str::to_owned));
    let mut rows: Vec<Vec<String>> = prediction
        .ceilings
        .iter()
        .map(|row| {
            let mut cells = vec![format!("  {}", clean(&row.name)), rate(row.sustained)];
            cells.extend(bursts.then(|| row.burst.map(rate).unwrap_or_default()));
            cells.extend([used_share(row, prediction), binds_words(row)]);
            cells
        })
        .collect();
    let named = rows.clone();
    let excess = columns::width(&header, &rows).saturating_sub(page.width);
    columns::narrow(&mut header, &mut rows, 0, excess, READABLE);
    let mut lines: Vec<String> = if columns::width(&header, &rows) <= page.width {
        columns::lines(&header, &rows, 1).iter().map(|line| line.trim_end().to_owned()).collect()
    } else {
        named.iter().flat_map(|row| stacked(&header, row, page.width)).collect()
    };
    if bursts {
        lines.push(hang(USED_NOTE, page.width, "  ", "  "));
    }
    page.add(lines.join("\n"));
}

/// A row below its name, where there is no room for columns.
fn stacked(header: &[String], row: &[String], width: usize) -> Vec<String> {
    let named = header.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
    let figures: Vec<String> = named.map(|(name, cell)| format!("{name} {cell}")).collect();
    let name = row.first().map_or("", |name| name.trim_start());
    vec![hang(name, width, "  ", "  "), hang(&figures.join(", "), width, "    ", "    ")]
}

fn add_buckets(page: &mut Page, answer: &Answer) {
    let prediction = &answer.prediction;
    let entries: Vec<(String, String)> = bucket_curves(prediction)
        .iter()
        .map(|curve| {
            let step = prediction.seconds / (CURVE_COLUMNS - 1) as f64;
            let levels: Vec<f64> = (0..CURVE_COLUMNS).map(|at| curve.at(step * at as f64)).collect();
            let drawn = sparkline::draw(&levels, (0.0, curve.capacity), CURVE_COLUMNS);
            (clean(curve.name), format!("{drawn}\n{}", curve.words()))
        })
        .collect();
    page.add_list("Buckets", &entries);
}

/// What else is worth knowing.
fn add_notes(page: &mut Page, answer: &Answer) {
    let notes: Vec<String> =
        notes(&answer.prediction).iter().map(|note| wrap(&clean(note), page.width)).collect();
    page.add(notes.join("\n"));
}

/// What was expected and measured.
fn add_beside(page: &mut Page, answer: &Answer) {
    let mut entries: Vec<(String, String)> = Vec::new();
    if let Some(expected) = &answer.expected {
        let lines: Vec<String> = expected_lines(expected).iter().map(|line| clean(line)).collect();
        entries.push((format!("expected {}", span_words(expected.seconds)), lines.join("\n")));
    }
    if let Some(measured) = &answer.measured {
        let sentence = clean(&measured_sentence(measured, &answer.prediction));
        entries.push((format!("measured {}", figure(Unit::Seconds, measured.seconds)), sentence));
    }
    page.add_list("Held against it", &entries);
}

/// A column each, and below what cannot stand in one.
fn add_comparison(page: &mut Page, answers: &Answers) {
    if let Some(race) = race(answers) {
        page.add(dye(Ink::Bold, &wrap(&clean(&race), page.width)));
    } else if let [only] = answers.predictions.as_slice() {
        page.add(dye(Ink::Bold, &wrap(&clean(&format!("{}: {}", only.label, headline(only))), page.width)));
    }
    if let Some(first) = answers.predictions.first() {
        let prediction = &first.prediction;
        let same = answers.predictions.iter().all(|one| one.prediction.work == prediction.work);
        let work = if same { format!("{}, by", prediction.work) } else { "By".to_owned() };
        page.add(dye(
            Ink::Dim,
            &wrap(&clean(&format!("{work} the limits of {}", prediction.date)), page.width),
        ));
    }
    let room = page.width.saturating_sub(LABEL_COLUMNS);
    let each = (room / answers.predictions.len().max(1)).clamp(NARROWEST + 2, WIDEST + 2);
    for some in answers.predictions.chunks((room / each).max(1)) {
        let columns: Vec<Vec<String>> = some.iter().map(column).collect();
        let cell = |row: usize| {
            columns
                .iter()
                .map(move |column| columns::clipped(column.get(row).map_or("", String::as_str), each - 2))
        };
        let header: Vec<String> = std::iter::once(String::new()).chain(cell(0)).collect();
        let rows: Vec<Vec<String>> = ROWS
            .iter()
            .enumerate()
            .map(|(at, name)| std::iter::once((*name).to_owned()).chain(cell(at + 1)).collect::<Vec<_>>())
            .filter(|row: &Vec<String>| row.iter().skip(1).any(|cell| !cell.is_empty()))
            .collect();
        let lines: Vec<String> = columns::lines(&header, &rows, some.len() + 1)
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect();
        page.add(lines.join("\n"));
    }
    for answer in &answers.predictions {
        let prediction = &answer.prediction;
        let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&answer.label), page.width))];
        let held = format!("{}.", headline(answer));
        lines.push(hang(&clean(&held), page.width, "  ", "  "));
        for (name, sentence) in lift_sentences(answer).into_iter().take(1) {
            lines.push(hang(&clean(&format!("Without {name}: {sentence}.")), page.width, "  ", "  "));
        }
        page.add(lines.join("\n"));
        add_warnings(page, answer);
        if prediction.timeline.len() > 1 {
            add_phases(page, answer);
        }
        if let Some(sentence) = price_sentence(prediction) {
            page.add(wrap(&clean(&sentence), page.width));
        }
        add_notes(page, answer);
        add_buckets(page, answer);
        add_beside(page, answer);
    }
}

/// What stands in a comparison's lines, behind the names.
const ROWS: [&str; 9] = ["", "moved", "time", "seconds", "between", "rate", "held by", "costs", "if lifted"];

/// One column of a comparison: its name in two lines, and what [`ROWS`] says.
fn column(answer: &Answer) -> Vec<String> {
    let prediction = &answer.prediction;
    let (name, rest) = answer.label.split_once(", ").unwrap_or((answer.label.as_str(), ""));
    let [low, high] = prediction.seconds_interval;
    let lifted = match answer.lifts.first() {
        Some(lift) => lift.seconds.map_or_else(|| "no limit known".to_owned(), span_words),
        None => String::new(),
    };
    let between =
        if high - low < 0.05 { String::new() } else { range(Unit::Seconds, rounded(low), rounded(high)) };
    let time = time_words(prediction.seconds);
    vec![
        clean(name),
        clean(rest),
        moved_words(answer).unwrap_or_default(),
        time.split(" (").next().unwrap_or_default().to_owned(),
        if time.contains('(') { figure(Unit::Seconds, prediction.seconds.round()) } else { String::new() },
        between,
        figure(Unit::BytesPerSecond, prediction.bytes_per_second),
        shares_words(prediction),
        prediction.usd.map(dollars).unwrap_or_default(),
        lifted,
    ]
}
