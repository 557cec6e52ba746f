//! One value that most runs of a condition print, though the rest of their rows differs: a cap, a clock's grain, a copy.

use std::collections::BTreeMap;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Figure};
use iostone_model::metric::Unit;

use super::conditions::{Condition, Table, at, metrics, values};
use super::wording::{condition_name, in_table, one_in, printed, row, step_of};
use crate::{Rule, finding};

/// Fewer equal values happen.
const FEWEST: usize = 5;
/// Above this chance, over all conditions, they are put down to few digits.
const LARGEST_CHANCE: f64 = 0.001;
/// Differences that say how far values of a figure usually lie apart.
const FEWEST_DIFFERENCES: usize = 6;

/// Looks at rates and times of all conditions. `keys`: the same for rows that agree in everything, which are told as such.
pub(super) fn look(
    rule: &dyn Rule,
    dataset: &Dataset,
    tables: &[Table<'_>],
    keys: &[String],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for table in tables {
        let measured = |metric: &&str| {
            matches!(dataset.unit_of(metric), Unit::BytesPerSecond | Unit::PerSecond | Unit::Seconds)
        };
        for metric in metrics(dataset, &table.members).into_iter().filter(measured) {
            let groups: Vec<Group<'_>> = table
                .conditions
                .iter()
                .filter_map(|condition| Group::of(dataset, condition, metric))
                .collect();
            // Where values repeat elsewhere too, it is the figure's way.
            let repeating = groups.iter().filter(|group| group.places.len() > 2).count();
            let Some(group) = groups.iter().find(|group| group.places.len() >= FEWEST) else { continue };
            let copies = group.places.iter().filter_map(|place| keys.get(*place));
            if repeating > 1 || copies.collect::<std::collections::BTreeSet<_>>().len() < FEWEST {
                continue;
            }
            let Some(chance) = chance(dataset, table, metric, group) else { continue };
            if chance >= LARGEST_CHANCE {
                continue;
            }
            let message = format!(
                "{} of the {} values of {metric} under {}{} are {}, which independent runs are with a chance of {}",
                group.places.len(),
                group.condition.members.len(),
                condition_name(table, group.condition),
                in_table(table),
                printed(dataset.unit_of(metric), group.figure),
                one_in(chance)
            );
            let advice =
                "Look for a limit that held them there, and for a value that was copied down its column.";
            findings.push(Finding {
                evidence: group.places.iter().take(6).map(|place| row(dataset, *place)).collect(),
                observations: group.places.clone(),
                ..finding(rule, Severity::Warning, message, advice)
            });
        }
    }
    findings
}

/// The commonest value of a figure under a condition.
struct Group<'a> {
    condition: &'a Condition,
    figure: Figure,
    places: Vec<usize>,
}

impl<'a> Group<'a> {
    fn of(dataset: &Dataset, condition: &'a Condition, metric: &str) -> Option<Self> {
        let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, value) in values(dataset, &condition.members, metric) {
            places.entry(value.to_bits()).or_default().push(place);
        }
        let places = places.into_values().max_by_key(Vec::len)?;
        let figure = *at(dataset, *places.first()?)?.figures.get(metric)?;
        (figure.value != 0.0).then_some(Self { condition, figure, places })
    }
}

/// The chance that so many agree, from how far the other values of the table's conditions lie apart.
fn chance(dataset: &Dataset, table: &Table<'_>, metric: &str, group: &Group<'_>) -> Option<f64> {
    let mut differences: Vec<f64> = Vec::new();
    for condition in &table.conditions {
        let mut sorted: Vec<f64> =
            values(dataset, &condition.members, metric).into_iter().map(|one| one.1).collect();
        sorted.retain(|value| value.to_bits() != group.figure.value.to_bits());
        for pair in sorted.windows(2) {
            let [one, other] = pair else { continue };
            differences.push((one - other).abs() / f64::midpoint(one.abs(), other.abs()));
        }
    }
    if differences.len() + 1 < FEWEST_DIFFERENCES {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let spread = differences.get(differences.len() / 4).copied().filter(|spread| *spread > 0.0)?;
    // As for two rows: see `coincidence`.
    let two = (step_of(group.figure) / group.figure.value.abs() / (8.0 * spread)).min(1.0);
    let others = i32::try_from(group.places.len()).unwrap_or(i32::MAX) - 1;
    Some((two.powi(others) * table.conditions.len() as f64 * group.condition.members.len() as f64).min(1.0))
}
