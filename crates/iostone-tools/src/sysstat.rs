//! What iostat and sar have in common: the banner, numbers and times of any locale, and what their columns mean.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use iostone_model::dataset::{Figure, Observation};
use regex::Regex;

use crate::samples::Sample;
use crate::units::figure;

/// `Linux 6.1.0 (host)  11/22/26  _x86_64_  (2 CPU)`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Banner {
    pub(crate) kernel: String,
    pub(crate) host: String,
    pub(crate) cpus: Option<f64>,
}

static BANNER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:Linux|GNU/Linux)\s+(\S+)\s+\(([^)]*)\)\s+\S").ok());
/// The number of CPUs in the banner is followed by a word of the locale; versions before 9 do not print it.
static CPUS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\((\d+) [^()]+\)\s*$").ok());

impl Banner {
    pub(crate) fn find(line: &str) -> Option<Self> {
        let captures = BANNER.as_ref()?.captures(line)?;
        let cpus = CPUS.as_ref()?.captures(line).and_then(|found| found.get(1)?.as_str().parse().ok());
        let part = |at: usize| captures.get(at).map(|part| part.as_str().to_owned()).unwrap_or_default();
        Some(Self { kernel: part(1), host: part(2), cpus })
    }

    /// An observation of that machine with nothing in it yet.
    pub(crate) fn observation(&self, tool: &str, line: u64) -> Observation {
        let mut labels = BTreeMap::new();
        for (label, value) in [("host", &self.host), ("kernel", &self.kernel)] {
            if !value.is_empty() {
                labels.insert(label.to_owned(), value.clone());
            }
        }
        let mut observation =
            Observation { tool: tool.to_owned(), labels, line: Some(line), ..Observation::default() };
        observation.facts.cpus = self.cpus;
        observation
    }
}

