//! The page of predictions: the answer, the rate over time with what binds, the ceilings, and what would lift them.

use askama::Template;
use iostone_model::answer::{Answer, Answers};
use iostone_model::cloud::CeilingKind;
use iostone_model::metric::Unit;

use super::prose::{Prose, without_controls};
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::figures::{counted, figure};
use crate::prediction::{
    USED_NOTE, assumptions, basis_word, binds_words, dollars, expected_lines, headline, lift_sentences,
    measured_sentence, moved_words, notes, phase_span, price_sentence, race, shares_words, sources,
    span_words, subject, time_words, used_share,
};
use crate::svg::prediction::{PANELS, draw_ceilings, draw_rates, swatch};

/// More phases than this are not listed; the picture has them all.
const PHASES: usize = 20;

struct Chip {
    class: &'static str,
    text: String,
}

/// A column of the comparison, as a row of its table.
struct CompareRow {
    label: String,
    first: bool,
    moved: Option<String>,
    time: String,
    between: String,
    rate: String,
    binds: String,
    price: String,
    lifted: String,
}

struct PhaseLine {
    when: String,
    rate: String,
    binding: Prose,
}

struct CeilingLine {
    name: Prose,
    sustained: String,
    burst: String,
    used: String,
    binds: String,
    basis: &'static str,
}

/// One prediction.
struct Part {
    id: String,
    label: String,
    headline: Prose,
    warnings: Vec<(String, Prose)>,
    phases: Vec<PhaseLine>,
    more_phases: usize,
    price: Option<Prose>,
    used_note: &'static str,
    notes: Vec<Prose>,
    bars: Option<Figure>,
    ceilings: Vec<CeilingLine>,
    lifts: Vec<(Prose, Prose)>,
    beside: Vec<(String, Vec<Prose>)>,
}

#[derive(Template)]
#[template(path = "prediction.html")]
struct PredictionPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    title: String,
    eyebrow: String,
    headline: Prose,
    chips: Vec<Chip>,
    rates: Option<Figure>,
    left_out: usize,
    legend: Vec<(String, &'static str)>,
    compared: Vec<CompareRow>,
    parts: Vec<Part>,
    unpredicted: Vec<(String, Prose)>,
    assumptions: Vec<Prose>,
    sources: Vec<(Prose, Prose)>,
    asked: &'a str,
}

/// See [`crate::predictions_html()`].
pub(crate) fn write(answers: &Answers, asked: &str) -> Result<String, askama::Error> {
    let predictions = &answers.predictions;
    let several = predictions.len() + answers.unpredicted.len() > 1;
    let first = predictions.first();
    let both = |draw: &dyn Fn(f64, &str) -> Option<String>, id: &str| {
        let wide = draw(FULL - 60.0, &format!("{id}-wide"))?;
        Some(Figure { wide, narrow: draw(SLIM, &format!("{id}-narrow"))? })
    };
    let answer = race(answers)
        .or_else(|| first.map(headline))
        .unwrap_or_else(|| "Nothing could be predicted".to_owned());
    let page = PredictionPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        title: title(answers),
        eyebrow: match first {
            Some(one) if several => format!("Prediction · by the limits of {}", one.prediction.date),
            Some(one) => format!("Prediction · {}", subject(one)),
            None => "Prediction".to_owned(),
        },
        headline: Prose::of(&format!("{answer}.")),
        chips: first.filter(|_| !several).map(chips).unwrap_or_default(),
        rates: both(&|width, id| draw_rates(predictions, width, id), "rates"),
        left_out: predictions.len().saturating_sub(PANELS),
        legend: legend(predictions),
        compared: if several { compared(answers) } else { Vec::new() },
        parts: predictions
            .iter()
            .enumerate()
            .map(|(index, answer)| {
                let id = format!("prediction-{index}");
                let bars = both(
                    &|width, id| draw_ceilings(&answer.prediction, width, id),
                    &format!("ceilings-{index}"),
                );
                part(id, answer, bars)
            })
            .collect(),
        unpredicted: answers
            .unpredicted
            .iter()
            .map(|one| (one.label.clone(), Prose::of(&one.reason)))
            .collect(),
        assumptions: assumptions(predictions).into_iter().map(Prose::of).collect(),
        sources: sources(predictions)
            .iter()
            .map(|(name, source)| (Prose::of(name), Prose::of(source)))
            .collect(),
        asked,
    };
    Ok(without_controls(&page.render()?))
}

