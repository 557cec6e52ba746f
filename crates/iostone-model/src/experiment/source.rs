//! The text of an experiment file with the place of every key and value.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;

/// Where a key and its value stand.
#[derive(Debug, Clone)]
struct Place {
    key: Range<usize>,
    value: Range<usize>,
}

/// A parsed file: its values, and where each path (`stack.volume.size`, `factor[0].name`) stands.
pub(super) struct Source {
    pub(super) table: toml::Table,
    places: BTreeMap<String, Place>,
}

impl Source {
    /// Parses the text; every syntax error is reported, not only the first.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors
                .into_iter()
                .map(|error| {
                    Diagnostic::new("io0001", "this is not TOML")
                        .at(error.span(), error.message().replace('\n', ", "))
                })
                .collect());
        }
        let mut places = BTreeMap::new();
        index_table(table.get_ref(), "", &mut places);
        let table = toml::from_str(text).map_err(|error: toml::de::Error| {
            vec![Diagnostic::new("io0001", "this is not TOML").at(error.span(), error.message().to_owned())]
        })?;
        Ok(Self { table, places })
    }

    /// The place of a path's value.
    pub(super) fn value(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).map(|place| place.value.clone())
    }

    /// The place of a path's key.
    pub(super) fn key(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).map(|place| place.key.clone())
    }

    /// The place of the longest leading part of a path that stands in the file.
    pub(super) fn nearest(&self, path: &str) -> Option<Range<usize>> {
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

/// A path's next segment: keys with dots or brackets are quoted so that paths stay unambiguous.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = if key.contains(['.', '[', ']', '"']) { format!("\"{key}\"") } else { key.to_owned() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
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
