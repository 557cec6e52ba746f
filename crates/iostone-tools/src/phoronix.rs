//! Reads the result files of the Phoronix Test Suite (`composite.xml`): every run of every test on every system.

mod document;
mod scale;
mod system;

use std::collections::BTreeMap;
use std::io::Read;

use iostone_model::dataset::{Aggregate, Averaged, Ending, MetricNote, Observation, Order};

use crate::error::Malformed;
use crate::{Format, Head, Input, Likeness, ReadError, Reading, units};

use document::{Document, Entry, TestResult};
use scale::Scale;

/// Result files of the Phoronix Test Suite 3 and later (`result-file.xsd` of its source).
pub(crate) struct Phoronix;

/// The largest that was ever seen has 20 MB; the text is held as a whole.
const LARGEST_BYTES: u64 = 64 << 20;

/// It repeats a test until its scatter is small, a few dozen times at most.
const MOST_RUNS: usize = 10_000;

/// How far the result may lie from the mean of its runs before that is told: both are rounded.
const MEAN_TOLERANCE: f64 = 0.01;

impl Format for Phoronix {
    fn name(&self) -> &'static str {
        "phoronix"
    }

    fn title(&self) -> &'static str {
        "Phoronix Test Suite result files (composite.xml)"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let has = |tag: &str| head.text.contains(tag);
        // Its test profiles and suites have the same root.
        let results = has("<Generated>") || has("<System>") || has("<Result>");
        if has("<PhoronixTestSuite>") && results { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut bytes = Vec::new();
        input.reader().take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_BYTES {
            let expected = "a result file below 64 MiB".to_owned();
            return Err(Malformed { line: 1, expected, found: "more".to_owned() }.into());
        }
        let text = String::from_utf8_lossy(&bytes);
        let document = Document::read(text.trim_start_matches('\u{feff}'))?;
        let mut reading = Reading::default();
        for result in document.results.iter().filter(|result| result.is_a_figure()) {
            let scale = Scale::of(&result.scale, &result.proportion);
            let metric = settle(&mut reading.metrics, &scale);
            for entry in &result.entries {
                let start = start(&document, result, entry);
                reading.observations.extend(observe(&start, entry, &scale, &metric)?);
            }
        }
        if reading.observations.is_empty() {
            let line = text.lines().count() as u64;
            return Err(Malformed::at_end(line, "a `Result` with an `Entry` that is a number").into());
        }
        reading.factors = ["system", "test", "options"].map(str::to_owned).to_vec();
        // One system runs its tests one after another; when another one ran them is told by dates at best.
        reading.order = if document.systems.len() == 1 { Order::AsListed } else { Order::Unknown };
        Ok(reading)
    }
}

/// The name of a scale's figure. Results of one scale that are better in different directions are different figures.
fn settle(metrics: &mut BTreeMap<String, MetricNote>, scale: &Scale) -> String {
    let mut name = scale.name.clone();
    if metrics.get(&name).is_some_and(|note| *note != scale.note) {
        name.push_str(scale.suffix());
    }
    metrics.entry(name.clone()).or_insert_with(|| scale.note.clone());
    name
}

/// What all runs of an entry have in common.
fn start(document: &Document, result: &TestResult, entry: &Entry) -> Observation {
    let mut start =
        Observation { tool: "phoronix".to_owned(), line: Some(entry.line), ..Observation::default() };
    let titles = [&result.title, &result.description];
    start.table =
        titles.into_iter().filter(|title| !title.is_empty()).cloned().collect::<Vec<_>>().join(": ");
    let labels = [
        ("test", &result.identifier),
        ("app_version", &result.app_version),
        ("options", &result.description),
        ("system", &entry.identifier),
    ];
    for (name, value) in labels.into_iter().filter(|(_, value)| !value.is_empty()) {
        start.labels.insert(name.to_owned(), value.clone());
    }
    let work = format!("{} {}", result.identifier, result.arguments);
    start.facts.work = Some(work.trim().to_owned()).filter(|work| !work.is_empty());
    if let Some(system) = document.systems.iter().find(|system| system.identifier == entry.identifier) {
        system::describe(system, &mut start);
    }
    start
}

/// An observation of each run, or one of the result where the runs were not kept.
fn observe(
    start: &Observation,
    entry: &Entry,
    scale: &Scale,
    metric: &str,
) -> Result<Vec<Observation>, Malformed> {
    let number = |text: &str, what: &str| {
        units::figure(text, scale.factor).ok_or_else(|| Malformed::new(entry.line, what, text))
    };
    let whole = Some(entry.value.as_str()).filter(|value| !value.is_empty());
    let whole = whole.map(|value| number(value, "a number as `Value`")).transpose()?;
    let runs: Vec<&str> = entry.raw.split(':').map(str::trim).filter(|run| !run.is_empty()).collect();
    if runs.len() > MOST_RUNS {
        let expected = format!("at most {MOST_RUNS} runs in `RawString`");
        return Err(Malformed { line: entry.line, expected, found: runs.len().to_string() });
    }
    let mut observations = Vec::with_capacity(runs.len().max(1));
    for (run, text) in runs.iter().enumerate() {
        let mut observation = start.clone();
        observation.run = Some((run + 1).to_string());
        let figure = number(text, "numbers with colons in between as `RawString`")?;
        observation.figures.insert(metric.to_owned(), figure);
        observation.facts.ending = Some(Ending::Completed);
        observations.push(observation);
    }
    if let Some(whole) = whole {
        let values = observations.iter().filter_map(|one| one.value(metric)).collect::<Vec<_>>();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let apart = (whole.value - mean).abs() > MEAN_TOLERANCE * mean.abs().max(whole.value.abs());
        match observations.first_mut() {
            None => {
                let mut observation = start.clone();
                observation.figures.insert(metric.to_owned(), whole);
                observation.facts.averaged =
                    Some(Averaged { executions: None, by: Aggregate::Unknown, spread_known: false });
                observation.facts.ending = Some(Ending::Completed);
                observations.push(observation);
            }
            Some(first) if apart => first.facts.remarks.push(format!(
                "the result {} is not the mean of the runs that are listed, {}",
                scale.note.unit.format(whole.value),
                scale.note.unit.format(mean)
            )),
            Some(_) => {}
        }
    }
    if let Some(first) = observations.first_mut().filter(|first| is_mislabelled(first, metric)) {
        first.facts.remarks.push(
            "the suite's profile of fio writes fio's MiB/s as MB/s, so that the throughput is up to 4.9 % higher"
                .to_owned(),
        );
    }
    if observations.is_empty() {
        let mut observation = start.clone();
        observation.facts.ending = Some(Ending::Failed("no result was recorded".to_owned()));
        observations.push(observation);
    }
    Ok(observations)
}

/// The `results-definition.xml` of its fio profiles 1.11 to 1.15, 2.1 and 2.2 takes the number before `MiB/s`, or that
/// before `KiB/s` divided by 1000, and prints `MB/s` behind either: which of the two it was is lost.
fn is_mislabelled(observation: &Observation, metric: &str) -> bool {
    let test = observation.labels.get("test").map_or("", String::as_str);
    metric == "throughput" && test.starts_with("pts/fio-") && !test.starts_with("pts/fio-2.0.")
}
