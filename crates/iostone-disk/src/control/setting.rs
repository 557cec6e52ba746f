//! What can be changed while a server runs, and its spelling on a command line: `iops=3000`, `link=none`.

use std::str::FromStr;

use iostone_model::experiment::LatencySpread;
use iostone_model::units::{ByteRate, Span};
use serde::{Deserialize, Serialize};

/// A property that is to hold from now on; none lifts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// I/Os a second in the long run.
    Iops(Option<u32>),
    /// Bytes a second in the long run.
    Throughput(Option<ByteRate>),
    /// The least time of reads, and of writes where they have none of their own.
    Latency(Option<Span>),
    /// The least time of writes.
    WriteLatency(Option<Span>),
    /// The least time of flushes.
    FlushLatency(Option<Span>),
    /// How latencies scatter.
    LatencySpread(Option<LatencySpread>),
    /// Bytes a second of all volumes together.
    Link(Option<ByteRate>),
    /// I/Os a second of all volumes together.
    LinkIops(Option<u32>),
}

/// Why a setting is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No equals sign.
    #[error("`{0}` is not a setting; write `KEY=VALUE`, as in `iops=3000`")]
    NoValue(String),
    /// No such key.
    #[error(
        "`{0}` cannot be changed while a server runs; these can: iops, throughput, latency, write_latency, \
         flush_latency, latency_spread, link, link_iops"
    )]
    UnknownKey(String),
    /// Not a value of that key.
    #[error("`{key}` cannot be `{value}`: {reason}; `none` removes the limit")]
    BadValue {
        /// The key.
        key: String,
        /// Its value as it was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Setting {
    /// Refuses what would never let anything through.
    pub(super) fn check(self) -> Result<(), SettingError> {
        let zero = |key: &str, value: &str| {
            Err(SettingError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                reason: "no request would be answered".to_owned(),
            })
        };
        match self {
            Self::Iops(Some(0)) => zero("iops", "0"),
            Self::Throughput(Some(ByteRate(0))) => zero("throughput", "0B/s"),
            Self::Link(Some(ByteRate(0))) => zero("link", "0B/s"),
            Self::LinkIops(Some(0)) => zero("link_iops", "0"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Setting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (key, value) = text.split_once('=').ok_or_else(|| SettingError::NoValue(text.to_owned()))?;
        let setting = match key {
            "iops" => Self::Iops(read(key, value, parse_count)?),
            "throughput" => Self::Throughput(read(key, value, parse_unit)?),
            "latency" => Self::Latency(read(key, value, parse_unit)?),
            "write_latency" | "write-latency" => Self::WriteLatency(read(key, value, parse_unit)?),
            "flush_latency" | "flush-latency" => Self::FlushLatency(read(key, value, parse_unit)?),
            "latency_spread" | "latency-spread" => Self::LatencySpread(read(key, value, parse_spread)?),
            "link" => Self::Link(read(key, value, parse_unit)?),
            "link_iops" | "link-iops" => Self::LinkIops(read(key, value, parse_count)?),
            _ => return Err(SettingError::UnknownKey(key.to_owned())),
        };
        setting.check()?;
        Ok(setting)
    }
}

/// A value, or none where it says so.
fn read<T>(
    key: &str,
    value: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, SettingError> {
    if value == "none" {
        return Ok(None);
    }
    let bad = |reason| SettingError::BadValue { key: key.to_owned(), value: value.to_owned(), reason };
    parse(value).map(Some).map_err(bad)
}

fn parse_count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|error: std::num::ParseIntError| error.to_string())
}

fn parse_unit<T: FromStr<Err = iostone_model::units::UnitError>>(text: &str) -> Result<T, String> {
    text.parse::<T>().map_err(|error| error.reason)
}

fn parse_spread(text: &str) -> Result<LatencySpread, String> {
    match text {
        "exponential" => Ok(LatencySpread::Exponential),
        "lognormal" => Ok(LatencySpread::Lognormal),
        "uniform" => Ok(LatencySpread::Uniform),
        _ => Err("expected exponential, lognormal or uniform".to_owned()),
    }
}
