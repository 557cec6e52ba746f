//! Rows of a catalogue as files hold them: tables by name, read with every error at its place.

use std::collections::BTreeMap;
use std::ops::Range;

use iostone_model::cloud::CatalogueDate;
use iostone_model::diagnostic::{Diagnostic, nearest};
use iostone_model::experiment::source::{Source, join};
use serde::Serialize;
use toml::{Table, Value};

use super::Catalogue;
use super::row::{Conflict, InstanceRow, is_type};
use crate::volume::VolumeRow;

/// What stands at the top of a file of rows.
const SECTIONS: &[&str] = &["schema", "instance", "volume"];

/// Rows by what they are of.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Rows {
    /// Volume types, a row for each time in which their limits held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume: Vec<VolumeRow>,
    /// Instance types by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub instance: BTreeMap<String, InstanceRow>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.instance.len() + self.volume.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where the keys of a file stand; nowhere if its places are not kept.
pub(super) trait Places {
    fn key(&self, path: &str) -> Option<Range<usize>>;
    fn value(&self, path: &str) -> Option<Range<usize>>;
    fn nearest(&self, path: &str) -> Option<Range<usize>>;
}

impl Places for Source {
    fn key(&self, path: &str) -> Option<Range<usize>> {
        Source::key(self, path)
    }

    fn value(&self, path: &str) -> Option<Range<usize>> {
        Source::value(self, path)
    }

    fn nearest(&self, path: &str) -> Option<Range<usize>> {
        Source::nearest(self, path)
    }
}

/// Reads a file of rows in TOML.
///
/// # Errors
/// Everything wrong with it, in its order; never empty.
pub fn read_rows(text: &str) -> Result<Rows, Vec<Diagnostic>> {
    let source = Source::parse(text)?;
    let mut errors = Vec::new();
    let rows = decode(&source.table, &source, &mut errors);
    if errors.is_empty() { Ok(rows) } else { Err(in_order(errors)) }
}

/// Reads a file of rows in TOML and lays them over a catalogue.
pub(super) fn read_over(catalogue: &mut Catalogue, text: &str, file: &str) -> Result<(), Vec<Diagnostic>> {
    let source = Source::parse(text)?;
    let mut errors = Vec::new();
    let rows = decode(&source.table, &source, &mut errors);
    for (name, row) in &rows.instance {
        if let Err(conflict) = lay_over(catalogue, name, row, file) {
            errors.push(told(conflict, &join("instance", name), &source));
        }
    }
    for row in &rows.volume {
        // Of every row it was found, when it was read, that it can be.
        let from = format!("your catalogue, {file} ({})", row.source);
        let told = VolumeRow { source: from, ..row.clone() };
        if let Err(error) = catalogue.volumes.insert(told) {
            errors.push(Diagnostic::new("io0006", error.to_string()));
        }
    }
    catalogue.said_volumes = rows.volume;
    catalogue.user_file = Some(file.to_owned());
    if errors.is_empty() { Ok(()) } else { Err(in_order(errors)) }
}

/// Lays a row over what a catalogue knows of the type, prices included.
pub(super) fn lay_over(
    catalogue: &mut Catalogue,
    name: &str,
    row: &InstanceRow,
    file: &str,
) -> Result<(), Conflict> {
    let instance = row.over(name, catalogue.instances.get(name), file)?;
    let from: Vec<String> =
        row.source.iter().cloned().chain(row.date.iter().map(ToString::to_string)).collect();
    let from = if from.is_empty() { String::new() } else { format!(" ({})", from.join(", ")) };
    for (region, usd) in row.usd_per_hour.iter().flatten() {
        catalogue.prices.set(name, region, *usd, format!("your catalogue, {file}{from}"));
    }
    catalogue.instances.insert(name.to_owned(), instance);
    Ok(())
}

/// Decodes the rows of a parsed file; what is wrong is added to the errors.
pub(super) fn decode(table: &Table, places: &impl Places, errors: &mut Vec<Diagnostic>) -> Rows {
    let mut rows = Rows::default();
    for (key, value) in table {
        match (key.as_str(), value) {
            // Our own exports say what they are.
            ("schema", Value::String(_)) => {}
            ("instance", Value::Table(instances)) => {
                for (name, value) in instances {
                    rows.instance
                        .extend(instance(name, value, places, errors).map(|row| (name.clone(), row)));
                }
            }
            ("volume", Value::Array(items)) => volumes(items, places, errors, &mut rows.volume),
            ("volume", _) => errors.push(
                Diagnostic::new("io0004", "`volume` is not a list of tables")
                    .at(places.value(key), "write `[[volume]]`, with its `name` and limits below"),
            ),
            ("instance", _) => errors.push(
                Diagnostic::new("io0004", "`instance` is not a table")
                    .at(places.value(key), "write `[instance.\"c4.large\"]`, with its facts below"),
            ),
            ("schema", _) => errors.push(
                Diagnostic::new("io0004", "`schema` is not text")
                    .at(places.value(key), "expected text in quotes"),
            ),
            _ => errors.push(unknown_key(key, key, "a catalogue", SECTIONS, places)),
        }
    }
    rows
}

