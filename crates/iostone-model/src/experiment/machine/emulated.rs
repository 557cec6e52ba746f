//! A host that stands for an instance of a cloud: the link to its volumes and its processors are emulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AllowanceStart;
use crate::cloud::CatalogueDate;
use crate::experiment::Link;

/// Beyond, the buckets of an emulated volume are emptied within a few slices of whoever grants from them.
pub const FASTEST_EMULATION: f64 = 10_000.0;

/// This host with the link, and the CPU allowance, of an instance of the catalogue. Emulated volumes of a `type` are those of
/// the catalogue at that date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmulatedInstance {
    /// The instance type: `c4.large`; `iostone catalog` has them.
    pub emulate: String,
    /// How many times faster time goes by: sizes of volumes, capacities of buckets and windows are divided by it, rates stay.
    #[serde(default = "real_time", skip_serializing_if = "is_real_time")]
    pub speed: f64,
    /// The limits of which time hold: `2017-07`; those of today if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<CatalogueDate>,
    /// What allowances and buckets hold when the workload begins.
    #[serde(default, skip_serializing_if = "is_launch")]
    pub start: AllowanceStart,
    /// A link in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The price of an hour in US dollars, in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
}

fn real_time() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, clippy::float_cmp, reason = "serde calls it so; 1 is exact")]
fn is_real_time(speed: &f64) -> bool {
    *speed == 1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_launch(start: &AllowanceStart) -> bool {
    *start == AllowanceStart::Launch
}
