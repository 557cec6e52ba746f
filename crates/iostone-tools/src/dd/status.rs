//! The lines that dd prints of itself: records, and bytes with seconds and rate, whatever the version and the locale.

use std::sync::LazyLock;

use iostone_model::dataset::Figure;
use regex::Regex;

use crate::units::figure;

/// Who printed a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// GNU coreutils, uutils and busybox: `N bytes (...) copied, S s, R MB/s`.
    Copied,
    /// The BSDs and macOS: `N bytes transferred in S secs (R bytes/sec)`.
    Transferred,
}

/// `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.6 s, 1.7 GB/s`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Status {
    pub(super) bytes: u64,
    pub(super) seconds: Figure,
    /// Bytes a second, as printed.
    rate: Option<Figure>,
    rate_text: String,
    pub(super) dialect: Dialect,
}

/// Words differ by locale, and where they stand; the order of the numbers does not. A version translates even the unit
/// of seconds and of rates; prefixes stay. Chinese and Japanese print full-width commas.
static COPIED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        // Words before the number, as in Ukrainian and older Russian; a prompt or a path is not one of them.
        r"^\s*(?:\p{L}+\s)?\s*(\d+)\s?\p{L}[\p{L}\s.]*",
        r"(?:\([^()]*\)[\p{L}\s.]*)?",
        r"[,،、，]\s?(\d+(?:[.,٫]\d+)?(?:[eE][-+]?\d+)?)\s?\p{L}+\.?",
        r"[,،、，]\s?(\d+(?:[.,٫]\d+)?|\p{L}+)\s?([kKMGTPEZYRQ]?)(i?)(\p{L}*)/\p{L}+\s*$",
    ))
    .ok()
});

static TRANSFERRED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\s*(\d+) bytes (?:\([^()]*\) )?transferred (?:in )?(\d+(?:\.\d+)?) ?s(?:ecs?)?,? ",
        r"\(?(\d+(?:\.\d+)?) ?([kKMGTPE]?)(i?)(B|bytes)/s(?:ec)?\)?\s*$",
    ))
    .ok()
});

impl Status {
    /// Of a line, if it is one.
    pub(super) fn find(line: &str) -> Option<Self> {
        // Every one of them has a rate; most lines of a log have none and need no further look.
        if !line.contains('/') {
            return None;
        }
        let (captures, dialect) = match COPIED.as_ref()?.captures(line) {
            Some(captures) => (captures, Dialect::Copied),
            None => (TRANSFERRED.as_ref()?.captures(line)?, Dialect::Transferred),
        };
        let part = |at: usize| captures.get(at).map_or("", |part| part.as_str());
        let bytes = part(1).parse().ok()?;
        let seconds = figure(&point(part(2)), 1.0)?;
        let thousand = if part(5).is_empty() { 1000.0 } else { 1024.0 };
        let power = "kMGTPEZYRQ".find(part(4).to_ascii_lowercase().as_str()).map(|at| at + 1);
        let power =
            power.or_else(|| "KMGTPEZYRQ".find(part(4)).map(|at| at + 1)).filter(|_| !part(4).is_empty());
        let factor = f64::powi(thousand, power.and_then(|power| i32::try_from(power).ok()).unwrap_or(0));
        let rate = figure(&point(part(3)), factor);
        let rate_text =
            captures.get(3).map_or("", |from| line.get(from.start()..).unwrap_or_default()).trim();
        Some(Self { bytes, seconds, rate, rate_text: rate_text.trim_end_matches(')').to_owned(), dialect })
    }

    /// What is wrong where the printed rate is not what bytes and seconds give.
    ///
    /// GNU counts in powers of 1000, busybox in powers of 1024 under the same name; either is taken.
    pub(super) fn contradiction(&self) -> Option<String> {
        let printed = self.rate?;
        if self.seconds.value <= 0.0 || self.bytes == 0 {
            return None;
        }
        let actual = self.bytes as f64 / self.seconds.value;
        // The rate was divided before the time was rounded.
        let relative = self.seconds.step / self.seconds.value;
        let agrees = |rate: f64, step: f64| (rate - actual).abs() <= step + actual * relative;
        let power = printed.value.log(1000.0).floor().clamp(0.0, 8.0);
        let busybox = 1.024f64.powf(power);
        // At a thousand the prefix may be the smaller one: `1023.4MB/s`.
        let smaller = 1.024f64.powf((power - 1.0).max(0.0));
        let known =
            [1.0, busybox, smaller].iter().any(|scale| agrees(printed.value * scale, printed.step * scale));
        (!known).then(|| {
            format!(
                "dd prints `{}`, but its bytes and seconds give {}",
                self.rate_text,
                iostone_model::metric::Unit::BytesPerSecond.format(actual)
            )
        })
    }
}

fn point(text: &str) -> String {
    text.replace([',', '٫'], ".")
}

/// `1024+0 records in`: whole blocks and parts of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) whole: u64,
    pub(super) partial: u64,
}

