//! An observation that shows a fault, and how several of them become one finding.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Observation};
pub(super) use iostone_model::median::median;
use iostone_model::metric::Unit;

use crate::rule::Rule;
use crate::{Outcome, finding};

/// More lines of evidence than these persuade nobody further.
const LINES_SHOWN: usize = 5;

/// An observation that shows a fault.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    /// Its place in the dataset.
    pub(super) index: usize,
    /// What the fault takes from its figures.
    pub(super) severity: Severity,
    /// How it shows: half a sentence with the figures.
    pub(super) text: String,
}

/// The finding that several cases make: as severe as the gravest of them, which come first as evidence; none without
/// a case, which is what a message is made of.
pub(super) fn told(
    rule: &dyn Rule,
    dataset: &Dataset,
    mut cases: Vec<Case>,
    message: impl Into<Option<String>>,
    advice: &str,
) -> Vec<Finding> {
    cases.sort_by_key(|case| std::cmp::Reverse(case.severity));
    let worst = cases.first().map(|case| case.severity);
    let Some((worst, message)) = worst.zip(message.into()) else { return Vec::new() };
    let mut told = finding(rule, worst, message, advice);
    told.evidence = lines(dataset, &cases);
    told.observations = cases.iter().map(|case| case.index).collect();
    told.observations.sort_unstable();
    told.observations.dedup();
    vec![told]
}

/// What a rule came to: nothing to look at, or what it found.
pub(super) fn outcome(looked: bool, findings: Vec<Finding>) -> Outcome {
    if looked { Outcome::Looked(findings) } else { Outcome::NotApplicable }
}

/// The outcome of a rule that collects cases: not applicable where it had nothing to look at.
pub(super) fn concluded(
    looked: bool,
    rule: &dyn Rule,
    dataset: &Dataset,
    cases: Vec<Case>,
    message: impl Into<Option<String>>,
    advice: &str,
) -> Outcome {
    outcome(looked, told(rule, dataset, cases, message, advice))
}

/// A line a case, those that say the same under the same condition as one.
fn lines(dataset: &Dataset, cases: &[Case]) -> Vec<String> {
    let mut groups: Vec<(&Case, String, usize)> = Vec::new();
    for case in cases {
        let Some(observation) = dataset.observations.get(case.index) else { continue };
        let condition = condition(dataset, observation);
        match groups.iter_mut().find(|(first, under, _)| first.text == case.text && *under == condition) {
            Some((_, _, count)) => *count += 1,
            None => groups.push((case, condition, 1)),
        }
    }
    let mut lines: Vec<String> = groups
        .iter()
        .take(LINES_SHOWN)
        .map(|(case, _, count)| {
            let alike = match count {
                1 => String::new(),
                more => format!(" (and {} more alike)", more - 1),
            };
            format!("{}: {}{alike}", row(dataset, case.index), case.text)
        })
        .collect();
    if groups.len() > LINES_SHOWN {
        lines.push(format!("and {} more", groups.len() - LINES_SHOWN));
    }
    lines
}

/// Where an observation stands and what it was made under: `dd.csv, line 3 (instance=c4.large)`.
pub(super) fn row(dataset: &Dataset, index: usize) -> String {
    let Some(observation) = dataset.observations.get(index) else { return String::new() };
    let mut parts = Vec::new();
    if !observation.table.is_empty() {
        parts.push(format!("table {}", observation.table));
    }
    let condition = condition(dataset, observation);
    if !condition.is_empty() {
        parts.push(condition);
    }
    if let Some(run) = &observation.run {
        parts.push(format!("run {run}"));
    }
    match (observation.place(), parts.join(", ")) {
        (place, parts) if parts.is_empty() => place,
        (place, parts) if place.is_empty() => parts,
        (place, parts) => format!("{place} ({parts})"),
    }
}

/// What an observation was made under: its factors' levels, or every label where no factor is known.
pub(super) fn condition(dataset: &Dataset, observation: &Observation) -> String {
    if dataset.factors.is_empty() {
        let labels = observation.labels.iter().map(|(label, value)| format!("{label}={value}"));
        labels.collect::<Vec<_>>().join(", ")
    } else {
        observation.condition(&dataset.factors)
    }
}

/// A figure's name for people.
pub(super) fn title<'a>(dataset: &'a Dataset, metric: &'a str) -> &'a str {
    match dataset.metrics.get(metric) {
        Some(note) if !note.title.is_empty() => &note.title,
        _ => iostone_model::metric::find(metric).map_or(metric, |known| known.title),
    }
}

/// A share of 1 in percent.
pub(super) fn percent(share: f64) -> String {
    Unit::Share.format(share)
}

/// A share of 1 in percent, without decimals.
pub(super) fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Bytes, decimal.
pub(super) fn size(bytes: f64) -> String {
    Unit::Bytes.format(bytes)
}

/// How often something holds, of all: `3 of 12 figures`.
pub(super) fn of_all(count: usize, all: usize, noun: &str) -> String {
    format!("{count} of {all} {noun}{}", if all == 1 { "" } else { "s" })
}

/// How far a value is from what it is compared with: `2.2 % above`, `16.5 times`.
pub(super) fn times(ratio: f64) -> String {
    if (0.5..2.0).contains(&ratio) {
        let side = if ratio >= 1.0 { "above" } else { "below" };
        format!("{:.1} % {side}", (ratio - 1.0).abs() * 100.0)
    } else {
        format!("{} times", significant(ratio))
    }
}

/// A positive number with three significant digits, however small: `0.00412`.
pub(super) fn significant(value: f64) -> String {
    if value >= 1.0 || value <= 0.0 || !value.is_finite() {
        return iostone_model::units::three_digits(value);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 12")]
    let decimals = (2.0 - value.log10().floor()).clamp(2.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, observation};
    use super::*;

    #[test]
    fn a_row_says_where_it_stands_and_under_what() {
        let mut made = observation(&[("barrier", "1"), ("host", "a")], &[]);
        made.table = "kernel".to_owned();
        made.line = Some(3);
        made.run = Some("2".to_owned());
        let mut set = dataset(vec![made]);
        assert_eq!(row(&set, 0), "made-up.csv, line 3 (table kernel, barrier=1, host=a, run 2)");
        set.factors = vec!["barrier".to_owned()];
        assert_eq!(row(&set, 0), "made-up.csv, line 3 (table kernel, barrier=1, run 2)");
        assert_eq!(row(&set, 7), "");
    }

    #[test]
    fn cases_that_say_the_same_are_one_line_and_a_few_are_enough() {
        let set = dataset((0..20).map(|_| observation(&[("a", "x")], &[])).collect());
        let case = |index: usize, text: &str| Case { index, severity: Severity::Note, text: text.to_owned() };
        assert_eq!(
            lines(&set, &[case(0, "5 %"), case(1, "5 %")]),
            ["made-up.csv (a=x): 5 % (and 1 more alike)"]
        );
        let many: Vec<Case> = (0..8).map(|index| case(index, &index.to_string())).collect();
        assert_eq!(lines(&set, &many).len(), LINES_SHOWN + 1);
        assert_eq!(lines(&set, &many).last().unwrap(), "and 3 more");
    }

    #[test]
    fn a_distance_is_told_in_percent_or_in_times() {
        assert_eq!(times(1.022), "2.2 % above");
        assert_eq!(times(0.937), "6.3 % below");
        assert_eq!(times(16.53), "16.5 times");
        assert_eq!(times(0.004), "0.004 times");
        assert_eq!(times(0.125), "0.125 times");
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::<f64>::new()), None);
    }
}
