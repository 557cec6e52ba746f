//! Whether write curves are flat over load, and what that is put down to.

use serde::{Deserialize, Serialize};

/// How a rate goes with the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveShape {
    /// The same at every load, within the margin of slopes.
    Flat,
    /// It grows at first and is flat at the upper loads.
    Plateau,
    /// It grows over all loads.
    Rises,
    /// It falls.
    Falls,
    /// It is neither flat nor rising or falling: a hump, a saw.
    Uneven,
    /// Some trial has a load without a rate: nothing completed there, or it was not measured.
    Incomplete,
    /// Not settled by the blocks at hand.
    Undecided,
}

/// What a flat write curve is put down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlatCause {
    /// Without barriers it rises, and lies higher, and enough flushes were served to matter.
    Barriers,
    /// Without barriers it lies higher, but does not rise either.
    Lowered,
    /// It lies at a limit of the volume.
    Volume,
    /// It is as flat and as high without barriers, and at no known limit.
    Neither,
    /// With barriers it is not flat, so there is nothing to put down to anything.
    NotFlat,
    /// Not settled.
    Undecided,
}

/// The write curve of one configuration over load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// The configuration.
    pub configuration: String,
    /// How it goes with the load.
    pub shape: CurveShape,
    /// Median slope of ln(I/Os a second) over ln(load): 0 flat, 1 as the load.
    pub slope: Option<f64>,
    /// Its interval over the blocks.
    pub slope_interval: [Option<f64>; 2],
    /// The greatest distance of a point from the line through the trial's points, as a share of the rate there: of the
    /// medians over the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stray: Option<f64>,
    /// Small loads at which some trial has no rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u32>,
    /// The least and the greatest small load.
    pub loads: [u32; 2],
    /// Median of the mean rate at the upper loads, I/Os a second.
    pub plateau: Option<f64>,
    /// The limit that is known of the volume, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The plateau as a share of that limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_share: Option<f64>,
    /// The interval of that share.
    #[serde(default)]
    pub limit_share_interval: [Option<f64>; 2],
    /// Flushes that the device served for each write that it served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes_per_write: Option<f64>,
    /// Cores that the workload itself used (metric `cores_used`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// Trials.
    pub trials: u32,
}

/// A write curve with barriers beside the same without, and what its flatness is put down to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlatnessVerdict {
    /// The other factors' levels within which both stand; empty with one factor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// With barriers.
    pub with: LoadCurve,
    /// Without.
    pub without: LoadCurve,
    /// The distance of a slope from 0 within which a curve is flat.
    pub margin: f64,
    /// The fewest blocks after which anything is said.
    #[serde(default)]
    pub fewest_blocks: u32,
    /// Two-sided confidence of each interval, such that all statements of the run hold together at its own.
    #[serde(default)]
    pub interval_confidence: f64,
    /// The plateau without barriers over the one with, block by block.
    pub ratio: Option<f64>,
    /// Its interval.
    pub ratio_interval: [Option<f64>; 2],
    /// What it is put down to.
    pub cause: FlatCause,
    /// That in words, with the evidence.
    pub sentence: String,
}