fn instance(
    name: &str,
    value: &Value,
    places: &impl Places,
    errors: &mut Vec<Diagnostic>,
) -> Option<InstanceRow> {
    let path = join("instance", name);
    let Value::Table(table) = value else {
        let error = Diagnostic::new("io0004", format!("`{path}` is not a table"));
        errors.push(error.at(places.value(&path), "write `[instance.\"c4.large\"]`, with its facts below"));
        return None;
    };
    if !is_type(name) {
        let error = Diagnostic::new("io0005", format!("`{name}` is not the name of an instance type"));
        errors.push(error.at(places.key(&path), "expected letters, digits, `.`, `-` and `_`, at most 64"));
        return None;
    }
    let mut row = InstanceRow::default();
    let before = errors.len();
    for (key, value) in table {
        let here = join(&path, key);
        match row.set(key, value.clone()) {
            Some(Ok(())) => {}
            Some(Err(reason)) => errors.push(
                Diagnostic::new("io0004", format!("`{here}`: {reason}"))
                    .at(places.value(&here), "this value"),
            ),
            // `[instance.c4.large]` is a table within a table.
            None if value.is_table() && !InstanceRow::KEYS.contains(&key.as_str()) => errors.push(
                Diagnostic::new("io0002", format!("`{key}` is not a key of `{path}`"))
                    .at(places.key(&here), "unknown key")
                    .note(format!("a name with a dot stands in quotes: `[instance.\"{name}.{key}\"]`")),
            ),
            None => errors.push(unknown_key(key, &here, &format!("`{path}`"), InstanceRow::KEYS, places)),
        }
    }
    errors.extend(row.conflicts().into_iter().map(|conflict| told(conflict, &path, places)));
    (errors.len() == before).then_some(row)
}

/// Whether two rows are of the same type at the same time, so that one stands for the other.
pub(super) fn is_same_time(one: &VolumeRow, other: &VolumeRow) -> bool {
    let day = |row: &VolumeRow| row.since.map(CatalogueDate::day);
    one.name == other.name && day(one) == day(other)
}

fn volumes(items: &[Value], places: &impl Places, errors: &mut Vec<Diagnostic>, rows: &mut Vec<VolumeRow>) {
    for (index, value) in items.iter().enumerate() {
        let path = format!("volume[{index}]");
        let of = match value.get("name").and_then(Value::as_str) {
            Some(name) => format!("volume type `{name}`"),
            None => format!("volume type {}", index + 1),
        };
        let row: VolumeRow = match serde_path_to_error::deserialize(value.clone()) {
            Ok(row) => row,
            Err(error) => {
                let within = error.path().to_string();
                let here = if within == "." { path.clone() } else { format!("{path}.{within}") };
                let reason = error.into_inner();
                let place = places.nearest(&here).or_else(|| places.key(&path));
                let error = Diagnostic::new("io0004", format!("{of}: {}", reason.message()));
                errors.push(error.at(place, "here"));
                continue;
            }
        };
        if let Err(error) = row.check() {
            errors.push(Diagnostic::new("io0006", error.to_string()).at(places.key(&path), "this row"));
        } else if rows.iter().any(|other| is_same_time(other, &row)) {
            let error = Diagnostic::new("io0006", format!("`{}` is there twice", row.title()));
            errors.push(error.at(places.key(&path), "the second of them"));
        } else {
            rows.push(row);
        }
    }
}

fn told(conflict: Conflict, path: &str, places: &impl Places) -> Diagnostic {
    let here = join(path, conflict.key);
    let place = places.value(&here).or_else(|| places.key(path));
    Diagnostic::new("io0006", format!("`{path}`: {}", conflict.message)).at(place, conflict.expected)
}

fn unknown_key(key: &str, path: &str, of: &str, known: &[&str], places: &impl Places) -> Diagnostic {
    let error = Diagnostic::new("io0002", format!("`{key}` is not a key of {of}"))
        .at(places.key(path), "unknown key");
    match nearest(key, known.iter().copied()).or_else(|| synonym(key)) {
        Some(near) if known.contains(&near) => error.fix(near),
        _ => error.note(format!("expected {}", known.join(", "))),
    }
}

/// Words that people use for what a row calls otherwise.
fn synonym(word: &str) -> Option<&'static str> {
    Some(match word {
        "cpus" | "cores" | "vcpu" => "vcpus",
        "ram" | "mem" | "memory_mib" => "memory",
        "arch" | "architecture" => "architectures",
        "price" | "prices" | "usd" => "usd_per_hour",
        "disks" | "instance_store" | "local_disk" => "local_disks",
        "clock" | "ghz" => "clock_ghz",
        "ebs" | "ebs_bandwidth" => "ebs_baseline",
        "ebs_burst" | "ebs_max" => "ebs_maximum",
        "network" => "network_baseline",
        _ => return None,
    })
}

