//! `single-run`: conditions compared by one execution each.

use std::collections::BTreeMap;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Ending};
use iostone_stats::breakeven::breakeven_cv;

use super::conditions::{Condition, Table, at, executions, metrics, prominence, subject, tables, values};
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
        if dataset.raced {
            return Outcome::NotApplicable;
        }
        let tables = tables(dataset);
        if tables.is_empty() {
            return Outcome::NotApplicable;
        }
        let compared = tables.iter().filter(|table| compares(dataset, table));
        let mut findings: Vec<Finding> =
            compared.filter_map(|table| describe(self, dataset, table)).collect();
        findings.extend(alone(self, dataset, &tables));
        Outcome::Looked(findings)
    }
}

/// Whether any two of its conditions have something in common that can be compared: a figure, of the same device.
fn compares(dataset: &Dataset, table: &Table<'_>) -> bool {
    let mut seen = BTreeMap::new();
    let shown = table.conditions.iter().enumerate().flat_map(|(index, condition)| {
        let observations = condition.members.iter().filter_map(|place| at(dataset, *place));
        observations.flat_map(move |observation| {
            let about = subject(observation);
            observation.figures.keys().map(move |metric| (index, (about, metric.as_str())))
        })
    });
    // Given-up runs have no figure, and are compared with the others all the same.
    let some = table.conditions.iter().any(|condition| {
        let mut rows = condition.members.iter().filter_map(|place| at(dataset, *place));
        rows.all(|row| row.figures.is_empty())
    });
    let mut shared = false;
    for (index, key) in shown {
        shared |= *seen.entry(key).or_insert(index) != index;
    }
    table.compares && table.conditions.len() > 1 && (shared || some)
}

/// The conditions that were run once.
fn once<'a>(dataset: &Dataset, table: &'a Table<'_>) -> Vec<&'a Condition> {
    let single = |members: &[usize]| {
        members.len() == 1
            && members.iter().filter_map(|place| at(dataset, *place)).all(|row| executions(row) == Some(1))
    };
    table.conditions.iter().filter(|condition| single(&condition.members)).collect()
}

/// Whether any of its executions went on until it ended by itself.
fn has_ended(dataset: &Dataset, condition: &Condition) -> bool {
    let mut rows = condition.members.iter().filter_map(|place| at(dataset, *place));
    rows.any(|row| !matches!(row.facts.ending, Some(Ending::GivenUp(_))))
}

