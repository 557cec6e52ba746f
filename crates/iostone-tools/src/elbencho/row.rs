//! A line of elbencho's CSV: the configuration, and what one phase did.

use iostone_model::dataset::{Ending, Figure, Observation};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::LABELS;
use crate::error::Malformed;
use crate::{Line, units};

const MIB: f64 = 1_048_576.0;

/// Columns of a figure each: how they end in its CSV, what they are called here, and how much one is of the base unit.
/// Rates are cut to whole numbers (`Statistics.cpp`), so that the step is one MiB/s.
const FIGURES: &[(&str, &str, f64)] = &[
    ("entries/s [last]", "entries", 1.0),
    ("IOPS [last]", "iops", 1.0),
    ("MiB/s [last]", "throughput", MIB),
    ("Ent lat us [min]", "entry_latency_min", 1e-6),
    ("Ent lat us [avg]", "entry_latency_mean", 1e-6),
    ("Ent lat us [max]", "entry_latency_max", 1e-6),
    ("IO lat us [min]", "latency_min", 1e-6),
    ("IO lat us [avg]", "latency_mean", 1e-6),
    ("IO lat us [max]", "latency_max", 1e-6),
];

/// Columns that stand only once, also where reads and writes are mixed.
const WHOLE: &[(&str, &str, f64)] = &[
    ("time ms [last]", "wall_time", 1e-3),
    ("CPU% [last]", "cpu", 0.01),
    ("time ms [first]", "first.wall_time", 1e-3),
    ("entries/s [first]", "first.entries", 1.0),
    ("IOPS [first]", "first.iops", 1.0),
    ("MiB/s [first]", "first.throughput", MIB),
];

/// What stands before the columns of the reads in a mix; those without are the writes.
const MIXED_READS: &str = "rwmix read ";

/// A line with its header.
pub(super) struct Row<'a> {
    line: &'a Line,
    columns: &'a [String],
    cells: &'a [&'a str],
}