/// "How long does it take to write 220GiB?" where all do the same.
fn title(answers: &Answers) -> String {
    let mut works = answers.predictions.iter().map(|answer| answer.prediction.work.as_str());
    let Some(first) = works.next() else { return "How long will it take?".to_owned() };
    if works.all(|work| work == first) {
        format!("How long does it take to {first}?")
    } else {
        "How long will it take?".to_owned()
    }
}

fn chips(answer: &Answer) -> Vec<Chip> {
    let prediction = &answer.prediction;
    let mut chips = vec![
        Chip { class: "", text: figure(Unit::BytesPerSecond, prediction.bytes_per_second) },
        Chip { class: "", text: format!("{} binds", prediction.binds.word()) },
    ];
    if let Some(ios) = prediction.ios_per_second {
        chips.push(Chip { class: "", text: format!("{} I/Os", figure(Unit::PerSecond, ios)) });
    }
    if let Some(usd) = prediction.usd {
        chips.push(Chip { class: "", text: format!("costs {}", dollars(usd)) });
    }
    let warnings = prediction.warnings.len();
    if warnings > 0 {
        chips.push(Chip {
            class: "heed",
            text: format!("! {} in the question", counted(warnings, "mistake")),
        });
    }
    chips
}

/// Every kind of ceiling that binds somewhere, or stands in a bar.
fn legend(answers: &[Answer]) -> Vec<(String, &'static str)> {
    let mut kinds: Vec<CeilingKind> = answers
        .iter()
        .flat_map(|answer| answer.prediction.timeline.iter().map(|phase| phase.binds))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().map(|kind| (swatch(kind), kind.word())).collect()
}

fn compared(answers: &Answers) -> Vec<CompareRow> {
    let row = |(index, answer): (usize, &Answer)| {
        let prediction = &answer.prediction;
        let [low, high] = prediction.seconds_interval;
        CompareRow {
            label: answer.label.clone(),
            first: answers.first == Some(index),
            moved: moved_words(answer),
            time: time_words(prediction.seconds),
            between: if high - low < 0.05 {
                String::new()
            } else {
                format!("{} to {}", span_words(low), span_words(high))
            },
            rate: figure(Unit::BytesPerSecond, prediction.bytes_per_second),
            binds: shares_words(prediction),
            price: prediction.usd.map(dollars).unwrap_or_default(),
            lifted: match answer.lifts.first() {
                Some(lift) => lift.seconds.map_or_else(|| "no limit known".to_owned(), span_words),
                None => String::new(),
            },
        }
    };
    answers.predictions.iter().enumerate().map(row).collect()
}

fn part(id: String, answer: &Answer, bars: Option<Figure>) -> Part {
    let prediction = &answer.prediction;
    let rate = |rate: f64| figure(Unit::BytesPerSecond, rate);
    let phases = prediction.told_phases();
    let mut beside = Vec::new();
    if let Some(expected) = &answer.expected {
        let lines = expected_lines(expected).iter().map(|line| Prose::of(line)).collect();
        beside.push((format!("Expected {}", span_words(expected.seconds)), lines));
    }
    if let Some(measured) = &answer.measured {
        let sentence = Prose::of(&measured_sentence(measured, prediction));
        beside.push((format!("Measured {}", figure(Unit::Seconds, measured.seconds)), vec![sentence]));
    }
    Part {
        id,
        label: answer.label.clone(),
        headline: Prose::of(&format!("{}.", headline(answer))),
        warnings: prediction
            .warnings
            .iter()
            .map(|flag| (flag.name.clone(), Prose::of(&flag.message)))
            .collect(),
        more_phases: phases.len().saturating_sub(PHASES),
        price: price_sentence(prediction).map(|sentence| Prose::of(&sentence)),
        used_note: USED_NOTE,
        phases: phases
            .iter()
            .take(PHASES)
            .map(|phase| PhaseLine {
                when: phase_span(phase, prediction.seconds),
                rate: rate(phase.bytes_per_second),
                binding: Prose::of(&phase.binding),
            })
            .collect(),
        notes: notes(prediction).iter().map(|note| Prose::of(note)).collect(),
        bars,
        ceilings: prediction
            .ceilings
            .iter()
            .map(|row| CeilingLine {
                name: Prose::of(&row.name),
                sustained: rate(row.sustained),
                burst: row.burst.map(rate).unwrap_or_default(),
                used: used_share(row, prediction),
                binds: binds_words(row),
                basis: basis_word(row.basis),
            })
            .collect(),
        lifts: lift_sentences(answer)
            .iter()
            .map(|(name, sentence)| (Prose::of(name), Prose::of(sentence)))
            .collect(),
        beside,
    }
}
