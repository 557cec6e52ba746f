//! Reads what `iostone export --format json` writes: a dataset, as it is.

use std::io::Read;

use iostone_model::dataset::{DATASET_SCHEMA, Dataset};

use crate::error::Malformed;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// Beyond that it is no set of figures.
const LARGEST_BYTES: u64 = 256 << 20;

/// iostone's own datasets.
pub(crate) struct Exported;

impl Format for Exported {
    fn name(&self) -> &'static str {
        "iostone"
    }

    fn title(&self) -> &'static str {
        "datasets of iostone export --format json"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let named = head.text.get(..200).unwrap_or(head.text).contains(&format!("\"{DATASET_SCHEMA}\""));
        if named && head.text.trim_start().starts_with('{') { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut bytes = Vec::new();
        input.reader().take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_BYTES {
            let (expected, found) = ("a dataset of at most 256 MiB".to_owned(), "more".to_owned());
            return Err(Malformed { line: 1, expected, found }.into());
        }
        let dataset: Dataset = serde_json::from_slice(&bytes).map_err(|error| {
            let line = u64::try_from(error.line()).unwrap_or(1).max(1);
            Malformed { line, expected: format!("a dataset, `{DATASET_SCHEMA}`"), found: error.to_string() }
        })?;
        let Dataset { observations, metrics, factors, order, .. } = dataset;
        Ok(Reading { observations, metrics, factors, order })
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::dataset::Observation;

    use super::*;

    #[test]
    fn a_dataset_is_read_back() {
        let mut dataset = Dataset::new("barrier");
        dataset.factors = vec!["barrier".to_owned()];
        let mut observation = Observation { block: Some(3), ..Observation::default() };
        observation.figures.insert("iops".to_owned(), 12.5.into());
        dataset.observations.push(observation);
        let text = serde_json::to_string_pretty(&dataset).unwrap();
        assert_eq!(Exported.recognise(&Head { name: "a.json", text: &text }), Likeness::Certain);
        let read = Exported.read(&mut Input::new("a.json", text.as_bytes())).unwrap();
        assert_eq!(read.observations, dataset.observations);
        let cut = Exported.read(&mut Input::new("a.json", &text.as_bytes()[..60])).unwrap_err();
        assert!(cut.to_string().contains("expected a dataset"), "{cut}");
    }
}