impl<'a> Row<'a> {
    pub(super) fn new(line: &'a Line, columns: &'a [String], cells: &'a [&'a str]) -> Self {
        Self { line, columns, cells }
    }

    pub(super) fn observe(&self) -> Result<Observation, Malformed> {
        let operation = self.text("operation").ok_or_else(|| self.malformed("operation", "a phase"))?;
        let mut observation = Observation {
            tool: "elbencho".to_owned(),
            line: Some(self.line.number),
            ..Observation::default()
        };
        self.label(&mut observation, operation)?;
        observation.order = self.text("ISO date").and_then(moment);
        let mixed = is_mixed(operation);
        for (column, name, factor) in WHOLE {
            // The first thread's rates are of the writes alone in a mix, its time is of all.
            if !mixed || matches!(*name, "wall_time" | "cpu" | "first.wall_time") {
                self.set(&mut observation, column, name, *factor)?;
            }
        }
        for (column, name, factor) in FIGURES {
            if mixed {
                let reads = format!("{MIXED_READS}{column}");
                self.set(&mut observation, &reads, &format!("read.{name}"), *factor)?;
                self.set(&mut observation, column, &format!("write.{name}"), *factor)?;
            } else {
                self.set(&mut observation, column, name, *factor)?;
            }
        }
        if mixed {
            add_up(&mut observation);
        }
        self.facts(&mut observation, operation)?;
        Ok(observation)
    }

    /// A cell that is there and has something in it.
    fn text(&self, column: &str) -> Option<&'a str> {
        let place = self.columns.iter().position(|name| name == column)?;
        self.cells.get(place).map(|cell| cell.trim()).filter(|cell| !cell.is_empty())
    }

    fn malformed(&self, column: &str, what: &str) -> Malformed {
        let found = self.text(column).unwrap_or_default();
        let found = if found.is_empty() { "an empty cell".to_owned() } else { format!("`{found}`") };
        Malformed { line: self.line.number, expected: format!("{what} as `{column}`"), found }
    }

    fn count(&self, column: &str) -> Result<Option<u64>, Malformed> {
        let read = |text: &str| text.parse::<u64>().map_err(|_| self.malformed(column, "a whole number"));
        self.text(column).map(read).transpose()
    }

    fn flag(&self, column: &str) -> Result<Option<bool>, Malformed> {
        match self.text(column) {
            None => Ok(None),
            Some("0") => Ok(Some(false)),
            Some("1") => Ok(Some(true)),
            Some(_) => Err(self.malformed(column, "0 or 1")),
        }
    }

    fn set(
        &self,
        observation: &mut Observation,
        column: &str,
        name: &str,
        factor: f64,
    ) -> Result<(), Malformed> {
        if let Some(text) = self.text(column) {
            let figure = units::figure(text, factor).ok_or_else(|| self.malformed(column, "a number"))?;
            observation.figures.insert(name.to_owned(), figure);
        }
        Ok(())
    }

    fn label(&self, observation: &mut Observation, operation: &str) -> Result<(), Malformed> {
        let labels = &mut observation.labels;
        labels.insert("operation".to_owned(), operation.to_lowercase());
        for (column, label) in [
            ("label", "label"),
            ("path type", "path_type"),
            ("hosts", "hosts"),
            ("threads", "threads"),
            ("file size", "file_size"),
            ("block size", "block_size"),
            ("IO depth", "iodepth"),
            ("version", "tool_version"),
        ] {
            if let Some(text) = self.text(column) {
                labels.insert(label.to_owned(), text.to_owned());
            }
        }
        for (column, label) in [("direct IO", "direct"), ("random", "random")] {
            if let Some(flag) = self.flag(column)? {
                labels.insert(label.to_owned(), if flag { "yes" } else { "no" }.to_owned());
            }
        }
        Ok(())
    }

    fn facts(&self, observation: &mut Observation, operation: &str) -> Result<(), Malformed> {
        let named =
            LABELS.iter().filter_map(|label| Some(format!("{label} {}", observation.labels.get(*label)?)));
        let work = named.collect::<Vec<_>>().join(", ");
        let bytes = |column: &str| -> Result<Option<u64>, Malformed> {
            Ok(self.count(column)?.map(|mebibytes| mebibytes.saturating_mul(1 << 20)))
        };
        let facts = &mut observation.facts;
        facts.work = Some(work);
        facts.command = self.text("command").map(str::to_owned);
        facts.direct = self.flag("direct IO")?;
        if is_mixed(operation) {
            facts.claimed_read_bytes = bytes("rwmix read MiB [last]")?;
            facts.claimed_written_bytes = bytes("MiB [last]")?;
        } else if is_write(operation) {
            facts.claimed_written_bytes = bytes("MiB [last]")?;
        } else if operation.starts_with("READ") {
            facts.claimed_read_bytes = bytes("MiB [last]")?;
        }
        if facts.claimed_written_bytes.is_some() {
            // It never calls fsync; `--sync` is a phase of its own, behind the clock of this one.
            facts.flushed = facts.direct;
        }
        facts.working_set_bytes = self.working_set()?;
        facts.network = match self.text("path type") {
            _ if operation == "NET" => Some("elbencho's network phase".to_owned()),
            Some(kind @ ("bucket" | "object" | "hdfs")) => Some(format!("elbencho's path type `{kind}`")),
            _ => None,
        };
        facts.ending = Some(Ending::Completed);
        Ok(())
    }

    /// All files together: `files` in each of the `dirs` of each thread of each host, or the given paths.
    fn working_set(&self) -> Result<Option<u64>, Malformed> {
        let Some(size) = self.count("file size")?.filter(|size| *size > 0) else { return Ok(None) };
        let files = if let Some(files) = self.count("files")? {
            // Without directories the files stand in the given path itself.
            let directories = self.count("dirs")?.unwrap_or(1).max(1);
            let threads = self.count("threads")?.unwrap_or(1);
            let hosts = self.count("hosts")?.unwrap_or(1);
            directories.saturating_mul(files).saturating_mul(threads).saturating_mul(hosts)
        } else {
            self.count("paths")?.unwrap_or(1)
        };
        Ok(Some(size.saturating_mul(files)).filter(|bytes| *bytes > 0))
    }
}

/// `RWMIX70` of `--rwmixpct`, `MIX-T2` of `--rwmixthr`.
fn is_mixed(operation: &str) -> bool {
    operation.starts_with("RWMIX") || operation.starts_with("MIX-T")
}

/// `WRITE`, and `WRITE+s` with each file looked up in between. `+r` reads as well, and counts both as one.
fn is_write(operation: &str) -> bool {
    operation.starts_with("WRITE") && !operation.contains("+r")
}

/// What reads and writes of a mix come to.
fn add_up(observation: &mut Observation) {
    for name in ["throughput", "iops", "entries"] {
        let parts = ["read", "write"].map(|side| observation.figures.get(&format!("{side}.{name}")).copied());
        if let [Some(read), Some(write)] = parts {
            let sum = Figure { value: read.value + write.value, step: read.step + write.step };
            observation.figures.insert(name.to_owned(), sum);
        }
    }
}

/// Seconds of a date such as `2026-08-12T14:21:31.562-0400`; older versions print no fraction.
fn moment(text: &str) -> Option<f64> {
    let timestamp = || text.parse::<Timestamp>().ok();
    let civil = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    timestamp().or_else(civil).map(|time| time.as_duration().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_version_are_moments() {
        assert_eq!(moment("1970-01-01T01:00:10.500+0100"), Some(10.5));
        assert_eq!(moment("1970-01-01T01:00:10+0100"), Some(10.0));
        assert_eq!(moment("1970-01-01T00:00:10"), Some(10.0));
        assert_eq!(moment("today"), None);
    }
}
