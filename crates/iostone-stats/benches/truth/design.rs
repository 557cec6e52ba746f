//! Simulated tables through the public door, and what is wrong with the verdicts on them.

use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, Verdict};
use iostone_stats::judge::{Figure, FigureSet, Rules, judge, judge_together};
use iostone_stats::schedule::{BlockOrders, SplitMix64};

use crate::models::{Model, Noise};

/// The most blocks of every simulated run.
pub(crate) const BUDGET: u32 = 40;
/// Differences within it do not matter.
pub(crate) const MARGIN: f64 = 0.03;

/// How several comparisons belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// So many levels beside the baseline, in the same blocks.
    Levels(usize),
    /// So many strata of two levels, whose spreads differ by up to twelve times.
    Strata(usize),
    /// So many points of one curve. Half of the variance of a trial is that of all its points.
    Points(usize),
    /// The same points, each with an even share of the chance of error instead of the coins that they share.
    PointsApart(usize),
}

/// What a table came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Whether any comparison was called faster or slower.
    pub(crate) different: bool,
    /// Whether any comparison was called equivalent.
    pub(crate) equivalent: bool,
    /// Whether every printed interval holds the truth.
    pub(crate) covers: bool,
    /// Comparisons with a verdict, and all.
    pub(crate) decided: (u32, u32),
    /// The block of the first verdict, and that of the last; the budget where there is none.
    pub(crate) blocks: (u32, u32),
    /// Names of the flags.
    pub(crate) flags: Vec<String>,
}

/// Simulates a whole table of [`BUDGET`] blocks of a true `ratio` and judges it. Verdicts stay as they were found at their
/// look, and intervals only ever close in, so whatever is wrong at any block at which a run may stop is wrong here too.
pub(crate) fn run(model: &Model, ratio: f64, family: Family, seed: u64) -> Outcome {
    let levels = if let Family::Levels(levels) = family { levels + 1 } else { 2 };
    let orders: Vec<Vec<usize>> = BlockOrders::new(seed, levels).take(BUDGET as usize).collect();
    let mut noise = Noise(SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0));
    let rules = rules(model, seed);
    let comparisons = match family {
        Family::Levels(_) => judged(&figures(model, &mut noise, &orders, ratio, 0, 1.0), &rules),
        Family::Strata(strata) => {
            // From 0.133 to 1.6 times the spread of the model: 0.4 to 5 % where that is 3 %.
            let scale = |stratum: usize| 0.133 * 12f64.powf(stratum as f64 / (strata.max(2) - 1) as f64);
            let of = |stratum| figures(model, &mut noise, &orders, ratio, stratum, scale(stratum));
            judged(&(0..strata).flat_map(of).collect::<Vec<_>>(), &rules)
        }
        Family::Points(points) => {
            let sets = curve(model, &mut noise, &orders, ratio, points);
            let sets: Vec<FigureSet<'_>> =
                sets.iter().map(|figures| FigureSet { figures, direction: Direction::Higher }).collect();
            let judged = judge_together(&sets, points, &rules).expect("simulated figures can be judged");
            judged.into_iter().flat_map(|judgement| judgement.comparisons).collect()
        }
        Family::PointsApart(points) => {
            let sets = curve(model, &mut noise, &orders, ratio, points).into_iter().enumerate();
            let apart = |(point, set): (usize, Vec<Figure>)| {
                set.into_iter().map(move |one| Figure { stratum: format!("point={point}"), ..one })
            };
            judged(&sets.flat_map(apart).collect::<Vec<_>>(), &rules)
        }
    };
    outcome(&comparisons, ratio)
}

/// Simulates a run of two levels that stops at its first verdict: what breaks the premise may be seen only later, when nobody
/// looks any more.
pub(crate) fn run_live(model: &Model, ratio: f64, seed: u64) -> Outcome {
    let orders: Vec<Vec<usize>> = BlockOrders::new(seed, 2).take(BUDGET as usize).collect();
    let mut noise = Noise(SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0));
    let rules = rules(model, seed);
    let all = figures(model, &mut noise, &orders, ratio, 0, 1.0);
    let mut last = Outcome::default();
    for look in iostone_stats::looks(BUDGET) {
        last = outcome(&judged(&all[..2 * look as usize], &rules), ratio);
        if last.decided.0 > 0 {
            break;
        }
    }
    last
}

