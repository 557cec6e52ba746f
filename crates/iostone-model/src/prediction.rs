//! What is predicted of work on an instance and its volumes: how long, at what rate, and what binds when.

use serde::{Deserialize, Serialize};

use crate::cloud::{CatalogueDate, CeilingKind};
use crate::experiment::Basis;
use crate::metric::Unit;
use crate::verdict::Flag;

/// The version of [`Prediction`] as JSON. Fields may be added within a version, never renamed or removed.
pub const PREDICTION_SCHEMA: &str = "iostone/prediction/1";

/// The warning that a disk is full before the work is done.
pub const DISK_FULL: &str = "disk-full";
/// The warning that an instance's link to its volumes is not known, so that the answer is that of the volumes alone.
pub const LINK_UNKNOWN: &str = "link-unknown";
/// The warning that the date lies far behind what the catalogue knows.
pub const DATE_UNKNOWN: &str = "date-beyond-catalogue";

/// How long work takes, and what holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prediction {
    /// [`PREDICTION_SCHEMA`].
    pub schema: String,
    /// The instance type, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The volumes: "gp2:220GiB", "4xgp3:500GiB"; null where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
    /// The date whose limits hold.
    pub date: CatalogueDate,
    /// The work in words: "write 220GiB one after the other, 1MiB each".
    pub work: String,
    /// Bytes that it moves, both ways together; those of the whole time where the work is a time.
    pub bytes: f64,
    /// How long it takes, in seconds.
    pub seconds: f64,
    /// Between these it is expected to lie, in seconds.
    pub seconds_interval: [f64; 2],
    /// `bytes` over `seconds`: the average.
    pub bytes_per_second: f64,
    /// Of work that is a time: between these its bytes are expected to lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_interval: Option<[f64; 2]>,
    /// Bytes a second in the long run, when every bucket is spent; the average is more while one lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_run_bytes_per_second: Option<f64>,
    /// I/Os a second on average, as the workload issues them, where their size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios_per_second: Option<f64>,
    /// What binds for the largest part of the time.
    pub binds: CeilingKind,
    /// The same by its name: "the link of 62.5MB/s".
    pub binding: String,
    /// What binds when, in order and without a gap; buckets empty and fill at its borders.
    pub timeline: Vec<Phase>,
    /// Every ceiling that the work was held against, the lowest in the long run first.
    pub ceilings: Vec<CeilingRow>,
    /// What the page cache takes in and never hands on before the end, where writes are not flushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<CachedShare>,
    /// What the time costs, in US dollars, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// What `usd` is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<RentalPrice>,
    /// Of an emulation: how many times faster it goes by. Times and sizes here are the emulation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// What else is worth knowing of the answer, a sentence each: ceilings that bind alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Mistakes in the question, units above all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Flag>,
    /// What was taken for granted, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

/// A part of the time in which one ceiling binds at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phase {
    /// From when, in seconds.
    pub from_seconds: f64,
    /// Until when, in seconds.
    pub to_seconds: f64,
    /// Bytes that the workload moves a second.
    pub bytes_per_second: f64,
    /// What binds.
    pub binds: CeilingKind,
    /// The same by its name, with the figure that holds in this phase: "the link of 593.75MB/s while credits last".
    pub binding: String,
    /// What the buckets hold, from the beginning to the end of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<BucketLevel>,
}

/// What a bucket holds over a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BucketLevel {
    /// Whose: "the I/O credits of gp2:220GiB", "the byte credits of the link".
    pub name: String,
    /// What it is counted in: bytes, seconds of one processor, or a plain number of I/Os.
    pub unit: Unit,
    /// The most that it holds.
    pub capacity: f64,
    /// At the beginning of the phase.
    pub from: f64,
    /// At its end.
    pub to: f64,
}

/// A ceiling, in what it lets the workload move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CeilingRow {
    /// What it is one of.
    pub kind: CeilingKind,
    /// Its name with its own figure: "660 IOPS of gp2:220GiB, 3000 while credits last".
    pub name: String,
    /// Bytes of the workload a second in the long run.
    pub sustained: f64,
    /// Bytes of the workload a second while its bucket lasts; null without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// The name of that bucket, as the phases tell its levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// For how long of the whole time it binds, in seconds.
    pub binds_seconds: f64,
    /// What the figure rests on.
    pub basis: Basis,
    /// Who says so, and as of when.
    pub source: String,
}

/// What an hour costs, and of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RentalPrice {
    /// US dollars an hour.
    pub usd_per_hour: f64,
    /// The region; absent where an experiment says the price itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Who says so, as of when, and of what: "on demand in us-east-1 on 2025-05-28, Linux, without volumes".
    pub source: String,
    /// What else is paid for and is not in it: "the volumes".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_out: Vec<String>,
}

/// Bytes that stay in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CachedShare {
    /// Bytes still in memory when the work ends.
    pub bytes: f64,
    /// Why as many: "20 % of 30GiB (`vm.dirty_ratio`)".
    pub reason: String,
}

impl Prediction {
    /// The phases as they are told one below the other: those that follow each other at one rate below one ceiling are one, though
    /// another bucket was full or empty between them. Its buckets are those of its two ends and no straight lines any more.
    pub fn told_phases(&self) -> Vec<Phase> {
        let mut told: Vec<Phase> = Vec::new();
        for phase in &self.timeline {
            let is_same = |last: &&mut Phase| {
                last.binding == phase.binding
                    && (last.bytes_per_second - phase.bytes_per_second).abs() <= 1e-9 * phase.bytes_per_second
            };
            let Some(last) = told.last_mut().filter(is_same) else {
                told.push(phase.clone());
                continue;
            };
            last.to_seconds = phase.to_seconds;
            for (bucket, next) in last.buckets.iter_mut().zip(&phase.buckets) {
                bucket.to = next.to;
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all properties of a schema, with those of what it is made of.
    fn properties(schema: &serde_json::Value, names: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(object) => {
                if let Some(serde_json::Value::Object(own)) = object.get("properties") {
                    names.extend(own.keys().cloned());
                }
                object.values().for_each(|value| properties(value, names));
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| properties(value, names)),
            _ => {}
        }
    }

    #[test]
    fn every_field_has_its_row_on_the_page() {
        let page = include_str!("../../../docs/reference/predict.md");
        let schema = serde_json::to_value(schemars::schema_for!(Prediction)).expect("a schema");
        let mut names = Vec::new();
        properties(&schema, &mut names);
        assert!(names.len() > 30, "{names:?}");
        for name in names {
            assert!(page.contains(&format!("`{name}`")), "`{name}` is not on the page");
        }
    }
}
