//! `coarse-digits`: figures rounded so coarsely that the conditions' difference drowns in the rounding.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;
use iostone_model::metric::Unit;
use iostone_stats::median::median;

use super::conditions::{Condition, Table, at, metrics, prominence, tables};
use super::wording::{condition_name, in_table, list, percent, printed};
use crate::{Outcome, Rule, finding};

/// Rounding that can move a ratio by less than this hides nothing that a margin of 3 % would care for (its tenth).
const HARMLESS: f64 = 0.003;

/// Figures of a tool that prints significant digits have the same step above this share of one.
const ALIKE: f64 = 0.8;

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
            let mut hidden: Vec<Hidden<'_>> = Vec::new();
            // A comparison rests on the main figures, not on those of single operations.
            for metric in metrics(dataset, &table.members).into_iter().filter(|name| !name.contains('.')) {
                let steps = Steps::of(dataset, &table.members, metric);
                let rounded: Vec<(&Condition, Rounded)> = table
                    .conditions
                    .iter()
                    .filter_map(|condition| {
                        Some((condition, Rounded::of(dataset, &steps, condition, metric)?))
                    })
                    .collect();
                applies |= rounded.len() > 1;
                hidden.extend(look_at(dataset, table, metric, &rounded));
            }
            findings.extend(describe(self, dataset, table, hidden));
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
    fn of(dataset: &Dataset, steps: &Steps, condition: &Condition, metric: &str) -> Option<Self> {
        let figures: Vec<(usize, f64, f64)> = condition
            .members
            .iter()
            .filter_map(|place| {
                let figure = at(dataset, *place)?.figures.get(metric)?;
                (figure.step > 0.0 && figure.value > 0.0).then_some((*place, figure.value, figure.step))
            })
            .collect();
        let values: Vec<f64> = figures.iter().map(|(_, value, _)| *value).collect();
        let step = figures.iter().map(|(_, value, step)| steps.finest(*value, *step)).fold(0.0, f64::max);
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

/// The steps of one figure in a table. Where trailing zeros were dropped, a figure's own step is too coarse.
struct Steps {
    /// Values in ascending order, each with the finest step from there on.
    from: Vec<(f64, f64)>,
    /// Whether all have as many decimals; tools that print significant digits have coarser steps for larger figures.
    fixed: bool,
}

impl Steps {
    fn of(dataset: &Dataset, members: &[usize], metric: &str) -> Self {
        let rows = || members.iter().filter_map(|place| at(dataset, *place));
        let figures = rows().filter_map(|row| row.figures.get(metric));
        let mut from: Vec<(f64, f64)> =
            figures.filter(|figure| figure.step > 0.0).map(|figure| (figure.value, figure.step)).collect();
        from.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut finest = f64::INFINITY;
        for (_, step) in from.iter_mut().rev() {
            finest = finest.min(*step);
            *step = finest;
        }
        Self { from, fixed: rows().all(|row| ["", "csv"].contains(&row.tool.as_str())) }
    }

    /// The finest of figures that are not much smaller, where that matters.
    fn finest(&self, value: f64, step: f64) -> f64 {
        let least = if self.fixed { f64::NEG_INFINITY } else { ALIKE * value };
        let first = self.from.partition_point(|(value, _)| *value < least);
        self.from.get(first).map_or(step, |(_, finest)| finest.min(step))
    }
}

/// A figure whose step hides a difference.
struct Hidden<'a> {
    metric: &'a str,
    rounding: f64,
    lines: Vec<String>,
    places: Vec<usize>,
}

fn look_at<'a>(
    dataset: &Dataset,
    table: &Table<'_>,
    metric: &'a str,
    rounded: &[(&Condition, Rounded)],
) -> Option<Hidden<'a>> {
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
    Some(Hidden {
        metric,
        rounding: hidden.first()?.0,
        places: hidden.iter().flat_map(|(_, _, places)| *places).collect(),
        lines: hidden.into_iter().map(|(_, line, _)| line).collect(),
    })
}

/// One finding for all figures of a table, by the most prominent.
fn describe(
    rule: &dyn Rule,
    dataset: &Dataset,
    table: &Table<'_>,
    hidden: Vec<Hidden<'_>>,
) -> Option<Finding> {
    let Hidden { metric, rounding, .. } = hidden.first()?;
    // What a comparison does not rest on may be coarse.
    let severity = if prominence(dataset, metric) == 0 { Severity::Warning } else { Severity::Note };
    let advice = match dataset.unit_of(metric) {
        Unit::BytesPerSecond | Unit::PerSecond => {
            "Take the figure with more digits from the raw output, or compute it from the amount and the seconds."
        }
        _ => "Print more digits, or use a tool that does.",
    };
    let others: Vec<String> = hidden.iter().skip(1).map(|other| format!("`{}`", other.metric)).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!("; so have {}", list(others)),
    };
    let message = format!(
        "{metric}{} has too few digits to tell conditions apart: its step alone can move a ratio by {}{others}",
        in_table(table),
        percent(*rounding).trim_start_matches('+')
    );
    Some(Finding {
        observations: hidden.iter().flat_map(|one| one.places.clone()).collect(),
        evidence: hidden.into_iter().flat_map(|one| one.lines).take(6).collect(),
        ..finding(rule, severity, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::Figure;

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
    fn figures_of_single_operations_are_left_out_and_a_table_has_one_finding() {
        let mut set = stepped(&[61e6, 61e6], &[61e6, 62e6], 1e6);
        for observation in &mut set.observations {
            for name in ["latency_max", "NTCreateX.latency_max", "Close.latency_max"] {
                observation.figures.insert(name.to_owned(), Figure { value: 0.005, step: 0.001 });
            }
        }
        let found = findings(&CoarseDigits, &set);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.ends_with("; so have `latency_max`"), "{}", found[0].message);
        assert!(!found[0].evidence.join(" ").contains("Close"));
        for observation in &mut set.observations {
            observation.figures.remove("throughput");
        }
        assert_eq!(findings(&CoarseDigits, &set)[0].advice, "Print more digits, or use a tool that does.");
    }

    #[test]
    fn a_dropped_trailing_zero_is_no_coarser_step() {
        let mut set = stepped(&[500.0, 510.0], &[520.0, 510.0], 1.0);
        set.observations[0].figures.insert("throughput".to_owned(), Figure { value: 500.0, step: 100.0 });
        assert!(findings(&CoarseDigits, &set).is_empty());
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
