//! Looks for the load at which latency takes off, with as few points as that needs.

use iostone_model::orion::{Knee, LoadFigures, LoadPoint, OrionTest, PointRecord};

use super::Schedule;
use super::growth::{GROWTH, Growth, Step, growth_at_the_top};

/// So many doublings without growth in a row end the search: one may be an accident.
const FLAT_DOUBLINGS: usize = 2;
/// The search ends at the plan's highest load times this, within [`SMALLEST_CAP`] and [`LARGEST_CAP`].
const BEYOND_PLAN: u32 = 8;
/// Enough for any single flash device's queue.
const SMALLEST_CAP: u32 = 64;
/// More outstanding I/Os than storage has queue entries to tell them apart.
const LARGEST_CAP: u32 = 4096;
/// Neighbours of the knee, as factors of its load, that show the curve around it.
const AROUND: [f64; 2] = [1.0 / 1.5, 1.5];
/// A measured load this little below the knee is at the knee: its own noise is of that size.
const AT_THE_KNEE: f64 = 0.95;
/// With fewer loads than this a knee is not to be told.
const FEWEST_LOADS: usize = 4;

/// Measures loads 1, 2, 4, 8 and so on until two doublings in a row bring less than 5 % of rate each, or a cap is reached
/// (eight times the plan's highest load, at least 64, at most 4096); then the loads beside the knee `N*` and at `N* / 1.5`
/// and `N* x 1.5`.
///
/// It goes along the first row (small I/O), beside the plan's least large load, which is none but with `-matrix row` and
/// `point`; a plan without small loads is gone along its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KneeSchedule {
    line: Line,
    cap: u32,
}

/// The points at which one of the loads varies beside a fixed other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    small: bool,
    beside: u32,
}

/// A load, and what came of it.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    load: u32,
    /// I/Os a second.
    iops: f64,
    /// Mean, seconds.
    latency: f64,
    /// Of the rate, where it is known.
    precision: Option<f64>,
}

impl KneeSchedule {
    /// The search that fits a test's plan.
    pub fn new(test: &OrionTest, num_disks: u32) -> Self {
        let (columns, rows) = (test.small_loads(num_disks), test.large_loads(num_disks));
        let least = |loads: &[u32]| loads.iter().min().copied().unwrap_or(0);
        let highest = |loads: &[u32]| loads.iter().max().copied().unwrap_or(0);
        // A plan of one column varies the large load, whatever stands beside it.
        let small = highest(&columns) > 0 && !(columns.len() == 1 && rows.len() > 1);
        let (line, most) = if small {
            (Line { small, beside: least(&rows) }, highest(&columns))
        } else {
            (Line { small, beside: least(&columns) }, highest(&rows))
        };
        Self { line, cap: most.saturating_mul(BEYOND_PLAN).clamp(SMALLEST_CAP, LARGEST_CAP) }
    }

    /// The highest load that it tries.
    pub fn cap(&self) -> u32 {
        self.cap
    }

    /// 1, 2, 4 and so on, and the cap itself.
    fn doublings(&self) -> impl Iterator<Item = u32> {
        let cap = self.cap;
        std::iter::successors(Some(1_u32), move |load| (*load < cap).then(|| load.saturating_mul(2).min(cap)))
    }
}

impl Schedule for KneeSchedule {
    fn next(&self, done: &[PointRecord]) -> Option<LoadPoint> {
        let measured = |load: u32| self.line.loaded(done, load);
        let mut doubled: Vec<Loaded> = Vec::new();
        let mut flat = 0;
        for load in self.doublings() {
            let Some(here) = measured(load) else { return Some(self.line.at(load)) };
            if let Some(before) = doubled.last() {
                let grew = here.iops > before.iops * (1.0 + GROWTH);
                flat = if grew { 0 } else { flat + 1 };
            }
            doubled.push(here);
            if flat >= FLAT_DOUBLINGS && doubled.len() >= FEWEST_LOADS {
                break;
            }
        }
        // From the doublings alone: were the loads below counted too, each of them would move the goal.
        let (knee, _, _) = asymptotes(&doubled)?;
        [knee.floor(), knee.ceil()]
            .into_iter()
            .chain(AROUND.map(|factor| (knee * factor).round()))
            .map(|load| whole(load.clamp(1.0, f64::from(self.cap))))
            .find(|load| measured(*load).is_none())
            .map(|load| self.line.at(load))
    }

