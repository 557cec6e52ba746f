//! Reads the files that Oracle's ORION 10.2 to 19c leaves: summary, tables of IOPS, latency and MBPS, histograms.
//!
//! A test leaves several files of one prefix (`NAME_20180913_0034_iops.csv`), which each tell a part: every observation is
//! labelled with its `test`, `small` and `large` (outstanding small I/Os; outstanding large I/Os or sequential streams), and
//! [`join`] makes one of those that are about the same point. `iops` and `latency_mean` are of the small I/Os of a point,
//! `throughput` is of the large ones.
//!
//! ORION changed its unit of latency from milliseconds (10.2, 11.1) to microseconds (from 11.2 on), and a table of version
//! 11 does not say which. Such latencies stay a figure of no unit, `latency_unsettled`, until [`join`] finds what settles it:
//! the summary of the test, or its IOPS, since at a constant load the mean latency is the load divided by the rate.
//!
//! Nowhere does ORION say whether its MB is 10^6 or 2^20 bytes; it is read as 10^6, with a remark. The bodies of the trace
//! and of 10.2's trade-off table are published nowhere; these files are recognised by their names, kept, and yield nothing.

mod histogram;
mod join;
mod matrix;
mod summary;

use std::collections::BTreeMap;

use iostone_model::dataset::{MetricNote, Observation};
use iostone_model::metric::{Direction, Unit};

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

pub use join::join;

/// A mean latency of which it is not known whether it is in milliseconds or in microseconds.
const UNSETTLED: &str = "latency_unsettled";
/// What a MBPS is.
const MEGABYTE_REMARK: &str = "ORION does not say whether its MB is 10^6 or 2^20 bytes; it is read as 10^6";

/// The files of ORION.
pub(crate) struct Orion;

impl Format for Orion {
    fn name(&self) -> &'static str {
        "orion"
    }

    fn title(&self) -> &'static str {
        "ORION 10.2 to 19c summaries, CSV tables and histograms"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        if head
            .text
            .lines()
            .any(|line| matrix::is_header(line) || summary::is_own(line) || histogram::is_title(line))
        {
            return Likeness::Certain;
        }
        let text = !head.text.is_empty() && !head.text.contains('\0');
        if text && is_unreadable(head.name) { Likeness::Likely } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let (test, _) = test_of(input.name());
        let name = input.name().to_owned();
        let mut before = Vec::new();
        let mut reading = Reading::default();
        let mut is_table = false;
        // Everything is small but the trace, of which only the first lines are looked at.
        while let Some(line) = input.next_line()? {
            if matrix::is_header(&line.text) {
                reading.observations = matrix::read(&name, &before, &line, input)?;
                is_table = true;
                break;
            }
            if summary::is_own(&line.text) || histogram::is_title(&line.text) {
                reading.observations = summary::read(line, input, &test)?;
                break;
            }
            if before.len() < 100 {
                before.push(line.text);
            }
        }
        if reading.observations.is_empty() && !is_table && !is_unreadable(&name) {
            let expected = "a summary, a table that begins with `Large/Small` or a histogram of ORION";
            return Err(crate::Malformed::at_end(input.line() + 1, expected).into());
        }
        for observation in &mut reading.observations {
            "orion".clone_into(&mut observation.tool);
            observation.labels.entry("test".to_owned()).or_insert_with(|| test.clone());
        }
        reading.metrics = notes();
        reading.factors = vec!["small".to_owned(), "large".to_owned()];
        Ok(reading)
    }
}

/// The endings of ORION's files.
const ENDINGS: &[&str] = &[
    "_summary.txt",
    "_iops.csv",
    "_lat.csv",
    "_mbps.csv",
    "_hist.txt",
    "_hist.csv",
    "_trace.txt",
    "_tradeoff.csv",
];

/// The prefix that the files of one test share, and the ending of this one: `mytest_20180913_0034` and `_iops.csv`.
fn test_of(name: &str) -> (String, Option<&'static str>) {
    for ending in ENDINGS {
        if let Some(test) = name.strip_suffix(ending) {
            return (test.to_owned(), Some(ending));
        }
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    (stem.to_owned(), None)
}

/// Whether it is one of the files whose content is published nowhere.
fn is_unreadable(name: &str) -> bool {
    matches!(test_of(name).1, Some("_trace.txt" | "_tradeoff.csv"))
}

/// The figures that are in no table.
fn notes() -> BTreeMap<String, MetricNote> {
    let note =
        |name: &str, unit, better, title: String| (name.to_owned(), MetricNote { unit, better, title });
    let mut notes = BTreeMap::from([
        note(UNSETTLED, Unit::Plain, Some(Direction::Lower), "mean latency, in ms or µs".to_owned()),
        note(
            "max_iops",
            Unit::PerSecond,
            Some(Direction::Higher),
            "most small I/Os per second of any point".to_owned(),
        ),
        note(
            "max_throughput",
            Unit::BytesPerSecond,
            Some(Direction::Higher),
            "highest throughput of any point".to_owned(),
        ),
        note(
            "min_latency",
            Unit::Seconds,
            Some(Direction::Lower),
            "lowest mean latency of any point".to_owned(),
        ),
    ]);
    for kind in histogram::KINDS {
        for (percentile, _) in histogram::PERCENTILES {
            let title = format!("{percentile} latency of {kind}s, at most (the end of its bucket)");
            notes.extend([note(
                &format!("{kind}.latency_{percentile}_below"),
                Unit::Seconds,
                Some(Direction::Lower),
                title,
            )]);
        }
    }
    for kind in summary::KINDS {
        for (figure, title) in [
            ("latency_min", "minimum latency"),
            ("latency_stddev", "standard deviation of latency"),
            ("latency_mean", "mean latency"),
            ("latency_max", "maximum latency"),
        ] {
            notes.extend([note(
                &format!("{kind}.{figure}"),
                Unit::Seconds,
                Some(Direction::Lower),
                format!("{title} of {kind}s"),
            )]);
        }
    }
    notes
}

/// Labels a point of the matrix.
fn at_point(observation: &mut Observation, small: u64, large: u64) {
    observation.labels.insert("small".to_owned(), small.to_string());
    observation.labels.insert("large".to_owned(), large.to_string());
}
