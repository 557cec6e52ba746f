//! Rules on how the figures were taken: repetitions, order, conditions.

mod coarse_digits;
mod coincidence;
mod conditions;
mod confounded_factors;
mod description;
mod equal_figures;
#[cfg(test)]
mod examples;
mod few_runs;
mod identical_rows;
mod no_spread;
mod order_confounded;
mod order_fixed;
mod order_unrecorded;
mod reversed_scaling;
mod row_names;
mod same_data;
mod scaling;
mod single_run;
mod superlinear;
mod timeline;
mod trend;
mod wording;

use super::Rule;

/// These rules.
pub(super) const RULES: &[&dyn Rule] = &[
    &same_data::SameData,
    &identical_rows::IdenticalRows,
    &confounded_factors::ConfoundedFactors,
    &order_confounded::OrderConfounded,
    &order_fixed::OrderFixed,
    &single_run::SingleRun,
    &few_runs::FewRuns,
    &no_spread::NoSpread,
    &trend::Trend,
    &superlinear::Superlinear,
    &reversed_scaling::ReversedScaling,
    &coarse_digits::CoarseDigits,
    &order_unrecorded::OrderUnrecorded,
];
