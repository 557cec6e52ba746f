//! Keys and values of a described dataset with their places: every error names the file, the line and the key.

use std::collections::BTreeMap;

use iostone_model::dataset::Quantity;
use iostone_model::diagnostic::nearest;
use iostone_model::metric::Unit;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::DescribedError;
use crate::import::words;

/// A parsed file.
pub(super) struct Document<'a> {
    name: &'a str,
    text: &'a str,
    table: Spanned<DeTable<'a>>,
}

/// A table of it: the whole file, `[facts]`, one of the `[[table]]`s.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    /// Its keys up to here, empty for the whole file.
    path: String,
    at: usize,
}

/// A key and its value.
pub(super) struct Entry<'a> {
    document: &'a Document<'a>,
    value: &'a DeValue<'a>,
    path: String,
    at: usize,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str, name: &'a str) -> Result<Self, DescribedError> {
        let table = DeTable::parse(text).map_err(|error| DescribedError::Syntax {
            file: name.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            reason: error.message().replace('\n', ", "),
        })?;
        Ok(Self { name, text, table })
    }

    pub(super) fn root(&'a self) -> Section<'a> {
        Section { document: self, table: self.table.get_ref(), path: String::new(), at: 0 }
    }
}

fn line_of(text: &str, at: usize) -> u64 {
    text.bytes().take(at).fold(1, |line, byte| line + u64::from(byte == b'\n'))
}

impl<'a> Section<'a> {
    /// Refuses keys that are not known.
    pub(super) fn check_keys(&self, known: &[&str]) -> Result<(), DescribedError> {
        match self.entries().find(|(key, _)| !known.contains(key)) {
            Some((key, entry)) => Err(entry.unknown_key(key, known)),
            None => Ok(()),
        }
    }

    /// Every key and value, in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Entry<'a>)> {
        self.table.iter().map(|(key, value)| {
            let name: &'a str = key.get_ref();
            let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
            (name, Entry { document: self.document, value: value.get_ref(), path, at: value.span().start })
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.entries().find(|(name, _)| *name == key).map(|(_, entry)| entry)
    }

    pub(super) fn required(&self, key: &str, expected: &str) -> Result<Entry<'a>, DescribedError> {
        self.get(key).ok_or_else(|| self.missing(key, expected))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, DescribedError> {
        self.get(key).map(|entry| entry.text()).transpose()
    }

    /// The tables of a list, `[[key]]`.
    pub(super) fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, DescribedError> {
        let Some(entry) = self.get(key) else {
            return Ok(Vec::new());
        };
        let expected = format!("tables, each under `[[{key}]]`");
        let DeValue::Array(items) = entry.value else {
            return Err(entry.unexpected(&expected));
        };
        let section = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::Table(table) => Ok(Section {
                document: self.document,
                table,
                path: entry.path.clone(),
                at: item.span().start,
            }),
            _ => Err(entry.unexpected(&expected)),
        };
        items.iter().map(section).collect()
    }

    pub(super) fn missing(&self, key: &str, expected: &str) -> DescribedError {
        let key = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        DescribedError::Missing {
            file: self.document.name.to_owned(),
            line: self.line(),
            key,
            expected: expected.to_owned(),
        }
    }

    pub(super) fn line(&self) -> u64 {
        line_of(self.document.text, self.at)
    }

    /// The name of the file that it stands in.
    pub(super) fn file(&self) -> &'a str {
        self.document.name
    }
}

