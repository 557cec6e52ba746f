//! hyperfine's JSON (`--export-json`): a list of results, each with the time of every run.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ending, Figure, Observation};
use serde_json::Value;

use super::{cpus_used, observation, summarise};
use crate::json_stream;
use crate::{Input, ReadError};

/// More runs of one command than anybody waits for; each becomes an observation with all labels.
const MOST_RUNS: usize = 100_000;

pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut observations = Vec::new();
    json_stream::walk(input.reader(), &["results"], "hyperfine's `results`", |key, result| {
        if key == "results" {
            observations.extend(runs(&result)?);
        }
        Ok(())
    })?;
    Ok(observations)
}

/// One observation of each run, or a single one of all where the runs were not kept.
fn runs(result: &Value) -> Result<Vec<Observation>, String> {
    let labels = labels(result)?;
    let number = |name: &str| result.get(name).and_then(Value::as_f64);
    let Some(times) = result.get("times").and_then(Value::as_array).filter(|times| !times.is_empty()) else {
        return Ok(vec![summarise(labels, number)?]);
    };
    if times.len() > MOST_RUNS {
        return Err(format!("{} runs of one command, above {MOST_RUNS}", times.len()));
    }
    let cpus = cpus_used(number("user"), number("system"), number("mean"));
    let of_run = |name: &str, run: usize| result.get(name).and_then(|list| list.get(run));
    let mut observations = Vec::with_capacity(times.len());
    for (run, time) in times.iter().enumerate() {
        let seconds = time.as_f64().ok_or_else(|| format!("the time {time} of a run"))?;
        let mut one = observation(labels.clone());
        one.run = Some((run + 1).to_string());
        one.figures.insert("wall_time".to_owned(), Figure::from(seconds));
        if let Some(bytes) = of_run("memory_usage_byte", run).and_then(Value::as_f64) {
            one.figures.insert("memory_max".to_owned(), Figure { value: bytes, step: 1.0 });
        }
        one.facts.cpus_used = cpus;
        one.facts.ending = of_run("exit_codes", run).map(ending);
        observations.push(one);
    }
    // CPU times are known as means only. Repeated in every run, they would look as if they never scattered.
    let names = if times.len() == 1 {
        [("user", "user_time"), ("system", "system_time")]
    } else {
        [("user", "user_time_mean"), ("system", "system_time_mean")]
    };
    for (name, figure) in names {
        if let (Some(first), Some(seconds)) = (observations.first_mut(), number(name)) {
            first.figures.insert(figure.to_owned(), Figure::from(seconds));
        }
    }
    Ok(observations)
}

/// The command and its parameters: `parameters` since 1.10, a single unnamed `parameter` before.
fn labels(result: &Value) -> Result<BTreeMap<String, String>, String> {
    let command = result.get("command").and_then(Value::as_str).ok_or("a result without `command`")?;
    let mut labels = BTreeMap::from([("command".to_owned(), command.to_owned())]);
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(parameter) = result.get("parameter").filter(|parameter| !parameter.is_null()) {
        labels.insert("parameter".to_owned(), written(parameter));
    }
    for (name, value) in result.get("parameters").and_then(Value::as_object).into_iter().flatten() {
        labels.insert(name.clone(), written(value));
    }
    Ok(labels)
}

/// How a run ended: an exit code, or null where a signal ended it.
fn ending(code: &Value) -> Ending {
    match code.as_i64() {
        Some(0) => Ending::Completed,
        Some(code) => Ending::Failed(format!("exit status {code}")),
        None => Ending::Failed("terminated by a signal".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_a_signal_ended_failed() {
        let text = r#"{"results": [{"command": "x", "mean": 1.0, "times": [1.0, 2.0], "exit_codes": [null, 0],
            "memory_usage_byte": [4096, 8192], "parameter": 3}]}"#;
        let observations = read(&mut Input::of_text("x.json", text)).unwrap();
        assert_eq!(observations[0].facts.ending, Some(Ending::Failed("terminated by a signal".to_owned())));
        assert_eq!(observations[1].value("memory_max"), Some(8192.0));
        assert_eq!(observations[1].labels["parameter"], "3");
    }

    #[test]
    fn results_that_lack_something_are_refused_with_their_line() {
        let error = |text| read(&mut Input::of_text("x.json", text)).unwrap_err().to_string();
        assert_eq!(
            error("{\"results\":\n[{\"mean\": 1}]}"),
            "line 2: expected hyperfine's `results`, found `a result without `command``"
        );
        assert_eq!(
            error(r#"{"results": [{"command": "x", "times": ["soon"]}]}"#),
            "line 1: expected hyperfine's `results`, found `the time \"soon\" of a run`"
        );
        assert!(error("{\"results\": [\n").contains("found the end of the file"));
    }
}
