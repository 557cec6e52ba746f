//! Which trial ran after which, from the figures of all sets together: a trial that lacks one figure has others.

use std::collections::BTreeMap;

use super::FigureSet;

/// A place in a block: the stratum and the level.
type Place<'a> = (&'a str, &'a str);

/// The trials of one block: each place with its order.
type Trials<'a> = Vec<(Place<'a>, Option<f64>)>;

/// Every trial with the level that ran just before it.
#[derive(Debug, Default)]
pub(super) struct Sequence<'a> {
    blocks: BTreeMap<u64, Vec<(Place<'a>, Option<&'a str>)>>,
    overlap: Option<[u64; 2]>,
}

impl<'a> Sequence<'a> {
    pub(super) fn of(sets: &[FigureSet<'a>]) -> Self {
        let mut trials = BTreeMap::<u64, Trials<'a>>::new();
        for figure in sets.iter().flat_map(|set| set.figures) {
            let Some(block) = figure.block else { continue };
            let place = (figure.stratum.as_str(), figure.level.as_str());
            let known = trials.entry(block).or_default();
            // A superblock holds several trials of a place, each at another time.
            if !known.contains(&(place, figure.order)) {
                known.push((place, figure.order));
            }
        }
        Self { overlap: find_overlap(&trials), blocks: find_predecessors(trials) }
    }

    /// Two blocks one of which began before the other had ended, where orders are places in the time of all blocks.
    pub(super) fn overlap(&self) -> Option<[u64; 2]> {
        self.overlap
    }

    /// The level that ran just before, in this block or at the end of the one before; none where unknown.
    pub(super) fn before(&self, block: u64, stratum: &str, level: &str) -> Option<&'a str> {
        let trials = self.blocks.get(&block)?;
        trials.iter().find(|(place, _)| *place == (stratum, level)).and_then(|(_, before)| *before)
    }

    /// The blocks in which both levels of a stratum ran.
    pub(super) fn count_meetings(&self, stratum: &str, baseline: &str, level: &str) -> usize {
        let ran = |trials: &[(Place<'a>, Option<&'a str>)], level: &str| {
            trials.iter().any(|(place, _)| *place == (stratum, level))
        };
        self.blocks.values().filter(|trials| ran(trials, baseline) && ran(trials, level)).count()
    }
}

/// The first two blocks, by their beginnings, that overlap. None where orders begin again in each block, which shows in equal
/// ones, or are not known throughout.
fn find_overlap(blocks: &BTreeMap<u64, Trials<'_>>) -> Option<[u64; 2]> {
    let mut all = blocks.values().flatten().map(|(_, order)| *order).collect::<Option<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    if all.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    let ends = |trials: &Trials<'_>| {
        let orders = || trials.iter().filter_map(|(_, order)| *order);
        Some((orders().reduce(f64::min)?, orders().reduce(f64::max)?))
    };
    let mut spans: Vec<(u64, (f64, f64))> =
        blocks.iter().filter_map(|(number, trials)| Some((*number, ends(trials)?))).collect();
    spans.sort_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
    let overlap = spans.windows(2).find(|pair| pair[0].1.1 > pair[1].1.0)?;
    Some([overlap[0].0, overlap[1].0])
}

/// Notes for each trial which level ran just before it.
fn find_predecessors(blocks: BTreeMap<u64, Trials<'_>>) -> BTreeMap<u64, Vec<(Place<'_>, Option<&str>)>> {
    let numbers: Vec<u64> = blocks.keys().copied().collect();
    let step = numbers.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
    let mut previous: Option<(u64, &str)> = None;
    let mut found = BTreeMap::new();
    for (number, mut trials) in blocks {
        let rank = |trial: &(Place<'_>, Option<f64>)| trial.1.unwrap_or(f64::NAN);
        trials.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        let known = trials.iter().all(|trial| trial.1.is_some())
            && trials.windows(2).all(|pair| rank(&pair[0]) < rank(&pair[1]));
        // After a gap in the numbers, something that is not among the figures ran last.
        let mut before =
            previous.filter(|(block, _)| known && number - block == step).map(|(_, level)| level);
        let mut noted = Vec::with_capacity(trials.len());
        for ((stratum, level), _) in trials {
            noted.push(((stratum, level), before));
            before = known.then_some(level);
        }
        previous = before.map(|level| (number, level));
        found.insert(number, noted);
    }
    found
}