impl<'a> Entry<'a> {
    /// The name of the file that it stands in.
    pub(super) fn file(&self) -> &'a str {
        self.document.name
    }

    /// Text in quotes.
    pub(super) fn text(&self) -> Result<String, DescribedError> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            _ => Err(self.unexpected("text in quotes")),
        }
    }

    /// Text, a number or a truth value, as it is written.
    pub(super) fn word(&self) -> Result<String, DescribedError> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            DeValue::Datetime(time) => Ok(time.to_string()),
            _ => Err(self.unexpected("one text or number")),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self) -> Result<Vec<String>, DescribedError> {
        let DeValue::Array(items) = self.value else {
            return Err(self.unexpected("a list of texts, as in `[\"disks\"]`"));
        };
        let text = |item: &'a Spanned<DeValue<'a>>| {
            let at = item.span().start;
            Entry { document: self.document, value: item.get_ref(), path: self.path.clone(), at }.text()
        };
        items.iter().map(text).collect()
    }

    /// A table of words: labels.
    pub(super) fn words(&self) -> Result<BTreeMap<String, String>, DescribedError> {
        self.section()?.entries().map(|(key, entry)| Ok((key.to_owned(), entry.word()?))).collect()
    }

    pub(super) fn truth(&self) -> Result<bool, DescribedError> {
        match self.value {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("`true` or `false`")),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// A quantity, of one unit where only that makes sense.
    pub(super) fn quantity(&self, unit: Option<Unit>) -> Result<Quantity, DescribedError> {
        let quantity: Quantity = self.word()?.parse().map_err(|_| {
            self.unexpected(
                "a number with its unit, as in `160MiB/s`, `500Mbps`, `220GiB`, `23min`, `1000/s` or `20%`",
            )
        })?;
        match unit {
            Some(unit) if unit != quantity.unit => {
                Err(self.unexpected(&format!("a number of {}", words(unit))))
            }
            _ => Ok(quantity),
        }
    }

    pub(super) fn section(&self) -> Result<Section<'a>, DescribedError> {
        match self.value {
            DeValue::Table(table) => {
                Ok(Section { document: self.document, table, path: self.path.clone(), at: self.at })
            }
            _ => Err(self.unexpected("a table")),
        }
    }

    /// Whether text stands here between three quotes, and so in lines of its own.
    pub(super) fn has_lines(&self) -> bool {
        let written = self.document.text.get(self.at..).unwrap_or_default();
        written.starts_with("\"\"\"") || written.starts_with("'''")
    }

    /// The line on which that text begins.
    pub(super) fn first_line(&self) -> u64 {
        let written = self.document.text.get(self.at..).unwrap_or_default();
        // The end of the line behind three quotes belongs to them.
        let opened = written.get(3..).is_some_and(|rest| rest.starts_with('\n') || rest.starts_with("\r\n"));
        self.line() + u64::from(opened)
    }

    pub(super) fn line(&self) -> u64 {
        line_of(self.document.text, self.at)
    }

    /// Says what should have stood here.
    pub(super) fn unexpected(&self, expected: &str) -> DescribedError {
        let found = match self.value {
            DeValue::String(text) => shorten(text),
            DeValue::Integer(number) => format!("the number `{number}`"),
            DeValue::Float(number) => format!("the number `{number}`"),
            DeValue::Boolean(truth) => format!("`{truth}`"),
            DeValue::Datetime(time) => format!("`{time}`"),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.wrong(expected, found)
    }

    /// Says what should have been, and what is.
    pub(super) fn wrong(&self, expected: &str, found: String) -> DescribedError {
        DescribedError::Value {
            file: self.document.name.to_owned(),
            line: self.line(),
            key: self.path.clone(),
            expected: expected.to_owned(),
            found,
        }
    }

    /// Says that the last key of its path means nothing.
    pub(super) fn unknown_key(&self, key: &str, known: &[&str]) -> DescribedError {
        // `memory` is further from `memory_bytes` than a slip, but means it.
        let near = nearest(key, known.iter().copied()).or_else(|| {
            known
                .iter()
                .copied()
                .find(|name| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('_')))
        });
        let hint = near.map_or_else(
            || format!("there are `{}`", known.join("`, `")),
            |near| format!("did you mean `{near}`?"),
        );
        DescribedError::UnknownKey {
            file: self.document.name.to_owned(),
            line: self.line(),
            key: self.path.clone(),
            hint,
        }
    }
}

/// Text in backticks, its first line, at most 60 characters.
fn shorten(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("`{shown}{more}`")
}
