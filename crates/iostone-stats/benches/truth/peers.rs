//! What others do with such figures, on the same noise.

use crate::design::MARGIN;
use crate::models::{Model, Noise, Order};

/// What a procedure did.
pub(crate) struct Answer {
    /// Whether it called the levels different.
    pub(crate) different: bool,
    /// Whether it called them equivalent, and whether its interval holds the truth; none where it does not speak of that.
    pub(crate) interval: Option<Interval>,
    /// The trials that it took.
    pub(crate) trials: u32,
}

/// What an interval of the log ratio says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) equivalent: bool,
    pub(crate) covers: bool,
}

/// A way to compare two levels.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) ask: fn(&Model, &mut Noise, f64, u64) -> Answer,
}

/// The ways that the page lists beside iostone's.
pub(crate) const WAYS: &[Way] = &[
    Way {
        name: "benchstat: 10 of one, then 10 of the other",
        ask: |model, noise, ratio, _| benchstat(model, noise, ratio, &[vec![0; 10], vec![1; 10]].concat()),
    },
    Way {
        name: "benchstat: 10 + 10 in turns",
        ask: |model, noise, ratio, _| benchstat(model, noise, ratio, &[0, 1].repeat(10)),
    },
    Way {
        name: "20 blocks, t",
        ask: |model, noise, ratio, seed| {
            let ratios = block_ratios(model, noise, ratio, seed, 20);
            // Student's law, 19 degrees of freedom.
            stop(&ratios, ratio, &[Look { blocks: 20, difference: 2.093, equivalence: 1.729 }])
        },
    },
    Way {
        name: "group-sequential t, O'Brien-Fleming, 5 looks",
        ask: |model, noise, ratio, seed| {
            stop(&block_ratios(model, noise, ratio, seed, 40), ratio, &OBRIEN_FLEMING)
        },
    },
    Way {
        name: "mSPRT (t-mixture)",
        ask: |model, noise, ratio, seed| {
            let ratios = block_ratios(model, noise, ratio, seed, 40);
            stop(&ratios, ratio, &(2..=40).map(mixture).collect::<Vec<_>>())
        },
    },
];

/// A look at so many blocks: how many standard errors from the mean a ratio must lie to be ruled out.
struct Look {
    blocks: usize,
    /// At 5 % on both sides together, for a difference and for the interval.
    difference: f64,
    /// At 10 % on both sides together, for the two one-sided tests of equivalence (Schuirmann 1987).
    equivalence: f64,
}

/// The limits of O'Brien and Fleming (1979) for five looks, 2.040 and 1.751 times the root of 5 over the number of the look
/// (Jennison and Turnbull 2000, table 2.3), as probabilities turned into those of Student's law.
const OBRIEN_FLEMING: [Look; 5] = [
    Look { blocks: 8, difference: 12.409, equivalence: 8.012 },
    Look { blocks: 16, difference: 3.960, equivalence: 3.228 },
    Look { blocks: 24, difference: 2.880, equivalence: 2.421 },
    Look { blocks: 32, difference: 2.401, equivalence: 2.037 },
    Look { blocks: 40, difference: 2.110, equivalence: 1.798 },
];

/// The mixture sequential probability ratio test for an unknown spread: an effect of a standard deviation is mixed in with
/// the weight of one block (Robbins 1970; Perez-Ortiz and others 2022). It may be looked at after every block.
fn mixture(blocks: usize) -> Look {
    const WEIGHT: f64 = 1.0;
    let n = blocks as f64;
    let shrinkage = WEIGHT / (n + WEIGHT);
    // The t at which the mixed likelihood is so many times that of no effect.
    let at = |evidence: f64| {
        let root = (evidence / shrinkage.sqrt()).powf(2.0 / n);
        let rest = 1.0 - root * shrinkage;
        if rest > 0.0 { ((n - 1.0) * (root - 1.0) / rest).sqrt() } else { f64::INFINITY }
    };
    Look { blocks, difference: at(20.0), equivalence: at(10.0) }
}

/// Looks until the mean differs from none or is shown to lie within the margin.
fn stop(ratios: &[f64], ratio: f64, looks: &[Look]) -> Answer {
    let mut answer = Answer { different: false, interval: None, trials: 0 };
    for look in looks {
        let (mean, error) = mean_and_error(&ratios[..look.blocks]);
        // What no t reaches is not known, however small its error.
        let reach = |t: f64| if t.is_finite() { t * error } else { f64::INFINITY };
        let equivalent = mean.abs() + reach(look.equivalence) < MARGIN.ln_1p();
        let different = !equivalent && mean.abs() > reach(look.difference);
        // Rounding of logarithms aside.
        let covers = (mean - ratio.ln()).abs() <= reach(look.difference) + 1e-9;
        let trials = 2 * u32::try_from(look.blocks).unwrap_or(u32::MAX);
        answer = Answer { different, interval: Some(Interval { equivalent, covers }), trials };
        if different || equivalent {
            break;
        }
    }
    answer
}

/// A Mann-Whitney test at 5 % over 10 + 10 trials in the order given, as benchstat makes it.
fn benchstat(model: &Model, noise: &mut Noise, ratio: f64, order: &[usize]) -> Answer {
    let orders: Vec<Vec<usize>> = order.iter().map(|level| vec![*level]).collect();
    let figures = logarithms(model, noise, &orders, ratio);
    let of = |wanted: usize| -> Vec<f64> {
        order
            .iter()
            .zip(figures.iter().flatten())
            .filter(|(level, _)| **level == wanted)
            .map(|(_, x)| *x)
            .collect()
    };
    let (first, second) = (of(0), of(1));
    let wins: f64 = first
        .iter()
        .flat_map(|a| {
            second.iter().map(move |b| {
                if b > a {
                    1.0
                } else if b < a {
                    0.0
                } else {
                    0.5
                }
            })
        })
        .sum();
    // The law of U for 10 + 10 without ties: 23 and below has 4.3 % on both sides.
    Answer { different: wins <= 23.0 || wins >= 77.0, interval: None, trials: 20 }
}

/// Log ratios of randomised blocks.
fn block_ratios(model: &Model, noise: &mut Noise, ratio: f64, seed: u64, blocks: usize) -> Vec<f64> {
    let orders: Vec<Vec<usize>> = Order::Drawn.rows(seed, 2, blocks);
    let figures = logarithms(model, noise, &orders, ratio);
    let of = |(order, values): (&Vec<usize>, &Vec<f64>)| match order.first() {
        Some(0) => values[1] - values[0],
        _ => values[0] - values[1],
    };
    orders.iter().zip(&figures).map(of).collect()
}

fn logarithms(model: &Model, noise: &mut Noise, orders: &[Vec<usize>], ratio: f64) -> Vec<Vec<f64>> {
    let mut values = (model.noise)(noise, orders);
    for (order, values) in orders.iter().zip(&mut values) {
        for (level, value) in order.iter().zip(values) {
            *value += if *level > 0 { ratio.ln() } else { 0.0 };
            if model.step > 0.0 {
                *value = ((value.exp() / model.step).round().max(1.0) * model.step).ln();
            }
        }
    }
    values
}

/// The mean and its standard error.
fn mean_and_error(ratios: &[f64]) -> (f64, f64) {
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
