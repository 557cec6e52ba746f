//! The `ioping` workload: single requests to a temporary file of ioping's own, and how long each took.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_model::experiment::IopingWorkload;
use serde::Deserialize;

use crate::program::{Finished, Program};
use crate::tool::{self, in_plain_words, measurement, observe};
use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};

/// Up to so many requests each is printed; beyond, the output would pass what is kept of it.
const MOST_PRINTED: f64 = 20_000.0;

/// The form in which ioping is asked for its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `-J`, since 1.2: nanoseconds of every request and of all.
    Json,
    /// `-B`: one line of nanoseconds at the end.
    Batch,
}

struct PreparedIoping {
    spec: IopingWorkload,
    program: Program,
    version: String,
    form: Form,
}

pub(crate) fn prepare(
    spec: &IopingWorkload,
    place: &Place,
    context: &TrialContext,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let version = tool::version("ioping", "-v")?;
    let speaks_json = tool::ask("ioping", "-h")?.contains("-json");
    let form = if speaks_json && requests(spec) <= MOST_PRINTED { Form::Json } else { Form::Batch };
    let program = Program::in_trial(arguments(spec, context.seed, form), place, context, "ioping")
        .map(in_plain_words)?;
    Ok(Box::new(PreparedIoping { spec: spec.clone(), program, version, form }))
}

/// How many requests there will be at most; without pauses nobody knows.
fn requests(spec: &IopingWorkload) -> f64 {
    let interval = spec.interval.map_or(Duration::from_secs(1), |interval| interval.0);
    let by_time = spec.asked_time().map_or(f64::INFINITY, |time| time.as_secs_f64() / interval.as_secs_f64());
    spec.count.map_or(by_time, f64::from)
}

/// ioping's command line.
fn arguments(spec: &IopingWorkload, seed: u64, form: Form) -> Vec<String> {
    let mut argv = vec!["ioping".to_owned()];
    let mut add = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            argv.extend([flag.to_owned(), value]);
        }
    };
    let microseconds = |time: Duration| format!("{}us", time.as_micros());
    add("-c", spec.count.map(|count| count.to_string()));
    let time = if spec.count.is_none() { spec.asked_time() } else { spec.runtime.map(|runtime| runtime.0) };
    add("-w", time.map(microseconds));
    add("-i", spec.interval.map(|interval| microseconds(interval.0)));
    add("-s", spec.size.map(|size| size.0.to_string()));
    add("-S", spec.working_set.map(|size| size.0.to_string()));
    // The same offsets for the same seed; 0 would be drawn anew.
    add("-e", Some(((seed & 0x7fff_ffff) | 1).to_string()));
    let flags = [
        (spec.linear, "-L"),
        (spec.write, "-W"),
        (spec.direct, "-D"),
        (spec.cached, "-C"),
        (spec.sync, "-Y"),
        (form == Form::Json, "-J"),
        (form == Form::Batch, "-B"),
    ];
    argv.extend(flags.iter().filter(|(set, _)| *set).map(|(_, flag)| (*flag).to_owned()));
    argv.push(".".to_owned());
    argv
}

impl Prepared for PreparedIoping {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.program.run(stop)?;
        Ok(self.measurement(&finished))
    }
}

impl PreparedIoping {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let mut measured = measurement("ioping", &self.program, &self.version, finished);
        measured.take(observe("ioping", &finished.stdout));
        if self.form == Form::Json {
            measured.report.latency_histogram = latencies(&finished.stdout);
            let requests: u64 = measured.report.latency_histogram.iter().map(|(_, count)| count).sum();
            // Its own rate leaves the pauses out, so that the requests themselves have to be told.
            measured.report.operations = Some(requests).filter(|requests| *requests > 0);
        }
        // Only a byte count that the tool names itself can be held against what the device served.
        measured.report.must_reach_device = self.spec.direct;
        measured.state("warm_up", "the first request counts in no figure");
        measured
    }
}

/// An element of ioping's JSON: one request, or the statistics at the end.
#[derive(Deserialize)]
struct Element {
    io: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    /// Nanoseconds.
    time: u64,
    #[serde(default)]
    ignored: bool,
}

/// The time of each request that counts, in nanoseconds, with how many took just so long.
fn latencies(text: &str) -> Vec<(u64, u64)> {
    let elements: Vec<Element> = serde_json::from_str(text).unwrap_or_default();
    let mut counts = std::collections::BTreeMap::new();
    for request in elements.into_iter().filter_map(|element| element.io).filter(|request| !request.ignored) {
        *counts.entry(request.time).or_insert(0u64) += 1;
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::{Bytes, Span};

    fn spec() -> IopingWorkload {
        IopingWorkload {
            count: None,
            runtime: None,
            interval: None,
            size: None,
            working_set: None,
            linear: false,
            write: false,
            direct: false,
            cached: false,
            sync: false,
        }
    }

    #[test]
    fn options_are_spelt_as_ioping_spells_them() {
        assert_eq!(arguments(&spec(), 4, Form::Json).join(" "), "ioping -w 10000000us -e 5 -J .");
        let full = IopingWorkload {
            count: Some(30),
            interval: Some(Span(Duration::from_millis(10))),
            size: Some(Bytes(8192)),
            working_set: Some(Bytes(1 << 24)),
            write: true,
            direct: true,
            sync: true,
            ..spec()
        };
        assert_eq!(
            arguments(&full, 0, Form::Batch).join(" "),
            "ioping -c 30 -i 10000us -s 8192 -S 16777216 -e 1 -W -D -Y -B ."
        );
    }

    #[test]
    fn without_pauses_nobody_knows_how_much_would_be_printed() {
        let at_once = IopingWorkload { interval: Some(Span(Duration::ZERO)), ..spec() };
        assert!(requests(&at_once) > MOST_PRINTED);
        assert!((requests(&spec()) - 10.0).abs() < 1e-9);
        assert!((requests(&IopingWorkload { count: Some(3), ..at_once }) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn warm_ups_are_in_no_histogram() {
        let printed = r#"[{ "io": { "request": 1, "time": 900, "ignored": true } },
            { "io": { "request": 2, "time": 250, "ignored": false } }, { "stat": { "count": 1 } }]"#;
        assert_eq!(latencies(printed), [(250, 1)]);
    }
}