/// One note for all tables in which nothing is compared: a lone figure says nothing about the next run either.
fn alone(rule: &dyn Rule, dataset: &Dataset, tables: &[Table<'_>]) -> Option<Finding> {
    let lone: Vec<(&Table<'_>, Vec<&Condition>)> = tables
        .iter()
        .filter(|table| !compares(dataset, table))
        .map(|table| (table, once(dataset, table)))
        // A time at which somebody gave up says nothing of a run, however often it is repeated; `given-up` tells of it.
        .map(|(table, conditions)| {
            (
                table,
                conditions.into_iter().filter(|condition| has_ended(dataset, condition)).collect::<Vec<_>>(),
            )
        })
        .filter(|(_, conditions)| !conditions.is_empty())
        .collect();
    let which = match lone.as_slice() {
        [] => return None,
        [(table, conditions)] if conditions.len() == 1 => {
            format!("{}{}", condition_name(table, conditions.first()?), in_table(table))
        }
        [(table, _)] => format!("each condition{}", in_table(table)),
        _ => format!("each condition of {} tables", lone.len()),
    };
    let message = format!("{which} was run once: nothing is known of how much its figures scatter");
    let conditions = lone.iter().flat_map(|(_, conditions)| conditions);
    let observations = conditions.flat_map(|condition| condition.members.clone()).collect();
    let advice = "Repeat it before the figure is compared with any other.";
    Some(Finding { observations, ..finding(rule, Severity::Note, message, advice) })
}

fn describe(rule: &dyn Rule, dataset: &Dataset, table: &Table<'_>) -> Option<Finding> {
    let conditions = once(dataset, table);
    if conditions.is_empty() {
        return None;
    }
    let observations: Vec<usize> =
        conditions.iter().flat_map(|condition| condition.members.clone()).collect();
    let Breakevens { widest, lines: comparisons } = breakevens(dataset, table, &conditions);
    let closest = comparisons.first().map(|(cv, _)| *cv);
    // Of many conditions some lie close; only where the ends of all of them do, nothing can be concluded at all.
    let nothing_told = widest.is_some_and(|cv| cv < ORDINARY_SCATTER);
    let severity = if nothing_told && conditions.len() == table.conditions.len() {
        Severity::Serious
    } else {
        Severity::Warning
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
        let were = if names.len() == 1 { "was" } else { "were" };
        format!("{}{} {were} run once{consequence}", list(&names), in_table(table))
    };
    let evidence = comparisons.into_iter().map(|(_, line)| line).take(MOST_LINES).collect();
    let advice = "Run each condition six times or more, in blocks of random order; a difference far above the scatter \
                  stated is safe meanwhile.";
    Some(Finding { evidence, observations, ..finding(rule, severity, message, advice) })
}

/// The scatter at which the order of single runs means nothing.
struct Breakevens {
    /// Between the smallest and the largest, of the leading figure that tells the conditions apart best.
    widest: Option<f64>,
    /// Between neighbours in size, closest first, with a line of evidence.
    lines: Vec<(f64, String)>,
}

fn breakevens<'a>(dataset: &Dataset, table: &Table<'_>, conditions: &[&'a Condition]) -> Breakevens {
    let names = metrics(dataset, &table.members);
    let nearest = names.iter().map(|metric| prominence(dataset, metric)).min().unwrap_or_default();
    let mut lines = Vec::new();
    let mut widest: Option<f64> = None;
    for metric in names.into_iter().filter(|metric| prominence(dataset, metric) == nearest) {
        let figures = |condition: &&'a Condition| {
            values(dataset, &condition.members, metric).first().map(|(_, value)| (*condition, *value))
        };
        let about = |condition: &Condition| {
            condition.members.first().and_then(|place| at(dataset, *place)).map(subject)
        };
        let mut ranked: Vec<(&Condition, f64)> = conditions.iter().filter_map(figures).collect();
        ranked.sort_by(|a, b| about(a.0).cmp(&about(b.0)).then(a.1.total_cmp(&b.1)));
        for same in ranked.chunk_by(|a, b| about(a.0) == about(b.0)) {
            if let (Some((_, smallest)), Some((_, largest))) = (same.first(), same.last()) {
                // Where the sign changes there is no ratio, and equal figures rank nothing.
                let ratio = Some(largest / smallest).filter(|ratio| (ratio - 1.0).abs() > f64::EPSILON);
                let cv = ratio.and_then(breakeven_cv).unwrap_or(f64::INFINITY);
                widest = Some(widest.map_or(cv, |widest| widest.max(cv)));
            }
        }
        for pair in ranked.windows(2) {
            let [(low, smaller), (high, larger)] = pair else { continue };
            // Equal figures rank nothing, and no scatter undoes that.
            if about(low) != about(high) || (larger - smaller).abs() <= f64::EPSILON * larger.abs() {
                continue;
            }
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
    Breakevens { widest, lines }
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
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(found[0].message.contains("scatter by more than 1.1 %"), "{}", found[0].message);
        assert!(found[0].evidence[1].contains("a factor of 1.165, means nothing if runs scatter by 5.5 %"));
    }

    #[test]
    fn only_where_no_two_conditions_can_be_ranked_is_it_serious() {
        let found = findings(&SingleRun, &builds(&[("none", 100.0), ("25 %", 103.0)]));
        assert_eq!(found[0].severity, Severity::Serious);
        let grid = [("1", 100.0), ("2", 101.0), ("4", 180.0), ("8", 181.0)];
        assert_eq!(findings(&SingleRun, &builds(&grid))[0].severity, Severity::Warning);
    }

    #[test]
    fn a_large_difference_of_single_runs_is_a_warning() {
        let found = findings(&SingleRun, &builds(&[("none", 11219.721), ("30 %", 4503.421)]));
        assert_eq!(found[0].severity, Severity::Warning);
        let found = findings(&SingleRun, &builds(&[("none", 11219.721)]));
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn devices_watched_at_once_and_unlike_figures_are_not_ranked() {
        let mut watched = builds(&[("sda", 5408.645), ("sdb", 5409.0)]);
        watched.factors = vec!["device".to_owned(), "load".to_owned()];
        for (observation, device) in watched.observations.iter_mut().zip(["sda", "sdb"]) {
            observation.tool = "iostat".to_owned();
            observation.labels = [("device".to_owned(), device.to_owned())].into();
        }
        let found = findings(&SingleRun, &watched);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        let mut loaded = watched.clone();
        loaded.observations.extend(watched.observations.clone());
        for (index, observation) in loaded.observations.iter_mut().enumerate() {
            observation.labels.insert("load".to_owned(), (index / 2).to_string());
            observation.figures.insert("wall_time".to_owned(), [100.0, 101.0, 200.0, 150.0][index].into());
        }
        let found = findings(&SingleRun, &loaded);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{:?}", found[0]);
        let mut unlike = builds(&[("a", 5408.645), ("b", 5409.0)]);
        let figure = unlike.observations[1].figures.remove("wall_time").unwrap();
        unlike.observations[1].figures.insert("throughput".to_owned(), figure);
        assert_eq!(findings(&SingleRun, &unlike)[0].severity, Severity::Note);
    }

    #[test]
    fn a_single_run_beside_repeated_ones_is_told_in_the_singular() {
        let found = findings(&SingleRun, &two_conditions(&[1.0, 2.0], &[3.0]));
        assert!(found[0].message.starts_with("`barrier=0` was run once"), "{}", found[0].message);
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
