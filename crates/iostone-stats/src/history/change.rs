//! The change-point monitor: normal scores of the ranks of a segment, its last 1 to 8 runs against those before.

use crate::history::dependence::Dependence;
use crate::history::limits::{FIRST, Hazard, SLACK, WINDOW};
use crate::median::median;
use crate::rank::doubled_ranks;
use crate::special::normal_quantile;

/// Of so many last runs it is asked at most whether they differ.
const BACK: usize = 8;

/// A change, or the suspicion of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The run at which it was seen, from 0.
    pub seen_at: usize,
    /// The first run of the new state, from 0.
    pub first: usize,
    /// The statistic, in standard deviations.
    pub statistic: f64,
    /// What it had to exceed.
    pub limit: f64,
    /// The median difference of a run after to one before, as log ratio.
    pub shift: f64,
}

/// Runs between two changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// The first of them, from 0.
    pub first: usize,
    /// How many there are.
    pub runs: usize,
    /// The median of their values.
    pub median: f64,
    /// Whether they depend on each other; none where there are too few to ask.
    pub dependence: Option<Dependence>,
}

/// What the history of one configuration came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// The changes, in order of time.
    pub changes: Vec<Change>,
    /// The stretches between them, one more than there are changes; none without runs.
    pub segments: Vec<Segment>,
    /// A change that the latest run suggests at the widest limits only, [`Hazard::In200`].
    pub weak: Option<Change>,
    /// How many runs more until any alarm about the present segment is possible; 0 where it is by now.
    pub runs_until_alarm: usize,
}

impl Watched {
    /// Whether runs of any segment depend on each other: the limits of the monitor do not hold for such.
    pub fn runs_depend(&self) -> bool {
        self.segments.iter().filter_map(|segment| segment.dependence).any(Dependence::is_suspicious)
    }
}

/// Follows all runs of one configuration, given as ln of each run's median, signed so that larger is better.
///
/// Alarms are those of [`Monitor`], run by run. Where each change is, and how large, is told by all runs up to the changes before
/// and after it: at its alarm few runs of the new state were there.
pub fn watch(runs: &[f64], hazard: Hazard) -> Watched {
    let mut monitor = Monitor::new(hazard);
    let mut changes: Vec<Change> = runs.iter().filter_map(|run| monitor.push(*run)).collect();
    for at in 0..changes.len() {
        let start = at.checked_sub(1).and_then(|before| changes.get(before)).map_or(0, |before| before.first);
        let end = changes.get(at + 1).map_or(runs.len(), |after| after.first);
        if let (Some(both), Some(change)) = (runs.get(start..end), changes.get_mut(at)) {
            let before = sharpest_split(both).unwrap_or(change.first - start);
            change.first = start + before;
            change.shift = shift(&both[..before], &both[before..]);
        }
    }
    monitor.finish(changes)
}

/// After how many runs the normal scores of those before and those after lie furthest apart, in standard deviations.
fn sharpest_split(runs: &[f64]) -> Option<usize> {
    let scores = scores(runs)?;
    let n = runs.len() as f64;
    let mut sum = 0.0;
    let mut sharpest: Option<(f64, usize)> = None;
    for (score, before) in scores.iter().zip(1..runs.len()) {
        sum += score;
        let k = before as f64;
        let z = sum.abs() / (k * (n - k)).sqrt();
        if sharpest.is_none_or(|(largest, _)| z > largest) {
            sharpest = Some((z, before));
        }
    }
    sharpest.map(|(_, before)| before)
}

/// The centred normal scores of the ranks; none where all runs are equal.
fn scores(runs: &[f64]) -> Option<Vec<f64>> {
    let n = runs.len() as f64;
    let (ranks, _) = doubled_ranks(runs);
    let scores: Vec<f64> =
        ranks.into_iter().map(|doubled| normal_quantile(f64::from(doubled) / (2.0 * (n + 1.0)))).collect();
    let mean = scores.iter().sum::<f64>() / n;
    let centred: Vec<f64> = scores.into_iter().map(|score| score - mean).collect();
    centred.iter().any(|score| score.abs() > 0.0).then_some(centred)
}

