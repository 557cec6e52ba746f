//! The queue layer: settings under `/sys/block/NAME/queue` (Documentation/ABI/stable/sysfs-block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SettingProblem;

/// Settings of a request queue, as under /sys/block/NAME/queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The I/O scheduler: `none`, `mq-deadline`, `bfq`, `kyber`, whichever the kernel offers for the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that may wait in the queue; a scheduler other than `none` allows more than the device's own depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4))]
    pub nr_requests: Option<u32>,
    /// Whether the kernel takes the device for a spinning disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The latency of reads, in microseconds, at which writeback is throttled; 0 turns throttling off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u32>,
    /// The largest request that the kernel sends to the device, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4))]
    pub max_sectors_kb: Option<u32>,
    /// Merging of requests: 0 all of it, 1 only with the last request, 2 none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 2))]
    pub nomerges: Option<u32>,
    /// Where a request completes: 0 wherever, 1 in the submitting processor's group, 2 on that processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 2))]
    pub rq_affinity: Option<u32>,
    /// Whether the kernel takes the device for one with a volatile cache, which it must flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// How far the kernel reads ahead, in sectors of 512 bytes as `blockdev --setra` counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readahead: Option<u32>,
    /// The same in KiB, in place of `readahead`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kb: Option<u32>,
}

/// The settings that only a device with a queue of requests has: arrays of md and LVM pass each I/O on as it comes.
const OF_REQUESTS: &[&str] = &["scheduler", "nomerges", "rq_affinity", "wbt_lat_usec", "nr_requests"];
/// A scheduler's name has at most so many bytes (`ELV_NAME_MAX`, block/elevator.h).
const LONGEST_SCHEDULER: usize = 16;
/// The smallest page of any machine that Linux runs on, in sectors of 512 bytes; where pages are larger, the read-back tells.
const PAGE_SECTORS: u64 = 8;

impl Queue {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Everything but the readahead: the names under `queue/` and what is written there, in the order in which they are
    /// set. A scheduler comes first because it brings its own `nr_requests` and `wbt_lat_usec`.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<u32>| value.map(|value| value.to_string());
        let all = [
            ("scheduler", self.scheduler.clone()),
            ("rotational", self.rotational.map(|is| u8::from(is).to_string())),
            ("max_sectors_kb", number(self.max_sectors_kb)),
            ("write_cache", self.write_cache.map(|cache| cache.as_sysfs().to_owned())),
            ("nomerges", number(self.nomerges)),
            ("rq_affinity", number(self.rq_affinity)),
            ("wbt_lat_usec", number(self.wbt_lat_usec)),
            ("nr_requests", number(self.nr_requests)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// How far the kernel is to read ahead, in sectors of 512 bytes.
    pub fn readahead_sectors(&self) -> Option<u64> {
        let in_kb = || self.read_ahead_kb.map(|kib| u64::from(kib) * 2);
        self.readahead.map(u64::from).or_else(in_kb)
    }

    /// The settings that only a device with a queue of requests of its own has.
    pub fn of_requests(&self) -> impl Iterator<Item = &'static str> {
        self.settings().into_iter().map(|(name, _)| name).filter(|name| OF_REQUESTS.contains(name))
    }

    /// What no kernel takes, or takes for another value.
    pub fn problems(&self) -> Vec<SettingProblem> {
        let mut problems = Vec::new();
        let mut add = |key, message: String, expected: &str| {
            problems.push(SettingProblem { key, message, expected: expected.to_owned() });
        };
        if let Some(scheduler) = self.scheduler.as_deref().filter(|word| !is_scheduler(word)) {
            let message = format!("`{}` cannot name a scheduler", scheduler.escape_debug());
            add("scheduler", message, "as in none, mq-deadline, bfq or kyber");
        }
        for (key, value) in [("nr_requests", self.nr_requests), ("max_sectors_kb", self.max_sectors_kb)] {
            if let Some(value) = value.filter(|value| *value < 4) {
                add(key, format!("{key} of {value} is below the kernel's minimum"), "4 or more");
            }
        }
        for (key, value) in [("nomerges", self.nomerges), ("rq_affinity", self.rq_affinity)] {
            if let Some(value) = value.filter(|value| *value > 2) {
                add(key, format!("`{key}` has no value {value}"), "0, 1 or 2");
            }
        }
        if self.readahead.is_some() && self.read_ahead_kb.is_some() {
            let message = "`readahead` and `read_ahead_kb` are one setting".to_owned();
            add("read_ahead_kb", message, "leave out one of the two");
        } else if let Some(sectors) = self.readahead_sectors().filter(|sectors| sectors % PAGE_SECTORS != 0) {
            // The kernel keeps pages (`ra_pages` of `struct backing_dev_info`) and would round down without a word.
            let whole = sectors / PAGE_SECTORS * PAGE_SECTORS;
            let (key, asked, kept, step) = match self.read_ahead_kb {
                Some(kib) => ("read_ahead_kb", format!("{kib} KiB"), whole / 2, PAGE_SECTORS / 2),
                None => ("readahead", format!("{sectors} sectors"), whole, PAGE_SECTORS),
            };
            let message = format!("{asked} are not a multiple of the page size: the kernel would set {kept}");
            add(key, message, &format!("a multiple of {step}"));
        }
        problems
    }
}

/// Whether a word can be the name of a scheduler.
fn is_scheduler(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..LONGEST_SCHEDULER).contains(&word.len()) && word.bytes().all(is_plain)
}

