//! ioping's lines for people: a line for each request, then the statistics, with units in words.

use std::sync::LazyLock;

use iostone_model::dataset::{Figure, Observation};
use regex::Regex;

use super::raw::{Period, Total};
use super::{LONGEST_COURSE, Run};
use crate::error::Malformed;
use crate::transcript;
use crate::units::figure;
use crate::{Input, Line, ReadError};

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// `4 KiB <<< . (ext4 /dev/vda1 252.0 GiB): request=1 time=356.3 us (warmup)`.
static REQUEST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^([\d.]+ \w+) (from|to|<<<|>>>) (.+) \(([^()]*)\): request=(\d+) time=([\d.]+ \w+)(?: \((.*)\))?$",
    )
});
/// `--- . (ext4 /dev/vda1) ioping statistics ---`.
static TITLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^--- (.+) \(([^()]*)\) ioping statistics ---$"));
/// `3 requests completed in 1.32 ms, 12 KiB read, 2.28 k iops, 8.90 MiB/s`; before 1.0 without the bytes.
static COMPLETED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^([\d.]+(?: \w)?) requests completed in ([\d.]+ \w+), (?:([\d.]+ \w+)( read| written)?, )?([\d.]+(?: \w)?) iops, ([\d.]+ \w+)/s$",
    )
});
/// `min/avg/max/mdev = 364.8 us / 439.0 us / 528.4 us / 67.7 us`, or `0.1/0.2/0.3/0.1 ms` in 0.6.
static SPREAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^min/avg/max/mdev = ([\d.]+(?: \w+)?) ?/ ?([\d.]+(?: \w+)?) ?/ ?([\d.]+(?: \w+)?) ?/ ?([\d.]+ \w+)$",
    )
});

pub(super) fn is_own(line: &str) -> bool {
    let line = line.trim();
    [&TITLE, &REQUEST].into_iter().any(|pattern| pattern.as_ref().is_some_and(|found| found.is_match(line)))
}

/// A number and a unit in a word: times down to nanoseconds, sizes in powers of 1024 whatever they are called
/// (`mb` in 0.6), counts in powers of 1000. None if it is none.
fn amount(text: &str) -> Option<Figure> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let factor = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" | "sec" | "B" | "bytes" => 1.0,
        "min" => 60.0,
        "hour" => 3600.0,
        "day" => 86_400.0,
        "KiB" | "kb" | "Kb" => 1024.0,
        "MiB" | "mb" | "Mb" => 1_048_576.0,
        "GiB" | "gb" | "Gb" => 1_073_741_824.0,
        "TiB" | "tb" | "Tb" => 1_099_511_627_776.0,
        "PiB" => 1_125_899_906_842_624.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    figure(number, factor)
}

#[derive(Default)]
struct Text {
    run: Run,
    raw: Total,
    /// Requests told so far.
    requests: u64,
    complete: bool,
    bytes_per_request: f64,
    writes: Option<bool>,
}

pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut observations = Vec::new();
    let mut text = Text::default();
    while let Some(line) = input.next_line()? {
        if text.complete && !line.text.trim().is_empty() {
            observations.push(std::mem::take(&mut text).run.into_observation());
        }
        text.take(&line)?;
    }
    text.raw.finish(&mut text.run);
    if text.run.figures.is_empty() {
        if text.requests > 0 || observations.is_empty() {
            let expected =
                "ioping's statistics, `min/avg/max/mdev = ...` (was it interrupted?), or its raw numbers";
            return Err(Malformed::at_end(input.line(), expected).into());
        }
    } else {
        observations.push(text.run.into_observation());
    }
    Ok(observations)
}

