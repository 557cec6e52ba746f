//! Simulated tables through the public door, and what is wrong with the verdicts on them.

use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, Verdict};
use iostone_stats::judge::{
    Figure, FigureSet, Looks, Next, Rules, judge, judge_together, next_step, next_step_together,
};
use iostone_stats::schedule::{SplitMix64, superblock_order};
use iostone_stats::superblock_trials;

use crate::models::{Model, Noise, Order};

/// The most blocks of every simulated run.
pub(crate) const BUDGET: u32 = 40;
/// Differences within it do not matter.
pub(crate) const MARGIN: f64 = 0.03;

/// The true ratios.
pub(crate) const RATIOS: [f64; 5] = [1.0, 1.01, 1.0301, 1.05, 1.10];
/// A ratio just beyond the margin, where equivalence is most easily claimed by mistake.
pub(crate) const BEYOND: f64 = 1.0301;

/// Whether two ratios are the same one of the list.
pub(crate) fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// How several comparisons belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// So many levels beside the baseline, in the same blocks.
    Levels(usize),
    /// The same in a run that begins with a superblock.
    Superblock(usize),
    /// So many levels beside the baseline, in each of so many strata.
    Grid(usize, usize),
    /// So many strata of two levels, whose spreads differ by up to twelve times.
    Strata(usize),
    /// So many points of one curve. Half of the variance of a trial is that of all its points.
    Points(usize),
    /// The same points, each with an even share of the chance of error instead of the coins that they share.
    PointsApart(usize),
}

/// Whether noise keeps the premise of a family. A superblock takes equal levels to have equal laws, not only the same typical figure.
pub(crate) fn keeps_premise(model: &Model, family: Family) -> bool {
    let unlike = matches!(family, Family::Superblock(_)) && model.name.starts_with("spread by level");
    model.keeps_premise && !unlike
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

/// Simulates a run of a true `ratio` that stops as a run does: at its last verdict, or with its budget. An order that no lot
/// drew is that of a table from elsewhere, which is judged when it is complete.
pub(crate) fn run(model: &Model, ratio: f64, family: Family, seed: u64) -> Outcome {
    let levels = match family {
        Family::Levels(levels) | Family::Superblock(levels) | Family::Grid(levels, _) => levels + 1,
        Family::Strata(_) | Family::Points(_) | Family::PointsApart(_) => 2,
    };
    let mut orders = model.order.rows(seed, levels, BUDGET as usize);
    let mut noise = Noise(SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0));
    let mut rules = rules(model, seed);
    if let Family::Superblock(comparisons) = family {
        let trials = superblock_trials(comparisons, rules.confidence);
        orders.truncate((BUDGET - trials) as usize);
        orders.insert(0, superblock_order(seed, 0, levels, trials));
        rules = Rules { looks: Looks::AfterSuperblock(trials), minimum: trials, ..rules };
    }
    let mut strata = |strata: usize, scale: &dyn Fn(usize) -> f64| -> Vec<Figure> {
        (0..strata)
            .flat_map(|stratum| figures(model, &mut noise, &orders, ratio, stratum, scale(stratum)))
            .collect()
    };
    let comparisons = match family {
        Family::Levels(_) if model.order != Order::Drawn => judged(&strata(1, &|_| 1.0), &rules),
        Family::Levels(_) | Family::Superblock(_) => live(&strata(1, &|_| 1.0), &rules),
        Family::Grid(_, points) => live(&strata(points, &|_| 1.0), &rules),
        // From 0.133 to 1.6 times the spread of the model: 0.4 to 5 % where that is 3 %.
        Family::Strata(points) => live(
            &strata(points, &|stratum| 0.133 * 12f64.powf(stratum as f64 / (points.max(2) - 1) as f64)),
            &rules,
        ),
        Family::Points(points) => together(&curve(model, &mut noise, &orders, ratio, points), &rules),
        Family::PointsApart(points) => apart(&curve(model, &mut noise, &orders, ratio, points), &rules),
    };
    outcome(&comparisons, ratio, rules.looks.superblock())
}

/// What a run of these figures comes to that stops as a run does: a level leaves with its verdict, and the machine goes on as
/// if it had run.
///
/// Before the first verdict on the whole table none is found in a part of it, unless one is withheld of the whole.
pub(crate) fn live(all: &[Figure], rules: &Rules) -> Vec<Comparison> {
    let whole = judged(all, rules);
    let first = whole.iter().filter_map(|comparison| comparison.decided_at).min().unwrap_or(BUDGET);
    let first = if whole.iter().any(is_withheld) { 0 } else { first };
    // Of each comparison the blocks that it ran; none while it goes on.
    let mut left: Vec<((&str, &str), Option<u32>)> =
        whole.iter().map(|c| ((c.stratum.as_str(), c.level.as_str()), None)).collect();
    let mut seen = all.to_vec();
    let looks: Vec<u32> = match rules.looks {
        Looks::AfterSuperblock(trials) => (trials..=BUDGET).collect(),
        Looks::Sequential | Looks::Once => iostone_stats::looks(BUDGET),
    };
    for look in looks.into_iter().filter(|look| *look >= first) {
        seen.clear();
        seen.extend(all.iter().filter(|figure| has_run(figure, look, &left, rules)).cloned());
        let open = match next_step(&seen, rules, false).expect("simulated figures can be judged") {
            Next::Continue { open, .. } => open,
            Next::Decided | Next::Futile | Next::BudgetSpent => break,
        };
        for ((stratum, level), left) in &mut left {
            let goes_on = open.iter().any(|(s, l)| (s.as_str(), l.as_str()) == (*stratum, *level));
            if left.is_none() && !goes_on {
                *left = Some(look);
            }
        }
    }
    judged(&seen, rules)
}

