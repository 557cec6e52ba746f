//! Reads the tables whose `kind` says which of several things they are.
//!
//! serde loses the path of an error inside a tagged enum, so the kind is read first and the rest is decoded as
//! the one type it must be.

use serde::Deserialize;
use toml::{Table, Value};

use super::combine::{Places, list};
use super::decode::decode;
use super::source::join;
use super::{Array, Container, Filesystem, LIMIT_KEYS, MachineSpec, Volume, WORKLOAD_KINDS, Workload};
use crate::cloud::VolumeSpec;
use crate::diagnostic::{Diagnostic, nearest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The kind of a table and the rest of it.
fn kind<'a>(
    value: &'a Value,
    path: &str,
    kinds: &[&str],
    planned: &[&str],
    places: &Places<'_>,
) -> Result<(&'a str, Value), Diagnostic> {
    let noun = path.rsplit('.').next().unwrap_or(path);
    let Value::Table(table) = value else {
        let error = Diagnostic::new("io0004", format!("`{noun}` is not a table"));
        let example =
            format!("expected a table, as in {{ kind = \"{}\" }}", kinds.first().unwrap_or(&"none"));
        return Err(places.at_value(error, path, &example));
    };
    let kind_path = join(path, "kind");
    let kind = match table.get("kind") {
        None => {
            let error = Diagnostic::new("io0003", format!("`{path}` has no `kind`"));
            let label = format!("add `kind = \"{}\"`", kinds.first().unwrap_or(&"none"));
            return Err(places.at_key(error, path, &label).note(format!("expected {}", list(kinds))));
        }
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => {
            let error = Diagnostic::new("io0004", format!("the kind of {noun} is not a string"));
            return Err(places.at_value(error, &kind_path, "expected a quoted string"));
        }
    };
    if kinds.contains(&kind) {
        let mut rest: Table = table.clone();
        rest.remove("kind");
        return Ok((kind, Value::Table(rest)));
    }
    let (message, label) = if planned.contains(&kind) {
        (format!("this version of iostone has no {noun} of kind `{kind}`"), "not in this version")
    } else {
        (format!("`{kind}` is not a kind of {noun}"), "unknown kind")
    };
    let error = places.at_value(Diagnostic::new("io0005", message), &kind_path, label);
    Err(match nearest(kind, kinds.iter().copied()) {
        Some(near) if !planned.contains(&kind) => error.fix(format!("\"{near}\"")),
        _ => error.note(format!("expected {}", list(kinds))),
    })
}

pub(super) fn volume(value: &Value, path: &str, places: &Places<'_>) -> Result<Volume, Diagnostic> {
    match kind(value, path, &["loop", "block", "directory", "emulated"], &[], places)? {
        ("loop", rest) => decode(rest, path, places).map(Volume::Loop),
        ("emulated", rest) => {
            refuse_whole_spec(&rest, path, places)?;
            decode(rest, path, places).map(Volume::Emulated)
        }
        ("block", rest) => {
            refuse_limits(&rest, "block", path, places)?;
            decode(rest, path, places).map(Volume::Block)
        }
        (_, rest) => {
            refuse_limits(&rest, "directory", path, places)?;
            decode(rest, path, places).map(Volume::Directory)
        }
    }
}

/// `gp2:220GiB` is how volumes are named on command lines; a file has a key for each of its parts.
fn refuse_whole_spec(rest: &Value, path: &str, places: &Places<'_>) -> Result<(), Diagnostic> {
    let text = rest.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some((name, _)) = text.split_once(':') else { return Ok(()) };
    let error = Diagnostic::new("io0006", format!("`{text}` is not just the name of a volume type"));
    let error = places.at_value(error, &join(path, "type"), "only the name");
    let Ok(spec) = text.parse::<VolumeSpec>() else { return Err(error) };
    let mut parts = vec![format!("\"{}\"", name.trim_start_matches(&format!("{}x", spec.count)))];
    let said = |key: &str| rest.get(key).is_some();
    let mut part = |key: &str, value: Option<String>| {
        parts.extend(value.filter(|_| !said(key)).map(|value| format!("{key} = {value}")));
    };
    part("size", Some(format!("\"{}\"", spec.size)));
    part("iops", spec.iops.map(|iops| iops.to_string()));
    part("throughput", spec.throughput.map(|rate| format!("\"{rate}\"")));
    part("count", (spec.count > 1).then(|| spec.count.to_string()));
    Err(error.fix(parts.join(", ")))
}

