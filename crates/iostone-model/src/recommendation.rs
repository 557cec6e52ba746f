//! What to rent for a target: the cheapest that meets it, the runner-up, what each further dollar buys, and why less fails.

use serde::{Deserialize, Serialize};

use crate::cloud::{CatalogueDate, CeilingKind};

/// The version of [`Recommendation`] as JSON. Fields may be added within a version, never renamed or removed.
pub const RECOMMENDATION_SCHEMA: &str = "iostone/recommendation/1";

/// What to rent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// [`RECOMMENDATION_SCHEMA`].
    pub schema: String,
    /// What is wanted.
    pub target: Target,
    /// The work in words: "write 220GiB one after the other".
    pub work: String,
    /// Bytes that the volumes have to hold.
    pub capacity_bytes: f64,
    /// The region whose prices are meant.
    pub region: String,
    /// The date whose limits of volumes hold.
    pub date: CatalogueDate,
    /// Whether anything in the catalogue meets the target.
    pub is_met: bool,
    /// The cheapest that meets the target; the fastest there is where nothing does.
    pub chosen: Choice,
    /// The next cheapest that meets it and is of another instance family or volume type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Choice>,
    /// What more money buys: what nothing cheaper is as fast as, a tenth faster each, from `chosen` on and the cheapest first. For the same
    /// money more volumes may do more.
    pub front: Vec<Choice>,
    /// What would be cheaper and misses the target, one for each kind of ceiling: the nearest of what was worked out, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<Choice>,
    /// What meets the target and costs the least for the work as a whole, where the target is a time and that is not `chosen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cheapest_work: Option<Choice>,
    /// What was looked at.
    pub considered: Considered,
    /// Types that were left out because something is not known of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
    /// What was taken for granted, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// Who says the prices, and as of when.
    pub sources: Vec<String>,
}

/// What is wanted. One of the figures is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// In words: "20,000 IOPS in the long run", "within 25min".
    pub words: String,
    /// The work done in so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_seconds: Option<f64>,
    /// So many bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// So many I/Os a second; `bytes_per_second` is then what they are in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios_per_second: Option<f64>,
    /// The rate is held for so many seconds, for which bursts count; in the long run where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
}

/// An instance with volumes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The instance type.
    pub instance: String,
    /// The volumes, striped where there are several: "2xgp3:110GiB:6000iops".
    pub volumes: String,
    /// What an hour of all of it costs, in US dollars.
    pub usd_per_hour: f64,
    /// Of it, the instance.
    pub instance_usd_per_hour: f64,
    /// What a month of the volumes costs, in US dollars; an hour is the 730th part.
    pub volumes_usd_per_month: f64,
    /// How long the work takes, in seconds, where the target is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The same from empty buckets, where that is longer: the next time, soon after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_from_empty: Option<f64>,
    /// Whether bursts are in it: whether less is done from empty buckets.
    #[serde(default)]
    pub bursts: bool,
    /// What that time costs, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_usd: Option<f64>,
    /// Bytes a second: on average over the work, or held as long as the target asks.
    pub bytes_per_second: f64,
    /// I/Os a second, as the workload issues them, where their size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios_per_second: Option<f64>,
    /// What binds for the largest part of the time.
    pub binds: CeilingKind,
    /// The same by its name: "the link of 62.5MB/s".
    pub binding: String,
    /// The command that shows it.
    pub predict: String,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    /// Instance types that fit what was asked of them, with a price and a known link.
    pub instances: u64,
    /// Instance types that do not fit.
    pub unfit: u64,
    /// Volumes, each of a type, a size, a count and what is provisioned.
    pub volumes: u64,
    /// Pairs of them that were worked out: those that no other is both cheaper and faster than.
    pub pairs: u64,
}

/// A type that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Its name.
    pub name: String,
    /// What is not known: "no price in us-east-1".
    pub reason: String,
}