    fn total(&self) -> Option<u32> {
        None
    }

    fn knee(&self, done: &[PointRecord]) -> Option<Knee> {
        self.line.knee(done)
    }
}

/// The knee of small (else large) I/O alone in the measured points of any schedule: at least four loads, 1 among them.
///
/// `N* = X_max * R_min` is where the asymptotic bounds of a closed system, `X(N) <= min(N / R_min, X_max)`, meet (Denning
/// and Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 1978). `R_min` is taken as the
/// least `N / X(N)`: by Little's law the time of one I/O's round through system and loader, in the unit in which the load is
/// counted, so that for sequential streams `N*` is a number of streams.
pub fn knee_of(points: &[PointRecord], small: bool) -> Option<Knee> {
    Line { small, beside: 0 }.knee(points)
}

impl Line {
    fn at(self, load: u32) -> LoadPoint {
        if self.small {
            LoadPoint { small: load, large: self.beside }
        } else {
            LoadPoint { small: self.beside, large: load }
        }
    }

    /// What a load of this line came to; a point at which nothing completed has the rate 0.
    fn loaded(self, points: &[PointRecord], load: u32) -> Option<Loaded> {
        let record = points.iter().find(|record| record.point() == self.at(load))?;
        let figures = if self.small { record.small_io.as_ref() } else { record.large_io.as_ref() };
        let completed = figures.map_or(0, LoadFigures::ios);
        let iops = if record.seconds > 0.0 { completed as f64 / record.seconds } else { 0.0 };
        let measured = figures.and_then(|io| io.latency.as_ref()).map(|latency| latency.mean);
        let latency = measured.unwrap_or(if iops > 0.0 { f64::from(load) / iops } else { 0.0 });
        Some(Loaded { load, iops, latency, precision: record.precision })
    }

    fn knee(self, points: &[PointRecord]) -> Option<Knee> {
        let mut loads: Vec<u32> = points
            .iter()
            .map(
                |record| if self.small { (record.small, record.large) } else { (record.large, record.small) },
            )
            .filter(|(load, beside)| *load > 0 && *beside == self.beside)
            .map(|(load, _)| load)
            .collect();
        loads.sort_unstable();
        loads.dedup();
        if loads.len() < FEWEST_LOADS || loads.first() != Some(&1) {
            return None;
        }
        let curve: Vec<Loaded> = loads.iter().filter_map(|load| self.loaded(points, *load)).collect();
        let (load, highest_rate, lowest_latency) = asymptotes(&curve)?;
        // The load of the highest rate is never below `N*`, so there always is one.
        let at = curve.iter().find(|one| f64::from(one.load) >= load * AT_THE_KNEE && one.iops > 0.0)?;
        let steps: Vec<Step> = curve
            .iter()
            .map(|one| Step { load: one.load, rate: one.iops, precision: one.precision })
            .collect();
        Some(Knee {
            small: self.small,
            load,
            at: at.load,
            iops: at.iops,
            latency: at.latency,
            share_of_maximum: at.iops / highest_rate,
            latency_ratio: at.latency / lowest_latency,
            saturated: growth_at_the_top(&steps) != Growth::Continues,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the cap")]
fn whole(load: f64) -> u32 {
    load as u32
}

/// `N*`, the highest rate, and the lowest mean latency; none where nothing completed.
fn asymptotes(curve: &[Loaded]) -> Option<(f64, f64, f64)> {
    let alive = || curve.iter().filter(|one| one.iops > 0.0 && one.latency > 0.0);
    let highest_rate = alive().map(|one| one.iops).reduce(f64::max)?;
    let least_round = alive().map(|one| f64::from(one.load) / one.iops).reduce(f64::min)?;
    let lowest_latency = alive().map(|one| one.latency).reduce(f64::min)?;
    Some((highest_rate * least_round, highest_rate, lowest_latency))
}

#[cfg(test)]
mod tests;
