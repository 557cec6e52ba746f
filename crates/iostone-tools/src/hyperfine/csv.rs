//! hyperfine's CSV (`--export-csv`): a line of means for each command.

use std::collections::BTreeMap;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use iostone_model::dataset::Observation;

use super::summarise;
use crate::error::Malformed;
use crate::{Input, ReadError};

/// Before the names of parameters in the header.
const PARAMETER: &str = "parameter_";

pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut reader = ReaderBuilder::new().from_reader(input.reader());
    let header = reader.headers().map_err(refuse)?.clone();
    let mut observations = Vec::new();
    for record in reader.records() {
        let record = record.map_err(refuse)?;
        observations.push(row(&header, &record)?);
    }
    Ok(observations)
}

fn row(header: &StringRecord, record: &StringRecord) -> Result<Observation, ReadError> {
    let line = record.position().map_or(1, csv::Position::line);
    let mut labels = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for (name, cell) in header.iter().zip(record) {
        if name == "command" {
            labels.entry(name.to_owned()).or_insert_with(|| cell.to_owned());
        } else if let Some(parameter) = name.strip_prefix(PARAMETER) {
            labels.insert(parameter.to_owned(), cell.to_owned());
        } else {
            let number = cell.trim().parse::<f64>();
            let number = number.map_err(|_| Malformed::new(line, format!("seconds as `{name}`"), cell))?;
            // `NaN` was the standard deviation of a single run once.
            numbers.insert(name, number);
        }
    }
    let value = |name: &str| numbers.get(name).copied().filter(|number| number.is_finite());
    let mut observation = summarise(labels, value)
        .map_err(|found| Malformed::new(line, "hyperfine's columns `command,mean,stddev`", &found))?;
    observation.line = Some(line);
    Ok(observation)
}

fn refuse(error: csv::Error) -> ReadError {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        ErrorKind::Io(error) => error.into(),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let expected = format!("{expected_len} cells, as the header has");
            Malformed { line, expected, found: format!("{len}") }.into()
        }
        _ => Malformed { line, expected: "UTF-8 text".to_owned(), found: "other bytes".to_owned() }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_several_lines_is_one_cell() {
        let text = "command,mean,stddev,user,system,min,max\n\"for i in 1 2\ndo x, y\ndone\",2.5,NaN,1,0.25,2.5,2.5\nb,1,1\n";
        let error = read(&mut Input::of_text("x.csv", text)).unwrap_err();
        assert_eq!(error.to_string(), "line 5: expected 7 cells, as the header has, found 3");
        let whole = text.trim_end_matches("b,1,1\n");
        let observations = read(&mut Input::of_text("x.csv", whole)).unwrap();
        assert_eq!(observations[0].labels["command"], "for i in 1 2\ndo x, y\ndone");
        assert_eq!(observations[0].value("wall_time"), Some(2.5));
        assert_eq!(observations[0].facts.averaged, None);
        assert_eq!(observations[0].facts.cpus_used, Some(0.5));
    }
}