/// The rules of every simulated table.
pub(crate) fn rules(model: &Model, seed: u64) -> Rules {
    Rules {
        margin: MARGIN,
        budget: BUDGET,
        resolution: if model.step_is_told { 100.0 * model.step } else { 0.0 },
        seed,
        ..Rules::new("0", Direction::Higher)
    }
}

fn judged(figures: &[Figure], rules: &Rules) -> Vec<Comparison> {
    judge(figures, rules).expect("simulated figures can be judged").comparisons
}

/// The figures of a stratum in running order, with so many times the noise of the model.
fn figures(
    model: &Model,
    noise: &mut Noise,
    orders: &[Vec<usize>],
    ratio: f64,
    stratum: usize,
    scale: f64,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (block, (order, noises)) in orders.iter().zip((model.noise)(noise, orders)).enumerate() {
        for (position, (level, noise)) in order.iter().zip(noises).enumerate() {
            let value = 100.0 * (scale * noise).exp() * if *level > 0 { ratio } else { 1.0 };
            let step = 100.0 * model.step;
            figures.push(Figure {
                level: level.to_string(),
                stratum: format!("point={stratum}"),
                value: if step > 0.0 { (value / step).round().max(1.0) * step } else { value },
                block: Some(block as u64),
                order: Some(position as f64),
                ..Figure::default()
            });
        }
    }
    figures
}

/// The figures of each point of a curve.
fn curve(
    model: &Model,
    noise: &mut Noise,
    orders: &[Vec<usize>],
    ratio: f64,
    points: usize,
) -> Vec<Vec<Figure>> {
    let common = figures(model, noise, orders, 1.0, 0, 1.0);
    (0..points).map(|_| mix(&common, &figures(model, noise, orders, 1.0, 0, 1.0), ratio)).collect()
}

/// The trials of a curve: what all points have in common, what this one has of its own, and the effect.
fn mix(common: &[Figure], own: &[Figure], ratio: f64) -> Vec<Figure> {
    let half = 0.5f64.sqrt();
    let mixed = |(common, own): (&Figure, &Figure)| {
        let noise = half * ((common.value / 100.0).ln() + (own.value / 100.0).ln());
        let effect = if own.level == "0" { 1.0 } else { ratio };
        Figure { value: 100.0 * noise.exp() * effect, ..own.clone() }
    };
    common.iter().zip(own).map(mixed).collect()
}

/// What is to be said of comparisons whose truth is known.
pub(crate) fn outcome(comparisons: &[Comparison], ratio: f64) -> Outcome {
    let any = |wanted: &[Verdict]| comparisons.iter().any(|c| c.verdict.is_some_and(|v| wanted.contains(&v)));
    let at: Vec<u32> = comparisons.iter().map(|c| c.decided_at.unwrap_or(BUDGET)).collect();
    let covers = |comparison: &Comparison| {
        let [low, high] = comparison.ratio_interval;
        // Rounding of logarithms aside.
        low.is_none_or(|low| low <= ratio * (1.0 + 1e-9))
            && high.is_none_or(|high| high >= ratio * (1.0 - 1e-9))
    };
    let decided = comparisons.iter().filter(|c| c.decided_at.is_some()).count();
    let mut flags: Vec<String> = comparisons.iter().flat_map(|c| &c.flags).map(|f| f.name.clone()).collect();
    flags.sort_unstable();
    flags.dedup();
    Outcome {
        different: any(&[Verdict::Faster, Verdict::Slower]),
        equivalent: any(&[Verdict::Equivalent]),
        covers: comparisons.iter().all(covers),
        decided: (
            u32::try_from(decided).unwrap_or(u32::MAX),
            u32::try_from(comparisons.len()).unwrap_or(u32::MAX),
        ),
        blocks: (at.iter().min().copied().unwrap_or(BUDGET), at.iter().max().copied().unwrap_or(BUDGET)),
        flags,
    }
}