/// Whether a setting, by its name under `queue/`, can have had a value.
pub fn is_possible_in_queue(name: &str, value: &str) -> bool {
    let is_number = || (1..=20).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    match name {
        "scheduler" => is_scheduler(value),
        "write_cache" => {
            [WriteCache::WriteBack, WriteCache::WriteThrough].iter().any(|one| one.as_sysfs() == value)
        }
        "rotational" => matches!(value, "0" | "1"),
        "nomerges" | "rq_affinity" => matches!(value, "0" | "1" | "2"),
        "max_sectors_kb" | "wbt_lat_usec" | "nr_requests" | "read_ahead_kb" => is_number(),
        _ => false,
    }
}

/// `queue/write_cache` (Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WriteCache {
    /// Volatile: the kernel sends flushes.
    #[serde(rename = "write back")]
    WriteBack,
    /// None: the kernel sends no flush, whatever the filesystem asks.
    #[serde(rename = "write through")]
    WriteThrough,
}

impl WriteCache {
    /// The text that sysfs takes and gives.
    pub fn as_sysfs(self) -> &'static str {
        match self {
            Self::WriteBack => "write back",
            Self::WriteThrough => "write through",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(queue: &Queue) -> Vec<String> {
        queue
            .problems()
            .into_iter()
            .map(|one| format!("{}: {}; {}", one.key, one.message, one.expected))
            .collect()
    }

    #[test]
    fn a_readahead_is_whole_pages_in_either_unit() {
        let sectors = |readahead| Queue { readahead: Some(readahead), ..Queue::default() };
        let kib = |read_ahead_kb| Queue { read_ahead_kb: Some(read_ahead_kb), ..Queue::default() };
        for good in [sectors(0), sectors(8), sectors(65536), kib(4), kib(128)] {
            assert_eq!(problems(&good), Vec::<String>::new());
        }
        assert_eq!((sectors(256).readahead_sectors(), kib(128).readahead_sectors()), (Some(256), Some(256)));
        for (bad, kept) in [(sectors(1), "set 0"), (sectors(65534), "set 65528"), (kib(130), "set 128")] {
            assert!(problems(&bad)[0].contains(kept), "{:?}", problems(&bad));
        }
        let both = Queue { readahead: Some(8), ..kib(4) };
        assert!(problems(&both)[0].starts_with("read_ahead_kb: `readahead` and"), "{:?}", problems(&both));
    }

    #[test]
    fn every_setting_can_be_put_back() {
        let queue = Queue {
            scheduler: Some("mq-deadline".to_owned()),
            nr_requests: Some(64),
            rotational: Some(false),
            wbt_lat_usec: Some(0),
            max_sectors_kb: Some(128),
            nomerges: Some(2),
            rq_affinity: Some(1),
            write_cache: Some(WriteCache::WriteThrough),
            ..Queue::default()
        };
        assert_eq!(problems(&queue), Vec::<String>::new());
        let settings = queue.settings();
        assert_eq!((settings.len(), settings[0].0), (8, "scheduler"));
        for (name, value) in settings {
            assert!(is_possible_in_queue(name, &value), "{name} {value}");
            assert!(!is_possible_in_queue(name, "evil thing"), "{name}");
        }
    }
}