/// A number with the point or comma of its locale, in a unit of which one is `factor` base units.
///
/// With `-h`, sysstat writes `1.6M`, `825.9k` and `34.1%`: prefixes are powers of 1024 of the byte (`cprintf_unit` of
/// its common.c), whatever the column's own unit; `bytes` says that the column is an amount of bytes.
pub(crate) fn number(text: &str, factor: f64, bytes: bool) -> Option<Figure> {
    let text = text.strip_suffix('%').unwrap_or(text);
    let scales =
        [('B', 1.0), ('k', 1024.0), ('M', 1_048_576.0), ('G', 1_073_741_824.0), ('T', 1_099_511_627_776.0)];
    let prefixed = scales.iter().find_map(|(sign, scale)| Some((text.strip_suffix(*sign)?, *scale)));
    let (digits, factor) = match prefixed {
        Some((digits, scale)) if bytes => (digits, scale),
        Some(_) => return None,
        None => (text, factor),
    };
    if !digits.starts_with(|sign: char| sign.is_ascii_digit() || sign == '-') {
        return None;
    }
    figure(&digits.replace(',', "."), factor)
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Meaning {
    /// The figure's name.
    name: &'static str,
    /// One of the column's unit in base units.
    factor: f64,
    /// Amounts of bytes, which `-h` gives prefixes.
    bytes: bool,
    /// The columns that count the requests of which it is a mean; none for what is measured in every interval.
    counted_by: &'static [&'static str],
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
const SECTOR: f64 = 512.0;
const READS: &[&str] = &["r/s"];
const WRITES: &[&str] = &["w/s"];
const ALL_REQUESTS: &[&str] = &["tps", "r/s", "w/s"];

/// What a column is, by its title in text, `sadf -d` and JSON (iostat(1), sar(1): kilobytes are of 1024 bytes, sectors
/// of 512, times in milliseconds). None for those that are not read: merges, totals, and `svctm`, which the manual
/// says not to trust.
pub(crate) fn meaning(title: &str) -> Option<Meaning> {
    let plain = |name, factor| Some(Meaning { name, factor, bytes: false, counted_by: &[] });
    let bytes = |name, factor| Some(Meaning { name, factor, bytes: true, counted_by: &[] });
    let mean = |name, factor, counted_by| Some(Meaning { name, factor, bytes: false, counted_by });
    let size = |name, factor, counted_by| Some(Meaning { name, factor, bytes: true, counted_by });
    match title {
        "%user" | "%usr" | "user" | "usr" => plain("cpu_user", 0.01),
        "%nice" | "nice" => plain("cpu_nice", 0.01),
        "%system" | "%sys" | "system" | "sys" => plain("cpu_system", 0.01),
        "%iowait" | "iowait" => plain("io_wait", 0.01),
        "%steal" | "steal" => plain("steal", 0.01),
        "%irq" | "irq" => plain("cpu_interrupts", 0.01),
        "%soft" | "soft" => plain("cpu_soft_interrupts", 0.01),
        "%guest" | "guest" => plain("cpu_guest", 0.01),
        "%idle" | "idle" => plain("cpu_idle", 0.01),
        "tps" => plain("transfers", 1.0),
        "r/s" | "rtps" => plain("reads", 1.0),
        "w/s" | "wtps" => plain("writes", 1.0),
        "d/s" | "dtps" => plain("discards", 1.0),
        "f/s" => plain("flushes", 1.0),
        "rkB/s" | "kB_read/s" | "rkB" => bytes("read.throughput", KIB),
        "wkB/s" | "kB_wrtn/s" | "wkB" => bytes("write.throughput", KIB),
        "dkB/s" | "kB_dscd/s" | "dkB" => bytes("discard.throughput", KIB),
        "kB/s" => bytes("throughput", KIB),
        "rMB/s" | "MB_read/s" => bytes("read.throughput", MIB),
        "wMB/s" | "MB_wrtn/s" => bytes("write.throughput", MIB),
        "dMB/s" | "MB_dscd/s" => bytes("discard.throughput", MIB),
        "MB/s" => bytes("throughput", MIB),
        "rsec/s" | "rd_sec/s" | "Blk_read/s" => bytes("read.throughput", SECTOR),
        "wsec/s" | "wr_sec/s" | "Blk_wrtn/s" => bytes("write.throughput", SECTOR),
        "bread/s" | "bread" => bytes("block_in", SECTOR),
        "bwrtn/s" | "bwrtn" => bytes("block_out", SECTOR),
        "r_await" => mean("read.latency_mean", 1e-3, READS),
        "w_await" => mean("write.latency_mean", 1e-3, WRITES),
        "d_await" => mean("discard.latency_mean", 1e-3, &["d/s"]),
        "f_await" => mean("flush.latency_mean", 1e-3, &["f/s"]),
        "await" => mean("latency_mean", 1e-3, ALL_REQUESTS),
        "rareq-sz" => size("read.request_size", KIB, READS),
        "wareq-sz" => size("write.request_size", KIB, WRITES),
        "areq-sz" => size("request_size", KIB, ALL_REQUESTS),
        "avgrq-sz" => size("request_size", SECTOR, ALL_REQUESTS),
        "avgqu-sz" | "aqu-sz" => plain("queue_length", 1.0),
        "%util" | "util" | "util-percent" => plain("utilisation", 0.01),
        _ => None,
    }
}

/// The samples of a row of titles and printed values; the first value that is no number, if there is one.
pub(crate) fn samples<'a>(row: &[(&'a str, &'a str)]) -> Result<Vec<Sample>, &'a str> {
    let mut samples: Vec<Sample> = Vec::new();
    for (title, text) in row {
        let Some(meaning) = meaning(title) else { continue };
        let figure = number(text, meaning.factor, meaning.bytes).ok_or(*text)?;
        let counted = |title: &&str| {
            let (_, text) = row.iter().find(|(other, _)| other == title)?;
            number(text, 1.0, false).map(|figure| figure.value)
        };
        let weight = if meaning.counted_by.is_empty() {
            1.0
        } else {
            let counts: Vec<f64> = meaning.counted_by.iter().filter_map(counted).collect();
            // Reports in two parts (`iostat -h`) may hold no counts beside a mean: then it counts as one.
            if counts.is_empty() { 1.0 } else { counts.iter().sum() }
        };
        // sadf prints the same figure in several units; the first is as good as the second.
        if samples.iter().all(|sample| sample.name != meaning.name) {
            samples.push(Sample { name: meaning.name, figure, weight });
        }
    }
    Ok(samples)
}

/// The time of day at the beginning of a line, as `%X` prints it in any locale, and what follows it.
///
/// `04:34:49`, `04:34:49 AM`, `4:34:49 PM`, `04.34.49`, `04時34分49秒`.
pub(crate) fn time_of_day(line: &str) -> Option<(f64, &str)> {
    let captures = TIME.as_ref()?.captures(line)?;
    let number = |at: usize| captures.get(at)?.as_str().parse::<f64>().ok();
    let (mut hours, minutes, seconds) = (number(2)?, number(3)?, number(4)?);
    let half = captures.get(1).or_else(|| captures.get(5)).map(|half| half.as_str());
    match half {
        Some("AM" | "am" | "오전" | "上午" | "午前") if hours >= 12.0 => hours -= 12.0,
        Some("PM" | "pm" | "오후" | "下午" | "午後") if hours < 12.0 => hours += 12.0,
        _ => {}
    }
    let rest = line.get(captures.get(0)?.end()..)?;
    // `22.11.2026` is a date.
    if rest.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    Some((hours * 3600.0 + minutes * 60.0 + seconds, rest))
}

/// The time of day within a date and a time of any locale: the last one, as some dates look like times.
pub(crate) fn time_within(text: &str) -> Option<f64> {
    let mut found = None;
    let mut from = 0;
    for (at, _) in text.char_indices() {
        let begins =
            text[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == 'T');
        if at < from || !begins {
            continue;
        }
        if let Some((seconds, rest)) = text.get(at..).and_then(time_of_day) {
            found = Some(seconds);
            from = text.len() - rest.len();
        }
    }
    found
}

static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(AM|PM|오전|오후|上午|下午|午前|午後)?\s*(\d{1,2})\s?[:.時时시]\s?(\d{2})\s?[:.分분]\s?(\d{2})[秒초]?(?:\s(AM|PM|am|pm)\b)?",
    )
    .ok()
});

