//! What bound the figures, as the page shows it: every figure against each ceiling, and predictions beside them.

use iostone_model::explanation::{ExplainedPart, Explanation};

use super::prose::Prose;
use crate::figures::figure;
use crate::svg::forest::capitalised;
use crate::wording::ceiling::{difference, state};
use crate::wording::explanation::{heading, machine_words, share_words, sources, summary};

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
}

/// All that is said of a configuration.
pub(super) struct Sayings {
    pub(super) configuration: String,
    /// The machine, where configurations differ in it.
    pub(super) machine: Option<Prose>,
    pub(super) sentences: Vec<Prose>,
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
    /// The machine, where it is that of every configuration.
    pub(super) machine: Option<Prose>,
    pub(super) sayings: Vec<Sayings>,
    pub(super) lines: Vec<HeldLine>,
    /// Whether any ceiling lets more through for a while.
    pub(super) has_best: bool,
    pub(super) sources: Vec<Prose>,
    pub(super) predictions: Vec<PredictedLine>,
    /// Whether any prediction has an interval, and whether any difference is explained.
    pub(super) has_interval: bool,
    pub(super) has_why: bool,
    pub(super) notes: Vec<Prose>,
}

impl ExplanationPart {
    pub(super) fn of(explanation: &Explanation) -> Self {
        let machines: Vec<Option<String>> = explanation.parts.iter().map(machine).collect();
        let shared = machines.first().cloned().flatten().filter(|first| {
            machines.len() > 1 && machines.iter().all(|machine| machine.as_ref() == Some(first))
        });
        let mut sayings = Vec::new();
        let mut notes = Vec::new();
        for (part, machine) in explanation.parts.iter().zip(machines) {
            let sentences: Vec<Prose> = summary(part)
                .iter()
                .map(|sentence| Prose::of(&format!("{}.", capitalised(sentence))))
                .collect();
            if !sentences.is_empty() {
                let machine = machine.filter(|_| shared.is_none()).map(|words| Prose::of(&words));
                sayings.push(Sayings { configuration: part.configuration.clone(), machine, sentences });
            }
            notes
                .extend(part.notes.iter().map(|note| Prose::of(&format!("{}: {note}.", part.configuration))));
        }
        let lines = lines(explanation);
        let predictions = predictions(explanation);
        notes.extend(explanation.notes.iter().map(|note| Prose::of(&format!("{}.", capitalised(note)))));
        Self {
            heading: heading(explanation),
            machine: shared.map(|words| Prose::of(&words)),
            sayings,
            has_best: lines.iter().any(|line| !line.at_best.is_empty()),
            lines,
            sources: sources(explanation)
                .iter()
                .map(|(ceilings, source)| Prose::of(&format!("{ceilings}: {source}.")))
                .collect(),
            has_interval: predictions.iter().any(|line| !line.interval.is_empty()),
            has_why: predictions.iter().any(|line| !line.why.is_empty()),
            predictions,
            notes,
        }
    }
}

/// What a part's ceilings are of, where that has a name.
fn machine(part: &ExplainedPart) -> Option<String> {
    (part.instance.is_some() || part.volumes.is_some()).then(|| machine_words(part))
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
                    ceiling: held.ceiling.name.clone(),
                    at_most: figure(explained.unit, held.ceiling.at_most),
                    at_best: if held.at_best > held.ceiling.at_most {
                        figure(explained.unit, held.at_best)
                    } else {
                        String::new()
                    },
                    share: share_words(held),
                    state: state(held.state),
                });
            }
        }
    }
    lines
}

fn predictions(explanation: &Explanation) -> Vec<PredictedLine> {
    let line = |predicted: &iostone_model::explanation::PredictedFigure| {
        let of = |value: f64| figure(predicted.unit, value);
        let [low, high] = predicted.predicted_interval;
        PredictedLine {
            configuration: predicted.configuration.clone(),
            metric: predicted.metric.clone(),
            predicted: of(predicted.predicted),
            // A width that no printed digit shows is none.
            interval: if of(low) == of(high) {
                String::new()
            } else {
                let inside = (low..=high).contains(&predicted.measured);
                format!("{} to {}: {}", of(low), of(high), if inside { "inside" } else { "outside" })
            },
            measured: of(predicted.measured),
            difference: difference(predicted.ratio),
            binds: predicted.binding.clone(),
            why: predicted.explained.clone().unwrap_or_default(),
        }
    };
    explanation.predictions.iter().map(line).collect()
}
