//! Finds expectations calculated from a rate that a lower limit does not let through.

use iostone_model::audit::Severity;
use iostone_model::ceiling::ALLOWANCE;
use iostone_model::dataset::{Dataset, Prediction};
use iostone_model::metric::Unit;

use super::case::{Case, outcome, size, times, told};
use super::limits::{lowest_rate, named};
use super::traffic::{self, Traffic};
use crate::Outcome;
use crate::rule::Rule;

/// An expectation above the limit that binds.
pub(super) struct PredictionBeyondCeiling;

impl Rule for PredictionBeyondCeiling {
    fn name(&self) -> &'static str {
        "prediction-beyond-ceiling"
    }

    fn looks_for(&self) -> &'static str {
        "expectations calculated from a rate above the lowest known limit"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut findings = Vec::new();
        for prediction in &dataset.predictions {
            let Some(rate) = rate(prediction) else { continue };
            let mut cases = Vec::new();
            let mut message = String::new();
            for (index, observation) in dataset.observations.iter().enumerate() {
                let Some(ceiling) =
                    lowest_rate(dataset, observation).filter(|_| prediction.is_about(observation))
                else {
                    continue;
                };
                looked = true;
                // The limit itself in another unit is a slip of units, which another rule tells.
                let restated = ceiling.restated.as_ref().is_some_and(|restated| restated.text == rate.0);
                if restated || rate.1 <= ALLOWANCE * ceiling.limit.value {
                    continue;
                }
                if message.is_empty() {
                    message = format!(
                        "{} was expected from {}, which is above {}",
                        prediction.expected.text,
                        rate.0,
                        named(ceiling)
                    );
                }
                let bytes = traffic::claimed(observation, Traffic::Write)
                    .or_else(|| traffic::claimed(observation, Traffic::Read))
                    .or(prediction.amount.as_ref().map(|amount| amount.value));
                let text = match (bytes, traffic::seconds(observation)) {
                    (Some(bytes), Some(measured)) => {
                        let seconds = bytes / ceiling.limit.value;
                        format!(
                            "{} at {} take {seconds:.0} s; measured {measured:.0} s, {}",
                            size(bytes),
                            ceiling.limit.text,
                            times(measured / seconds)
                        )
                    }
                    _ => format!("`{}` allows {}", ceiling.name, ceiling.limit.text),
                };
                cases.push(Case { index, severity: Severity::Warning, text });
            }
            findings.extend(told(
                self,
                dataset,
                cases,
                message,
                "Calculate from the lowest of all limits on the way: the volume's, the instance's and the source's.",
            ));
        }
        outcome(looked, findings)
    }
}

/// The rate that an expectation rests on, as written and in bytes a second.
fn rate(prediction: &Prediction) -> Option<(&str, f64)> {
    let rates = [prediction.rate.as_ref(), Some(&prediction.expected)];
    let rate = rates.into_iter().flatten().find(|quantity| quantity.unit == Unit::BytesPerSecond)?;
    Some((&rate.text, rate.value))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, findings, observation, only, prediction, silent};
    use super::*;

    fn c4_large() -> Dataset {
        let bytes = 232_303_771_648u64;
        let figures = [("throughput", bytes as f64 / 3763.15), ("wall_time", 3763.15)];
        let mut dd = observation(&[("instance", "c4.large")], &figures);
        dd.facts.claimed_written_bytes = Some(bytes);
        let mut set = dataset(vec![dd]);
        set.ceilings = vec![ceiling("volume", "160MiB/s"), ceiling("instance link", "500Mbps")];
        set
    }

    #[test]
    fn a_volumes_rate_is_no_expectation_behind_a_slower_link() {
        let mut set = c4_large();
        assert!(silent(&PredictionBeyondCeiling, &set));
        set.predictions = vec![prediction("wall_time", "23min", Some("220GiB"), Some("160MiB/s"))];
        let found = only(&PredictionBeyondCeiling, &set);
        assert_eq!(
            found.message,
            "23min was expected from 160MiB/s, which is above the limit of `instance link`, 500Mbps (62.5 MB/s)"
        );
        assert_eq!(
            found.evidence,
            ["made-up.csv (instance=c4.large): 232 GB at 500Mbps take 3717 s; measured 3763 s, 1.2 % above"]
        );
    }

    #[test]
    fn an_expectation_from_the_limit_itself_is_clear() {
        let mut set = c4_large();
        set.predictions = vec![prediction("wall_time", "63min", Some("220GiB"), Some("62.5MB/s"))];
        assert!(findings(&PredictionBeyondCeiling, &set).is_empty());
        set.predictions = vec![prediction("wall_time", "59min", Some("220GiB"), Some("62.5MiB/s"))];
        assert_eq!(findings(&PredictionBeyondCeiling, &set).len(), 1);
        set.ceilings[1].restated = Some("62.5MiB/s".parse().unwrap());
        assert!(findings(&PredictionBeyondCeiling, &set).is_empty());
    }
}
