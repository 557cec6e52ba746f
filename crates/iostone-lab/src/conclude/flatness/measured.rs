//! The write curves of one configuration: their shape, their upper loads and the volume's limit.

use std::collections::{BTreeMap, BTreeSet};

use iostone_cloud::catalogue;
use iostone_cloud::explain::{IoShape, RateShape, bounds_of_stack};
use iostone_model::experiment::{Configuration, Workload};
use iostone_model::explanation::Flow;
use iostone_model::metric::Unit;
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{CurveShape, LoadCurve, PointName};
use iostone_stats::flatness::{FLAT_WITHIN, Line, Shape, Trend, line, trend};
use iostone_stats::median::{median, median_interval};

use super::Rigour;

/// A plateau from this share of a limit on lies at it: points are short, and the filesystem's own writes count too.
pub(super) const AT_LIMIT: f64 = 0.90;
/// A plateau beyond this share of a limit was not held by it. The kernel grants limits in slices of 0.1 s, which lets a
/// point of seconds pass them by some per cent.
pub(super) const BEYOND_LIMIT: f64 = 1.10;
/// The plateau is taken over loads from this share of the greatest on.
const UPPER_LOADS: f64 = 0.25;

/// Of so many small loads at least a curve is made: a line through two passes through both.
pub(super) const FEWEST_LOADS: usize = 3;

/// A trial's curve: small loads with their rates, ascending.
type Rates = Vec<(f64, f64)>;

/// The curves of a configuration's trials, by block.
pub(super) struct Measured<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) curve: LoadCurve,
    /// Whether the slope over all loads lies above the margin, whatever the upper loads do.
    pub(super) rises_overall: bool,
    /// Whether it surely does not.
    pub(super) stays_overall: bool,
    /// The logarithm of the typical rate at the upper loads, of trials with a rate at every load.
    pub(super) plateaus: BTreeMap<u32, f64>,
}

impl<'a> Measured<'a> {
    /// The curves of the trials that count; none without any, or of too few loads.
    pub(super) fn of(configuration: &'a Configuration, own: &[&TrialRecord], rigour: Rigour) -> Option<Self> {
        let size = small_writes(&configuration.workload)?;
        let rows: BTreeMap<u32, BTreeMap<u32, f64>> =
            own.iter().map(|trial| (trial.block, small_row(&trial.metrics))).collect();
        let mut loads = asked_loads(&configuration.workload);
        loads.extend(rows.values().flat_map(|row| row.keys().copied()));
        let (least, greatest) = (*loads.first()?, *loads.last()?);
        if rows.is_empty() || loads.len() < FEWEST_LOADS {
            return None;
        }
        let has_rate = |row: &BTreeMap<u32, f64>, load: &u32| row.get(load).is_some_and(|rate| *rate > 0.0);
        let missing: Vec<u32> =
            loads.iter().filter(|load| !rows.values().all(|row| has_rate(row, load))).copied().collect();
        let complete = rows.iter().filter(|(_, row)| loads.iter().all(|load| has_rate(row, load)));
        let curves: BTreeMap<u32, Rates> = complete
            .map(|(block, row)| (*block, row.iter().map(|(load, rate)| (f64::from(*load), *rate)).collect()))
            .collect();
        let lines: Vec<Line> = curves.values().filter_map(|rates| line(rates)).collect();
        let upper: Vec<Line> = curves.values().filter_map(|rates| line(&upper_part(rates))).collect();
        let (whole, upper) = (trend(&lines, rigour.each), trend(&upper, rigour.each));
        let trials = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let shape = if !missing.is_empty() {
            CurveShape::Incomplete
        } else if trials < rigour.fewest {
            CurveShape::Undecided
        } else {
            shape(&whole, &upper)
        };
        let told = if shape == CurveShape::Plateau { upper } else { whole };
        let plateaus: BTreeMap<u32, f64> =
            curves.iter().filter_map(|(block, rates)| Some((*block, plateau(rates)?))).collect();
        let logs: Vec<f64> = plateaus.values().copied().collect();
        let plateau = median(&logs).map(f64::exp);
        let limit = limit(configuration, size);
        let share_of = |log: f64| limit.as_ref().map(|(_, rate)| log.exp() / rate);
        let middle =
            |figure: fn(&TrialRecord) -> Option<f64>| median(own.iter().filter_map(|trial| figure(trial)));
        let curve = LoadCurve {
            configuration: configuration.name.clone(),
            shape,
            slope: told.slope,
            slope_interval: told.interval,
            stray: told.stray,
            missing,
            loads: [least, greatest],
            plateau,
            limit_share: plateau.and_then(|rate| share_of(rate.ln())),
            limit_share_interval: median_interval(&logs, rigour.each)
                .map_or([None, None], |ends| ends.map(share_of)),
            limit: limit.as_ref().map(|(name, _)| name.clone()),
            flushes_per_write: middle(flushes_per_write),
            cores: middle(|trial| trial.metrics.get("cores_used").copied().filter(|cores| cores.is_finite())),
            trials,
        };
        let rises_overall = whole.interval[0].is_some_and(|low| low > FLAT_WITHIN);
        let stays_overall = whole.interval[1].is_some_and(|high| high <= FLAT_WITHIN);
        Some(Self { configuration, curve, rises_overall, stays_overall, plateaus })
    }

