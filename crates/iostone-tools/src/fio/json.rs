//! A JSON document within a file, and its errors as places in that file.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::source::Source;
use crate::{Malformed, ReadError};

/// How much of a bad line is repeated.
const SHOWN: usize = 40;

/// The next JSON value of a source, which is left right behind it.
///
/// # Errors
/// The system's, or where and how the JSON is not as expected.
pub(super) fn next_value<T: DeserializeOwned>(source: &mut Source<'_, '_>) -> Result<T, ReadError> {
    let first = source.line();
    let result = T::deserialize(&mut serde_json::Deserializer::from_reader(&mut *source));
    result.map_err(|error| explain(error, first, source))
}

/// Says where in the file the JSON, which began on line `first`, is not as expected.
fn explain(error: serde_json::Error, first: u64, source: &Source<'_, '_>) -> ReadError {
    let line = first + (error.line() as u64).saturating_sub(1);
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before).to_owned();
    match error.classify() {
        Category::Io => ReadError::Io(error.into()),
        Category::Eof => Malformed::at_end(line, "the rest of the JSON").into(),
        Category::Syntax | Category::Data => {
            let place = place(&source.recent(), error.column());
            let (expected, found) = match message.rsplit_once(", expected ") {
                Some((found, expected)) => (expected.to_owned(), format!("{found} {place}")),
                None => match (message.strip_prefix("expected "), message.strip_prefix("missing ")) {
                    (Some(expected), _) => (expected.to_owned(), place),
                    (_, Some(missing)) => (format!("a {missing}"), format!("an object without it {place}")),
                    _ => ("other JSON".to_owned(), format!("{message} {place}")),
                },
            };
            Malformed { line, expected, found }.into()
        }
    }
}

/// What was read last, which may go a little beyond, and the column.
fn place(recent: &str, column: usize) -> String {
    let from = recent.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    let shown = recent.get(from..).unwrap_or_default();
    format!("near `{shown}`, column {column}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Input;

    fn refusal(text: &str) -> String {
        let mut input = Input::of_text("x", text);
        let mut source = Source::new(&mut input).unwrap();
        next_value::<BTreeMap<String, u64>>(&mut source).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_its_line_and_what_was_expected() {
        assert_eq!(
            refusal("\n{\n \"a\": 1\n \"b\": 2}"),
            "line 4: expected `,` or `}`, found near `\"`, column 2"
        );
        assert_eq!(
            refusal("{\"a\": \"x\"}"),
            "line 1: expected u64, found invalid type: string \"x\" near `{\"a\": \"x\"}`, column 9"
        );
        assert_eq!(refusal("{\"a\": 1"), "line 1: expected the rest of the JSON, found the end of the file");
        assert_eq!(refusal(""), "line 1: expected the rest of the JSON, found the end of the file");
    }
}
