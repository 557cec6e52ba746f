//! What a matrix says beyond its cells: maxima, ceilings, plateaus, the knee.

use serde::{Deserialize, Serialize};

use super::{LoadPoint, OrionRecord};
use crate::dataset::Quantity;
use crate::metric::Unit;

/// What is found in the points of a test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OrionFindings {
    /// ORION's own results.
    pub maxima: Maxima,
    /// For small and for large I/O alone: the known limit that held its rate, where one did.
    pub ceilings: Vec<Ceiling>,
    /// Ranges of load over which a rate did not grow.
    pub plateaus: Vec<Plateau>,
    /// Where latency takes off along the first row, if it was loaded enough to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
    /// What should be known beside the figures, a sentence each: page cache, idle device that was not, errors.
    pub remarks: Vec<String>,
}

/// ORION's results: each lies at a load point of its own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Maxima {
    /// The highest throughput of large I/O, bytes a second.
    pub throughput: Option<MaximumAt>,
    /// The most small I/Os a second.
    pub iops: Option<MaximumAt>,
    /// The lowest mean latency of small I/O, seconds.
    pub latency: Option<MaximumAt>,
}

/// An extreme and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MaximumAt {
    /// The figure.
    pub value: f64,
    /// The point.
    pub point: LoadPoint,
}

impl OrionRecord {
    /// The extremes of the measured points; of equal ones the first.
    pub fn maxima(&self) -> Maxima {
        let best = |of: &dyn Fn(&super::PointRecord) -> Option<f64>| {
            let mut best: Option<MaximumAt> = None;
            for record in &self.points {
                let Some(value) = of(record).filter(|value| value.is_finite()) else { continue };
                if best.is_none_or(|best| value > best.value) {
                    best = Some(MaximumAt { value, point: record.point() });
                }
            }
            best
        };
        Maxima {
            throughput: best(&|record| record.throughput().filter(|rate| *rate > 0.0)),
            iops: best(&|record| record.iops().filter(|rate| *rate > 0.0)),
            latency: best(&|record| record.latency().map(|seconds| -seconds))
                .map(|lowest| MaximumAt { value: -lowest.value, ..lowest }),
        }
    }
}

/// A limit on a device that is known: set by a control group, or by the experiment's volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownLimit {
    /// The device's kernel name, or what the limit lies on in other words.
    pub on: String,
    /// What is limited.
    pub kind: LimitKind,
    /// The limit: I/Os or bytes a second.
    pub value: f64,
    /// Where it was read: a file of the control group, or `volume.limits`.
    pub from: String,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Reads a second.
    ReadIops,
    /// Writes a second.
    WriteIops,
    /// Bytes read a second.
    ReadBytes,
    /// Bytes written a second.
    WriteBytes,
}

/// A rate at its best point, held against what bounds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Whether it is about small I/O (else large).
    pub small: bool,
    /// The point.
    pub point: LoadPoint,
    /// What bounds it there.
    pub bound_by: BoundBy,
    /// In one sentence: "500 writes a second on loop0 bind: 499 were measured, 99.8 %".
    pub sentence: String,
}

impl Ceiling {
    /// A limit that held a rate, from the sentence by which records of version 0.1.0 say it: "500 writes a second on loop0 bind: 499
    /// were measured, 99.8 %". None of another sentence. Of the point nothing is said.
    pub fn of_sentence(small: bool, sentence: &str) -> Option<Self> {
        const KINDS: [(&str, LimitKind); 4] = [
            (" reads a second", LimitKind::ReadIops),
            (" writes a second", LimitKind::WriteIops),
            (" of reads", LimitKind::ReadBytes),
            (" of writes", LimitKind::WriteBytes),
        ];
        let (limit, figures) = sentence.split_once(": ")?;
        let limit = [" bind", " were exceeded"].iter().find_map(|verb| limit.strip_suffix(verb))?;
        let (what, on) = limit.split_once(" on ")?;
        let (value, kind) =
            KINDS.iter().find_map(|(words, kind)| Some((what.strip_suffix(words)?, *kind)))?;
        let is_rate = matches!(kind, LimitKind::ReadBytes | LimitKind::WriteBytes);
        let value = if is_rate { value.replace(' ', "") } else { format!("{value}/s") };
        let value = value.parse::<Quantity>().ok()?.value;
        let percent = figures.split_once(" were measured, ")?.1.split(['%', ' ', '\u{a0}']).next()?;
        let share = percent.parse::<f64>().ok()? / 100.0;
        let limit = KnownLimit { on: on.to_owned(), kind, value, from: "the trial's record".to_owned() };
        let point = LoadPoint { small: 0, large: 0 };
        Some(Self { small, point, bound_by: BoundBy::Limit { limit, share }, sentence: sentence.to_owned() })
    }
}

/// What bounds a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BoundBy {
    /// A known limit, of which this share was used.
    Limit {
        /// The limit.
        limit: KnownLimit,
        /// Measured over limit; 1 is all of it.
        share: f64,
    },
    /// A rate that no load raises: something of that rate, not known by name.
    Plateau,
    /// The load itself: the rate still grew at the highest load.
    Load,
}

/// A range of loads over which a rate stayed the same, while latency grew with the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// Whether it is of small I/O alone (the first row), else of large I/O alone (the first column).
    pub small: bool,
    /// The first load on it.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// The mean rate on it: I/Os a second, or bytes a second.
    pub rate: f64,
    /// Its unit.
    pub unit: Unit,
    /// The largest deviation of a point on it from that mean, as a share.
    pub spread: f64,
}

/// Where latency takes off: the load at which the asymptotes of a closed system meet, `N* = X_max * R_min` (Denning and
/// Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 1978). Below it more load brings
/// more rate, above it more latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Whether it is of small I/O alone, else of large.
    pub small: bool,
    /// `N*`, in outstanding I/Os.
    pub load: f64,
    /// The measured load nearest above it.
    pub at: u32,
    /// The rate there: I/Os a second.
    pub iops: f64,
    /// The mean latency there, seconds.
    pub latency: f64,
    /// The share of the highest rate.
    pub share_of_maximum: f64,
    /// The latency there over the lowest one.
    pub latency_ratio: f64,
    /// Whether the rate had stopped growing by the highest load, so that `X_max` is one; otherwise the knee may lie higher.
    pub saturated: bool,
}

/// A cell of the matrix that was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CellEstimate {
    /// Outstanding small I/Os.
    pub small: u32,
    /// Outstanding large I/Os, or streams.
    pub large: u32,
    /// Small I/Os a second.
    pub iops: Option<f64>,
    /// Mean latency of small I/O, seconds.
    pub latency: Option<f64>,
    /// Bytes a second of large I/O.
    pub throughput: Option<f64>,
    /// The share by which it may be off, about: the largest error of such a prediction where one was checked nearby, and the
    /// precision of the points that it rests on, in quadrature.
    pub error: f64,
}