impl Text {
    fn take(&mut self, line: &Line) -> Result<(), ReadError> {
        let text = line.text.trim();
        let find = |pattern: &'static LazyLock<Option<Regex>>| {
            pattern.as_ref().and_then(|found| found.captures(text))
        };
        let amount =
            |text: &str| amount(text).ok_or_else(|| line.malformed(format!("a unit known of, not `{text}`")));
        if let Some(found) = find(&REQUEST) {
            self.run.line.get_or_insert(line.number);
            self.target(&found[3], &found[4]);
            self.writes = Some(matches!(&found[2], "to" | ">>>"));
            self.requests += 1;
            let time = amount(&found[6])?;
            if found.get(7).is_none_or(|notice| notice.as_str() != "warmup") {
                self.bytes_per_request = amount(&found[1])?.value;
                self.run.latencies.push(self.requests as f64, time.value, LONGEST_COURSE);
            }
        } else if let Some(found) = find(&TITLE) {
            self.run.line.get_or_insert(line.number);
            self.target(&found[1], &found[2]);
        } else if let Some(found) = find(&COMPLETED) {
            self.completed(
                amount(&found[1])?,
                found.get(3).map(|bytes| amount(bytes.as_str())).transpose()?,
                found.get(4).map(|word| word.as_str().trim()),
            );
            self.run.set("iops", amount(&found[5])?);
            self.run.set("throughput", amount(&found[6])?);
        } else if let Some(found) = find(&SPREAD) {
            let unit = found[4].split_once(' ').map_or("", |(_, unit)| unit).to_owned();
            let names = ["latency_min", "latency_mean", "latency_max", "latency_mdev"];
            for (at, name) in names.iter().enumerate() {
                let text = &found[at + 1];
                let text = if text.contains(' ') { text.to_owned() } else { format!("{text} {unit}") };
                self.run.set(name, amount(&text)?);
            }
            if self.requests > 0 {
                let remark = "ioping does not print its interval; one second between requests is assumed";
                self.run.remarks.push(remark.to_owned());
            }
            self.complete = true;
        } else if let Some(period) = Period::find(text) {
            self.run.line.get_or_insert(line.number);
            self.raw.add(period, &mut self.run);
        } else if let Some(command) = transcript::command(text, "ioping") {
            self.run.command = Some(command.to_owned());
        }
        Ok(())
    }

    /// What was read or written altogether; a mixture of both is not told apart.
    fn completed(&mut self, requests: Figure, bytes: Option<Figure>, word: Option<&str>) {
        let bytes = bytes.map_or(requests.value * self.bytes_per_request, |bytes| bytes.value);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
        let bytes = (bytes > 0.0 && bytes < 9e15).then_some(bytes as u64);
        match (word, self.writes) {
            (Some("read"), _) | (None, Some(false)) => self.run.read_bytes = bytes,
            (Some("written"), _) | (None, Some(true)) => self.run.written_bytes = bytes,
            _ => {}
        }
    }

    /// The target and, between brackets, its filesystem and device, and the size of it since 1.2.
    fn target(&mut self, path: &str, described: &str) {
        if self.run.labels.contains_key("target") {
            return;
        }
        self.run.labels.insert("target".to_owned(), path.to_owned());
        let words: Vec<&str> = described.split(' ').collect();
        let (words, size) = match words.as_slice() {
            [words @ .., number, unit] if number.starts_with(|sign: char| sign.is_ascii_digit()) => {
                (words, amount(&format!("{number} {unit}")))
            }
            words => (words, None),
        };
        // `(ext4 /dev/vda1 ...)`, but `(block device ...)` and in 0.6 `(device ...)` for a device itself.
        if let [filesystem, device, ..] = words
            && *device != "device"
        {
            self.run.labels.insert("filesystem".to_owned(), (*filesystem).to_owned());
            self.run.labels.insert("device".to_owned(), (*device).to_owned());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
        let size = size.filter(|size| size.value < 9e15).map(|size| size.value as u64);
        self.run.volume_bytes = size;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_by_their_words() {
        let value = |text: &str| amount(text).unwrap().value;
        assert!((value("356.3 us") - 356.3e-6).abs() < 1e-12);
        assert_eq!(value("8.90 MiB"), 8.9 * 1_048_576.0);
        assert_eq!(value("17.0 mb"), 17.0 * 1_048_576.0);
        assert_eq!(value("2.28 k"), 2280.0);
        assert_eq!(value("410"), 410.0);
        assert_eq!(amount("3 parsecs"), None);
    }

    #[test]
    fn requests_without_statistics_are_told() {
        let text = "4 KiB <<< . (ext4 /dev/vda1 252.0 GiB): request=1 time=356.3 us (warmup)\n";
        let error = read(&mut Input::of_text("x", text)).unwrap_err().to_string();
        assert!(error.starts_with("line 1: expected ioping's statistics"), "{error}");
    }
}
