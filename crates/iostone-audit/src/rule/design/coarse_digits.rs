//! `coarse-digits`: figures rounded so coarsely that the conditions' difference drowns in the rounding.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;
use iostone_stats::median::median;

use super::conditions::{Condition, Table, at, metrics, prominence, tables};
use super::wording::{condition_name, in_table, percent, printed};
use crate::{Outcome, Rule, finding};

/// Rounding that can move a ratio by less than this hides nothing that a margin of 3 % would care for (its tenth).
const HARMLESS: f64 = 0.003;

pub(super) struct CoarseDigits;

impl Rule for CoarseDigits {
    fn name(&self) -> &'static str {
        "coarse-digits"
    }

    fn looks_for(&self) -> &'static str {
        "figures printed with too few digits to tell the conditions apart"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut applies = false;
        let mut findings = Vec::new();
        for table in tables(dataset).iter().filter(|table| table.compares) {
            for metric in metrics(dataset, &table.members) {
                let rounded: Vec<(&Condition, Rounded)> = table
                    .conditions
                    .iter()
                    .filter_map(|condition| Some((condition, Rounded::of(dataset, condition, metric)?)))
                    .collect();
                applies |= rounded.len() > 1;
                findings.extend(describe(self, dataset, table, metric, &rounded));
            }
        }
        if applies { Outcome::Looked(findings) } else { Outcome::NotApplicable }
    }
}

/// The figures of a condition as their rounding lets them be known.
struct Rounded {
    middle: f64,
    step: f64,
    /// Whether the runs scatter by less than two steps, so that averaging does not undo the rounding.
    quantised: bool,
    example: usize,
}

impl Rounded {
    fn of(dataset: &Dataset, condition: &Condition, metric: &str) -> Option<Self> {
        let figures: Vec<(usize, f64, f64)> = condition
            .members
            .iter()
            .filter_map(|place| {
                let figure = at(dataset, *place)?.figures.get(metric)?;
                (figure.step > 0.0 && figure.value > 0.0).then_some((*place, figure.value, figure.step))
            })
            .collect();
        let values: Vec<f64> = figures.iter().map(|(_, value, _)| *value).collect();
        let step = figures.iter().map(|(_, _, step)| *step).fold(0.0, f64::max);
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self {
            middle: median(&values)?,
            step,
            quantised: largest - smallest < 1.5 * step,
            example: figures.first()?.0,
        })
    }
}

fn describe(
    rule: &dyn Rule,
    dataset: &Dataset,
    table: &Table<'_>,
    metric: &str,
    rounded: &[(&Condition, Rounded)],
) -> Option<Finding> {
    let mut hidden: Vec<(f64, String, [usize; 2])> = Vec::new();
    let mut sorted: Vec<&(&Condition, Rounded)> = rounded.iter().collect();
    sorted.sort_by(|a, b| a.1.middle.total_cmp(&b.1.middle));
    for pair in sorted.windows(2) {
        let [(one, a), (other, b)] = pair else { continue };
        // Each figure may be off by half a step; the worst case of their ratio.
        let rounding = a.step / 2.0 / a.middle + b.step / 2.0 / b.middle;
        let difference = (b.middle / a.middle).ln();
        if rounding <= HARMLESS || difference > rounding || !a.quantised || !b.quantised {
            continue;
        }
        let figure = |of: &Rounded| {
            let figure = iostone_model::dataset::Figure { value: of.middle, step: of.step };
            printed(dataset.unit_of(metric), figure)
        };
        let line = format!(
            "{metric}: {} under {} and {} under {}: {} apart, and rounding alone can make {}",
            figure(a),
            condition_name(table, one),
            figure(b),
            condition_name(table, other),
            percent(difference),
            percent(rounding)
        );
        hidden.push((rounding, line, [a.example, b.example]));
    }
    let (rounding, _, _) = hidden.first()?;
    // What a comparison does not rest on may be coarse.
    let severity = if prominence(dataset, metric) == 0 { Severity::Warning } else { Severity::Note };
    let message = format!(
        "{metric}{} has too few digits to tell conditions apart: its step alone can move a ratio by {}",
        in_table(table),
        percent(*rounding).trim_start_matches('+')
    );
    Some(Finding {
        observations: hidden.iter().flat_map(|(_, _, places)| *places).collect(),
        evidence: hidden.into_iter().map(|(_, line, _)| line).take(6).collect(),
        ..finding(
            rule,
            severity,
            message,
            "Take the figure with more digits from the raw output, or compute it from bytes and seconds.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};

    fn stepped(on: &[f64], off: &[f64], step: f64) -> Dataset {
        let mut dataset = two_conditions(on, off);
        for observation in &mut dataset.observations {
            for figure in observation.figures.values_mut() {
                figure.step = step;
            }
        }
        dataset
    }

    #[test]
    fn equal_coarse_figures_are_found() {
        let found = findings(&CoarseDigits, &stepped(&[61e6, 61e6], &[61e6, 62e6], 1e6));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(found[0].message.contains("can move a ratio by 1.6 %"), "{}", found[0].message);
    }

    #[test]
    fn fine_digits_clear_differences_and_scatter_beyond_the_step_are_clear() {
        assert!(findings(&CoarseDigits, &stepped(&[61.73e6, 61.73e6], &[61.73e6], 1e4)).is_empty());
        assert!(findings(&CoarseDigits, &stepped(&[61e6, 61e6], &[171e6], 1e6)).is_empty());
        assert!(findings(&CoarseDigits, &stepped(&[61e6, 64e6, 58e6], &[61e6, 60e6, 63e6], 1e6)).is_empty());
    }

    #[test]
    fn unrounded_figures_cannot_be_looked_at() {
        assert_eq!(CoarseDigits.look(&two_conditions(&[61.0], &[61.0])), Outcome::NotApplicable);
    }
}
