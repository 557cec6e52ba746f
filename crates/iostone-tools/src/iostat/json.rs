//! iostat's reports as JSON (`-o JSON`, sysstat 11.5 and later).

use serde_json::Value;

use super::{Reports, reading};
use crate::json_stream;
use crate::samples::Sample;
use crate::sysstat::{Banner, DayClock, samples, time_within};
use crate::{Input, ReadError, Reading};

pub(super) fn read(input: &mut Input<'_>) -> Result<Reading, ReadError> {
    let mut banner = Banner::default();
    let mut reports = Reports::default();
    let mut clock = DayClock::default();
    let mut at_seconds = 0.0;
    let mut timed = false;
    let path = ["sysstat", "hosts", "statistics"];
    json_stream::walk(
        input.reader(),
        &path,
        "iostat's JSON with `sysstat.hosts[].statistics[]`",
        |key, value| {
            match key {
                "nodename" => value.as_str().unwrap_or_default().clone_into(&mut banner.host),
                "release" => value.as_str().unwrap_or_default().clone_into(&mut banner.kernel),
                "number-of-cpus" => banner.cpus = value.as_f64(),
                "statistics" => {
                    reports.begin();
                    let stamp = value.get("timestamp").and_then(Value::as_str).and_then(time_within);
                    timed |= stamp.is_some();
                    at_seconds = match stamp {
                        Some(seconds) => clock.seconds(seconds),
                        None => (reports.count - 1) as f64,
                    };
                    report(&mut reports, at_seconds, &value)?;
                }
                _ => {}
            }
            Ok(())
        },
    )?;
    if reports.count == 0 {
        return Err(crate::Malformed::at_end(1, "a report in `sysstat.hosts[].statistics[]`").into());
    }
    let observations = reports.finish(banner.observation("iostat", 1), timed);
    Ok(reading(observations))
}

fn report(reports: &mut Reports, at_seconds: f64, report: &Value) -> Result<(), String> {
    if let Some(cpu) = report.get("avg-cpu") {
        reports.add(at_seconds, None, row(cpu)?);
    }
    for disk in report.get("disk").and_then(Value::as_array).into_iter().flatten() {
        let name = disk.get("disk_device").and_then(Value::as_str).ok_or("a disk without `disk_device`")?;
        reports.add(at_seconds, Some(name), row(disk)?);
    }
    Ok(())
}

/// The samples of an object: its keys are the titles of the text.
fn row(object: &Value) -> Result<Vec<Sample>, String> {
    let members = object.as_object().ok_or("figures that are no object")?;
    // Always two decimals, which reading the JSON has dropped where they are zeros.
    let numbers = members.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_f64()?)));
    let printed: Vec<(&str, String)> = numbers.map(|(key, value)| (key, format!("{value:.2}"))).collect();
    let pairs: Vec<(&str, &str)> = printed.iter().map(|(key, text)| (*key, text.as_str())).collect();
    samples(&pairs).map_err(|text| format!("`{text}` where a number should be"))
}
