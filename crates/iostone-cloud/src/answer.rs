//! What is told beside a prediction: what would lift its ceiling, where an expectation came from, how far off a measurement is.

mod lift;
mod measured;
mod slip;

use iostone_model::answer::{Answer, Given, MeasuredAgreement};
use iostone_model::experiment::Configuration;
use iostone_model::prediction::Prediction;
use iostone_model::units::Bytes;

use crate::catalogue::Catalogue;
use crate::prediction::{Amount, PredictError, Question, Route, Work, predict_configuration, work_of};

/// Two times this near are the same.
const SAME_SECONDS: f64 = 1e-6;

/// What a filesystem keeps for itself is less: a volume that holds all but this was large enough, and is full a little sooner.
const FILESYSTEM_SHARE: f64 = 0.03;

/// A time that somebody expected, as precisely as they said it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The time in seconds.
    pub seconds: f64,
    /// Half of the last digit that was said, in seconds: 30 for "23min".
    pub half_digit: f64,
}

/// What is asked beside a question.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Beside {
    /// A time that somebody expected.
    pub expected: Option<Expectation>,
    /// A time that somebody measured, in seconds.
    pub measured: Option<f64>,
}

/// Predicts, and tells what is asked beside it.
///
/// # Errors
/// [`PredictError`].
pub fn answer(catalogue: &Catalogue, question: &Question, beside: Beside) -> Result<Answer, PredictError> {
    let route = Route::of(catalogue, question)?;
    let mut prediction = route.predict(&question.work)?;
    // As it was asked, also where not all of it fits.
    prediction.work = question.work.in_words();
    let given = given(&question.work);
    Ok(tell(label(&prediction), prediction, given, &route, &question.work, beside))
}

/// The same of a configuration of an experiment, whose stack is settled.
///
/// # Errors
/// [`PredictError`]: its demand cannot be told, or nothing that is known limits it.
pub fn answer_configuration(
    catalogue: &Catalogue,
    configuration: &Configuration,
) -> Result<Answer, PredictError> {
    let work = work_of(&configuration.workload)?;
    let prediction = predict_configuration(catalogue, configuration)?;
    let route = Route::of_configuration(catalogue, configuration);
    let time = configuration.workload.profile().demand.ok().and_then(|demand| demand.time);
    let ends_by_time =
        time.is_some_and(|time| (prediction.seconds - time.0.as_secs_f64()).abs() < SAME_SECONDS);
    let given = if ends_by_time { Given::Time } else { given(&work) };
    Ok(tell(configuration.name.clone(), prediction, given, &route, &work, Beside::default()))
}

fn given(work: &Work) -> Given {
    match work.amount {
        Amount::Bytes { .. } => Given::Bytes,
        Amount::Time { .. } => Given::Time,
    }
}

fn tell(
    label: String,
    prediction: Prediction,
    given: Given,
    route: &Route,
    work: &Work,
    beside: Beside,
) -> Answer {
    let (asked, writes) = match work.amount {
        Amount::Bytes { read, write } => (Bytes(read.0.saturating_add(write.0)), write.0 > 0),
        Amount::Time { written_per_mille, .. } => (whole_bytes(prediction.bytes), written_per_mille > 0),
    };
    let measured = beside.measured.map(|seconds| {
        let mut held = measured::hold(&prediction, seconds, route.memory, writes);
        if held.agreement != MeasuredAgreement::Agrees && held.explanation.is_none() {
            held.explanation = measured::with_other_buckets(route, work, seconds);
        }
        held
    });
    let is_short = given == Given::Bytes && prediction.bytes < asked.0 as f64 * (1.0 - FILESYSTEM_SHARE);
    Answer {
        label,
        given,
        asked_bytes: is_short.then_some(asked.0 as f64),
        // Where the time is given it stays what it is, whatever is lifted.
        lifts: if given == Given::Bytes { lift::lifts(route, work, &prediction) } else { Vec::new() },
        expected: beside
            .expected
            .map(|expected| slip::explain(&prediction, &slip::own_figures(route, work), asked, expected)),
        measured,
        prediction,
    }
}

/// "c4.large, gp2:220GiB".
fn label(prediction: &Prediction) -> String {
    let parts: Vec<&str> =
        [&prediction.instance, &prediction.volumes].into_iter().flatten().map(String::as_str).collect();
    if parts.is_empty() { "the source alone".to_owned() } else { parts.join(", ") }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and a cast saturates")]
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes(bytes.round() as u64)
}

/// A number with at most one decimal: `62.5`, `500`.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use iostone_model::cloud::CeilingKind;
    use iostone_model::prediction::{CeilingRow, PREDICTION_SCHEMA, Phase};

    use super::*;

    /// A prediction of one phase at the link of 62.5 MB/s.
    pub(super) fn prediction(seconds: f64, ceilings: Vec<CeilingRow>) -> Prediction {
        let binding = "the link of 62.5MB/s".to_owned();
        Prediction {
            schema: PREDICTION_SCHEMA.to_owned(),
            instance: Some("c4.large".to_owned()),
            volumes: Some("gp2:220GiB".to_owned()),
            date: "2017-07".parse().expect("a date"),
            work: "write 220GiB".to_owned(),
            bytes: seconds * 62.5e6,
            seconds,
            seconds_interval: [seconds, seconds],
            bytes_per_second: 62.5e6,
            bytes_interval: None,
            long_run_bytes_per_second: None,
            ios_per_second: None,
            binds: CeilingKind::Link,
            binding: binding.clone(),
            timeline: vec![Phase {
                from_seconds: 0.0,
                to_seconds: seconds,
                bytes_per_second: 62.5e6,
                binds: CeilingKind::Link,
                binding,
                buckets: Vec::new(),
            }],
            ceilings,
            page_cache: None,
            usd: None,
            price: None,
            speed: None,
            notes: Vec::new(),
            warnings: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    fn question(write: u64) -> Question {
        let work = Work::sequential(Bytes(0), Bytes(write));
        let mut question = Question::new(work, "2017-07".parse().expect("a date"));
        question.instance = Some("c4.large".to_owned());
        question.volumes = Some("gp2:220GiB".parse().expect("a volume"));
        question
    }

    #[test]
    fn what_holds_up_can_be_lifted() {
        let catalogue = crate::catalogue();
        let told = answer(catalogue, &question(232_303_771_648), Beside::default()).expect("an answer");
        assert_eq!(told.label, "c4.large, gp2:220GiB");
        assert_eq!(told.prediction.binds, CeilingKind::Link);
        let lift = &told.lifts[0];
        assert_eq!((lift.lifted, lift.binds), (CeilingKind::Link, Some(CeilingKind::Volume)));
        assert!((lift.seconds.expect("a time") / 1384.6 - 1.0).abs() < 1e-3);
        // Behind it stand the volume's and the link's limits of I/Os.
        assert!(told.lifts[1].seconds < lift.seconds);
    }

    #[test]
    fn empty_buckets_explain_a_longer_time() {
        let catalogue = crate::catalogue();
        let mut question = question(0);
        question.work = Work::sequential(Bytes(4096 * 300 * 1000), Bytes(0)).at_random(Bytes(4096), None);
        question.volumes = Some("gp2:100GiB".parse().expect("a volume"));
        let beside = Beside { measured: Some(1000.0), ..Beside::default() };
        let told = answer(catalogue, &question, beside).expect("an answer");
        let measured = told.measured.expect("a measurement");
        assert_eq!(measured.agreement, MeasuredAgreement::Slower);
        let explanation = measured.explanation.expect("buckets");
        assert!(explanation.starts_with("with empty buckets at the start"), "{explanation}");
    }
}
