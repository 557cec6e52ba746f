//! Finds limits that bound no figure, and so were stated in vain.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Ceiling, Dataset};
use iostone_model::metric::Unit;

use super::case::outcome;
use super::limits::named;
use crate::rule::Rule;
use crate::{Outcome, finding};

/// Limits without a figure under them.
pub(super) struct IdleCeiling;

impl Rule for IdleCeiling {
    fn name(&self) -> &'static str {
        "idle-ceiling"
    }

    fn looks_for(&self) -> &'static str {
        "stated limits that bound no figure: of another unit, of figures or rows that are not there, or zero"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let findings = dataset.ceilings.iter().filter_map(|ceiling| self.judge(dataset, ceiling));
        outcome(!dataset.ceilings.is_empty(), findings.collect())
    }
}

impl IdleCeiling {
    fn judge(&self, dataset: &Dataset, ceiling: &Ceiling) -> Option<Finding> {
        let (severity, why) = idle(dataset, ceiling)?;
        let message = format!("{} bounds no figure here: {why}", named(ceiling));
        let advice = "State the limit in the unit of the figure that it bounds, or name the figure and the rows; until \
                      then it is as if nobody had stated it.";
        Some(finding(self, severity, message, advice))
    }
}

/// Why a limit bounds nothing; none where it bounds something.
///
/// A limit with neither figures nor rows named may have been stated for other datasets as well, which is a note.
fn idle(dataset: &Dataset, ceiling: &Ceiling) -> Option<(Severity, String)> {
    let unit = ceiling.limit.unit;
    if ceiling.limit.value <= 0.0 {
        return Some((Severity::Warning, "it is not above zero".to_owned()));
    }
    let concerned = |label: &(&String, &String)| {
        dataset.observations.iter().all(|observation| observation.labels.get(label.0) != Some(label.1))
    };
    if let Some((label, value)) = ceiling.applies.iter().find(concerned) {
        return Some((Severity::Warning, format!("there is no row with {label}={value}")));
    }
    let figures = || {
        dataset
            .observations
            .iter()
            .flat_map(|observation| observation.figures.keys().map(move |name| (observation, name.as_str())))
    };
    let bounds = |(observation, name)| {
        let of = dataset.unit_of(name);
        of == unit && ceiling.bounds(observation, name, of)
    };
    // Expectations are held against a rate even where it was not measured.
    let expects = unit == Unit::BytesPerSecond
        && dataset.predictions.iter().any(|prediction| prediction.rate.is_some());
    if figures().any(bounds) || expects {
        return None;
    }
    if ceiling.metrics.is_empty() {
        let severity = if ceiling.applies.is_empty() { Severity::Note } else { Severity::Warning };
        return Some((severity, format!("none of those concerned is in {}", kind(unit))));
    }
    let names = ceiling.metrics.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let there = figures().any(|(_, name)| ceiling.metrics.iter().any(|known| known == name));
    let why = if there {
        format!("{names} is not in {} in the rows concerned", kind(unit))
    } else {
        format!("there is no {names}")
    };
    Some((Severity::Warning, why))
}

/// What quantities of a unit are counted in, for people.
fn kind(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes a second",
        Unit::Bytes => "bytes",
        Unit::Seconds => "seconds",
        Unit::PerSecond => "operations a second",
        Unit::Share => "percent",
        Unit::Plain => "plain numbers",
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{ceiling, dataset, findings, observation, only, silent};
    use super::*;

    fn limited(limit: &str, change: impl Fn(&mut Ceiling)) -> Dataset {
        let mut set = dataset(vec![observation(&[("disk", "a")], &[("throughput", 1e6)])]);
        set.ceilings = vec![ceiling("link", limit)];
        change(&mut set.ceilings[0]);
        set
    }

    #[test]
    fn a_limit_of_another_unit_is_told() {
        let found = only(&IdleCeiling, &limited("160MiB", |_| ()));
        assert_eq!(found.severity, Severity::Note);
        assert!(
            found.message.ends_with("bounds no figure here: none of those concerned is in bytes"),
            "{}",
            found.message
        );
    }

    #[test]
    fn zero_and_figures_or_rows_that_are_not_there_are_warned_of() {
        let idle = [
            limited("0MB/s", |_| ()),
            limited("1MB/s", |ceiling| ceiling.metrics = vec!["iops".to_owned()]),
            limited("1000/s", |ceiling| ceiling.metrics = vec!["throughput".to_owned()]),
            limited("1MB/s", |ceiling| ceiling.applies = [("disk".to_owned(), "b".to_owned())].into()),
        ];
        for set in idle {
            assert_eq!(only(&IdleCeiling, &set).severity, Severity::Warning);
        }
    }

    #[test]
    fn a_limit_of_any_figure_is_clear_and_without_limits_nothing_is_looked_at() {
        assert!(findings(&IdleCeiling, &limited("1MB/s", |_| ())).is_empty());
        assert!(silent(&IdleCeiling, &dataset(Vec::new())));
    }
}
