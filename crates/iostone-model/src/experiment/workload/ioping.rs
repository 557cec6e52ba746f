//! What ioping is asked to do.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sentence;
use crate::omitted::is_default;
use crate::units::{Bytes, Span};

/// ioping: single requests, one after another, and how long each took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the tool")]
pub struct IopingWorkload {
    /// Requests in all, `-c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How long, `-w`; 10 s when neither this nor `count` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Span>,
    /// From the start of one request to that of the next, `-i`; 0 for at once. 1 s when left out, as ioping does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Bytes of each request, `-s`; 4 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Where requests lie, `-S`; 1 MiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
    /// One request behind the other, `-L`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub linear: bool,
    /// Writes, `-W`; into a temporary file of ioping's own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write: bool,
    /// `O_DIRECT`, `-D`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub direct: bool,
    /// Lets the page cache answer, `-C`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cached: bool,
    /// `O_SYNC`, `-Y`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: bool,
}

impl IopingWorkload {
    /// How long it works, where it was told.
    pub fn asked_time(&self) -> Option<Duration> {
        match (self.runtime, self.count) {
            (Some(runtime), _) => Some(runtime.0),
            (None, None) => Some(Duration::from_secs(10)),
            (None, Some(count)) => Some(
                self.interval.map_or(Duration::from_secs(1), |interval| interval.0).saturating_mul(count),
            ),
        }
    }

    /// In a line for people.
    pub fn summary(&self) -> String {
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        sentence([
            Some(format!(
                "ioping, {}{} of {}",
                if self.linear { "linear " } else { "" },
                if self.write { "writes" } else { "reads" },
                self.size.unwrap_or(Bytes(4096))
            )),
            self.count.map(|count| format!("{count} requests")),
            self.asked_time().filter(|_| self.count.is_none()).map(|time| Span(time).to_string()),
            self.interval.map(|interval| format!("every {interval}")),
            self.working_set.map(|size| format!("within {size}")),
            set(self.direct, "O_DIRECT"),
            set(self.cached, "cached"),
            set(self.sync, "O_SYNC"),
        ])
    }
}
