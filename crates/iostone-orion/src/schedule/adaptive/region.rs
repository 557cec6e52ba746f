//! A part of the matrix in which response times change steadily, and the patches it is cut into.

use std::collections::HashMap;

use iostone_model::orion::{CellEstimate, LoadPoint, PointRecord};

/// The loads of a part of the matrix, ascending; all combinations are meant. With one of either it is a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub(super) small: Vec<u32>,
    pub(super) large: Vec<u32>,
}

/// A rectangle of a region: first and last place on both axes, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patch {
    small: [usize; 2],
    large: [usize; 2],
}

/// What the loads of a point came to, as times; none without such a load, or where nothing completed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Responses {
    /// Outstanding small I/Os over small I/Os a second: seconds.
    small: Option<f64>,
    /// The mean latency measured of small I/O, seconds.
    latency: Option<f64>,
    /// Outstanding large I/Os (or streams) over bytes a second.
    large: Option<f64>,
    /// How far off the measured rates may be by their own noise, as a share: half the 95 % interval, 0 where it is not known.
    precision: f64,
}

impl Responses {
    pub(super) fn of(record: &PointRecord) -> Self {
        let over =
            |load: u32, rate: Option<f64>| rate.map(|rate| f64::from(load) / rate).filter(|time| *time > 0.0);
        let finite = |time: &f64| time.is_finite();
        Self {
            small: over(record.small, record.iops()).filter(finite),
            latency: record.latency().filter(|seconds| *seconds > 0.0).filter(finite),
            large: over(record.large, record.throughput()).filter(finite),
            precision: record.precision.filter(finite).unwrap_or(0.0),
        }
    }

    /// Applies an operation to each of the three times, and to the precision: of noise that the points may share no part
    /// averages out.
    fn each(parts: [Self; 4], of: impl Fn([f64; 4]) -> f64) -> Self {
        let one = |field: fn(&Self) -> Option<f64>| {
            let [a, b, c, d] = parts.each_ref().map(field);
            Some(of([a?, b?, c?, d?]))
        };
        Self {
            small: one(|it| it.small),
            latency: one(|it| it.latency),
            large: one(|it| it.large),
            precision: of(parts.map(|part| part.precision)),
        }
    }

    /// The worst of the three shares by which a prediction is off; without end where one of the two is missing.
    fn deviation_from(&self, measured: &Self) -> f64 {
        let one = |predicted: Option<f64>, measured: Option<f64>| match (predicted, measured) {
            (None, None) => 0.0,
            // The larger over the smaller: what counts as a share of the time counts as one of the rate.
            (Some(a), Some(b)) => a.max(b) / a.min(b) - 1.0,
            _ => f64::INFINITY,
        };
        one(self.small, measured.small)
            .max(one(self.latency, measured.latency))
            .max(one(self.large, measured.large))
    }

    /// Back to rates, with the error of interpolation and that of the measured points in quadrature.
    pub(super) fn estimate(&self, point: LoadPoint, interpolation_error: f64) -> CellEstimate {
        CellEstimate {
            small: point.small,
            large: point.large,
            iops: self.small.map(|time| f64::from(point.small) / time),
            latency: self.latency,
            throughput: self.large.map(|time| f64::from(point.large) / time),
            error: interpolation_error.hypot(self.precision),
        }
    }
}

impl Patch {
    /// Whether the two have a point in common.
    pub(super) fn touches(self, other: Self) -> bool {
        let overlap = |a: [usize; 2], b: [usize; 2]| a[0] <= b[1] && b[0] <= a[1];
        overlap(self.small, other.small) && overlap(self.large, other.large)
    }
}

impl Region {
    pub(super) fn is_empty(&self) -> bool {
        self.small.is_empty() || self.large.is_empty()
    }

    /// All of it.
    pub(super) fn whole(&self) -> Patch {
        Patch {
            small: [0, self.small.len().saturating_sub(1)],
            large: [0, self.large.len().saturating_sub(1)],
        }
    }

    fn point(&self, small: usize, large: usize) -> LoadPoint {
        let load = |loads: &[u32], place: usize| loads.get(place).copied().unwrap_or_default();
        LoadPoint { small: load(&self.small, small), large: load(&self.large, large) }
    }

    /// The corners: low small load first, low large load first. On a line they coincide.
    pub(super) fn corners(&self, patch: Patch) -> [LoadPoint; 4] {
        let ([s0, s1], [l0, l1]) = (patch.small, patch.large);
        [self.point(s0, l0), self.point(s1, l0), self.point(s0, l1), self.point(s1, l1)]
    }

    /// The middles of the edges and the centre, as far as there are such points.
    pub(super) fn checks(&self, patch: Patch) -> Vec<LoadPoint> {
        let (small, large) = (middle(&self.small, patch.small), middle(&self.large, patch.large));
        let mut checks = Vec::new();
        if let Some(small) = small {
            checks.extend(patch.large.map(|large| self.point(small, large)));
        }
        if let Some(large) = large {
            checks.extend(patch.small.map(|small| self.point(small, large)));
        }
        if let (Some(small), Some(large)) = (small, large) {
            checks.push(self.point(small, large));
        }
        checks.sort_unstable();
        checks.dedup();
        checks
    }