fn in_order(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    errors.sort_by_key(|error| error.labels.first().map_or(usize::MAX, |label| label.span.start));
    errors
}

#[cfg(test)]
mod tests {
    use iostone_model::units::{ByteRate, Bytes};

    use super::*;
    use crate::catalogue::Status;

    #[test]
    fn rows_override_field_by_field_and_say_so() {
        let text = "[instance.\"c4.large\"]\nebs_baseline = \"750Mbps\"\nusd_per_hour = { us-east-1 = 0.09, mars-1 = 1 }\n\
                    source = \"measured\"\ndate = \"2026-11\"\n[instance.mine]\n";
        let catalogue = Catalogue::with_user_rows(text, "mine.toml").unwrap();
        let changed = catalogue.instance("c4.large").unwrap();
        let ebs = changed.ebs.unwrap();
        assert_eq!((ebs.baseline, ebs.maximum), (ByteRate(93_750_000), ByteRate(93_750_000)));
        assert_eq!(changed.memory, Some(Bytes(3840 << 20)), "what is not said stays");
        assert!(
            changed
                .source
                .ends_with("ebs_baseline, usd_per_hour: your catalogue, mine.toml (measured, 2026-11)"),
            "{}",
            changed.source
        );
        let price = catalogue.price("c4.large", "us-east-1").unwrap();
        assert_eq!(price.source, "on demand in us-east-1: your catalogue, mine.toml (measured, 2026-11)");
        assert_eq!(catalogue.regions(), ["us-east-1", "ap-northeast-1", "mars-1"]);
        let mine = catalogue.instance("mine").unwrap();
        assert_eq!((mine.status, mine.vcpus, mine.memory), (Status::Named, None, None));
        assert_eq!(mine.source, "your catalogue, mine.toml");
        assert_eq!(catalogue.user_file(), Some("mine.toml"));
    }

    #[test]
    fn a_volume_type_of_the_users_has_its_limits_and_says_whose_they_are() {
        let text = "[[volume]]\nname = \"gp2\"\nsince = \"2030-01-01\"\niops = { law = \"constant\", iops = 7 }\n\
                    basis = \"assumed\"\nsource = \"a dream\"\n";
        let catalogue = Catalogue::with_user_rows(text, "f.toml").unwrap();
        let date = "2031".parse().unwrap();
        let limits = catalogue.volumes().limits(&"gp2:100GiB".parse().unwrap(), date).unwrap();
        assert_eq!(limits.iops.map(|quantity| quantity.base), Some(7.0));
        assert_eq!(limits.source, "your catalogue, f.toml (a dream)");
        let own: Vec<_> = catalogue.rows().volume.into_iter().filter(|row| row.source == "a dream").collect();
        assert_eq!(own.len(), 1, "an export holds the row as it was written");
    }

    #[test]
    fn what_is_wrong_is_told_at_its_place() {
        let cases = [
            ("[instance.\"a.b\"]\nmemry = \"1GiB\"\n", "`memry` is not a key of", "memry"),
            ("[instance.\"a.b\"]\nmemory = 3840\n", "expected a size in quotes", "3840"),
            ("[instance.\"a.b\"]\nmemory = \"3840MBit\"\n", "is not a size", "\"3840MBit\""),
            ("[instance.\"a.b\"]\nebs_baseline = \"500MBps\"\n", "is not a rate", "\"500MBps\""),
            ("[instance.\"a.b\"]\nvcpus = 0\n", "`vcpus` is 0", "0"),
            ("[instance.\"a.b\"]\necu = nan\n", "not above 0", "nan"),
            ("[instance.\"a.b\"]\nusd_per_hour = { x = 0.0 }\n", "not above 0", "{ x = 0.0 }"),
            ("[instance.c4.large]\nvcpus = 2\n", "`large` is not a key", "large"),
            ("[instances.x]\n", "`instances` is not a key of a catalogue", "instances"),
            ("[instance.\"a b\"]\n", "not the name of an instance type", "\"a b\""),
            ("[instance.\"c4.large\"]\nebs_maximum = \"1Mbps\"\n", "above `ebs_maximum`", "\"1Mbps\""),
            ("instance = 3\n", "is not a table", "3"),
            ("volume = 3\n", "is not a list of tables", "3"),
            ("[[volume]]\nname = \"x\"\nbasis = \"assumed\"\nsource = \"me\"\n", "limits nothing", ""),
            (
                "[[volume]]\nname = \"x\"\nbasis = \"guess\"\nsource = \"me\"\n",
                "unknown variant `guess`",
                "\"guess\"",
            ),
            ("[instance.x\n", "not TOML", ""),
        ];
        for (text, message, marked) in cases {
            let errors = Catalogue::with_user_rows(text, "f").unwrap_err();
            assert_eq!(errors.len(), 1, "{text}: {errors:?}");
            assert!(errors[0].message.contains(message), "{text}: {errors:?}");
            let label = &errors[0].labels[0];
            assert!(marked.is_empty() || text.get(label.span.clone()) == Some(marked), "{text}: {errors:?}");
        }
    }
}