/// A limit on a volume that cannot carry one is more than a mistyped key.
fn refuse_limits(rest: &Value, kind: &str, path: &str, places: &Places<'_>) -> Result<(), Diagnostic> {
    let known = || LIMIT_KEYS.iter().copied().chain(["instance"]);
    let limit = rest.as_table().and_then(|table| known().find(|key| table.contains_key(*key)));
    let Some(key) = limit else { return Ok(()) };
    let error = Diagnostic::new("io0006", format!("a `{kind}` volume carries no limits: `{key}`"));
    Err(places.at_key(error, &join(path, key), "only a `loop` or `emulated` volume can be limited"))
}

pub(super) fn filesystem(value: &Value, path: &str, places: &Places<'_>) -> Result<Filesystem, Diagnostic> {
    match kind(value, path, &["ext4", "xfs", "btrfs", "ext2", "f2fs", "none"], &[], places)? {
        ("ext4", rest) => decode(rest, path, places).map(Filesystem::Ext4),
        ("xfs", rest) => decode(rest, path, places).map(Filesystem::Xfs),
        ("btrfs", rest) => decode(rest, path, places).map(Filesystem::Btrfs),
        ("ext2", rest) => decode(rest, path, places).map(Filesystem::Ext2),
        ("f2fs", rest) => decode(rest, path, places).map(Filesystem::F2fs),
        (_, rest) => decode::<Nothing>(rest, path, places).map(|_| Filesystem::None),
    }
}

pub(super) fn workload(value: &Value, path: &str, places: &Places<'_>) -> Result<Workload, Diagnostic> {
    let kinds: Vec<&str> = WORKLOAD_KINDS.iter().map(|kind| kind.word).collect();
    let (kind, rest) = kind(value, path, &kinds, &[], places)?;
    Workload::read(kind, rest, path, places)
}

/// Keys that no local machine has: who sets one and no `kind` has forgotten it.
const KEYS_OF_OTHER_MACHINES: &[&str] = &[
    "argv",
    "modules",
    "cpus",
    "memory",
    "rootfs",
    "carry",
    "accelerator",
    "cpu",
    "emulate",
    "speed",
    "law",
    "start",
];

pub(super) fn machine(value: &Value, path: &str, places: &Places<'_>) -> Result<MachineSpec, Diagnostic> {
    if let Value::Table(table) = value
        && !table.contains_key("kind")
        && !table.keys().any(|key| KEYS_OF_OTHER_MACHINES.contains(&key.as_str()))
    {
        return decode(value.clone(), path, places).map(MachineSpec::Local);
    }
    if let Value::Table(table) = value
        && table.contains_key("emulate")
        && !table.contains_key("kind")
    {
        return decode(value.clone(), path, places).map(MachineSpec::Emulate);
    }
    match kind(value, path, &["local", "guest", "governed", "emulate", "agent"], &[], places)? {
        ("emulate", rest) => decode(rest, path, places).map(MachineSpec::Emulate),
        ("agent", rest) => decode(rest, path, places).map(MachineSpec::Agent),
        ("guest", rest) => decode(rest, path, places).map(MachineSpec::Guest),
        ("governed", rest) => decode(rest, path, places).map(MachineSpec::Governed),
        (_, rest) => decode(rest, path, places).map(MachineSpec::Local),
    }
}

pub(super) fn array(value: &Value, path: &str, places: &Places<'_>) -> Result<Array, Diagnostic> {
    match kind(value, path, &["none", "md", "btrfs", "lvm"], &[], places)? {
        ("md", rest) => decode(rest, path, places).map(Array::Md),
        ("btrfs", rest) => decode(rest, path, places).map(Array::Btrfs),
        ("lvm", rest) => decode(rest, path, places).map(Array::Lvm),
        (_, rest) => decode::<Nothing>(rest, path, places).map(|_| Array::None),
    }
}

pub(super) fn container(value: &Value, path: &str, places: &Places<'_>) -> Result<Container, Diagnostic> {
    match kind(value, path, &["none", "overlay", "docker", "podman"], &[], places)? {
        ("overlay", rest) => decode(rest, path, places).map(Container::Overlay),
        ("docker", rest) => decode(rest, path, places).map(Container::Docker),
        ("podman", rest) => decode(rest, path, places).map(Container::Podman),
        (_, rest) => decode::<Nothing>(rest, path, places).map(|_| Container::None),
    }
}