/// Whether a figure was measured in a run of so many blocks: the baseline runs with the last level of its stratum.
fn has_run(figure: &Figure, look: u32, left: &[((&str, &str), Option<u32>)], rules: &Rules) -> bool {
    let with = left.iter().filter(|((stratum, level), _)| {
        *stratum == figure.stratum && (*level == figure.level || figure.level == rules.baseline)
    });
    let until = with.map(|(_, left)| left.unwrap_or(look)).max().unwrap_or(look);
    // A superblock counts as its trials of each level, and is the first block.
    let until = until - rules.looks.superblock().saturating_sub(1);
    figure.block.is_some_and(|block| block < u64::from(until))
}

/// What a run comes to whose points are judged by the coins that they share; it stops when all have a verdict.
pub(crate) fn together(sets: &[Vec<Figure>], rules: &Rules) -> Vec<Comparison> {
    let whole = judged_together(&parts(sets, BUDGET), rules);
    let has = |verdict: Verdict| whole.iter().any(|comparison| comparison.verdict == Some(verdict));
    let ends =
        whole.iter().filter(|comparison| !is_withheld(comparison)).map(|comparison| comparison.decided_at);
    // A run goes on until the last verdict on the whole table, unless its curves cross or it is equivalent only as a whole.
    let first = if has(Verdict::Equivalent) || has(Verdict::Faster) && has(Verdict::Slower) {
        Some(0)
    } else {
        ends.collect::<Option<Vec<u32>>>().map(|ends| ends.into_iter().max().unwrap_or(0))
    };
    let stops = |look: &u32| {
        let next = next_step_together(&named(&parts(sets, *look)), sets.len(), rules, false);
        !matches!(next.expect("simulated figures can be judged"), Next::Continue { .. })
    };
    let looks = iostone_stats::looks(BUDGET).into_iter();
    match first.and_then(|first| looks.filter(|look| *look >= first && *look < BUDGET).find(stops)) {
        Some(end) => judged_together(&parts(sets, end), rules),
        None => whole,
    }
}

/// The first blocks of each set.
fn parts(sets: &[Vec<Figure>], blocks: u32) -> Vec<&[Figure]> {
    let part = |set: &Vec<Figure>| set.partition_point(|figure| figure.block < Some(u64::from(blocks)));
    sets.iter().map(|set| &set[..part(set)]).collect()
}

fn named<'a>(sets: &[&'a [Figure]]) -> Vec<FigureSet<'a>> {
    sets.iter().map(|figures| FigureSet { figures, direction: Direction::Higher }).collect()
}

fn judged_together(sets: &[&[Figure]], rules: &Rules) -> Vec<Comparison> {
    let judged = judge_together(&named(sets), sets.len(), rules).expect("simulated figures can be judged");
    judged.into_iter().flat_map(|judgement| judgement.comparisons).collect()
}

fn is_withheld(comparison: &Comparison) -> bool {
    comparison.flags.iter().any(|flag| flag.name == "withheld")
}

/// The same points, each with an even share of the chance of error.
pub(crate) fn apart(sets: &[Vec<Figure>], rules: &Rules) -> Vec<Comparison> {
    let alone = sets.iter().enumerate().flat_map(|(point, set)| {
        set.iter().map(move |one| Figure { stratum: format!("point={point}"), ..one.clone() })
    });
    live(&alone.collect::<Vec<_>>(), rules)
}

/// The rules of every simulated table.
pub(crate) fn rules(model: &Model, seed: u64) -> Rules {
    Rules {
        margin: MARGIN,
        budget: BUDGET,
        resolution: if model.step_is_told { 100.0 * model.step } else { 0.0 },
        randomised: model.order == Order::Drawn,
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
    let is_sequential = model.order == Order::Sequential;
    for (row, (order, noises)) in orders.iter().zip((model.noise)(noise, orders)).enumerate() {
        let block = if is_sequential { row % BUDGET as usize } else { row };
        for (place, (level, noise)) in order.iter().zip(noises).enumerate() {
            let position = if is_sequential { row } else { place };
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
pub(crate) fn outcome(comparisons: &[Comparison], ratio: f64, superblock: u32) -> Outcome {
    let any = |wanted: &[Verdict]| comparisons.iter().any(|c| c.verdict.is_some_and(|v| wanted.contains(&v)));
    // A superblock that does not count was run nevertheless.
    let passed_over = |c: &Comparison| c.flags.iter().any(|flag| flag.name == "unlike-spreads");
    let at: Vec<u32> = comparisons
        .iter()
        .map(|c| c.decided_at.map_or(BUDGET, |at| at + if passed_over(c) { superblock } else { 0 }))
        .collect();
    let covers = |comparison: &Comparison| {
        let [low, high] = comparison.ratio_interval;
        if is_withheld(comparison) {
            // None is printed.
            return true;
        }
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
