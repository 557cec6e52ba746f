//! What was predicted, beside what was measured.

use iostone_model::explanation::PredictedFigure;
use iostone_model::metric::Unit;
use iostone_model::prediction::Prediction;

use super::excess::sized;

/// A smaller difference needs no explanation.
const WORTH_EXPLAINING: f64 = 0.005;

/// What may be dirty of so much memory, and how to say so: "20 % of 30.0 GiB = 6.44 GB".
pub fn dirty_share(memory_bytes: f64, share: f64) -> (f64, String) {
    let bytes = memory_bytes * share;
    let words = format!("{:.0} % of {} = {}", share * 100.0, sized(memory_bytes), Unit::Bytes.format(bytes));
    (bytes, words)
}

/// Sets a measured figure beside a prediction; none where the prediction has none of its unit.
///
/// `dirty_limit` is what memory may keep of writes that were not flushed, with its words; none where all of them were, or
/// nothing was written.
pub fn beside(
    configuration: &str,
    metric: (&str, Unit),
    prediction: &Prediction,
    measured: f64,
    dirty_limit: Option<&(f64, String)>,
) -> Option<PredictedFigure> {
    let (name, unit) = metric;
    let [shortest, longest] = prediction.seconds_interval;
    let (predicted, predicted_interval) = match unit {
        Unit::Seconds => (prediction.seconds, [shortest, longest]),
        Unit::BytesPerSecond => {
            (prediction.bytes_per_second, [prediction.bytes / longest, prediction.bytes / shortest])
        }
        Unit::PerSecond => {
            let rate = prediction.ios_per_second?;
            (rate, [rate * prediction.seconds / longest, rate * prediction.seconds / shortest])
        }
        Unit::Bytes | Unit::Share | Unit::Plain => return None,
    };
    if !(predicted > 0.0 && predicted.is_finite() && measured > 0.0 && measured.is_finite()) {
        return None;
    }
    let ratio = measured / predicted;
    let explained = dirty_limit.and_then(|limit| in_memory(prediction, unit, ratio, limit));
    Some(PredictedFigure {
        configuration: configuration.to_owned(),
        metric: name.to_owned(),
        unit,
        predicted,
        predicted_interval,
        measured,
        ratio,
        binds: prediction.binds,
        binding: prediction.binding.clone(),
        explained,
        sentence: String::new(),
    })
}

/// Bytes that were still in memory, where they are what made the difference.
fn in_memory(
    prediction: &Prediction,
    unit: Unit,
    ratio: f64,
    (allowed, words): &(f64, String),
) -> Option<String> {
    // The share of the predicted time that it took.
    let took = match unit {
        Unit::Seconds => ratio,
        _ => ratio.recip(),
    };
    let kept = prediction.bytes * (1.0 - took);
    (took < 1.0 - WORTH_EXPLAINING && kept <= *allowed)
        .then(|| format!("{} stayed in memory ({words} may)", Unit::Bytes.format(kept)))
}
