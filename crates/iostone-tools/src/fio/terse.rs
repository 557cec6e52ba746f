//! fio's terse lines (`--minimal`), versions 2 to 5: fields by semicolons in an order that is the version's.
//!
//! fio(1), "Terse output": version, fio's version (since 3), name, group, error; then for reads, writes and (2, 4, 5)
//! trims 41 fields each, 47 in version 5; then five of the processor, of which the first two end with `%`. By those
//! the number of directions is told, since `unified_rw_reporting` and old versions have fewer or more.

use iostone_model::dataset::{Figure, Observation};

use super::flow::{Flow, Latency, Way, ending, observe};
use crate::units::figure;
use crate::{Line, Malformed};

/// What is measured in microseconds.
const MICROSECOND: f64 = 1e-6;

/// Places in the fields of one direction.
const BANDWIDTH: usize = 1;
const OPERATIONS: usize = 2;
const RUNTIME: usize = 3;
const COMPLETION: usize = 8;
const PERCENTILES: usize = 12;
const PERCENTILE_COUNT: usize = 20;
const TOTAL: usize = 32;

/// Terse lines have at least that many semicolons.
const FEWEST: usize = 60;

/// Whether a line looks like one of these.
pub(super) fn is_terse(text: &str) -> bool {
    let Some((version, rest)) = text.split_once(';') else { return false };
    match version {
        "3" | "4" | "5" => rest.starts_with("fio-") || semicolons(rest) >= FEWEST,
        "2" => semicolons(rest) >= FEWEST,
        _ => false,
    }
}

fn semicolons(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b';').count()
}

/// The job of a line.
///
/// # Errors
/// A field that is missing or no number.
pub(super) fn read_line(line: &Line) -> Result<Observation, Malformed> {
    let fields: Vec<&str> = line.text.split(';').collect();
    let version = fields.first().copied().unwrap_or_default();
    let (head, width) = match version {
        "2" => (4, 41),
        "5" => (5, 47),
        _ => (5, 41),
    };
    let fields = Fields { line, fields };
    let flows = fields.flows(head, width)?;
    let mut observation = observe(fields.text(head - 3)?, &flows);
    if version != "2" {
        observation.labels.insert("tool_version".to_owned(), fields.text(1)?.to_owned());
    }
    let error =
        fields.text(head - 1)?.trim().parse().map_err(|_| fields.expected(head - 1, "fio's error number"))?;
    observation.facts.ending = Some(ending(error, None));
    Ok(observation)
}

