//! A matrix of load points in the words of a trial: figures, facts, what failed, and ORION's files.

use std::collections::BTreeMap;

use iostone_model::experiment::{OrionWorkload, point_metric};
use iostone_model::metric::Unit;
use iostone_model::orion::{MaximumAt, OrionFindings, OrionRecord, PointRecord, RecordLine};
use iostone_model::trial::WorkloadReport;
use iostone_model::units::Bytes;
use iostone_orion::files::{self, Format};
use iostone_orion::findings::find;

use crate::{Measurement, RawOutput};

/// The reason of an end that the user wanted.
const INTERRUPTED: &str = "interrupted";

/// What a trial yields of a record.
pub(super) fn measurement(spec: &OrionWorkload, record: &OrionRecord, laid_out: &str) -> Measurement {
    let end = record.end.clone().unwrap_or_default();
    let interrupted = !end.finished && end.reason.as_deref() == Some(INTERRUPTED);
    let error =
        (!end.finished).then(|| end.reason.unwrap_or_else(|| "the matrix was not finished".to_owned()));
    let mut metrics = BTreeMap::new();
    let mut absent = BTreeMap::new();
    if end.finished {
        for point in &record.points {
            insert_point(point, &mut metrics, &mut absent);
        }
        insert_maxima(record, &mut metrics);
        absent.extend(untold_by_warming(record));
    }
    let transfers = || record.points.iter().flat_map(|point| [&point.small_io, &point.large_io]).flatten();
    let findings = find(record);
    let report = WorkloadReport {
        kind: "orion".to_owned(),
        measured_seconds: record.points.iter().map(|point| point.seconds).sum(),
        claimed_read_bytes: transfers().map(|io| io.reads.bytes).sum(),
        claimed_written_bytes: transfers().map(|io| io.writes.bytes).sum(),
        lead_in_seconds: Some(lead_in_seconds(record)),
        must_reach_device: spec.direct,
        operations: Some(transfers().map(|io| io.reads.ios + io.writes.ios).sum()),
        error: error.filter(|_| !interrupted),
        facts: facts(record, &findings, laid_out),
        absent,
        ceilings: findings.ceilings,
        ..WorkloadReport::default()
    };
    Measurement { metrics, report, raw: raw(record), interrupted, cpu: None }
}

/// The figures of the whole trial that cannot be told where a cache was warmed before points: that is unmeasured, of other
/// I/Os than the points', and in the counters and the CPU time of the trial all the same.
fn untold_by_warming(record: &OrionRecord) -> Vec<(String, String)> {
    let bytes = record.points.iter().map(|point| point.warming_bytes).fold(0, u64::saturating_add);
    let reason = format!(
        "{} of unmeasured random I/O warmed the cache before large sequential points and cannot be told apart; \
         `cache_size = \"0B\"` leaves that out",
        Bytes(bytes).approximate()
    );
    let names = ["written_per_claimed_byte", "read_per_claimed_byte", "cpu_per_io"];
    names.into_iter().filter(|_| bytes > 0).map(|name| (name.to_owned(), reason.clone())).collect()
}

/// The ramps of all points with a load, each a tenth of the duration and 1 s at most (`iostone_orion::point`).
fn lead_in_seconds(record: &OrionRecord) -> f64 {
    let ramp = (record.header.test.duration.0.as_secs_f64() / 10.0).min(1.0);
    record.points.iter().filter(|point| point.small + point.large > 0).map(|_| ramp).sum()
}

fn insert_point(
    point: &PointRecord,
    metrics: &mut BTreeMap<String, f64>,
    absent: &mut BTreeMap<String, String>,
) {
    let at = point.point();
    let p99 = || point.small_io.as_ref()?.latency.as_ref().map(|latency| latency.p99);
    let small = [("iops", point.iops()), ("latency", point.latency()), ("latency_p99", p99())];
    let large = [("throughput", point.throughput())];
    let small = small.into_iter().filter(|_| at.small > 0);
    for (figure, value) in small.chain(large.into_iter().filter(|_| at.large > 0)) {
        let name = point_metric(figure, at);
        // A rate of nothing is a figure, and the worst there is; left out, the other level would have no rival here.
        if let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) {
            metrics.insert(name, value);
        } else {
            absent.insert(name, format!("at {at} nothing completed within {:.1} s", point.seconds));
        }
    }
}

