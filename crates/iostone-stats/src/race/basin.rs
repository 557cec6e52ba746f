//! Where a sweep's curve may have its optima: one basin each, and what is left of it.

use std::ops::Range;

use super::bounds::Bounds;

/// A dip counts as near the best by at most so many standard deviations of a difference,
const NEAR_DEVIATIONS: f64 = 3.0;
/// and by no more than this log ratio, so that a rough curve does not race everything (22 %).
const NEAR_AT_MOST: f64 = 0.25;

/// The basins that the first passes over the levels show, in order, without gaps.
///
/// A level that no neighbour looks better than is a dip (of a time; a peak of a rate). Beside the best of each pass, dips
/// whose figure is near it are kept, because noise may have hidden that they are better: within twice the margin, or three
/// standard deviations of a difference if that is more. What either pass shows counts, so that no single trial hides a dip.
/// Between two dips, the basins meet at the worst level.
pub(super) fn basins(passes: &[Vec<Option<f64>>], spread: f64, log_margin: f64) -> Vec<Range<usize>> {
    let near = (NEAR_DEVIATIONS * 2f64.sqrt() * spread).min(NEAR_AT_MOST).max(2.0 * log_margin);
    let levels = passes.first().map_or(0, Vec::len);
    let mut found: Vec<usize> = Vec::new();
    for pass in passes {
        for dip in dips(pass, near) {
            // Beside a dip of an earlier pass it is the same one.
            if !found.iter().any(|known| known.abs_diff(dip) <= 1) {
                found.push(dip);
            }
        }
    }
    found.sort_unstable();
    // Passes are blocks of their own, each as slow as the host was then; every level ran in each, so sums compare.
    let score =
        |level: usize| -> f64 { passes.iter().filter_map(|pass| pass.get(level).copied().flatten()).sum() };
    let mut basins = Vec::new();
    let mut begin = 0;
    for pair in found.windows(2) {
        let [left, right] = pair else { continue };
        let valley = (left + 1..*right).min_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(*left);
        basins.push(begin..valley + 1);
        begin = valley + 1;
    }
    basins.push(begin..levels);
    basins
}

/// The dips of one pass that are near its best; none before it.
fn dips(pass: &[Option<f64>], near: f64) -> Vec<usize> {
    let score = |level: usize| pass.get(level).copied().flatten().unwrap_or(f64::NEG_INFINITY);
    let best = (0..pass.len()).map(score).fold(f64::NEG_INFINITY, f64::max);
    if best == f64::NEG_INFINITY {
        return Vec::new();
    }
    let is_dip = |level: &usize| {
        let left = level.checked_sub(1).map_or(f64::NEG_INFINITY, score);
        let right = if level + 1 < pass.len() { score(level + 1) } else { f64::NEG_INFINITY };
        // Of equal neighbours the last one.
        score(*level) >= left && score(*level) > right && score(*level) >= best - near
    };
    (0..pass.len()).filter(is_dip).collect()
}

/// What is left of the basins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remains {
    /// The basins, more of them where the figures show several optima in one.
    pub(super) basins: Vec<Range<usize>>,
    /// For each basin, the levels that may still be the best.
    pub(super) alive: Vec<Vec<usize>>,
    /// For each basin, the levels between the outermost of those.
    pub(super) racing: Vec<Range<usize>>,
    /// Whether a level between two better ones was found where one optimum was taken for granted.
    pub(super) contradicted: bool,
}

/// Eliminates: within a basin, a level that was shown to be worse and all beyond it, seen from the better one; elsewhere
/// the level alone.
pub(super) fn eliminate(basins: Vec<Range<usize>>, bounds: &Bounds) -> Remains {
    let mut waiting: Vec<Range<usize>> = basins.into_iter().rev().collect();
    let mut remains =
        Remains { basins: Vec::new(), alive: Vec::new(), racing: Vec::new(), contradicted: false };
    while let Some(basin) = waiting.pop() {
        let from_left =
            basin.clone().find(|level| (basin.start..*level).any(|other| bounds.passes(other, *level)));
        let from_right =
            basin.clone().rfind(|level| (*level + 1..basin.end).any(|other| bounds.passes(other, *level)));
        let left = from_left.unwrap_or(basin.end)..basin.end;
        let right = basin.start..from_right.map_or(basin.start, |level| level + 1);
        match from_left {
            // Worse than one on either side: there are two optima, and this level parts them.
            Some(level) if right.end >= left.start && left.start > basin.start => {
                remains.contradicted = true;
                waiting.push(level + 1..basin.end);
                waiting.push(basin.start..level);
            }
            _ => {
                let others = || 0..bounds.levels();
                let is_left = |level: &usize| !others().any(|other| bounds.beats(other, *level));
                let alive: Vec<usize> = (right.end..left.start).filter(is_left).collect();
                // One that is worse races on while there are others beyond it to be passed over.
                let ends = alive.first().zip(alive.last());
                remains.racing.push(ends.map_or(0..0, |(first, last)| *first..last + 1));
                remains.alive.push(alive);
                remains.basins.push(basin);
            }
        }
    }
    remains
}

/// How much worse than another each level was shown to be, as log ratio: by its own race, and by that of a level that it
/// lies beyond.
pub(super) fn shown_worse(remains: &Remains, bounds: &Bounds) -> Vec<(f64, f64)> {
    let direct: Vec<f64> = (0..bounds.levels())
        .map(|level| {
            (0..bounds.levels()).map(|other| bounds.lower(other, level)).fold(f64::NEG_INFINITY, f64::max)
        })
        .collect();
    let mut shown: Vec<(f64, f64)> = direct.iter().map(|direct| (*direct, f64::NEG_INFINITY)).collect();
    for basin in &remains.basins {
        let worst = |levels: Range<usize>, level: usize| {
            levels.map(|other| bounds.lower_beyond(other, level)).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut carried = f64::NEG_INFINITY;
        for level in basin.clone() {
            carry(&mut shown, level, &mut carried, worst(basin.start..level, level));
        }
        carried = f64::NEG_INFINITY;
        for level in basin.clone().rev() {
            carry(&mut shown, level, &mut carried, worst(level + 1..basin.end, level));
        }
    }
    shown
}

/// A level is at least as bad as the one before it was shown to be, if that one was shown to be worse.
fn carry(shown: &mut [(f64, f64)], level: usize, carried: &mut f64, own: f64) {
    if let Some((_, beyond)) = shown.get_mut(level)
        && *carried > 0.0
    {
        *beyond = beyond.max(*carried);
    }
    *carried = carried.max(own);
}
