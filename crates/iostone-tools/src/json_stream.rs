//! Reads JSON piece by piece: hands out the elements of a deep array one at a time, so that a log of any length is
//! read in little memory.

use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::ReadError;
use crate::error::Malformed;

/// Walks down objects along `path`, through arrays on the way, and hands every element of the array at its end to
/// `take`, with the last key as name; and, on the way, every other member of those objects, with its key.
///
/// # Errors
/// The system's, what is no JSON, with its line, and what `take` refuses.
pub(crate) fn walk(
    reader: impl BufRead,
    path: &[&str],
    expected: &str,
    mut take: impl FnMut(&str, Value) -> Result<(), String>,
) -> Result<(), ReadError> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let walked = Step { path, key: "", take: &mut take }.deserialize(&mut deserializer);
    walked.and_then(|()| deserializer.end()).map_err(|error| {
        if error.is_io() {
            return ReadError::Io(error.into());
        }
        let line = error.line() as u64;
        if error.is_eof() {
            return Malformed::at_end(line, expected).into();
        }
        // serde_json appends where it was; the line is told already.
        let told = error.to_string();
        let told = told.split(" at line ").next().unwrap_or_default();
        Malformed::new(line, expected, told).into()
    })
}

struct Step<'a, F> {
    path: &'a [&'a str],
    key: &'a str,
    take: &'a mut F,
}

impl<'de, F: FnMut(&str, Value) -> Result<(), String>> DeserializeSeed<'de> for Step<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(&str, Value) -> Result<(), String>> Visitor<'de> for Step<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((wanted, deeper)) = self.path.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(Step { path: deeper, key: wanted, take: &mut *self.take })?;
            } else {
                let value = map.next_value::<Value>()?;
                (self.take)(&key, value).map_err(A::Error::custom)?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        if self.path.is_empty() {
            while let Some(element) = elements.next_element::<Value>()? {
                (self.take)(self.key, element).map_err(A::Error::custom)?;
            }
        } else {
            while elements
                .next_element_seed(Step { path: self.path, key: self.key, take: &mut *self.take })?
                .is_some()
            {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_handed_out_one_by_one() {
        let text = r#"{"a": {"b": [{"name": "x", "c": [1, 2]}, {"c": [3]}]}}"#;
        let mut taken = Vec::new();
        walk(text.as_bytes(), &["a", "b", "c"], "it", |key, value| {
            taken.push(format!("{key}={value}"));
            Ok(())
        })
        .unwrap();
        assert_eq!(taken, ["name=\"x\"", "c=1", "c=2", "c=3"]);
    }

    #[test]
    fn a_text_that_is_cut_off_is_told_with_its_line() {
        let error = walk("[1,\n2".as_bytes(), &[], "a list", |_, _| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "line 2: expected a list, found the end of the file");
        let error = walk("[1]".as_bytes(), &[], "a list", |_, _| Err("no".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected a list, found `no`");
    }
}
