//! Reads what fio prints: JSON and JSON+, terse lines of versions 2 to 5, and the text meant for people.
//!
//! A file may hold several of them, with warnings and progress between: JSON counts before terse lines, those before
//! text, because they tell the same with more digits. Formats: fio(1) and fio's `stat.c` from 2.0.7 to 3.42.

mod document;
mod flow;
mod json;
mod latency;
mod numbers;
mod options;
mod source;
mod state;
mod terse;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::dataset::Observation;

use document::Document;
use json::next_value;
use source::Source;
use state::State;
use text::Text;

use crate::{Format, Head, Input, Likeness, Malformed, ReadError, Reading};

/// The output of fio.
pub(crate) struct Fio;

impl Format for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn title(&self) -> &'static str {
        "fio 2 and 3: JSON, JSON+, terse 2 to 5, and text"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let text = head.text;
        if text.contains("\"fio version\"")
            || text.lines().any(|line| terse::is_terse(line) || text::is_job(line))
        {
            Likeness::Certain
        } else if (text.contains("\"jobname\"") && text.contains("\"groupid\""))
            || text.lines().any(text::is_start)
        {
            Likeness::Likely
        } else {
            Likeness::No
        }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut source = Source::new(input)?;
        let mut states: Vec<State> = Vec::new();
        let mut superseded = 0u64;
        let mut lines = Vec::new();
        let mut text = Text::default();
        loop {
            let first = source.line();
            if source.peek_in_line()? == Some(b'{') {
                let document: Document = next_value(&mut source)?;
                let state = document.into_state().ok_or_else(|| {
                    let expected = "fio's `jobs` or `client_stats`".to_owned();
                    Malformed { line: first, expected, found: "a document without them".to_owned() }
                })?;
                // `--status-interval` prints the same jobs again and again, each time with more behind them.
                if states.last().is_some_and(|earlier| state.goes_on_from(earlier)) {
                    states.pop();
                    superseded += 1;
                }
                states.push(state.at_line(first));
                continue;
            }
            let Some(line) = source.next_line()? else { break };
            if terse::is_terse(&line.text) {
                let mut observation = terse::read_line(&line)?;
                observation.line = Some(line.number);
                lines.push(observation);
            } else {
                text.take(&line)?;
            }
        }
        let last = source.line();
        let observations = if !states.is_empty() {
            of_states(states, superseded)
        } else if !lines.is_empty() {
            number_repeats(&mut lines);
            lines
        } else {
            text.finish()
        };
        if observations.is_empty() {
            return Err(Malformed::at_end(last, "the results of a job of fio").into());
        }
        let factors = varied(&observations);
        Ok(Reading { observations, factors, ..Reading::default() })
    }
}

/// The observations of all documents, with the number of their execution if there are several.
fn of_states(states: Vec<State>, superseded: u64) -> Vec<Observation> {
    let several = states.len() > 1;
    let mut observations = Vec::new();
    for (index, state) in states.into_iter().enumerate() {
        observations.extend(state.observations.into_iter().map(|mut observation| {
            if several {
                observation.run = Some((index + 1).to_string());
            }
            observation
        }));
    }
    if superseded > 0
        && let Some(last) = observations.last_mut()
    {
        let remark = format!("{superseded} earlier states, printed while fio ran, are left out");
        last.facts.remarks.push(remark);
    }
    observations
}

/// Numbers lines of the same job, which are clones of it or other executions: the format does not tell.
fn number_repeats(observations: &mut [Observation]) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let name = |observation: &Observation| observation.labels.get("job").cloned().unwrap_or_default();
    for observation in observations.iter() {
        *counts.entry(name(observation)).or_default() += 1;
    }
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for observation in observations {
        let name = name(observation);
        if counts.get(&name).is_some_and(|count| *count > 1) {
            let number = seen.entry(name).or_default();
            *number += 1;
            observation.run = Some(number.to_string());
            let remark = "terse lines do not tell whether jobs of one name are clones or other executions";
            observation.facts.remarks.push(remark.to_owned());
        }
    }
}

/// `job`, if there are several; what else differs goes with it.
fn varied(observations: &[Observation]) -> Vec<String> {
    let jobs: BTreeSet<&String> =
        observations.iter().filter_map(|observation| observation.labels.get("job")).collect();
    if jobs.len() > 1 { vec!["job".to_owned()] } else { Vec::new() }
}
