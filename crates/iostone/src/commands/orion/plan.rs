//! `iostone orion --plan`: which load points would be measured, in which order, and how long that takes. No I/O.

use std::fmt::Write;

use anyhow::Result;
use iostone_model::figures::counted;
use iostone_model::orion::{LargeIo, LoadPoint, Matrix, OrionHeader, OrionTest, RunLevel};
use iostone_model::units::{Bytes, Fraction};
use iostone_report::clean;
use serde::Serialize;

use super::arguments::OrionOptions;
use crate::printer::{Printer, bold};
use crate::progress::in_words;

/// The version of the document that `--json` prints.
const PLAN_SCHEMA: &str = "iostone/orion-plan/1";
/// What warming takes for each point when `-cache_size` is left out.
const WARMING_SECONDS: u64 = 120;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    test: &'a OrionTest,
    num_disks: u32,
    total_points: usize,
    /// Fewer points may be measured: the course depends on what is found.
    at_most: bool,
    points: Vec<PlannedPoint>,
    estimated_minutes: u64,
    /// Seconds of each point; the most, with `--until`.
    duration_seconds: f64,
    warming: Warming,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct PlannedPoint {
    number: usize,
    small: u32,
    large: u32,
}

/// Unmeasured I/O before large sequential points.
#[derive(Serialize)]
struct Warming {
    /// Before how many points.
    points: usize,
    /// How much before each; none where it goes by time.
    bytes_each: Option<Bytes>,
    /// How long before each at most; none where it goes by bytes.
    seconds_each: Option<u64>,
}

/// Prints the plan of a test on so many disks.
pub(super) fn print(
    test: &OrionTest,
    num_disks: u32,
    options: &OrionOptions,
    printer: &mut Printer,
) -> Result<()> {
    test.check_loads(num_disks)?;
    test.check_point_count(num_disks)?;
    let points = test.points(num_disks);
    let warming = Warming::of(test, &points);
    if options.json {
        let numbered = (1..).zip(&points);
        let document = Document {
            schema: PLAN_SCHEMA,
            test,
            num_disks,
            total_points: points.len(),
            at_most: options.knee || options.adaptive.is_some(),
            points: numbered
                .map(|(number, point)| PlannedPoint { number, small: point.small, large: point.large })
                .collect(),
            estimated_minutes: test.estimated_minutes(points.len()),
            duration_seconds: test.duration.0.as_secs_f64(),
            warming,
            remarks: Own::of_options(options).remarks(test),
        };
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        return Ok(());
    }
    printer.data(&in_text(test, num_disks, options, &points, &warming)?);
    Ok(())
}

impl Warming {
    fn of(test: &OrionTest, points: &[LoadPoint]) -> Self {
        let warmed = test.large_io == LargeIo::Seq && test.cache_size != Some(Bytes(0));
        let count = points.iter().filter(|point| warmed && point.large > 0).count();
        let seconds_each = (count > 0 && test.cache_size.is_none()).then_some(WARMING_SECONDS);
        Self { points: count, bytes_each: test.cache_size.filter(|_| count > 0), seconds_each }
    }

    fn in_words(&self) -> Option<String> {
        let before = match self.points {
            0 => return None,
            1 => "before the large sequential point".to_owned(),
            several => format!("before each of {several} large sequential points"),
        };
        Some(match (self.bytes_each, self.seconds_each) {
            (Some(bytes), _) => {
                format!("Warming moves {} unmeasured {before}; that time comes on top.", bytes.in_words())
            }
            (None, seconds) => {
                let seconds = seconds.unwrap_or_default();
                let whole = in_words(std::time::Duration::from_secs(seconds * self.points as u64));
                format!(
                    "Warming adds up to {} {before}, {whole} in all; `-cache_size` sets how much, 0 for none.",
                    in_words(std::time::Duration::from_secs(seconds))
                )
            }
        })
    }
}

/// The line that ORION prints before it begins.
fn estimate(test: &OrionTest, points: usize) -> String {
    format!("Calibration will take approximately {} minutes.\n", test.estimated_minutes(points))
}

/// What of a test is iostone's own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) until: Option<Fraction>,
    pub(super) knee: bool,
    pub(super) adaptive: Option<Fraction>,
    pub(super) buffered: bool,
}

impl Own {
    fn of_options(options: &OrionOptions) -> Self {
        let OrionOptions { until, knee, adaptive, buffered, .. } = *options;
        Self { until, knee, adaptive, buffered }
    }

    pub(super) fn of_header(header: &OrionHeader) -> Self {
        let (until, adaptive) = (header.until.map(Fraction), header.adaptive.map(Fraction));
        Self { until, knee: header.knee, adaptive, buffered: !header.direct }
    }

    /// That in sentences.
    pub(super) fn remarks(self, test: &OrionTest) -> Vec<String> {
        let mut remarks = Vec::new();
        if test.run == RunLevel::Dss {
            remarks.push(
                "The sequence of `-run dss` is iostone's: large loads up to 15 a disk. ORION's own is not publicly known."
                    .to_owned(),
            );
        }
        if let Some(share) = self.until {
            remarks.push(format!(
                "A point ends once its rate is known within {share}, after {} at the latest.",
                in_words(test.duration.0)
            ));
        }
        if self.knee {
            remarks.push(
                "Only those loads are measured that show where latency takes off, and higher ones where the rate still \
                 grows: which and how many depends on what is found."
                    .to_owned(),
            );
        }
        if let Some(share) = self.adaptive {
            remarks.push(format!(
                "Points that their neighbours predict within {share} are not measured, so there may be fewer."
            ));
        }
        if self.buffered {
            remarks.push("Through the page cache: what memory serves is counted too.".to_owned());
        }
        remarks
    }
}

