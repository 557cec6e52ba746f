//! Noise and orders that break a premise: what the verdicts then promise no more, and which flag says so.

use crate::models::{Model, Noise, Order, Series, beside, each, independent, keeps};

const fn breaks(name: &'static str, noise: Series) -> Model {
    Model { keeps_premise: false, ..keeps(name, noise) }
}

const fn ordered(name: &'static str, order: Order, noise: Series) -> Model {
    Model { order, ..breaks(name, noise) }
}

fn trend(noise: &mut Noise, orders: &[Vec<usize>]) -> Vec<Vec<f64>> {
    beside(noise, orders, 0.02, |at| 0.01 * at.number as f64)
}

fn second_is_better(noise: &mut Noise, orders: &[Vec<usize>]) -> Vec<Vec<f64>> {
    beside(noise, orders, 0.02, |at| 0.05 * at.place as f64)
}

/// The models that break a premise, of which two levels are compared.
pub(crate) const BROKEN: &[Model] = &[
    breaks("carry-over 1 %", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.before.is_some_and(|level| level > 0) { -0.01 } else { 0.0 })
    }),
    breaks("carry-over 4 %", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.before.is_some_and(|level| level > 0) { -0.04 } else { 0.0 })
    }),
    breaks("outliers under one level", |noise, orders| {
        each(
            orders,
            |at| if at.level > 0 && noise.happens(0.15) { -0.3 } else { 0.0 } + 0.02 * noise.normal(),
        )
    }),
    Model {
        step: 0.05,
        ..breaks("rounded to 5 %, not said", |noise, orders| independent(noise, orders, 0.03))
    },
    Model {
        step: 0.08,
        ..breaks("rounded to 8 %, not said", |noise, orders| independent(noise, orders, 0.03))
    },
    breaks("the level slows down halfway", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.level > 0 && at.block >= 12 { -0.10 } else { 0.0 })
    }),
    ordered("all of one, then all of the other, trend of 1 %", Order::Sequential, trend),
    ordered("baseline first throughout, trend of 1 %", Order::BaselineFirst, trend),
    ordered("baseline first throughout, second trial 5 % better", Order::BaselineFirst, second_is_better),
    ordered(
        "baseline first in 11 of 12, second trial 5 % better",
        Order::MostlyBaselineFirst,
        second_is_better,
    ),
    ordered("strict turns, period of four trials", Order::Turns, |noise, orders| {
        beside(noise, orders, 0.02, |at| if matches!(at.number % 4, 1 | 2) { 0.05 } else { 0.0 })
    }),
];