    /// The patches between its ends and middles, cut on the axes that are to be cut.
    fn parts(&self, patch: Patch, [cut_small, cut_large]: [bool; 2]) -> Vec<Patch> {
        let halves = |loads: &[u32], ends: [usize; 2], cut: bool| match middle(loads, ends).filter(|_| cut) {
            Some(at) => vec![[ends[0], at], [at, ends[1]]],
            None => vec![ends],
        };
        let large = halves(&self.large, patch.large, cut_large);
        halves(&self.small, patch.small, cut_small)
            .into_iter()
            .flat_map(|small| large.iter().map(move |large| Patch { small, large: *large }))
            .collect()
    }

    /// Its spans, as factors of load; an axis without a point between its ends has none.
    fn spans(&self, patch: Patch) -> [f64; 2] {
        let span = |loads: &[u32], ends: [usize; 2]| {
            let (low, high) = (loads.get(ends[0]), loads.get(ends[1]));
            match (middle(loads, ends), low, high) {
                (Some(_), Some(low), Some(high)) => f64::from(*high) / f64::from(*low),
                _ => 1.0,
            }
        };
        [span(&self.small, patch.small), span(&self.large, patch.large)]
    }

    /// By how much its checks are off from what the corners predict: at the middles of the edges along the small loads, at
    /// those along the large ones, and at the most of all.
    fn deviations(&self, patch: Patch, measured: &HashMap<LoadPoint, Responses>) -> ([f64; 2], f64) {
        let [low, .., high] = self.corners(patch);
        let (mut along, mut most) = ([0.0_f64; 2], 0.0_f64);
        for check in self.checks(patch) {
            let predicted = self.predict(patch, check, measured);
            let off = predicted.deviation_from(&measured.get(&check).copied().unwrap_or_default());
            most = most.max(off);
            if check.large == low.large || check.large == high.large {
                along[0] = along[0].max(off);
            } else if check.small == low.small || check.small == high.small {
                along[1] = along[1].max(off);
            }
        }
        (along, most)
    }

    /// Holds a patch's checks against its corners: the largest deviation, if the patch may stay as it is, or the parts that
    /// it is cut into. It is cut where it bends; where only its centre is off, both ways.
    pub(super) fn judge(
        &self,
        patch: Patch,
        measured: &HashMap<LoadPoint, Responses>,
        target_error: f64,
        widest_span: f64,
    ) -> Result<f64, Vec<Patch>> {
        let (along, most) = self.deviations(patch, measured);
        let spans = self.spans(patch);
        let cut = [0, 1].map(|axis| along[axis] > target_error || spans[axis] > widest_span);
        if cut != [false, false] {
            // An axis without a middle has no check along it, so that at least one of the two can be cut.
            return Err(self.parts(patch, cut));
        }
        if most > target_error { Err(self.parts(patch, [true, true])) } else { Ok(most) }
    }

    /// All points of a patch from its corners and middles.
    pub(super) fn fill_in(
        &self,
        patch: Patch,
        measured: &HashMap<LoadPoint, Responses>,
    ) -> Vec<(LoadPoint, Responses)> {
        let mut filled = Vec::new();
        for quarter in self.parts(patch, [true, true]) {
            for small in quarter.small[0]..=quarter.small[1] {
                for large in quarter.large[0]..=quarter.large[1] {
                    let point = self.point(small, large);
                    filled.push((point, self.predict(quarter, point, measured)));
                }
            }
        }
        filled
    }

    /// Bilinear in the loads, from the corners.
    fn predict(&self, patch: Patch, point: LoadPoint, measured: &HashMap<LoadPoint, Responses>) -> Responses {
        let corners = self.corners(patch);
        let responses = corners.map(|corner| measured.get(&corner).copied().unwrap_or_default());
        let way = |from: u32, to: u32, at: u32| {
            if to > from { f64::from(at - from) / f64::from(to - from) } else { 0.0 }
        };
        let [low, .., high] = corners;
        let (u, v) = (way(low.small, high.small, point.small), way(low.large, high.large, point.large));
        Responses::each(responses, |[a, b, c, d]| {
            (1.0 - v) * ((1.0 - u) * a + u * b) + v * ((1.0 - u) * c + u * d)
        })
    }
}

/// The place between two others whose load lies nearest to the middle of theirs, by the logarithm; none without room.
fn middle(loads: &[u32], ends: [usize; 2]) -> Option<usize> {
    let (low, high) = (f64::from(*loads.get(ends[0])?), f64::from(*loads.get(ends[1])?));
    let wanted = (low * high).sqrt();
    let off = |place: &usize| {
        loads.get(*place).map_or(f64::INFINITY, |load| (f64::from(*load) / wanted).ln().abs())
    };
    (ends[0] + 1..ends[1]).min_by(|a, b| off(a).total_cmp(&off(b)))
}