/// The state of the monitor between two runs.
#[derive(Debug, Clone)]
pub struct Monitor {
    hazard: Hazard,
    runs: Vec<f64>,
    /// Where the present segment begins.
    segment: usize,
}

impl Monitor {
    /// A monitor that has seen nothing.
    pub fn new(hazard: Hazard) -> Self {
        Self { hazard, runs: Vec::new(), segment: 0 }
    }

    /// Adds a run; gives the change that it shows, after which the segment begins anew with the first run of the new state.
    pub fn push(&mut self, run: f64) -> Option<Change> {
        self.runs.push(run);
        let change = self.look(self.hazard)?;
        self.segment = change.first;
        Some(change)
    }

    /// The change that the latest run shows at the limits of `hazard`.
    fn look(&self, hazard: Hazard) -> Option<Change> {
        let start = self.segment.max(self.runs.len().saturating_sub(WINDOW));
        let present = self.runs.get(start..)?;
        let limit = hazard.limit(present.len())?;
        let (statistic, last) = statistic(present)?;
        let before = present.len() - last;
        (statistic > limit + SLACK).then(|| Change {
            seen_at: self.runs.len() - 1,
            first: start + before,
            statistic,
            limit,
            shift: shift(&present[..before], &present[before..]),
        })
    }

    fn finish(self, changes: Vec<Change>) -> Watched {
        let weak = self.look(Hazard::In200);
        let starts: Vec<usize> =
            std::iter::once(0).chain(changes.iter().map(|change| change.first)).collect();
        let ends = starts.iter().skip(1).copied().chain([self.runs.len()]);
        let segments = starts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| {
                let of = self.runs.get(*start..end)?;
                Some(Segment {
                    first: *start,
                    runs: of.len(),
                    median: median(of)?,
                    dependence: Dependence::of(of),
                })
            })
            .collect();
        let present = self.runs.len() - self.segment;
        Watched {
            changes,
            segments,
            weak,
            runs_until_alarm: first_alarm(self.hazard).saturating_sub(present),
        }
    }
}

/// The fewest runs of a segment at which an alarm is possible: those of which the clearest change exceeds the limit.
fn first_alarm(hazard: Hazard) -> usize {
    let possible = |runs: &usize| {
        let clearest = (1..=back(*runs)).filter_map(|last| {
            let step: Vec<f64> = (0..*runs).map(|run| (run + last) as f64).collect();
            statistic(&step)
        });
        let largest = clearest.map(|(value, _)| value).fold(0.0, f64::max);
        hazard.limit(*runs).is_some_and(|limit| largest > limit + SLACK)
    };
    (FIRST..=WINDOW).find(possible).unwrap_or(WINDOW)
}

fn back(runs: usize) -> usize {
    BACK.min(runs / 2)
}

/// The largest contrast of the last runs with those before, and how many they are; none where all runs are equal.
pub(super) fn statistic(runs: &[f64]) -> Option<(f64, usize)> {
    let n = runs.len() as f64;
    let scores = scores(runs)?;
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    let mut sum = 0.0;
    let mut largest: Option<(f64, usize)> = None;
    for (score, last) in scores.iter().rev().zip(1..=back(runs.len())) {
        sum += score;
        let l = last as f64;
        let z = sum.abs() / (l * (n - l) / (n * (n - 1.0)) * squares).sqrt();
        if largest.is_none_or(|(before, _)| z > before) {
            largest = Some((z, last));
        }
    }
    largest
}

/// The median of all differences across a change.
fn shift(before: &[f64], after: &[f64]) -> f64 {
    let differences: Vec<f64> =
        after.iter().flat_map(|new| before.iter().map(move |old| new - old)).collect();
    median(&differences).unwrap_or(0.0)
}