    pub(super) fn is_flat(&self) -> bool {
        matches!(self.curve.shape, CurveShape::Flat | CurveShape::Plateau)
    }

    /// Whether its upper loads surely lie at the limit: at 90 % of it or more, and at 110 % or less.
    pub(super) fn is_at_limit(&self) -> bool {
        matches!(self.curve.limit_share_interval, [Some(low), Some(high)] if low >= AT_LIMIT && high <= BEYOND_LIMIT)
    }

    /// Whether no limit is known, or its upper loads surely lie below or beyond it.
    pub(super) fn is_clear_of_limit(&self) -> bool {
        let [low, high] = self.curve.limit_share_interval;
        self.curve.limit.is_none()
            || high.is_some_and(|high| high < AT_LIMIT)
            || low.is_some_and(|low| low > BEYOND_LIMIT)
    }
}

/// The shape over all loads and over the upper ones together.
fn shape(whole: &Trend, upper: &Trend) -> CurveShape {
    match (whole.shape, upper.shape) {
        (Shape::Flat, _) => CurveShape::Flat,
        (Shape::Falls, Shape::Rises) => CurveShape::Uneven,
        (Shape::Falls, _) => CurveShape::Falls,
        (_, Shape::Flat) if whole.grows => CurveShape::Plateau,
        (Shape::Rises, Shape::Rises) => CurveShape::Rises,
        (Shape::Rises, Shape::Falls | Shape::Uneven) | (Shape::Uneven, _) => CurveShape::Uneven,
        _ => CurveShape::Undecided,
    }
}

/// The size of ORION's small I/Os, where all of them are writes.
pub(super) fn small_writes(workload: &Workload) -> Option<u64> {
    let Workload::Orion(orion) = workload else { return None };
    let test = orion.test().ok()?;
    (test.write_percent == 100).then_some(test.size_small.0)
}

/// The small loads that the workload was asked for, beside the least large load that has any.
pub(super) fn asked_loads(workload: &Workload) -> BTreeSet<u32> {
    let Workload::Orion(orion) = workload else { return BTreeSet::new() };
    let points: Vec<_> = orion.points().into_iter().filter(|point| point.small > 0).collect();
    let least = points.iter().map(|point| point.large).min();
    points.iter().filter(|point| Some(point.large) == least).map(|point| point.small).collect()
}

/// Small I/Os a second by small load, beside the least large load that has any.
fn small_row(metrics: &BTreeMap<String, f64>) -> BTreeMap<u32, f64> {
    let points: Vec<(u32, u32, f64)> = metrics
        .iter()
        .filter_map(|(name, rate)| {
            let name = PointName::parse(name);
            let load = name.load.filter(|load| name.figure == "iops" && load.small > 0)?;
            Some((load.large, load.small, *rate))
        })
        .collect();
    let least = points.iter().map(|(large, ..)| *large).min().unwrap_or(0);
    points.into_iter().filter(|(large, ..)| *large == least).map(|(_, small, rate)| (small, rate)).collect()
}

fn upper_part(rates: &Rates) -> Rates {
    let greatest = rates.last().map_or(0.0, |(load, _)| *load);
    rates.iter().filter(|(load, _)| *load >= greatest * UPPER_LOADS).copied().collect()
}

/// The logarithm of the typical rate at the upper loads.
fn plateau(rates: &Rates) -> Option<f64> {
    let logs: Vec<f64> = upper_part(rates).iter().map(|(_, rate)| rate.ln()).collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// The tightest limit on small writes a second that the experiment puts on its volume.
fn limit(configuration: &Configuration, bytes: u64) -> Option<(String, f64)> {
    let io = Some(IoShape { bytes, sequential: false, request: None });
    let rate = RateShape { flow: Flow::Write, written: 1.0, io, unit: Unit::PerSecond };
    let (bounds, _) = bounds_of_stack(catalogue(), configuration, rate);
    let tightest = bounds.into_iter().min_by(|one, other| one.at_most.total_cmp(&other.at_most))?;
    Some((tightest.name, tightest.at_most))
}

fn flushes_per_write(trial: &TrialRecord) -> Option<f64> {
    let device = trial.signals.device_under_test()?;
    let writes = device.served.writes;
    (writes > 0).then_some(device.flushes? as f64 / writes as f64)
}
