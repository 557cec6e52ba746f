//! A prediction with what is told beside it: what would lift its ceiling, where an expectation came from, and how far off a
//! measurement is.

use serde::{Deserialize, Serialize};

use crate::cloud::CeilingKind;
use crate::prediction::{LINK_UNKNOWN, Prediction};

/// The version of [`Answers`] as JSON.
pub const ANSWERS_SCHEMA: &str = "iostone/predictions/1";

/// Several predictions, side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// [`ANSWERS_SCHEMA`].
    pub schema: String,
    /// Which of `predictions` ends first, or moves most where the time was given, counted from 0; those that move less than
    /// was asked have no place in it. Null without any.
    pub first: Option<usize>,
    /// Each of them, in the order in which they were asked for.
    pub predictions: Vec<Answer>,
    /// What could not be predicted, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpredicted: Vec<Unpredicted>,
}

/// A configuration of which nothing is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unpredicted {
    /// Its name.
    pub label: String,
    /// Why.
    pub reason: String,
}

/// A prediction and what is told beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it is of: "c4.large, gp2:220GiB", or a configuration of an experiment.
    pub label: String,
    /// What of the work was given, so that the rest follows from it.
    pub given: Given,
    /// Bytes that were asked for, where far from all of them fit: the prediction is of those that do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_bytes: Option<f64>,
    /// The prediction; its fields stand beside the others.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// What would come if the ceiling that binds were lifted, then that one too, and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifts: Vec<Lift>,
    /// A time that somebody expected, and the formulas that give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// A time that somebody measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredTime>,
}

/// What of some work was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// Its bytes; the time follows.
    Bytes,
    /// Its time; the bytes follow.
    Time,
}

/// What would come without a ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lift {
    /// The ceiling that is lifted, with those of the entries before it.
    pub lifted: CeilingKind,
    /// The same by its name.
    pub name: String,
    /// How long the work would take, in seconds; null where nothing that is known would limit it then.
    pub seconds: Option<f64>,
    /// What would bind then.
    pub binds: Option<CeilingKind>,
    /// The same by its name.
    pub binding: Option<String>,
}

/// An expectation and where it may have come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The time that was expected, in seconds.
    pub seconds: f64,
    /// Times this near are taken for the same, in seconds: 1.5 %, or half of the last digit that was said.
    pub within_seconds: f64,
    /// Whether the prediction is that near.
    pub agrees: bool,
    /// The formulas that give it, those with the fewest slips first.
    pub slips: Vec<Slip>,
}

/// A formula that gives an expected time, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slip {
    /// The time that it gives, in seconds.
    pub seconds: f64,
    /// The formula in words: "220 x 1000 MiB at 62.5 MiB/s".
    pub formula: String,
    /// What is wrong with it, a clause each.
    pub mistakes: Vec<String>,
}

/// A measured time against the predicted one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTime {
    /// The time that was measured, in seconds.
    pub seconds: f64,
    /// Over the predicted one.
    pub ratio: f64,
    /// How they go together.
    pub agreement: MeasuredAgreement,
    /// Bytes that the ceilings do not let through in the measured time; zero where it is no shorter than predicted.
    pub excess_bytes: f64,
    /// What explains the difference: one sentence; null where nothing that is known does.
    pub explanation: Option<String>,
}

/// How a measured time goes together with a predicted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredAgreement {
    /// Within 3 % of it, or within its interval.
    Agrees,
    /// Longer.
    Slower,
    /// Shorter.
    Faster,
}

impl Answer {
    /// Whether it is of all that was asked but what a filesystem keeps, with every ceiling known, so that it may be set beside others.
    pub fn is_whole(&self) -> bool {
        self.asked_bytes.is_none() && self.prediction.warnings.iter().all(|flag| flag.name != LINK_UNKNOWN)
    }
}

impl Answers {
    /// Puts predictions side by side.
    pub fn of(predictions: Vec<Answer>, unpredicted: Vec<Unpredicted>) -> Self {
        // Seconds a byte: the fewest are the best, whichever of the two was given.
        let pace = |answer: &Answer| answer.prediction.seconds / answer.prediction.bytes.max(1.0);
        let measure = |answer: &Answer| match answer.given {
            Given::Bytes => answer.prediction.seconds,
            Given::Time => pace(answer),
        };
        let whole = predictions.iter().enumerate().filter(|(_, answer)| answer.is_whole());
        let best = whole.min_by(|a, b| measure(a.1).total_cmp(&measure(b.1)));
        let first = best.map(|(index, _)| index);
        Self { schema: ANSWERS_SCHEMA.to_owned(), first, predictions, unpredicted }
    }
}
