//! What others do with such figures, on the same noise.

use iostone_stats::schedule::BlockOrders;

use crate::models::{Model, Noise};

/// What a procedure did: whether it called the levels different, and the trials that it took.
pub(crate) struct Answer {
    pub(crate) different: bool,
    pub(crate) trials: u32,
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
    Way { name: "20 blocks, t", ask: |model, noise, ratio, seed| fixed_t(model, noise, ratio, seed) },
    Way {
        name: "group-sequential t, O'Brien-Fleming, 5 looks",
        ask: |model, noise, ratio, seed| group_sequential(model, noise, ratio, seed),
    },
    Way { name: "mSPRT (t-mixture)", ask: |model, noise, ratio, seed| mixture(model, noise, ratio, seed) },
];

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
    Answer { different: wins <= 23.0 || wins >= 77.0, trials: 20 }
}

/// Log ratios of randomised blocks.
fn block_ratios(model: &Model, noise: &mut Noise, ratio: f64, seed: u64, blocks: usize) -> Vec<f64> {
    let orders: Vec<Vec<usize>> = BlockOrders::new(seed, 2).take(blocks).collect();
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

/// The mean over its standard error.
fn t_statistic(ratios: &[f64]) -> f64 {
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if variance > 0.0 {
        mean / (variance / n).sqrt()
    } else if mean == 0.0 {
        0.0
    } else {
        f64::INFINITY
    }
}

fn fixed_t(model: &Model, noise: &mut Noise, ratio: f64, seed: u64) -> Answer {
    let ratios = block_ratios(model, noise, ratio, seed, 20);
    Answer { different: t_statistic(&ratios).abs() > 2.093, trials: 40 }
}

/// Looks after 8, 16, 24, 32 and 40 blocks. The limits of O'Brien and Fleming (1979) for 5 looks at 5 % as probabilities,
/// turned into those of Student's law.
fn group_sequential(model: &Model, noise: &mut Noise, ratio: f64, seed: u64) -> Answer {
    // z of 4.562, 3.226, 2.634, 2.281 and 2.040 with 7, 15, 23, 31 and 39 degrees of freedom.
    const LIMITS: [(usize, f64); 5] = [(8, 10.98), (16, 3.828), (24, 2.816), (32, 2.368), (40, 2.094)];
    let ratios = block_ratios(model, noise, ratio, seed, 40);
    let crossed = LIMITS.iter().find(|(blocks, limit)| t_statistic(&ratios[..*blocks]).abs() > *limit);
    Answer {
        different: crossed.is_some(),
        trials: crossed.map_or(80, |(blocks, _)| 2 * u32::try_from(*blocks).unwrap_or(40)),
    }
}

/// The mixture sequential probability ratio test for an unknown spread: an effect of a standard deviation is mixed in with
/// the weight of one block (Robbins 1970; Perez-Ortiz and others 2022). It may be looked at after every block.
fn mixture(model: &Model, noise: &mut Noise, ratio: f64, seed: u64) -> Answer {
    const WEIGHT: f64 = 1.0;
    let ratios = block_ratios(model, noise, ratio, seed, 40);
    let evidence = |blocks: usize| {
        let (n, t) = (blocks as f64, t_statistic(&ratios[..blocks]));
        let freedom = n - 1.0;
        let shrunk = t * t * WEIGHT / (n + WEIGHT);
        0.5 * (WEIGHT / (n + WEIGHT)).ln()
            + 0.5 * n * ((1.0 + t * t / freedom).ln() - (1.0 + shrunk / freedom).ln())
    };
    let stop = (2..=40).find(|blocks| evidence(*blocks) > 20f64.ln());
    Answer {
        different: stop.is_some(),
        trials: stop.map_or(80, |blocks| 2 * u32::try_from(blocks).unwrap_or(40)),
    }
}
