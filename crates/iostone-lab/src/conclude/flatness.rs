//! Flat write curves and what they are put down to: barriers, the volume's limit, or neither.
//!
//! Only where ORION wrote and nothing else, and two configurations differ in nothing but whether flushes are sent: by a
//! mount option, or by what the kernel takes the device's cache for. All is said by intervals of medians over the blocks
//! ([`iostone_stats::flatness`]), at a confidence that holds for all pairs and statements together.

mod measured;
mod words;

use iostone_model::evidence::RunEvidence;
use iostone_model::experiment::{Configuration, Stack, WriteCache};
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{CurveShape, FlatCause, FlatnessVerdict};
use iostone_stats::flatness::{FLAT_WITHIN, confidence_of_each, enough, fewest};
use iostone_stats::median::{median, median_interval};

use self::measured::{BEYOND_LIMIT, FEWEST_LOADS, Measured, asked_loads, small_writes};

/// From so many flushes a write on, 1 in 10, barriers can be what a curve is put down to. A flush waits for the device's
/// cache; where they are rarer, each would have to last as long as ten writes and more to halve the rate, and how long
/// they last is not counted here.
const MATTERING_FLUSHES: f64 = 0.10;
/// Without barriers less than this share of the flushes with them must have been served: else the setting did not take.
const FLUSHES_LEFT: f64 = 0.5;

/// How sure each statement must be.
#[derive(Debug, Clone, Copy)]
struct Rigour {
    /// Two-sided confidence of each interval.
    each: f64,
    /// The fewest blocks.
    fewest: u32,
}

/// What is not settled, or not said, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    FewBlocks,
    NoRate,
    /// Of the curve with barriers.
    Shape,
    ShapeWithout,
    /// At the volume's limit, and whether barriers lower it is not settled.
    PartOfBarriers,
    /// Beyond the limit without barriers.
    LimitHeldOnce,
    /// Whether it lies at the limit.
    Limit,
    FewFlushes,
    FlushedWithout,
    FlushesUnknown,
    /// Neither higher nor equivalent without barriers, or not both flat.
    Level,
}

/// What is put down for each pair of configurations that differ in barriers alone.
pub(super) fn verdicts(run: &RunEvidence<'_>) -> Vec<FlatnessVerdict> {
    let plan = run.plan;
    let configurations = &plan.experiment.configurations;
    let decide = &plan.experiment.decide;
    let pairs = pairs(plan);
    let family = family(plan, &pairs);
    let confidence = decide.confidence.0;
    let rigour = Rigour {
        each: confidence_of_each(family, confidence),
        fewest: fewest(family, confidence).max(decide.blocks.min),
    };
    let mut judged = Vec::new();
    for (with, without) in pairs {
        let [of_with, of_without] =
            [with, without].map(|one| Measured::of(one, run.trials_of(&one.name), rigour));
        let sides = of_with.zip(of_without);
        let Some((with, without)) = sides else { continue };
        let stratum = stratum_of(configurations.len(), with.configuration, without.configuration);
        judged.push(judge(decide.margin.0, rigour, stratum, &with, &without));
    }
    judged
}

/// So many blocks every configuration of a pair is given, whatever the decided metric says before: none without a pair.
pub(crate) fn blocks_of_pairs(plan: &Plan) -> Option<u32> {
    let pairs = pairs(plan);
    let loads = pairs.iter().map(|(with, _)| asked_loads(&with.workload).len()).max()?;
    let blocks = plan.experiment.decide.blocks;
    let enough = enough(family(plan, &pairs), loads, plan.experiment.decide.confidence.0);
    Some(enough.max(blocks.min).min(blocks.max))
}

/// The configurations of pairs that have fewer blocks than they are given, by place.
pub(crate) fn waiting(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<usize> {
    let Some(given) = blocks_of_pairs(plan) else { return Vec::new() };
    let (pairs, run) = (pairs(plan), RunEvidence::of(plan, trials, blocks));
    let waits = |configuration: &Configuration| {
        pairs.iter().any(|(with, without)| [&with.name, &without.name].contains(&&configuration.name))
            && run.trials_of(&configuration.name).len() < given as usize
    };
    let configurations = plan.experiment.configurations.iter().enumerate();
    configurations.filter(|(_, configuration)| waits(configuration)).map(|(place, _)| place).collect()
}

/// Every two configurations of which the curves are held against each other, the one with barriers first.
fn pairs(plan: &Plan) -> Vec<(&Configuration, &Configuration)> {
    let configurations = &plan.experiment.configurations;
    let with_later =
        |(index, left)| configurations.iter().skip(index + 1).filter_map(move |right| pair(left, right));
    configurations.iter().enumerate().flat_map(with_later).collect()
}

/// As many as the verdicts hold for together, so that both need the same blocks.
fn family(plan: &Plan, pairs: &[(&Configuration, &Configuration)]) -> usize {
    pairs.len().max(plan.comparisons().len())
}

/// What both have in common, where there are more than the two.
fn stratum_of(all: usize, left: &Configuration, right: &Configuration) -> String {
    if all == 2 {
        return String::new();
    }
    let common = left.levels.iter().filter(|(factor, level)| right.levels.get(*factor) == Some(level));
    common.map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(", ")
}

/// Of two configurations that write by ORION's test at loads enough for a curve and differ in barriers alone, the one with them first.
fn pair<'a>(
    left: &'a Configuration,
    right: &'a Configuration,
) -> Option<(&'a Configuration, &'a Configuration)> {
    let of_cache = |stack: &Stack| {
        let mut stack = stack.clone();
        stack.queue.write_cache = None;
        stack
    };
    let is_pair = left.workload == right.workload
        && left.machine == right.machine
        && small_writes(&left.workload).is_some()
        && asked_loads(&left.workload).len() >= FEWEST_LOADS
        && (left.stack.differs_in_barriers_alone(&right.stack)
            || (left.stack != right.stack && of_cache(&left.stack) == of_cache(&right.stack)));
    match (sends_flushes(&left.stack), sends_flushes(&right.stack)) {
        (true, false) if is_pair => Some((left, right)),
        (false, true) if is_pair => Some((right, left)),
        _ => None,
    }
}

