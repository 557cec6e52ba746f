//! How often a flag is raised on runs that lack its cause.

use std::collections::BTreeMap;

use iostone_model::metric::Direction;
use iostone_stats::judge::{Figure, Next, Rules, judge, next_step};
use iostone_stats::schedule::{BlockOrders, SplitMix64};

const BLOCKS: usize = 40;

/// A sum of twelve uniform numbers: near enough to normal for noise.
fn normal(generator: &mut SplitMix64) -> f64 {
    (0..12).map(|_| generator.next_unit()).sum::<f64>() - 6.0
}

/// The noise of a trial from the generator, its number and what the noise remembers.
type Noise = fn(&mut SplitMix64, usize, &mut f64) -> f64;

const NOISES: [(&str, Noise); 5] = [
    ("independent, 3 %", |generator, _, _| 0.03 * normal(generator)),
    ("autoregressive, 0.7", |generator, _, level| {
        *level = 0.7 * *level + 0.02 * normal(generator);
        *level
    }),
    // A steeper one would be a cause: the second trial of every block would be better.
    ("trend of 0.1 % a trial", |generator, trial, _| 0.001 * trial as f64 + 0.03 * normal(generator)),
    ("bimodal", |generator, _, _| {
        let low = if generator.next_unit() < 0.3 { -0.2 } else { 0.0 };
        low + 0.01 * normal(generator)
    }),
    ("outliers", |generator, _, _| {
        let outlier = if generator.next_unit() < 0.08 { -0.5 } else { 0.0 };
        outlier + 0.02 * normal(generator)
    }),
];

/// A run of two equal levels in drawn order.
fn simulate(noise: Noise, seed: u64) -> Vec<Figure> {
    let mut generator = SplitMix64::new(seed ^ 0x5DEE_CE66_D1CE_5EED);
    let mut memory = 0.0;
    let mut figures = Vec::new();
    for (block, order) in BlockOrders::new(seed, 2).take(BLOCKS).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            let value = 100.0 * noise(&mut generator, figures.len(), &mut memory).exp();
            figures.push(Figure {
                level: ["a", "b"][level].to_owned(),
                value,
                block: Some(block as u64),
                order: Some(position as f64),
                ..Figure::default()
            });
        }
    }
    figures
}

#[test]
fn flags_are_seldom_raised_without_their_cause() {
    let runs = std::env::var("FLAG_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(120u64);
    let rules = Rules { randomised: true, ..Rules::new("a", Direction::Higher) };
    let mut whole = BTreeMap::<String, u64>::new();
    for (name, noise) in NOISES {
        let mut counts = BTreeMap::<String, u64>::new();
        for seed in 0..runs {
            let figures = simulate(noise, seed);
            let up_to = |blocks: u64| -> Vec<Figure> {
                figures.iter().filter(|figure| figure.block < Some(blocks)).cloned().collect()
            };
            let stopped = (6..=BLOCKS as u64)
                .find(|n| !matches!(next_step(&up_to(*n), &rules, false).unwrap(), Next::Continue { .. }));
            for (kind, blocks) in [("at 40", BLOCKS as u64), ("live", stopped.unwrap_or(BLOCKS as u64))] {
                let judgement = judge(&up_to(blocks), &rules).unwrap();
                for flag in &judgement.comparisons[0].flags {
                    *counts.entry(format!("{kind}: {}", flag.name)).or_default() += 1;
                }
            }
        }
        for (flag, count) in counts {
            println!("{name}: {flag} in {:.1} %", 100.0 * count as f64 / runs as f64);
            *whole.entry(flag).or_default() += count;
        }
    }
    let all = runs * NOISES.len() as u64;
    for (flag, count) in &whole {
        println!("all: {flag} in {:.2} %", 100.0 * *count as f64 / all as f64);
    }
    for flag in ["order-effect", "lopsided-order", "fixed-order", "alternating-order", "carry-over"] {
        for kind in ["at 40", "live"] {
            let count = whole.get(&format!("{kind}: {flag}")).copied().unwrap_or(0);
            assert!(100 * count <= 2 * all, "{kind}: {flag} in {count} of {all}");
        }
    }
}