fn insert_maxima(record: &OrionRecord, metrics: &mut BTreeMap<String, f64>) {
    let maxima = record.maxima();
    for (name, extreme) in
        [("max_throughput", maxima.throughput), ("max_iops", maxima.iops), ("min_latency", maxima.latency)]
    {
        metrics.extend(extreme.map(|extreme| (name.to_owned(), extreme.value)));
    }
    // Where no point moved anything, the most is nothing.
    for (figure, name) in [("throughput", "max_throughput"), ("iops", "max_iops")] {
        let measured =
            metrics.keys().any(|metric| metric.split_once('@').is_some_and(|(own, _)| own == figure));
        if measured {
            metrics.entry(name.to_owned()).or_insert(0.0);
        }
    }
}

fn facts(record: &OrionRecord, findings: &OrionFindings, laid_out: &str) -> BTreeMap<String, String> {
    let header = &record.header;
    let mut facts = BTreeMap::from([
        ("command_line".to_owned(), header.arguments.join(" ")),
        ("laid_out".to_owned(), laid_out.to_owned()),
        ("points".to_owned(), format!("{} of {}", record.points.len(), header.total_points)),
    ]);
    let mut state = |name: &str, words: String| facts.insert(name.to_owned(), words);
    // ORION's own option counts whole seconds, so that other times are not in the command line.
    state("point_time", format!("{} s a point", header.test.duration.0.as_secs_f64()));
    let engine = match iostone_engine::uring_available() {
        Ok(()) => "io_uring".to_owned(),
        Err(reason) => format!("system calls: {reason}"),
    };
    state("engine", engine);
    let maxima = record.maxima();
    let at = |unit: Unit, extreme: MaximumAt| format!("{} @ {}", unit.format(extreme.value), extreme.point);
    for (name, unit, extreme) in [
        ("max_throughput", Unit::BytesPerSecond, maxima.throughput),
        ("max_iops", Unit::PerSecond, maxima.iops),
        ("min_latency", Unit::Seconds, maxima.latency),
    ] {
        if let Some(extreme) = extreme {
            state(name, at(unit, extreme));
        }
    }
    let alone = |small: bool| if small { "small" } else { "large" };
    for ceiling in &findings.ceilings {
        state(&format!("ceiling_{}", alone(ceiling.small)), ceiling.sentence.clone());
    }
    for plateau in &findings.plateaus {
        let rate = plateau.unit.format(plateau.rate);
        let words = format!(
            "{rate} at every load from {} to {}, within {:.1} %",
            plateau.from,
            plateau.to,
            plateau.spread * 100.0
        );
        state(&format!("plateau_{}", alone(plateau.small)), words);
    }
    // The notes of single points stand in the record; of them the remarks tell too.
    if !findings.remarks.is_empty() {
        state("remarks", findings.remarks.join("; "));
    }
    facts
}

/// What the files of a trial begin with: the test's name, without its path and without what no file's name holds.
fn prefix(record: &OrionRecord) -> String {
    let name = record.header.test.test_name.rsplit('/').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "orion".to_owned() } else { name }
}

/// ORION's files in the layout of 12, which says its units, and iostone's own record, from which all of them can be written
/// again.
fn raw(record: &OrionRecord) -> Vec<RawOutput> {
    let points = record.points.iter().map(|point| RecordLine::Point(Box::new(point.clone())));
    let lines = std::iter::once(RecordLine::Test(Box::new(record.header.clone())))
        .chain(points)
        .chain(record.end.clone().map(RecordLine::End));
    let own: String =
        lines.filter_map(|line| serde_json::to_string(&line).ok()).map(|line| line + "\n").collect();
    let prefix = prefix(record);
    let files = [
        ("summary.txt", files::summary(record, Format::V12)),
        ("iops.csv", files::iops_csv(record, Format::V12)),
        ("lat.csv", files::lat_csv(record, Format::V12)),
        ("mbps.csv", files::mbps_csv(record, Format::V12)),
        ("hist.txt", files::histogram(record)),
        ("trace.txt", files::trace(record)),
        ("record.jsonl", own),
    ];
    files.map(|(ending, text)| RawOutput { name: format!("{prefix}_{ending}"), text }).into()
}
