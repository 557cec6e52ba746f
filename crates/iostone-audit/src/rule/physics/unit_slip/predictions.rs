//! Expectations whose own arithmetic does not hold, or that figures miss by the factor of a mix-up.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Prediction};
use iostone_model::metric::Unit;

use super::super::case::{row, size, times};
use super::super::limits::lowest_rate;
use super::super::slip::{nearest, rounding};
use super::super::traffic::{self, Traffic};
use super::{AGREES, NEAR, Slipped, named};

/// Figures that show it; more persuade nobody further.
const SHOWN: usize = 3;

/// Looks at every expectation; none if there is none.
pub(super) fn look(dataset: &Dataset) -> Option<Vec<Slipped>> {
    let mut found: Vec<Slipped> = Vec::new();
    for prediction in &dataset.predictions {
        let slipped = match calculated(prediction) {
            Some(seconds) => arithmetic(dataset, prediction, seconds),
            None => against_figures(dataset, prediction),
        };
        found.extend(slipped.filter(|slipped| found.iter().all(|other| other.message != slipped.message)));
    }
    (!dataset.predictions.is_empty()).then_some(found)
}

/// What the amount and the rate come to with units right, seconds.
fn calculated(prediction: &Prediction) -> Option<f64> {
    let (amount, rate) = (prediction.amount.as_ref()?, prediction.rate.as_ref()?);
    let kinds = (amount.unit, rate.unit, prediction.expected.unit);
    let fit = kinds == (Unit::Bytes, Unit::BytesPerSecond, Unit::Seconds);
    (fit && rate.value > 0.0).then(|| amount.value / rate.value)
}

/// The expectation against its own amount and rate.
fn arithmetic(dataset: &Dataset, prediction: &Prediction, seconds: f64) -> Option<Slipped> {
    let (amount, rate) = (prediction.amount.as_ref()?, prediction.rate.as_ref()?);
    let expected = &prediction.expected;
    let ratio = expected.value / seconds;
    if !ratio.is_finite() || ratio <= 0.0 || (ratio - 1.0).abs() <= AGREES.max(rounding(&expected.text)) {
        return None;
    }
    let (severity, mix_up) = named(nearest(ratio, NEAR));
    let message = format!(
        "{} at {} take {}, not the {} expected ({} it), {mix_up}",
        amount.text,
        rate.text,
        duration(seconds),
        expected.text,
        times(ratio)
    );
    let mut evidence = Vec::new();
    if !prediction.source.is_empty() {
        evidence.push(format!("expected in: {}", prediction.source));
    }
    let mut observations = Vec::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        if prediction.is_about(observation) {
            observations.push(index);
            if observations.len() <= SHOWN {
                evidence.extend(with_units_right(dataset, prediction, index));
            }
        }
    }
    Some(Slipped { severity, message, evidence, observations })
}

/// What was measured against the bytes it moved through the lowest limit known.
fn with_units_right(dataset: &Dataset, prediction: &Prediction, index: usize) -> Option<String> {
    let observation = dataset.observations.get(index)?;
    let measured = observation.value(&prediction.metric)?;
    let ceiling = lowest_rate(dataset, observation)?;
    let bytes = traffic::claimed(observation, Traffic::Write)
        .or_else(|| traffic::claimed(observation, Traffic::Read))
        .or(prediction.amount.as_ref().map(|amount| amount.value))?;
    let seconds = bytes / ceiling.limit.value;
    Some(format!(
        "{}: {} at {} take {seconds:.0} s; measured {measured:.0} s, {}",
        row(dataset, index),
        size(bytes),
        ceiling.limit.text,
        times(measured / seconds)
    ))
}

/// Figures that miss an expectation without arithmetic by a mix-up's factor. Where all of them do, it is one finding; a
/// factor of a few percent is left alone, because noise makes those too.
fn against_figures(dataset: &Dataset, prediction: &Prediction) -> Option<Slipped> {
    let unit = dataset.unit_of(&prediction.metric);
    if unit != prediction.expected.unit {
        return None;
    }
    let mut slip = None;
    let (mut evidence, mut observations) = (Vec::new(), Vec::new());
    for (index, observation) in dataset.observations.iter().enumerate() {
        if !prediction.is_about(observation) {
            continue;
        }
        let value = observation.value(&prediction.metric)?;
        let off = nearest(value / prediction.expected.value, NEAR).filter(|slip| slip.gross)?;
        slip = Some(off);
        observations.push(index);
        if observations.len() <= SHOWN {
            let times = times(value / prediction.expected.value);
            evidence.push(format!(
                "{}: {}, {times} the expectation",
                row(dataset, index),
                unit.format(value)
            ));
        }
    }
    let slip = slip?;
    let message = format!(
        "{} is off from the {} expected by a factor of {}, just as with {}",
        prediction.metric, prediction.expected.text, slip.factor, slip.what
    );
    Some(Slipped { severity: Severity::Serious, message, evidence, observations })
}

/// Seconds for people who expect minutes.
fn duration(seconds: f64) -> String {
    if seconds >= 120.0 {
        format!("{:.1} min ({seconds:.0} s)", seconds / 60.0)
    } else {
        Unit::Seconds.format(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::made_up::{ceiling, dataset, observation, prediction};
    use super::*;

    fn c4_large(prediction: Prediction) -> Dataset {
        let mut dd = observation(
            &[("instance", "c4.large")],
            &[("throughput", 232_303_771_648.0 / 3763.15), ("wall_time", 3763.15)],
        );
        dd.facts.claimed_written_bytes = Some(232_303_771_648);
        let mut set = dataset(vec![dd]);
        set.ceilings = vec![ceiling("volume", "160MiB/s"), ceiling("instance link", "500Mbps")];
        set.predictions = vec![prediction];
        set
    }

    #[test]
    fn a_prediction_of_1000_mib_a_gib_is_calculated_again_with_units_right() {
        let set = c4_large(prediction("wall_time", "59min", Some("220GiB"), Some("62.5MiB/s")));
        let found = look(&set).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "220GiB at 62.5MiB/s take 60.1 min (3604 s), not the 59min expected (1.8 % below it), as with a prefix of \
             1000 taken for one of 1024 (as kB for KiB, or 1000 MiB for 1 GiB)"
        );
        assert_eq!(
            found[0].evidence[1],
            "made-up.csv (instance=c4.large): 232 GB at 500Mbps take 3717 s; measured 3763 s, 1.2 % above"
        );
    }

    #[test]
    fn gib_and_mb_mixed_are_off_by_more() {
        let set = c4_large(prediction("wall_time", "59min", Some("220GiB"), Some("500Mbps")));
        assert!(look(&set).unwrap()[0].message.ends_with("as with GB taken for GiB"));
    }

    #[test]
    fn a_prediction_that_is_right_within_its_digits_is_clear() {
        let set = c4_large(prediction("wall_time", "23min", Some("220GiB"), Some("160MiB/s")));
        assert!(look(&set).unwrap().is_empty());
        let set = c4_large(prediction("wall_time", "62min", None, None));
        assert!(look(&set).unwrap().is_empty());
        assert!(look(&dataset(Vec::new())).is_none());
    }

    #[test]
    fn a_figure_an_eighth_of_what_was_expected_is_bits_for_bytes() {
        let mut set = dataset(vec![observation(&[], &[("throughput", 62.3e6)])]);
        set.predictions = vec![prediction("throughput", "500MB/s", None, None)];
        let found = look(&set).unwrap();
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        set.observations[0].figures.insert("throughput".to_owned(), 487e6.into());
        assert!(look(&set).unwrap().is_empty());
    }
}
