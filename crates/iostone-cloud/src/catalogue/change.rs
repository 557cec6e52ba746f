//! What rows would change in a catalogue: types that it lacks, and fields with their old and new values.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::{Table, Value};

use super::Catalogue;
use super::row::{InstanceRow, PROVENANCE};
use super::rows::{Rows, is_same_time};
use crate::volume::VolumeRow;

/// What a row changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The type.
    pub name: String,
    /// Whether the catalogue lacks it.
    pub is_new: bool,
    /// Its fields that differ, in the order of files.
    pub fields: Vec<FieldChange>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Its key: `ebs_baseline`, `usd_per_hour.us-east-1`.
    pub key: String,
    /// What the catalogue has; absent where that is not known.
    pub old: Option<String>,
    /// What the row says.
    pub new: String,
}

impl Catalogue {
    /// What rows would change here. Where they are from is no change.
    pub fn changes(&self, rows: &Rows) -> Vec<Change> {
        let change = |(name, row): (&String, &InstanceRow)| {
            let known = self.instances.get(name).map(|instance| flat(&self.row(instance)));
            compare(name.clone(), known, flat(row))
        };
        let of_volume = |row: &VolumeRow| {
            let rows = self.volumes.history(&row.name).unwrap_or_default();
            let known = rows.iter().find(|other| is_same_time(other, row)).map(flat_volume);
            compare(row.title(), known, flat_volume(row))
        };
        let volumes = rows.volume.iter().filter_map(of_volume);
        rows.instance.iter().filter_map(change).chain(volumes).collect()
    }
}

fn compare(name: String, known: Option<Vec<(String, Value)>>, said: Vec<(String, Value)>) -> Option<Change> {
    let is_new = known.is_none();
    let known = known.unwrap_or_default();
    let changed = said.into_iter().filter_map(|(key, value)| {
        let old = known.iter().find(|(other, _)| *other == key).map(|(_, value)| value);
        (old != Some(&value)).then(|| FieldChange {
            old: old.map(|old| told(&key, old)),
            new: told(&key, &value),
            key,
        })
    });
    let fields: Vec<FieldChange> = changed.collect();
    (is_new || !fields.is_empty()).then_some(Change { name, is_new, fields })
}

/// The facts of a volume type by key, without where they are from.
pub(super) fn flat_volume(row: &VolumeRow) -> Vec<(String, Value)> {
    let fields = Table::try_from(row).unwrap_or_default();
    fields.into_iter().filter(|(key, _)| !PROVENANCE.contains(&key.as_str()) && key != "name").collect()
}

/// The facts of a row by key, prices by region, without where they are from.
pub(super) fn flat(row: &InstanceRow) -> Vec<(String, Value)> {
    let mut facts = Vec::new();
    let fields: Table = row.fields();
    for (key, value) in fields {
        match value {
            Value::Table(inner) => {
                // In the order of their names, whatever the order they came in.
                let inner: BTreeMap<String, Value> = inner.into_iter().collect();
                facts.extend(inner.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            _ if PROVENANCE.contains(&key.as_str()) => {}
            value => facts.push((key, value)),
        }
    }
    facts
}

/// A value of a key as people read it.
fn told(key: &str, value: &Value) -> String {
    match (key, value) {
        // The smallest and the largest of a volume type.
        ("size", Value::Array(ends)) => ends.iter().map(words).collect::<Vec<_>>().join(" to "),
        _ => words(value),
    }
}

/// A value as people read it.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("+"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::read_rows;

    #[test]
    fn only_what_differs_is_a_change() {
        let rows = read_rows(
            "[instance.\"c4.large\"]\nvcpus = 2\nmemory = \"4GiB\"\nsource = \"x\"\n\
             usd_per_hour = { us-east-1 = 0.1, mars-1 = 2.0 }\n[instance.mine]\n[instance.\"m4.large\"]\nvcpus = 2\n",
        )
        .unwrap();
        let changes = Catalogue::built_in().changes(&rows);
        let told: Vec<String> = changes
            .iter()
            .flat_map(|change| {
                let of = format!("{}{}", change.name, if change.is_new { " (new)" } else { "" });
                let fields = change.fields.iter().map(move |field| {
                    format!("{} {}: {:?} -> {}", change.name, field.key, field.old, field.new)
                });
                std::iter::once(of).chain(fields)
            })
            .collect();
        assert_eq!(
            told,
            [
                "c4.large",
                "c4.large memory: Some(\"3840MiB\") -> 4GiB",
                "c4.large usd_per_hour.mars-1: None -> 2",
                "mine (new)"
            ]
        );
    }
}
