//! Finds executions that somebody gave up waiting for: their times are lower bounds.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Ending, Observation};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

use super::case::{Case, concluded, of_all};
use crate::Outcome;
use crate::rule::Rule;

/// So many times what was expected is no speed any more: something hung.
const HUNG: f64 = 20.0;

/// A censored time.
pub(super) struct GivenUp;

impl Rule for GivenUp {
    fn name(&self) -> &'static str {
        "given-up"
    }

    fn looks_for(&self) -> &'static str {
        "executions that had not ended when somebody gave up"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let known =
            dataset.observations.iter().filter(|observation| observation.facts.ending.is_some()).count();
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let Some(Ending::GivenUp(why)) = &observation.facts.ending else { continue };
            let severity = if observation.figures.is_empty() { Severity::Warning } else { Severity::Serious };
            let expected = expected(dataset, observation).unwrap_or_default();
            cases.push(Case { index, severity, text: format!("not ended: {}{expected}", why.trim()) });
        }
        let rows = of_all(cases.len(), known, "observation");
        let message = format!(
            "somebody gave up waiting in {rows}: such a time is a lower bound, and no speed follows from it"
        );
        concluded(
            known > 0,
            self,
            dataset,
            cases,
            message,
            "Leave it out of comparisons, and look for what hung: memory, a full disk, a network that did not answer.",
        )
    }
}

/// How much longer it was waited for than expected.
fn expected(dataset: &Dataset, observation: &Observation) -> Option<String> {
    let prediction = dataset.predictions.iter().find(|prediction| {
        prediction.is_about(observation) && dataset.unit_of(&prediction.metric) == Unit::Seconds
    })?;
    let waited = observation.value(&prediction.metric)?;
    let ratio = waited / prediction.expected.value;
    if !ratio.is_finite() || ratio <= 1.0 {
        return None;
    }
    let verdict = if ratio >= HUNG { ": it hung rather than was slow" } else { "" };
    Some(format!(
        "; waited {}, {} times the {} expected ({}){verdict}",
        Unit::Seconds.format(waited),
        three_digits(ratio),
        prediction.expected.text,
        prediction.source.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, prediction, silent};
    use super::*;

    #[test]
    fn two_weeks_for_ninety_three_minutes_is_a_hang() {
        let mut made = observation(&[("condition", "baseline")], &[("wall_time", 14.0 * 86400.0)]);
        made.facts.ending = Some(Ending::GivenUp("had not ended after two weeks".to_owned()));
        let mut set = dataset(vec![made]);
        set.predictions = vec![prediction("wall_time", "93min", None, None)];
        let found = only(&GivenUp, &set);
        assert_eq!(found.severity, Severity::Serious);
        assert!(
            found.evidence[0]
                .contains("217 times the 93min expected (the article): it hung rather than was slow"),
            "{:?}",
            found.evidence
        );
    }

    #[test]
    fn what_ended_is_clear_and_unknown_endings_not_looked_at() {
        let mut made = observation(&[], &[("wall_time", 1.0)]);
        assert!(silent(&GivenUp, &dataset(vec![made.clone()])));
        made.facts.ending = Some(Ending::Completed);
        assert!(findings(&GivenUp, &dataset(vec![made])).is_empty());
    }
}
