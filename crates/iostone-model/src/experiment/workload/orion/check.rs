//! Whether an `orion` workload is a test: its options by ORION's own rules, its files, and the figure that decides.

use crate::experiment::check::Findings;
use crate::experiment::{
    Configuration, Experiment, Filesystem, MOST_POINTS, OrionWorkload, Volume, Workload,
};
use crate::orion::{FileData, OrionArgumentError, OrionTest};
use crate::units::{Bytes, Span};
use crate::verdict::{PointName, name_loads};

/// Rates are kept for each tenth of a second; a shorter point has none.
const SHORTEST_POINT: Span = Span(std::time::Duration::from_millis(100));
/// More files than this are a mistake in one of the factors.
const MOST_FILES: u32 = 1024;
/// As for the load engine: more memory than this for buffers.
const LARGEST_BUFFERS: Bytes = Bytes(16 << 30);

/// Checks an `orion` workload.
pub(super) fn check(orion: &OrionWorkload, configuration: &Configuration, findings: &mut Findings<'_>) {
    if orion.arguments.is_some() && orion.has_keys() {
        for key in orion.keys() {
            let message = format!("ORION's options are given twice: in `arguments` and as the key `{key}`");
            let label = "one of the two forms: leave this out, or write all of `arguments` as keys";
            findings.key(&format!("workload.{key}"), message, label);
        }
        return;
    }
    match orion.test() {
        Ok(test) => {
            if let Err(heavy) = test.check_loads(orion.disks(&test)) {
                // As many disks as files, which is all that was not known before.
                findings.value("workload.files", heavy.to_string(), "fewer files, or lower loads");
                return;
            }
            check_points(orion, &test, findings);
            check_files(orion, &test, configuration, findings);
        }
        Err(error) => refuse(orion, &error, findings),
    }
}

/// Points at the key that the option stands in, or at the command line.
fn refuse(orion: &OrionWorkload, error: &OrionArgumentError, findings: &mut Findings<'_>) {
    if orion.arguments.is_some() {
        findings.value("workload.arguments", error.to_string(), "not a command line of ORION's");
        return;
    }
    let option = match error {
        OrionArgumentError::NoValue { option, .. }
        | OrionArgumentError::BadValue { option, .. }
        | OrionArgumentError::Twice { option }
        | OrionArgumentError::NotAtThisLevel { option, .. }
        | OrionArgumentError::TooHeavy { option, .. }
        | OrionArgumentError::TooManyPoints { option, .. }
        | OrionArgumentError::Mismatch { option, .. } => *option,
        OrionArgumentError::NoRun | OrionArgumentError::Unknown { .. } | OrionArgumentError::Stray { .. } => {
            let label = "add `run = \"advanced\"`, or `arguments = \"-run ...\"`";
            findings.key("workload", "ORION's load is missing", label);
            return;
        }
    };
    let key = match option {
        "-num_streamIO" => "num_stream_io",
        option => option.trim_start_matches('-'),
    };
    let path = format!("workload.{key}");
    let missing =
        matches!(error, OrionArgumentError::Mismatch { reason, .. } if reason.starts_with("is needed"));
    if missing {
        findings.key("workload", error.to_string(), &format!("add `{key} = ...`"));
    } else if let OrionArgumentError::BadValue { value, expected, .. } = error {
        // Sizes reach ORION's rules in its unit.
        let unit = if value.parse::<u64>().is_ok() && orion_counts_kib(key) { "KiB" } else { "" };
        let (value, expected) = (format!("{value}{unit}"), format!("{expected} {unit}"));
        findings.value(
            &path,
            format!("`{key}` cannot be `{value}`"),
            &format!("expected {}", expected.trim_end()),
        );
    } else {
        findings.value(&path, error.to_string(), "conflicts with the other options");
    }
}

fn orion_counts_kib(key: &str) -> bool {
    matches!(key, "size_small" | "size_large" | "stripe")
}

fn check_points(orion: &OrionWorkload, test: &OrionTest, findings: &mut Findings<'_>) {
    let place = |key: &str| match orion.arguments {
        Some(_) => "workload.arguments".to_owned(),
        None => format!("workload.{key}"),
    };
    if test.duration < SHORTEST_POINT {
        let message = format!("a point of {} is too short to measure a rate", test.duration);
        findings.value(&place("duration"), message, &format!("at least {SHORTEST_POINT}"));
    }
    if orion.until.is_some() && test.duration.0.as_secs() < 2 {
        let message = format!("{} is too short for a precise point", test.duration);
        findings.value(&place("duration"), message, "at least 2s, the longest that a point may take");
    }
    let count = orion.point_count(test);
    if count > MOST_POINTS {
        let message = format!("a matrix of {count} points is too large");
        findings.key(
            "workload",
            message,
            &format!("at most {MOST_POINTS}: fewer disks, or another `matrix`"),
        );
    } else if orion.points().iter().all(|point| point.small == 0 && point.large == 0) {
        findings.key("workload", "no point has a load", "`num_small` or `num_large` of at least 1");
    }
}

