//! What bound the figures, as the page shows it: every figure against each ceiling, and predictions beside them.

use iostone_model::explanation::Explanation;

use super::prose::Prose;
use crate::figures::figure;
use crate::svg::forest::capitalised;
use crate::wording::explanation::{heading, machine_words, share_words, summary};

/// One ceiling with a figure held against it.
pub(super) struct HeldLine {
    pub(super) configuration: String,
    pub(super) figure: String,
    pub(super) measured: String,
    pub(super) ceiling: String,
    pub(super) at_most: String,
    pub(super) at_best: String,
    pub(super) share: String,
    pub(super) state: &'static str,
    pub(super) source: String,
}

/// A prediction beside what was measured.
pub(super) struct PredictedLine {
    pub(super) configuration: String,
    pub(super) metric: String,
    pub(super) predicted: String,
    pub(super) interval: String,
    pub(super) measured: String,
    pub(super) difference: String,
    pub(super) binds: String,
    pub(super) why: String,
}

/// The section.
pub(super) struct ExplanationPart {
    pub(super) heading: &'static str,
    pub(super) sayings: Vec<(String, Prose)>,
    pub(super) machines: Vec<(String, Prose)>,
    pub(super) lines: Vec<HeldLine>,
    pub(super) predictions: Vec<PredictedLine>,
    pub(super) notes: Vec<Prose>,
}

impl ExplanationPart {
    pub(super) fn of(explanation: &Explanation) -> Self {
        let mut sayings = Vec::new();
        let mut notes = Vec::new();
        for part in &explanation.parts {
            let told = summary(part);
            let told =
                told.iter().map(|sentence| (part.configuration.clone(), Prose::of(&capitalised(sentence))));
            sayings.extend(told);
            notes
                .extend(part.notes.iter().map(|note| Prose::of(&format!("{}: {note}.", part.configuration))));
        }
        notes.extend(explanation.notes.iter().map(|note| Prose::of(&format!("{}.", capitalised(note)))));
        Self {
            heading: heading(explanation),
            sayings,
            machines: explanation
                .parts
                .iter()
                .filter(|part| part.instance.is_some() || part.volumes.is_some())
                .map(|part| (part.configuration.clone(), Prose::of(&machine_words(part))))
                .collect(),
            lines: lines(explanation),
            predictions: predictions(explanation),
            notes,
        }
    }
}

fn lines(explanation: &Explanation) -> Vec<HeldLine> {
    let mut lines = Vec::new();
    for part in &explanation.parts {
        for explained in &part.figures {
            for (place, held) in explained.ceilings.iter().enumerate() {
                let first = |text: &str| if place == 0 { text.to_owned() } else { String::new() };
                lines.push(HeldLine {
                    configuration: first(&part.configuration),
                    figure: first(&explained.figure),
                    measured: first(&figure(explained.unit, explained.measured)),
                    ceiling: held.name.clone(),
                    at_most: figure(explained.unit, held.at_most),
                    at_best: if held.at_best > held.at_most {
                        figure(explained.unit, held.at_best)
                    } else {
                        String::new()
                    },
                    share: share_words(held),
                    state: held.state.words(),
                    source: held.source.clone(),
                });
            }
        }
    }
    lines
}

fn predictions(explanation: &Explanation) -> Vec<PredictedLine> {
    let line = |predicted: &iostone_model::explanation::PredictedFigure| {
        let of = |value: f64| figure(predicted.unit, value);
        let sign = if predicted.ratio < 1.0 { "−" } else { "+" };
        let [low, high] = predicted.predicted_interval;
        PredictedLine {
            configuration: predicted.configuration.clone(),
            metric: predicted.metric.clone(),
            predicted: of(predicted.predicted),
            interval: if high > low { format!("{} to {}", of(low), of(high)) } else { String::new() },
            measured: of(predicted.measured),
            difference: format!("{sign}{:.1}\u{a0}%", (predicted.ratio - 1.0).abs() * 100.0),
            binds: predicted.binding.clone(),
            why: predicted.explained.clone().unwrap_or_default(),
        }
    };
    explanation.predictions.iter().map(line).collect()
}
