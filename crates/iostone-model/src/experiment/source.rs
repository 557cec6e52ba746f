//! The text of an experiment file, or of any other in TOML, with the place of every key and value.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::diagnostic::Diagnostic;

/// What is no experiment file at all is wrong in every line; nobody needs to be told so often.
const MOST_SYNTAX_ERRORS: usize = 10;

/// Where a key and its value stand.
#[derive(Debug, Clone)]
struct Place {
    key: Range<usize>,
    value: Range<usize>,
}

/// A parsed file: its values, and where each path (`stack.volume.size`, `factor[0].name`) stands.
#[derive(Debug)]
pub struct Source {
    /// The values.
    pub table: Table,
    places: BTreeMap<String, Place>,
}

impl Source {
    /// Parses the text; every syntax error is reported, not only the first.
    ///
    /// # Errors
    /// What is not TOML, each at its place; never empty.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let errors = errors.into_iter().map(|error| (error.span(), error.message().to_owned())).collect();
            return Err(syntax_errors(text, errors));
        }
        let mut places = BTreeMap::new();
        index_table(table.get_ref(), "", &mut places);
        let table = toml::from_str(text).map_err(|error: toml::de::Error| {
            syntax_errors(text, vec![(error.span(), error.message().to_owned())])
        })?;
        Ok(Self { table, places })
    }

    /// The place of a path's value.
    pub fn value(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).map(|place| place.value.clone())
    }

    /// The place of a path's key.
    pub fn key(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).map(|place| place.key.clone())
    }

    /// The place of the longest leading part of a path that stands in the file.
    pub fn nearest(&self, path: &str) -> Option<Range<usize>> {
        let mut end = path.len();
        loop {
            let part = path.get(..end)?;
            if let Some(place) = self.places.get(part) {
                // A header's table spans little that is worth underlining: point at its key.
                return Some(if end == path.len() { place.value.clone() } else { place.key.clone() });
            }
            end = part.rfind(['.', '['])?;
        }
    }
}

/// What the parser found, in the order of the file and without what only follows from an earlier error: one error a
/// line, and none after a list or inline table went wrong, because from there on the parser reads the rest of the file
/// as its content.
fn syntax_errors(text: &str, mut errors: Vec<(Option<Range<usize>>, String)>) -> Vec<Diagnostic> {
    errors.sort_by_key(|(span, _)| span.as_ref().map_or(0, |span| span.start));
    let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let mut last_line = None;
    let mut diagnostics = Vec::new();
    for (span, message) in errors {
        let this_line = span.as_ref().map(|span| line(span.start));
        if this_line.is_some() && this_line == last_line {
            continue;
        }
        last_line = this_line;
        let nested = ["array", "inline table"].iter().any(|word| message.contains(word));
        diagnostics.push(syntax_error(text, span, &message, nested));
        if nested || diagnostics.len() == MOST_SYNTAX_ERRORS {
            break;
        }
    }
    if let (true, Some(first)) = (text.trim_start().starts_with('{'), diagnostics.first_mut()) {
        first.notes.push("it looks like JSON; an experiment file is written in TOML".to_owned());
        diagnostics.truncate(1);
    }
    diagnostics
}

fn syntax_error(text: &str, span: Option<Range<usize>>, message: &str, nested: bool) -> Diagnostic {
    let marked = span.clone().and_then(|span| text.get(span)).unwrap_or_default();
    if message == "duplicate key" {
        return Diagnostic::new("io0001", format!("`{marked}` is given twice"))
            .at(span, "the second of them");
    }
    let label = match message {
        // The parser takes whatever is no value for text without quotes, even where nothing stands.
        _ if message.starts_with("string values must be quoted") && marked.trim().is_empty() => {
            "a value is missing here".to_owned()
        }
        _ if message.starts_with("string values must be quoted") => "put text in quotes".to_owned(),
        _ => message.replace('\n', ", "),
    };
    let error = Diagnostic::new("io0001", "this is not TOML").at(span, label);
    if nested { error.note("a `]` or `}` may be missing before this place") } else { error }
}

/// A path's next segment: keys with dots or brackets are quoted so that paths stay unambiguous.
pub fn join(path: &str, key: &str) -> String {
    let key = if key.contains(['.', '[', ']', '"']) { format!("\"{key}\"") } else { key.to_owned() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Puts a value at a path of keys, making the tables on the way.
pub(super) fn set(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    if first.is_empty() {
        return Err("a path is `key.key`, as in `stack.volume.size`".to_owned());
    }
    let Some(rest) = rest else {
        table.insert(first.to_owned(), value);
        return Ok(());
    };
    match table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => set(inner, rest, value),
        _ => Err(format!("`{first}` is not a table")),
    }
}

fn index_table(table: &DeTable<'_>, path: &str, places: &mut BTreeMap<String, Place>) {
    for (key, value) in table {
        let inner = join(path, key.get_ref());
        places.insert(inner.clone(), Place { key: key.span(), value: value.span() });
        index_value(value.get_ref(), &inner, places);
    }
}

fn index_value(value: &DeValue<'_>, path: &str, places: &mut BTreeMap<String, Place>) {
    match value {
        DeValue::Table(table) => index_table(table, path, places),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let inner = format!("{path}[{index}]");
                places.insert(inner.clone(), Place { key: item.span(), value: item.span() });
                index_value(item.get_ref(), &inner, places);
            }
        }
        _ => {}
    }
}
