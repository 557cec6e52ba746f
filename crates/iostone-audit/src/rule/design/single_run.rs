//! `single-run`: conditions compared by one execution each.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;
use iostone_stats::breakeven::breakeven_cv;

use super::conditions::{Condition, Table, at, executions, metrics, prominence, tables, values};
use super::wording::{condition_name, in_table, list};
use crate::{Outcome, Rule, finding};

/// Below this break-even scatter, two single runs cannot even be ranked: ordinary runs scatter by 3 to 5 % on rented
/// machines, and often by more.
const ORDINARY_SCATTER: f64 = 0.05;
/// So many lines of evidence at most.
const MOST_LINES: usize = 6;

pub(super) struct SingleRun;

impl Rule for SingleRun {
    fn name(&self) -> &'static str {
        "single-run"
    }

    fn looks_for(&self) -> &'static str {
        "conditions that were run once, and how much a run may scatter before their order means nothing"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let tables = tables(dataset);
        let findings = tables.iter().filter_map(|table| describe(self, dataset, table));
        if tables.is_empty() { Outcome::NotApplicable } else { Outcome::Looked(findings.collect()) }
    }
}

fn describe(rule: &dyn Rule, dataset: &Dataset, table: &Table<'_>) -> Option<Finding> {
    let single = |members: &[usize]| {
        members.len() == 1
            && members.iter().filter_map(|place| at(dataset, *place)).all(|row| executions(row) == Some(1))
    };
    let conditions: Vec<_> = table.conditions.iter().filter(|condition| single(&condition.members)).collect();
    if conditions.is_empty() {
        return None;
    }
    let observations: Vec<usize> =
        conditions.iter().flat_map(|condition| condition.members.clone()).collect();
    if !table.compares || table.conditions.len() < 2 {
        // Nothing is compared, but a lone figure says nothing about the next run either.
        let message = format!(
            "{}{} was run once: nothing is known of how much its figures scatter",
            if conditions.len() == 1 {
                condition_name(table, conditions[0])
            } else {
                "each condition".to_owned()
            },
            in_table(table)
        );
        let advice = "Repeat it before the figure is compared with any other.";
        return Some(Finding { observations, ..finding(rule, Severity::Note, message, advice) });
    }
    let comparisons = breakevens(dataset, table, &conditions);
    let closest = comparisons.first().map(|(cv, _)| *cv);
    let severity = match closest {
        Some(cv) if cv < ORDINARY_SCATTER => Severity::Serious,
        _ => Severity::Warning,
    };
    let names: Vec<String> = conditions.iter().map(|condition| condition_name(table, condition)).collect();
    let consequence = match closest {
        Some(cv) => format!(
            "; if single runs scatter by more than {:.1} %, the closest two of them cannot be ranked",
            100.0 * cv
        ),
        None => String::new(),
    };
    let message = if conditions.len() == table.conditions.len() {
        format!("each of the {} conditions{} was run once{consequence}", conditions.len(), in_table(table))
    } else {
        format!("{}{} were run once{consequence}", list(&names), in_table(table))
    };
    let evidence = comparisons.into_iter().map(|(_, line)| line).take(MOST_LINES).collect();
    let advice = "Run each condition six times or more, in blocks of random order; a difference far above the scatter \
                  stated is safe meanwhile.";
    Some(Finding { evidence, observations, ..finding(rule, severity, message, advice) })
}

/// For the leading figures, neighbours in size and the scatter at which their order means nothing, closest first.
fn breakevens<'a>(dataset: &Dataset, table: &Table<'_>, conditions: &[&'a Condition]) -> Vec<(f64, String)> {
    let names = metrics(dataset, &table.members);
    let nearest = names.iter().map(|metric| prominence(dataset, metric)).min().unwrap_or_default();
    let mut lines = Vec::new();
    for metric in names.into_iter().filter(|metric| prominence(dataset, metric) == nearest) {
        let figures = |condition: &&'a Condition| {
            values(dataset, &condition.members, metric).first().map(|(_, value)| (*condition, *value))
        };
        let mut ranked: Vec<(&Condition, f64)> = conditions.iter().filter_map(figures).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        for pair in ranked.windows(2) {
            let [(low, smaller), (high, larger)] = pair else { continue };
            let Some(cv) = breakeven_cv(larger / smaller) else { continue };
            let unit = dataset.unit_of(metric);
            let line = format!(
                "{metric}: {} with {} and {} with {}, a factor of {:.3}, means nothing if runs scatter by {:.1} %",
                unit.format(*smaller),
                condition_name(table, low),
                unit.format(*larger),
                condition_name(table, high),
                larger / smaller,
                100.0 * cv
            );
            lines.push((cv, line));
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{dataset, findings, observation, two_conditions};
    use iostone_model::dataset::{Aggregate, Averaged, Order};

    fn builds(seconds: &[(&str, f64)]) -> Dataset {
        let rows =
            seconds.iter().map(|(quota, real)| observation(&[("quota", quota)], &[("wall_time", *real)]));
        dataset(&["quota"], Order::Unknown, rows.collect())
    }

    #[test]
    fn single_runs_tell_what_scatter_would_undo_them() {
        let found = findings(
            &SingleRun,
            &builds(&[("none", 11219.721), ("25 %", 5408.645), ("30 %", 4503.421), ("40 %", 5246.738)]),
        );
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert!(found[0].message.contains("scatter by more than 1.1 %"), "{}", found[0].message);
        assert!(found[0].evidence[1].contains("a factor of 1.165, means nothing if runs scatter by 5.5 %"));
    }

    #[test]
    fn a_large_difference_of_single_runs_is_a_warning() {
        let found = findings(&SingleRun, &builds(&[("none", 11219.721), ("30 %", 4503.421)]));
        assert_eq!(found[0].severity, Severity::Warning);
        let found = findings(&SingleRun, &builds(&[("none", 11219.721)]));
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn repeated_and_averaged_rows_are_clear() {
        assert!(findings(&SingleRun, &two_conditions(&[1.0, 2.0], &[3.0, 4.0])).is_empty());
        let mut averages = builds(&[("none", 11219.721), ("30 %", 4503.421)]);
        for observation in &mut averages.observations {
            observation.facts.averaged =
                Some(Averaged { executions: None, by: Aggregate::Mean, spread_known: false });
        }
        assert!(findings(&SingleRun, &averages).is_empty());
        assert_eq!(SingleRun.look(&builds(&[])), Outcome::NotApplicable);
    }
}