fn sends_flushes(stack: &Stack) -> bool {
    let last = stack.mount.options.iter().rev().find_map(|option| match option.as_str() {
        "barrier" | "barrier=1" => Some(true),
        "nobarrier" | "barrier=0" => Some(false),
        _ => None,
    });
    last.unwrap_or(true) && stack.queue.write_cache != Some(WriteCache::WriteThrough)
}

fn judge(
    margin: f64,
    rigour: Rigour,
    stratum: String,
    with: &Measured<'_>,
    without: &Measured<'_>,
) -> FlatnessVerdict {
    let ratios: Vec<f64> = with
        .plateaus
        .iter()
        .filter_map(|(block, plateau)| Some(without.plateaus.get(block)? - plateau))
        .collect();
    let ratio = median(&ratios).map(f64::exp);
    let interval = median_interval(&ratios, rigour.each);
    let ratio_interval = interval.map_or([None, None], |ends| ends.map(|end| Some(end.exp())));
    let (cause, open) = cause(with, without, ratio_interval, margin, rigour);
    let mut verdict = FlatnessVerdict {
        stratum,
        with: with.curve.clone(),
        without: without.curve.clone(),
        margin: FLAT_WITHIN,
        fewest_blocks: rigour.fewest,
        interval_confidence: rigour.each,
        ratio,
        ratio_interval,
        cause,
        sentence: String::new(),
    };
    verdict.sentence = words::sentence(&verdict, open);
    verdict
}

/// What the curve with barriers is put down to, and what stays open.
///
/// The volume's limit comes first: at it a curve is flat whatever else costs time. Barriers make it flat only if it rises
/// without them; where it stays flat, or falls, they explain its level alone.
fn cause(
    with: &Measured<'_>,
    without: &Measured<'_>,
    ratio: [Option<f64>; 2],
    margin: f64,
    rigour: Rigour,
) -> (FlatCause, Option<Open>) {
    let undecided = |open| (FlatCause::Undecided, Some(open));
    if [with, without].iter().any(|side| side.curve.shape == CurveShape::Incomplete) {
        return undecided(Open::NoRate);
    }
    if with.curve.trials.min(without.curve.trials) < rigour.fewest {
        return undecided(Open::FewBlocks);
    }
    if with.curve.shape == CurveShape::Undecided {
        return undecided(Open::Shape);
    }
    if !with.is_flat() {
        return (FlatCause::NotFlat, None);
    }
    let is_alike =
        matches!(ratio, [Some(low), Some(high)] if low > (1.0 + margin).recip() && high < 1.0 + margin);
    if with.is_at_limit() {
        return if is_alike {
            (FlatCause::Volume, None)
        } else if without.is_at_limit() {
            (FlatCause::Volume, Some(Open::PartOfBarriers))
        } else if without.curve.limit_share_interval[0].is_some_and(|low| low > BEYOND_LIMIT) {
            undecided(Open::LimitHeldOnce)
        } else {
            undecided(Open::PartOfBarriers)
        };
    }
    if ratio[0].is_some_and(|low| low > 1.0 + margin) {
        if let Some(open) = flushes_do_not_matter(with, without) {
            return undecided(open);
        }
        return match (with.curve.shape, without.curve.shape) {
            (_, CurveShape::Rises) => (FlatCause::Barriers, None),
            // Flat from the first load on with barriers, and growing before it is flat without.
            (CurveShape::Flat, CurveShape::Plateau) if without.rises_overall => (FlatCause::Barriers, None),
            // It grows at first, and nobody can say whether by more than a flat curve may.
            (CurveShape::Flat, CurveShape::Plateau) if !without.stays_overall => {
                undecided(Open::ShapeWithout)
            }
            (_, CurveShape::Flat | CurveShape::Plateau | CurveShape::Falls) => (FlatCause::Lowered, None),
            _ => undecided(Open::ShapeWithout),
        };
    }
    if is_alike && without.is_flat() {
        return if with.is_clear_of_limit() { (FlatCause::Neither, None) } else { undecided(Open::Limit) };
    }
    undecided(Open::Level)
}

/// Why barriers cannot be what makes the difference, as far as flushes tell.
fn flushes_do_not_matter(with: &Measured<'_>, without: &Measured<'_>) -> Option<Open> {
    let (Some(on), Some(off)) = (with.curve.flushes_per_write, without.curve.flushes_per_write) else {
        return Some(Open::FlushesUnknown);
    };
    if on < MATTERING_FLUSHES {
        Some(Open::FewFlushes)
    } else if off >= on * FLUSHES_LEFT {
        Some(Open::FlushedWithout)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