static RECORDS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*[\p{L}\s]*?(\d+)\+(\d+)\s?\p{L}[\p{L}\p{M}\s]*\.?\s*$").ok());

impl Records {
    /// Of a line, if it is one, in any language.
    pub(super) fn find(line: &str) -> Option<Self> {
        if !line.contains('+') {
            return None;
        }
        let captures = RECORDS.as_ref()?.captures(line)?;
        let number = |at: usize| captures.get(at)?.as_str().parse().ok();
        Some(Self { whole: number(1)?, partial: number(2)? })
    }

    /// The size of a block, where all were whole.
    pub(super) fn block(self, bytes: u64) -> Option<u64> {
        (self.partial == 0).then(|| bytes.checked_div(self.whole)).flatten()
    }

    /// Whether so many bytes may be in these records of blocks of that size.
    pub(super) fn may_be(self, bytes: u64, block: u64) -> bool {
        let least = self.whole.saturating_mul(block);
        let most = self.whole.saturating_add(self.partial).saturating_mul(block);
        least <= bytes && bytes <= most
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    /// Layouts by version, from the sources of each and its translations.
    #[test]
    fn every_version_and_language_is_read() {
        for line in [
            "1073741824 bytes (1.1 GB) copied, 20.0922 seconds, 53.4 MB/s",
            "1073741824 bytes (1.1 GB) copied, 20.0922 s, 53.4 MB/s",
            "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 20.0922 s, 53.4 MB/s",
            "1073741824 bytes(1.1 GB) copied, 20.0922 s, 53.4 MB/s",
            "1073741824 bytes (1,1 GB) copied, 20,0922 s, 53,4 MB/s",
            "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 20,0922 s, 53,4 MB/s",
            "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 20,0922 s, 53,4 MB/s",
            "1073741824 bytes (1,1 GB) copiados, 20,0922 segundos, 53,4 MB/s",
            "1073741824 バイト (1.1 GB) コピーされました、 20.0922 秒、 53.4 MB/秒",
            "1073741824字节(1.1 GB)已复制，20.0922 秒，53.4 MB/秒",
            "1073741824 字节 (1.1 GB, 1.0 GiB) 已复制，20.0922 s，53.4 MB/s",
            "скопійовано 1073741824 байтів (1,1 GB, 1,0 GiB), 20,0922 s, 53,4 MB/s",
            "1073741824 bytes (1.0GB) copied, 20.092200 seconds, 51.0MB/s",
            "1073741824 bytes transferred in 20.092200 secs (53440729 bytes/sec)",
        ] {
            let status = Status::find(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((status.bytes, status.seconds.value), (1_073_741_824, 20.0922), "{line}");
            assert_eq!(status.contradiction(), None, "{line}");
        }
    }

    #[test]
    fn small_and_empty_copies_are_read() {
        let status = Status::find("1 byte copied, 9.5743e-05 s, 10.4 kB/s").unwrap();
        assert_eq!((status.bytes, status.seconds.step), (1, 1e-9));
        assert_eq!(Status::find("0 bytes copied, 2.3114e-05 s, 0.0 kB/s").unwrap().bytes, 0);
        assert!(Status::find("0 bytes copied, 0 s, Infinity B/s").is_some());
        assert_eq!(Status::find("300 字节已复制，0.000108402 s，2.8 MB/s").unwrap().bytes, 300);
        let freebsd = "  6442450944 bytes (6442 MB, 6144 MiB) transferred 3.005s, 2144 MB/s";
        assert_eq!(Status::find(freebsd).unwrap().seconds.value, 3.005);
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "Throughput 61.7 MB/sec  5 clients  5 procs  max_latency=12.1 ms",
            "READ: bw=1024MiB/s (1074MB/s), 1024MiB/s-1024MiB/s (1074MB/s-1074MB/s), io=1024MiB",
            "3 requests completed in 711.3 us, 12 KiB read, 4.22 k iops, 16.5 MiB/s",
            "67108864 bytes written in 0.29 seconds (217.33 MB/sec).",
            "1024+0 records in",
        ] {
            assert_eq!(Status::find(line), None, "{line}");
        }
    }

    #[test]
    fn a_rate_that_does_not_follow_is_told() {
        let status = Status::find("1073741824 bytes (1.1 GB) copied, 20.0922 s, 63.4 MB/s").unwrap();
        let remark = status.contradiction().unwrap();
        assert_eq!(remark, "dd prints `63.4 MB/s`, but its bytes and seconds give 53.4 MB/s");
    }

    #[test]
    fn records_are_read_in_any_language() {
        for line in [
            "24+1 records in",
            "24+1 Datensätze ein",
            "输入了 24+1 块记录",
            "记录了24+1 的读入",
            "24+1 레코드 입력함",
        ] {
            assert_eq!(Records::find(line), Some(Records { whole: 24, partial: 1 }), "{line}");
        }
        assert_eq!(Records::find("1+1 = 2"), None);
    }
}