fn check_files(
    orion: &OrionWorkload,
    test: &OrionTest,
    configuration: &Configuration,
    findings: &mut Findings<'_>,
) {
    let stack = &configuration.stack;
    let bare = stack.filesystem == Filesystem::None && !matches!(stack.volume, Volume::Directory(_));
    if orion.files == 0 || orion.files > MOST_FILES {
        findings.value(
            "workload.files",
            "the number of files is out of range",
            &format!("1 to {MOST_FILES}"),
        );
        return;
    }
    let flight = orion.in_flight(test);
    if flight > LARGEST_BUFFERS {
        let message =
            format!("the I/Os in flight at the highest load are {} of buffers", flight.approximate());
        findings.key("workload", message, "at most 16GiB");
        return;
    }
    let volume = match &stack.volume {
        Volume::Loop(volume) => Some(volume.size),
        Volume::Emulated(volume) => Some(volume.size),
        Volume::Block(_) | Volume::Directory(_) => None,
    };
    let room = if bare {
        check_bare(orion, findings).and(volume)
    } else {
        check_sizes(orion, test, volume, findings)
    };
    if let Some(room) = room
        && flight > room
    {
        let message = format!("{} in flight at the highest load do not fit in {room}", flight.approximate());
        findings.key("workload", message, "larger files, or lower loads");
    }
    if let Volume::Loop(volume) = &stack.volume
        && volume.is_throttled()
        && test.writes()
        && !orion.direct
    {
        let message = "writes to the page cache are not limited by the volume";
        findings.value("workload.direct", message, "leave it out");
    }
}

/// A bare device is the one LUN, as large as it is.
fn check_bare(orion: &OrionWorkload, findings: &mut Findings<'_>) -> Option<()> {
    if orion.size.is_some() {
        let message = "the stack ends in a raw device, which is the LUN";
        findings.value("workload.size", message, "leave it out, or add a filesystem to the stack");
        return None;
    }
    if orion.data != FileData::Random {
        let message = "the stack ends in a raw device, which keeps its content";
        findings.value("workload.data", message, "leave it out, or add a filesystem to the stack");
        return None;
    }
    if orion.files > 1 {
        let message = "the stack ends in a raw device, which is the only LUN";
        findings.value("workload.files", message, "leave it out, or add a filesystem to the stack");
        return None;
    }
    Some(())
}

fn check_sizes(
    orion: &OrionWorkload,
    test: &OrionTest,
    volume: Option<Bytes>,
    findings: &mut Findings<'_>,
) -> Option<Bytes> {
    let Some(size) = orion.size else {
        findings.key("workload", "the size of the data files is missing", "add `size = \"10GiB\"`");
        return None;
    };
    if !size.0.is_multiple_of(4096) {
        findings.value("workload.size", format!("{size} is not a multiple of 4KiB"), "whole blocks");
        return None;
    }
    let largest = test.size_large.max(test.size_small);
    if size < largest {
        let message = format!("a file of {size} is too small for an I/O of {largest}");
        findings.value("workload.size", message, &format!("at least {largest}"));
        return None;
    }
    let room = orion.room();
    if let Some(volume) = volume.filter(|volume| room > *volume) {
        let message = format!("the data files need {room} on a volume of {volume}");
        findings.value("stack.volume.size", message, "make the volume larger, or the files smaller");
        return None;
    }
    Some(room)
}

/// What a figure's name that is none of a matrix asks for, where it has the form of one: a point that is not measured, and
/// which are.
pub(in crate::experiment) fn unmeasured_point(metric: &str, workload: &Workload) -> Option<String> {
    let Workload::Orion(orion) = workload else { return None };
    let name = PointName::parse(metric);
    let load = name.load?;
    let declared = workload.metrics();
    let known: Vec<&str> = declared
        .iter()
        .map(|metric| metric.name.as_ref())
        .filter(|known| PointName::parse(known).figure == name.figure && known.contains('@'))
        .collect();
    if orion.points().is_empty() || known.is_empty() {
        return None;
    }
    let all = name_loads(&known, |_| true);
    Some(format!("the matrix has no {} at {load}; it has {all}", name.figure_words()))
}

/// A figure of a single point decides only where every configuration measures that point. Of curves those points are compared
/// that two configurations share.
pub(in crate::experiment) fn check_metric(experiment: &Experiment, findings: &mut Findings<'_>) {
    let metric = experiment.decide.metric.as_str();
    let lacks = |configuration: &&Configuration| match &configuration.workload {
        Workload::Orion(orion) => {
            let points = orion.points();
            !points.is_empty() && configuration.workload.metric(metric).is_none()
        }
        _ => false,
    };
    // What the first one lacks is spoken of already.
    let Some(other) = experiment.configurations.iter().skip(1).find(lacks) else { return };
    if experiment.configurations.first().is_some_and(|first| first.workload.metric(metric).is_some()) {
        let message = format!("`{}` measures no point for `{metric}`", other.name);
        findings.value(
            "decide.metric",
            message,
            "give every configuration that load, or decide by `max_iops`",
        );
    }
}

#[cfg(test)]
mod tests;
