//! Measures of a matrix only what the rest cannot be told from, and says how far off the rest may be.

mod region;

use std::collections::{HashMap, HashSet};

use iostone_model::orion::{CellEstimate, LoadPoint, PointRecord};

use super::Schedule;
use region::{Patch, Region, Responses};

/// The stated error is the largest deviation found nearby times this: checks lie at the middles, and what bends elsewhere
/// shows there in part.
const RESERVE: f64 = 1.2;
/// No error below this share of the target is stated: a handful of checks cannot show more.
const RESOLUTION: f64 = 0.5;
/// A patch that spans more than this factor of load is never taken for smooth on the word of its five checks.
const WIDEST_SPAN: f64 = 12.0;

/// A coarse grid over the matrix, refined where it does not predict.
///
/// **What is interpolated.** Not the rates, but the times they stand for: by Little's law a load `N` that brings the rate
/// `X` has the response time `R = N / X`. In a closed system `R` is constant while nothing is saturated and grows linearly
/// with the loads, those of both classes, once something is (the asymptotic bounds; balanced systems are linear all the
/// way: Zahorjan, Sevcik, Eager and Galler, "Balanced Job Bound Analysis of Queueing Networks", CACM 1982). Bilinear
/// interpolation of `R` over the two loads is thus exact but for the bend in between, where rates or their logarithms would
/// bend everywhere. The mean latency of small I/O, which ORION's files give beside IOPS, is such a time as it is.
///
/// **Where.** Points without any small, or without any large, I/O behave like none of their neighbours and are lines
/// of their own; the rest is a rectangle. The corners of a patch are measured, then its centre and the middles of its
/// edges (middle by the logarithm of the load). Where one of these differs from what the corners predict by more than the
/// target over 1.2, in IOPS, latency or throughput, the patch is cut in two or in four: at its middle along the axis on
/// whose edges it bends. So is any patch that spans more than a factor of twelve in a load, lest five checks agree by
/// accident. An accepted patch is filled in from its corners and middles together, which is finer than what was checked
/// (about four times where the surface bends steadily). A patch without room between its corners is measured entirely.
///
/// **What is stated** of a cell is what interpolation and noise come to, in quadrature. Interpolation: the largest deviation
/// found in its patch and in those that touch it, times 1.2, but at least half the target; this part never exceeds the
/// target. Noise: the precision of the points that the cell is interpolated from, weighted as they are; points short enough
/// to be known to 10 % alone make an estimate of 10 % or more. On storage that is known exactly (queueing networks, sharp
/// limits on I/Os and bytes, sorting and thrashing disks) with 1 % noise and a target of 5 %, fewer than 1 in 200 cells were
/// further off than stated; on 8 disks and more an eighth of the points was measured, in no case a third where the surface
/// is smooth. A feature that hides between measured loads is not seen. Noise counts as deviation: a target below what
/// points repeat to makes it measure everything.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveSchedule {
    plan: Vec<LoadPoint>,
    regions: Vec<Region>,
    target_error: f64,
}

/// A patch that predicts its cells.
#[derive(Debug, Clone, Copy)]
struct Settled {
    region: usize,
    patch: Patch,
    /// The largest deviation of a check.
    deviation: f64,
}

type Measured = HashMap<LoadPoint, Responses>;

impl AdaptiveSchedule {
    /// Over the points of a plan (all combinations of its loads, or the first row and column alone), within `target_error` as
    /// a share: 0.05 for 5 %.
    pub fn new(plan: &[LoadPoint], target_error: f64) -> Self {
        let loads = |of: fn(&LoadPoint) -> u32, kept: fn(&LoadPoint) -> bool| {
            let mut loads: Vec<u32> = plan.iter().filter(|point| kept(point)).map(of).collect();
            loads.sort_unstable();
            loads.dedup();
            loads
        };
        let region = |kept: fn(&LoadPoint) -> bool| Region {
            small: loads(|point| point.small, kept),
            large: loads(|point| point.large, kept),
        };
        let regions = [
            region(|point| point.small == 0 && point.large == 0),
            region(|point| point.small > 0 && point.large == 0),
            region(|point| point.small == 0 && point.large > 0),
            region(|point| point.small > 0 && point.large > 0),
        ];
        Self {
            plan: plan.to_vec(),
            regions: regions.into_iter().filter(|region| !region.is_empty()).collect(),
            target_error,
        }
    }

    /// Refines as far as the measured points lead: the patches that are settled, and the first point that is missing.
    /// Breadth first, so that what is measured early tells of the whole.
    fn refine(&self, measured: &Measured, to_first_gap: bool) -> (Vec<Settled>, Option<LoadPoint>) {
        let mut settled = Vec::new();
        let mut first_gap = None;
        for (index, region) in self.regions.iter().enumerate() {
            let mut waiting = std::collections::VecDeque::from([region.whole()]);
            while let Some(patch) = waiting.pop_front() {
                let checks = region.checks(patch);
                let wanted = region.corners(patch).into_iter().chain(checks.iter().copied());
                if let Some(gap) = wanted.into_iter().find(|point| !measured.contains_key(point)) {
                    first_gap = first_gap.or(Some(gap));
                    if to_first_gap {
                        return (settled, first_gap);
                    }
                    continue;
                }
                if checks.is_empty() {
                    continue;
                }
                match region.judge(patch, measured, self.target_error / RESERVE, WIDEST_SPAN) {
                    Ok(deviation) => settled.push(Settled { region: index, patch, deviation }),
                    Err(parts) => waiting.extend(parts),
                }
            }
        }
        (settled, first_gap)
    }

    /// The error of interpolation that is stated of cells in a settled patch.
    fn interpolation_error(&self, patch: &Settled, all: &[Settled]) -> f64 {
        let nearby =
            all.iter().filter(|other| other.region == patch.region && other.patch.touches(patch.patch));
        let largest = nearby.map(|other| other.deviation).fold(0.0, f64::max);
        (largest * RESERVE).max(self.target_error * RESOLUTION)
    }
}

fn responses(done: &[PointRecord]) -> Measured {
    done.iter().map(|record| (record.point(), Responses::of(record))).collect()
}

impl Schedule for AdaptiveSchedule {
    fn next(&self, done: &[PointRecord]) -> Option<LoadPoint> {
        self.refine(&responses(done), true).1
    }

    fn total(&self) -> Option<u32> {
        None
    }

    /// Of each cell of the plan that was not measured, once its patch is settled: all of them when the schedule is over.
    fn estimates(&self, done: &[PointRecord]) -> Vec<CellEstimate> {
        let measured = responses(done);
        let (settled, _) = self.refine(&measured, false);
        let errors: Vec<f64> =
            settled.iter().map(|patch| self.interpolation_error(patch, &settled)).collect();
        let mut known: HashSet<LoadPoint> = measured.keys().copied().collect();
        let mut estimates: HashMap<LoadPoint, CellEstimate> = HashMap::new();
        for (patch, error) in settled.iter().zip(errors) {
            let Some(region) = self.regions.get(patch.region) else { continue };
            for (point, responses) in region.fill_in(patch.patch, &measured) {
                if known.insert(point) {
                    estimates.insert(point, responses.estimate(point, error));
                }
            }
        }
        self.plan.iter().filter_map(|point| estimates.get(point).copied()).collect()
    }
}

#[cfg(test)]
mod tests;