struct Fields<'a> {
    line: &'a Line,
    fields: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    fn text(&self, at: usize) -> Result<&'a str, Malformed> {
        self.fields.get(at).copied().ok_or_else(|| self.missing())
    }

    fn missing(&self) -> Malformed {
        let found = format!("{} fields", self.fields.len());
        Malformed { line: self.line.number, expected: "all fields of a terse line of fio".to_owned(), found }
    }

    fn expected(&self, at: usize, what: &str) -> Malformed {
        let text = self.fields.get(at).copied().unwrap_or_default();
        Malformed::new(self.line.number, format!("{what} in field {}", at + 1), text)
    }

    fn number(&self, at: usize, factor: f64, what: &str) -> Result<Figure, Malformed> {
        figure(self.text(at)?, factor).ok_or_else(|| self.expected(at, what))
    }

    /// The directions that did anything.
    fn flows(&self, head: usize, width: usize) -> Result<Vec<Flow>, Malformed> {
        let ends = |at: usize| self.fields.get(at).is_some_and(|field| field.ends_with('%'));
        let count = (1..=4).find(|count| ends(head + count * width) && ends(head + count * width + 1));
        let trims = self.fields.first() != Some(&"3");
        let ways: &[Way] = match (count, trims) {
            (Some(1), _) => &[Way::Mixed],
            (Some(2), _) => &[Way::Read, Way::Write],
            (Some(3), true) => &[Way::Read, Way::Write, Way::Trim],
            (Some(3), false) => &[Way::Read, Way::Write, Way::Mixed],
            (Some(4), true) => &[Way::Read, Way::Write, Way::Trim, Way::Mixed],
            _ => return Err(self.missing()),
        };
        let mut flows = Vec::new();
        for (index, way) in ways.iter().enumerate() {
            flows.extend(self.flow(head + index * width, *way)?);
        }
        Ok(flows)
    }

    /// One direction; None if it did nothing.
    fn flow(&self, from: usize, way: Way) -> Result<Option<Flow>, Malformed> {
        let amount = self.number(from, 1024.0, "KiB")?;
        let bandwidth = self.number(from + BANDWIDTH, 1.0, "a rate in KiB/s")?;
        let iops = self.number(from + OPERATIONS, 1.0, "operations a second")?;
        let runtime = self.number(from + RUNTIME, 1e-3, "milliseconds")?;
        if amount.value <= 0.0 && iops.value <= 0.0 {
            return Ok(None);
        }
        let unit = rate_unit(bandwidth.value, amount.value / runtime.value);
        let mut latency =
            self.latency(from + COMPLETION)?.or(self.latency(from + TOTAL)?).unwrap_or_default();
        for at in (from + PERCENTILES..).take(PERCENTILE_COUNT) {
            let expected = || self.expected(at, "a percentile with its latency, as in `99.000000%=1234`");
            let (percent, value) = self.text(at)?.split_once("%=").ok_or_else(expected)?;
            let percent: f64 = percent.trim().parse().map_err(|_| expected())?;
            let value = figure(value, MICROSECOND).ok_or_else(expected)?;
            // Without samples, and behind the last percentile, all are zero.
            if percent > 0.0 && latency.max.is_some() {
                latency.set_percentile(percent, value);
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "negative ones become zero"
        )]
        let bytes = Some(amount.value as u64);
        let throughput = Figure { value: bandwidth.value * unit, step: unit };
        Ok(Some(Flow { way, throughput: Some(throughput), iops: Some(iops), latency, bytes }))
    }

    /// Minimum, maximum, mean and deviation; None where there was no sample.
    fn latency(&self, from: usize) -> Result<Option<Latency>, Malformed> {
        let max = self.number(from + 1, MICROSECOND, "microseconds")?;
        let mean = self.number(from + 2, MICROSECOND, "microseconds")?;
        let some = max.value > 0.0 || mean.value > 0.0;
        Ok(some.then(|| Latency { mean: Some(mean), max: Some(max), ..Latency::default() }))
    }
}

/// What the rate is counted in: KiB/s, but kB/s before 2.0.8; told by the bytes and the time beside it.
fn rate_unit(rate: f64, bytes_per_second: f64) -> f64 {
    let off = |unit: f64| (rate * unit - bytes_per_second).abs();
    if off(1000.0) < off(1024.0) { 1000.0 } else { 1024.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_from_other_tables() {
        assert!(is_terse("3;fio-3.33;job;0;0;1"));
        assert!(is_terse(&format!("2;job;{}", "0;".repeat(80))));
        assert!(!is_terse("3;4;5;6"));
        assert!(!is_terse("2024;a;b"));
    }

    #[test]
    fn the_rate_of_old_versions_is_in_thousands() {
        assert!((rate_unit(102_400.0, 102_400.4e3) - 1000.0).abs() < 1e-9);
        assert!((rate_unit(100_000.0, 102_400.4e3) - 1024.0).abs() < 1e-9);
        assert!((rate_unit(0.0, f64::NAN) - 1024.0).abs() < 1e-9);
    }

    #[test]
    fn a_cut_line_is_refused_with_its_number() {
        let line = Line { number: 7, text: "3;fio-3.33;job;0;0;1;2;3".to_owned() };
        let error = read_line(&line).unwrap_err().to_string();
        assert_eq!(error, "line 7: expected all fields of a terse line of fio, found 8 fields");
    }
}