/// Seconds since the first time it is told, across midnight.
#[derive(Debug, Default)]
pub(crate) struct DayClock {
    first: Option<f64>,
    last: f64,
    days: f64,
}

impl DayClock {
    pub(crate) fn seconds(&mut self, time_of_day: f64) -> f64 {
        let first = *self.first.get_or_insert(time_of_day);
        // Half a day back is midnight; less is a clock that was set back, and does not make time run backwards.
        if time_of_day < self.last - 43_200.0 {
            self.days += 1.0;
            self.last = time_of_day;
        }
        self.last = self.last.max(time_of_day);
        self.days * 86_400.0 + self.last - first
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    #[test]
    fn a_banner_is_read_with_or_without_its_cpus() {
        let banner = Banner::find("Linux 6.1.0-13-amd64 (db1) \t11/22/26 \t_x86_64_\t(2 CPU)").unwrap();
        assert_eq!(
            (banner.kernel.as_str(), banner.host.as_str(), banner.cpus),
            ("6.1.0-13-amd64", "db1", Some(2.0))
        );
        let old = Banner::find("Linux 2.6.18-8.el5 (db1) \t03/14/2008").unwrap();
        assert_eq!((old.host.as_str(), old.cpus), ("db1", None));
    }

    #[test]
    fn times_of_any_locale_are_read() {
        let seconds = |line: &str| time_of_day(line).map(|(seconds, rest)| (seconds, rest.trim().to_owned()));
        let expected = Some((16489.0, "all".to_owned()));
        for line in [
            "04:34:49 all",
            "04:34:49 AM all",
            "4:34:49 am all",
            "04.34.49 all",
            "04時34分49秒 all",
            "오전 4시 34분 49초 all",
        ] {
            assert_eq!(seconds(line), expected, "{line}");
        }
        assert_eq!(seconds("12:00:01 AM all").unwrap().0, 1.0);
        assert_eq!(seconds("12:00:01 PM all").unwrap().0, 43_201.0);
        assert_eq!(seconds("Average: all"), None);
    }

    #[test]
    fn a_time_is_found_behind_dates_of_any_locale() {
        for stamp in [
            "11/22/26 04:34:49",
            "11/22/2026 04:34:49 AM",
            "2026-11-22T04:34:49+0000",
            "22.11.2026 04:34:49",
            "22.11.26 04.34.49",
            "2026年11月22日 04時34分49秒",
            "2026년 11월 22일 오전 04시 34분 49초",
        ] {
            assert_eq!(time_within(stamp), Some(16489.0), "{stamp}");
        }
        assert_eq!(time_within("$ cd /var/log"), None);
    }

    #[test]
    fn a_clock_goes_on_across_midnight() {
        let mut clock = DayClock::default();
        assert_eq!(clock.seconds(86_395.0), 0.0);
        assert_eq!(clock.seconds(0.0), 5.0);
        assert_eq!(clock.seconds(5.0), 10.0);
    }

    #[test]
    fn prefixes_of_dash_h_are_of_bytes() {
        assert_eq!(number("1.5M", KIB, true).unwrap().value, 1.5 * MIB);
        assert_eq!(number("34,1%", 0.01, false).unwrap().value, 34.1 * 0.01);
        assert_eq!(number("1.5M", 1.0, false), None);
        assert_eq!(number("sda", 1.0, true), None);
    }
}