fn in_text(
    test: &OrionTest,
    num_disks: u32,
    options: &OrionOptions,
    points: &[LoadPoint],
    warming: &Warming,
) -> Result<String, std::fmt::Error> {
    let mut lines = String::new();
    let disks = counted(num_disks, "disk");
    writeln!(lines, "{}", bold(&format!("{} on {disks}", clean(&test.test_name))))?;
    writeln!(lines, "  small  {} random", test.size_small.in_words())?;
    let large = match test.large_io {
        LargeIo::Rand => "random".to_owned(),
        LargeIo::Seq => format!("sequential streams, {} in flight in each", test.num_stream_io),
    };
    writeln!(lines, "  large  {} {large}", test.size_large.in_words())?;
    if test.writes() {
        writeln!(lines, "  writes {} %: what is on the LUNs is lost", test.write_percent)?;
    }
    writeln!(lines)?;
    if !options.knee {
        push_sequence(&mut lines, points)?;
        let shape = match test.shape() {
            Matrix::Basic => "the first row and the first column",
            Matrix::Detailed | Matrix::Max => "the whole matrix",
            Matrix::Point => "a single point",
            Matrix::Row => "one row",
            Matrix::Col => "one column",
        };
        writeln!(
            lines,
            "\n{}: {shape}, {} each.",
            counted(points.len(), "load point"),
            in_words(test.duration.0)
        )?;
    }
    for remark in Own::of_options(options).remarks(test) {
        writeln!(lines, "{remark}")?;
    }
    if !options.knee {
        write!(lines, "{}", estimate(test, points.len()))?;
    }
    if let Some(warming) = warming.in_words() {
        writeln!(lines, "{warming}")?;
    }
    Ok(lines)
}

/// The points in order, as many as can be said together in a line.
fn push_sequence(lines: &mut String, points: &[LoadPoint]) -> std::fmt::Result {
    let width = points.len().to_string().len();
    let together = |a: &LoadPoint, b: &LoadPoint| a.large == b.large;
    let mut rows: Vec<&[LoadPoint]> = points.chunk_by(together).collect();
    // The column of a basic matrix has rows of a single point.
    if let Some(behind) = points.iter().position(|point| point.large > 0)
        && let Some(column) = points.get(behind..)
        && column
            .windows(2)
            .all(|pair| pair.first().map(|point| point.small) == pair.last().map(|point| point.small))
    {
        rows.retain(|row| row.first().is_some_and(|point| point.large == 0));
        rows.push(column);
    }
    let mut number = 1;
    for row in rows {
        let last = number + row.len() - 1;
        let numbers = if row.len() == 1 {
            format!("{number:>width$}")
        } else {
            format!("{number:>width$} to {last:>width$}")
        };
        let mut loads = [Vec::new(), Vec::new()];
        for point in row {
            for (levels, load) in loads.iter_mut().zip([point.large, point.small]) {
                if levels.last() != Some(&load) {
                    levels.push(load);
                }
            }
        }
        let [large, small] = loads.map(|levels| compact(&levels));
        let column = 2 * width + 4;
        writeln!(lines, "  {numbers:<column$}  large {large:<4}  small {small}")?;
        number = last + 1;
    }
    Ok(())
}

/// `0 to 20, then every 4th to 80`: levels as people say them.
fn compact(levels: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = levels;
    while let Some((&first, behind)) = rest.split_first() {
        let step = behind.first().map_or(0, |second| second - first);
        let length = 1 + rest
            .windows(2)
            .take_while(|pair| pair.first().is_some_and(|a| pair.last() == Some(&(a + step))))
            .count();
        let last = rest.get(length - 1).copied().unwrap_or(first);
        match (length, step) {
            (1, _) => parts.push(first.to_string()),
            (2, _) => {
                parts.push(first.to_string());
                parts.push(last.to_string());
            }
            (_, 1) => parts.push(format!("{first} to {last}")),
            (_, step) => parts.push(format!("{first} to {last} by {step}")),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_said_as_people_say_them() {
        assert_eq!(compact(&[0]), "0");
        assert_eq!(compact(&[0, 1]), "0, 1");
        assert_eq!(compact(&[0, 1, 2, 3]), "0 to 3");
        assert_eq!(compact(&OrionTest::new(RunLevel::Oltp).small_loads(4)), "0 to 4, 8 to 80 by 4");
    }

    #[test]
    fn a_sequence_is_said_in_few_lines() {
        let said = |run, disks| {
            let mut lines = String::new();
            push_sequence(&mut lines, &OrionTest::new(run).points(disks)).unwrap();
            lines
        };
        assert_eq!(
            said(RunLevel::Simple, 4),
            "   1 to 21  large 0     small 0 to 20\n  22 to 29  large 1 to 8  small 0\n"
        );
        assert_eq!(said(RunLevel::Normal, 1).lines().count(), 3);
        assert_eq!(said(RunLevel::Dss, 1).lines().count(), 2);
    }

    #[test]
    fn warming_is_told_for_sequential_points_only() {
        let mut test = OrionTest::new(RunLevel::Advanced);
        assert!(Warming::of(&test, &test.points(1)).in_words().is_none());
        test.large_io = LargeIo::Seq;
        let told = Warming::of(&test, &test.points(1)).in_words().unwrap();
        assert!(told.contains("2 min before each of 2 large sequential points, 4 min in all"), "{told}");
        test.cache_size = Some(Bytes(0));
        assert!(Warming::of(&test, &test.points(1)).in_words().is_none());
    }
}
