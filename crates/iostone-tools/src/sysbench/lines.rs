//! What single lines of sysbench say, in the words of every version.

use std::sync::LazyLock;

use iostone_model::dataset::{DISK_FULL, Figure};
use iostone_model::metric::Unit;
use regex::{Captures, Regex};

use crate::error::Malformed;
use crate::units::figure;
use crate::{Line, ReadError};

/// What a line says.
pub(super) enum Said {
    Begins {
        version: String,
    },
    Is(Setting),
    Figures(Vec<(String, Figure)>),
    /// Reads, writes, others: totals of the run.
    Operations([Figure; 3]),
    /// Read, written: totals of the run.
    Bytes([u64; 2]),
    Events(Figure),
    Interval {
        at_seconds: f64,
        figures: Vec<(&'static str, Unit, f64)>,
    },
    Prepared {
        bytes: u64,
        seconds: Figure,
    },
    DiskFull,
    Fatal(String),
}

impl Said {
    /// Whether numbers were read of the line, which may have been cut.
    pub(super) fn has_figures(&self) -> bool {
        matches!(
            self,
            Self::Figures(_) | Self::Operations(_) | Self::Bytes(_) | Self::Events(_) | Self::Interval { .. }
        )
    }
}

/// What a run was asked for.
pub(super) enum Setting {
    Label(&'static str, String),
    /// The cpu test, of which 1.0 prints nothing else.
    Primes(String),
    WorkingSet(u64, String),
    OpenFlags {
        direct: bool,
        synchronous: bool,
    },
    Flushed,
    Validated,
}

const MIB: f64 = 1_048_576.0;

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => { $(static $name: LazyLock<Option<Regex>> = LazyLock::new(|| pattern($text));)* };
}

patterns! {
    VERSION = r"^sysbench v?(\d+\.\d+\S*?):?(?: |$)";
    OPERATIONS = r"^Operations performed:\s+(\d+) (?:reads|Read), (\d+) (?:writes|Write), (\d+) Other = \d+ Total";
    BYTES = r"^Read ([\d.]+)(\w*)\s+Written ([\d.]+)(\w*)\s+Total transferred";
    MEMORY = r"^(?:Operations performed|Total operations): \d+ \(\s*([\d.]+) (?:ops/sec|per second)\)";
    TRANSFERRED = r"^[\d.]+ Mi?B transferred \(([\d.]+) Mi?B/sec\)";
    PER_SECOND = r"^(transactions|queries|read/write requests):\s+\d+\s+\(([\d.]+) per sec\.\)";
    LATENCY = r"^(min|avg|max|(?:approx\.\s+)?(\d+)(?:th)? percentile):\s+([\d.]+)(ms|s)?$";
    THROUGHPUT = r"^(read|write|fsync):\s+IOPS=([\d.]+)(?: ([\d.]+) MiB/s)?";
    INTERVAL = r"^\[\s*(\d+)s ?\]\s+(.*)$";
    PREPARED = r"^(\d+) bytes written in ([\d.]+) seconds";
    SIZE = r"^([\d.]+) ?([KMGT]?)(?:i?[bB])?$";
    TEST = r"^(?:Doing|Running) (.+?) (?:performance )?(?:test|benchmark)\b";
}

fn find<'a>(pattern: &'static LazyLock<Option<Regex>>, text: &'a str) -> Option<Captures<'a>> {
    pattern.as_ref().and_then(|found| found.captures(text))
}

/// The version in a banner: `sysbench 1.0.20 (using ...)`, `sysbench 0.4.12:  multi-threaded ...`.
pub(super) fn version(line: &str) -> Option<String> {
    find(&VERSION, line.trim()).map(|found| found[1].to_owned())
}

/// What a line says; None for lines that say nothing that is read.
pub(super) fn read(line: &Line) -> Result<Option<Said>, ReadError> {
    let text = line.text.trim();
    if let Some(version) = version(text) {
        return Ok(Some(Said::Begins { version }));
    }
    if text.contains(DISK_FULL) {
        return Ok(Some(Said::DiskFull));
    }
    if let Some(message) = text.strip_prefix("FATAL: ") {
        return Ok(Some(Said::Fatal(message.to_owned())));
    }
    if let Some(setting) = setting(text) {
        return Ok(Some(Said::Is(setting)));
    }
    Ok(result(line, text)?)
}

/// A size as sysbench prints it: `64MiB`, and in 0.4 `64Mb`, both of 1024s; None if it is none or beyond 2^53.
fn size(text: &str) -> Option<u64> {
    let found = find(&SIZE, text)?;
    let power = if found[2].is_empty() { 0 } else { "KMGT".find(&found[2])? + 1 };
    let bytes = found[1].parse::<f64>().ok()? * f64::powi(1024.0, i32::try_from(power).ok()?);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
    (bytes < 9e15).then_some(bytes.round() as u64)
}

fn setting(text: &str) -> Option<Setting> {
    if let Some(threads) = text.strip_prefix("Number of threads: ") {
        return Some(Setting::Label("threads", threads.to_owned()));
    }
    if let Some(flags) = text.strip_prefix("Extra file open flags: ") {
        // Before 1.0.12 it is a number: 0x4000 is O_DIRECT, 0x1000 O_DSYNC and 0x101000 O_SYNC on x86 and arm64's rest.
        let bits = u64::from_str_radix(flags, 16).unwrap_or(0);
        let direct = flags.contains("direct") || bits & 0x4000 != 0;
        return Some(Setting::OpenFlags {
            direct,
            synchronous: flags.contains("sync") || bits & 0x1000 != 0,
        });
    }
    if let Some(total) = text.strip_suffix(" total file size") {
        return Some(Setting::WorkingSet(size(total)?, total.to_owned()));
    }
    if let Some(block) = text.strip_prefix("Block size ") {
        return Some(Setting::Label("block_size", block.to_owned()));
    }
    if let Some(block) =
        text.strip_prefix("Memory block size: ").or_else(|| text.strip_prefix("block size: "))
    {
        return Some(Setting::Label("block_size", block.to_owned()));
    }
    if let Some(often) = text.strip_prefix("Periodic FSYNC enabled, calling fsync() ") {
        return Some(Setting::Label("fsync", often.trim_end_matches('.').to_owned()));
    }
    if text == "Calling fsync() after each write operation." {
        return Some(Setting::Label("fsync", "after each write".to_owned()));
    }
    if text.starts_with("Calling fsync() at the end of test") {
        return Some(Setting::Flushed);
    }
    if text == "Using checksums validation." {
        return Some(Setting::Validated);
    }
    if let Some(mode) = text.strip_prefix("Using ").and_then(|rest| rest.strip_suffix(" I/O mode")) {
        return Some(Setting::Label("io_mode", mode.to_owned()));
    }
    let limits =
        ["Prime numbers limit: ", "Primer numbers limit: ", "Maximum prime number checked in CPU test: "];
    if let Some(limit) = limits.iter().find_map(|limit| text.strip_prefix(limit)) {
        return Some(Setting::Primes(format!("primes up to {limit}")));
    }
    let doing = find(&TEST, text)?;
    // fileio's modes by the words of `--file-test-mode`.
    Some(match doing[1].trim() {
        "sequential write (creation)" => Setting::Label("mode", "seqwr".to_owned()),
        "sequential rewrite" => Setting::Label("mode", "seqrewr".to_owned()),
        "sequential read" => Setting::Label("mode", "seqrd".to_owned()),
        "random read" => Setting::Label("mode", "rndrd".to_owned()),
        "random write" => Setting::Label("mode", "rndwr".to_owned()),
        "random r/w" => Setting::Label("mode", "rndrw".to_owned()),
        "CPU" => Setting::Label("test", "cpu".to_owned()),
        "memory operations speed" | "memory speed" => Setting::Label("test", "memory".to_owned()),
        "thread subsystem" => Setting::Label("test", "threads".to_owned()),
        "mutex" => Setting::Label("test", "mutex".to_owned()),
        "OLTP" => Setting::Label("test", "oltp".to_owned()),
        _ => return None,
    })
}

fn result(line: &Line, text: &str) -> Result<Option<Said>, Malformed> {
    let number = |text: &str, factor: f64| {
        figure(text, factor).ok_or_else(|| line.malformed(format!("a number instead of `{text}`")))
    };
    let one = |name: &str, figure: Figure| Some(Said::Figures(vec![(name.to_owned(), figure)]));
    let keyed = text.split_once(':').map(|(key, value)| (key, value.trim()));
    if let Some((key, value)) = keyed {
        let found = match key {
            "events per second" | "events/s (eps)" => one("events", number(value, 1.0)?),
            "reads/s" => one("reads", number(value, 1.0)?),
            "writes/s" => one("writes", number(value, 1.0)?),
            "fsyncs/s" => one("fsyncs", number(value, 1.0)?),
            "read, MiB/s" => one("read.throughput", number(value, MIB)?),
            "written, MiB/s" => one("write.throughput", number(value, MIB)?),
            "total time" | "time elapsed" => {
                let seconds =
                    value.strip_suffix('s').ok_or_else(|| line.malformed("a time that ends with `s`"))?;
                one("wall_time", number(seconds, 1.0)?)
            }
            "total number of events" => Some(Said::Events(number(value, 1.0)?)),
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    if let Some(found) = find(&LATENCY, text) {
        // Since 1.0 the unit stands in the section's title, milliseconds; 0.4.8 had seconds.
        let factor = if found.get(4).is_some_and(|unit| unit.as_str() == "s") { 1.0 } else { 1e-3 };
        let name = match (&found[1], found.get(2)) {
            (_, Some(percentile)) => format!("latency_p{}", percentile.as_str()),
            ("min", None) => "latency_min".to_owned(),
            ("avg", None) => "latency_mean".to_owned(),
            _ => "latency_max".to_owned(),
        };
        return Ok(Some(Said::Figures(vec![(name, number(&found[3], factor)?)])));
    }
    if let Some(found) = find(&OPERATIONS, text) {
        let counts = [number(&found[1], 1.0)?, number(&found[2], 1.0)?, number(&found[3], 1.0)?];
        return Ok(Some(Said::Operations(counts)));
    }
    if let Some(found) = find(&BYTES, text) {
        let bytes = |number: usize| {
            let text = format!("{}{}", &found[number], &found[number + 1]);
            size(&text).ok_or_else(|| line.malformed(format!("a size instead of `{text}`")))
        };
        return Ok(Some(Said::Bytes([bytes(1)?, bytes(3)?])));
    }
    if let Some(found) = find(&MEMORY, text) {
        return Ok(one("events", number(&found[1], 1.0)?));
    }
    if let Some(found) = find(&TRANSFERRED, text) {
        return Ok(one("throughput", number(&found[1], MIB)?));
    }
    if let Some(found) = find(&PER_SECOND, text) {
        let name = if &found[1] == "transactions" { "transactions" } else { "queries" };
        return Ok(one(name, number(&found[2], 1.0)?));
    }
    if let Some(found) = find(&THROUGHPUT, text) {
        let (count, rate) = match &found[1] {
            "read" => ("reads", Some("read.throughput")),
            "write" => ("writes", Some("write.throughput")),
            _ => ("fsyncs", None),
        };
        let mut figures = vec![(count.to_owned(), number(&found[2], 1.0)?)];
        if let (Some(rate), Some(printed)) = (rate, found.get(3)) {
            figures.push((rate.to_owned(), number(printed.as_str(), MIB)?));
        }
        return Ok(Some(Said::Figures(figures)));
    }
    if let Some(found) = find(&PREPARED, text) {
        let bytes = found[1].parse().map_err(|_| line.malformed("a number of bytes"))?;
        return Ok(Some(Said::Prepared { bytes, seconds: number(&found[2], 1.0)? }));
    }
    Ok(find(&INTERVAL, text).and_then(|found| interval(&found[1], &found[2])))
}

/// `[ 1s ] reads: 171.27 MiB/s writes: 114.18 MiB/s fsyncs: 727.74/s latency (ms,95%): 0.066`.
fn interval(at: &str, rest: &str) -> Option<Said> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let mut figures = Vec::new();
    for pair in words.windows(2) {
        let [key, value] = pair else { continue };
        let value: f64 = value
            .trim_end_matches([',', 's', '/'])
            .trim_end_matches("ms")
            .trim_end_matches('m')
            .parse()
            .ok()
            .unwrap_or(f64::NAN);
        let (name, unit, factor) = match *key {
            "reads:" => ("read.throughput", Unit::BytesPerSecond, MIB),
            "writes:" => ("write.throughput", Unit::BytesPerSecond, MIB),
            "fsyncs:" => ("fsyncs", Unit::PerSecond, 1.0),
            "eps:" => ("events", Unit::PerSecond, 1.0),
            "tps:" => ("transactions", Unit::PerSecond, 1.0),
            "qps:" => ("queries", Unit::PerSecond, 1.0),
            // `(ms,95%):` in 1.0, `response time: 0.017ms (95%)` in 0.5.
            "(ms,95%):" | "time:" => ("latency_p95", Unit::Seconds, 1e-3),
            _ => continue,
        };
        if value.is_finite() {
            figures.push((name, unit, value * factor));
        }
    }
    let at_seconds = at.parse().ok()?;
    (!figures.is_empty()).then_some(Said::Interval { at_seconds, figures })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_of_1024s_in_every_version() {
        assert_eq!(size("64MiB"), Some(64 << 20));
        assert_eq!(size("18.75Mb"), Some(19_660_800));
        assert_eq!(size("2Gb"), Some(2 << 30));
        assert_eq!(size("0"), Some(0));
        assert_eq!(size("big"), None);
    }

    #[test]
    fn open_flags_are_read_as_words_and_as_numbers() {
        let direct = |text: &str| matches!(setting(text), Some(Setting::OpenFlags { direct: true, .. }));
        assert!(direct("Extra file open flags: directio"));
        assert!(direct("Extra file open flags: 4000"));
        assert!(!direct("Extra file open flags: 0"));
        assert!(!direct("Extra file open flags: (none)"));
    }

    #[test]
    fn intervals_of_old_and_new_versions_are_read() {
        for text in [
            "[ 1s ] reads: 8.00 MiB/s writes: 5.33 MiB/s fsyncs: 17.05/s latency (ms,95%): 0.017",
            "[   1s] reads: 8.00 MB/s writes: 5.33 MB/s fsyncs: 17.05/s response time: 0.017ms (95%)",
        ] {
            let line = Line { number: 1, text: text.to_owned() };
            let Some(Said::Interval { at_seconds, figures }) = read(&line).unwrap() else { panic!("{text}") };
            assert_eq!(at_seconds, 1.0);
            let values: Vec<f64> = figures.iter().map(|(_, _, value)| *value).collect();
            assert_eq!(values, [8.0 * MIB, 5.33 * MIB, 17.05, 0.017 * 1e-3], "{text}");
        }
    }
}
