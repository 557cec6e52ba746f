//! sar's data as sadf prints it: `-d` in columns between semicolons, `-j` as JSON.

use iostone_model::dataset::Observation;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::Value;

use super::cpu;
use crate::error::Malformed;
use crate::json_stream;
use crate::samples::{Sample, Samples};
use crate::sysstat::{Banner, meaning, samples};
use crate::{Input, ReadError};

/// The titles of a `sadf -d` header: `# hostname;interval;timestamp;CPU;%user;...`.
pub(super) fn header(line: &str) -> Option<Vec<&str>> {
    let titles: Vec<&str> = line.strip_prefix('#')?.trim().split(';').collect();
    let own = titles.first() == Some(&"hostname") && titles.get(2) == Some(&"timestamp");
    own.then_some(titles)
}

pub(super) fn read_table(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut titles: Vec<String> = Vec::new();
    let mut first_line = None;
    let mut banner = Banner::default();
    let mut course = Elapsed::default();
    let mut table = Samples::default();
    while let Some(line) = input.next_line()? {
        if let Some(found) = header(&line.text) {
            titles = found.into_iter().map(str::to_owned).collect();
            first_line.get_or_insert(line.number);
            // A further table begins at the same time as the first one.
            course.last = 0.0;
            continue;
        }
        let fields: Vec<&str> = line.text.trim().split(';').collect();
        if titles.is_empty() || fields.len() == 1 || line.text.contains("LINUX-RESTART") {
            continue;
        }
        if fields.len() != titles.len() {
            return Err(line.malformed(format!("{} fields between semicolons", titles.len())).into());
        }
        let stamp = fields.get(2).copied().unwrap_or_default();
        let now = stamp_seconds(stamp).ok_or_else(|| line.malformed("a time in the third field"))?;
        let interval = fields.get(1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
        let at_seconds = course.at(now, interval);
        banner.host = fields.first().map(|host| (*host).to_owned()).unwrap_or_default();
        let pairs: Vec<(&str, &str)> =
            titles.iter().map(String::as_str).zip(fields.iter().copied()).collect();
        let row = samples(&pairs).map_err(|text| line.malformed(format!("a number instead of `{text}`")))?;
        let named = |wanted: &str| pairs.iter().find(|(title, _)| *title == wanted).map(|(_, value)| *value);
        let thing = named("CPU").map_or_else(|| named("DEV").map(|name| ("device", name)), cpu);
        table.add(thing, at_seconds, row);
    }
    let Some(first_line) = first_line.filter(|_| !table.is_empty()) else {
        return Err(Malformed::at_end(input.line(), "rows under `# hostname;interval;timestamp;...`").into());
    };
    Ok(table.into_observations(&banner.observation("sar", first_line)))
}

/// `2026-11-22 04:34:49 UTC`, local time without the zone's name (`-t`), or seconds since 1970 (`-U`).
fn stamp_seconds(stamp: &str) -> Option<f64> {
    if let Ok(seconds) = stamp.parse::<f64>() {
        return Some(seconds).filter(|seconds| seconds.is_finite());
    }
    let mut parts = stamp.split_whitespace();
    let (date, time) = (parts.next()?, parts.next()?);
    let moment: DateTime = format!("{date}T{time}").parse().ok()?;
    let moment: Timestamp = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(moment.as_second() as f64)
}

/// Seconds since the beginning of the first interval, never backwards.
#[derive(Default)]
struct Elapsed {
    start: Option<f64>,
    last: f64,
}

impl Elapsed {
    fn at(&mut self, now: f64, interval: f64) -> f64 {
        let start = *self.start.get_or_insert(now - interval.clamp(0.0, 86_400.0));
        self.last = self.last.max(now - start);
        self.last
    }
}

pub(super) fn read_json(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut banner = Banner::default();
    let mut course = Elapsed::default();
    let mut table = Samples::default();
    let path = ["sysstat", "hosts", "statistics"];
    json_stream::walk(
        input.reader(),
        &path,
        "sadf's JSON with `sysstat.hosts[].statistics[]`",
        |key, value| {
            match key {
                "nodename" => value.as_str().unwrap_or_default().clone_into(&mut banner.host),
                "release" => value.as_str().unwrap_or_default().clone_into(&mut banner.kernel),
                "number-of-cpus" => banner.cpus = value.as_f64(),
                "statistics" => sample(&value, &mut course, &mut table)?,
                _ => {}
            }
            Ok(())
        },
    )?;
    if table.is_empty() {
        return Err(Malformed::at_end(1, "samples of CPUs, disks or I/O in `statistics[]`").into());
    }
    Ok(table.into_observations(&banner.observation("sar", 1)))
}

fn sample(statistics: &Value, course: &mut Elapsed, table: &mut Samples) -> Result<(), String> {
    let Some(stamp) = statistics.get("timestamp") else { return Ok(()) };
    let part = |key: &str| stamp.get(key).and_then(Value::as_str).unwrap_or_default();
    let text = format!("{} {}", part("date"), part("time"));
    let now = stamp_seconds(&text).ok_or_else(|| format!("timestamp {text}"))?;
    let at_seconds = course.at(now, stamp.get("interval").and_then(Value::as_f64).unwrap_or(0.0));
    for load in ["cpu-load", "cpu-load-all"] {
        for row in statistics.get(load).and_then(Value::as_array).into_iter().flatten() {
            let name =
                row.get("cpu").map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned));
            table.add(cpu(&name.unwrap_or_else(|| "all".to_owned())), at_seconds, numbers(&[row])?);
        }
    }
    for disk in statistics.get("disk").and_then(Value::as_array).into_iter().flatten() {
        let name = disk.get("disk-device").and_then(Value::as_str).ok_or("a disk without `disk-device`")?;
        table.add(Some(("device", name)), at_seconds, numbers(&[disk])?);
    }
    if let Some(io) = statistics.get("io") {
        let parts = [Some(io), io.get("io-reads"), io.get("io-writes")];
        table.add(None, at_seconds, numbers(&parts.into_iter().flatten().collect::<Vec<_>>())?);
    }
    Ok(())
}

/// The samples of objects: their keys are nearly the titles of the text, and all have two decimals.
fn numbers(objects: &[&Value]) -> Result<Vec<Sample>, String> {
    let members = objects.iter().filter_map(|object| object.as_object()).flatten();
    let members = members.filter_map(|(key, value)| Some((key.as_str(), value.as_f64()?)));
    let printed: Vec<(&str, String)> = members
        .filter(|(key, _)| meaning(key).is_some())
        .map(|(key, value)| (key, format!("{value:.2}")))
        .collect();
    let pairs: Vec<(&str, &str)> = printed.iter().map(|(key, text)| (*key, text.as_str())).collect();
    samples(&pairs).map_err(|text| format!("`{text}` where a number should be"))
}
