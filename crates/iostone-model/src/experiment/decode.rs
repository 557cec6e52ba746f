//! Decodes values into types, turning serde's complaints into diagnostics that point into the file.

use serde::de::DeserializeOwned;
use toml::Value;

use super::combine::{Places, list};
use super::source::join;
use crate::diagnostic::{Diagnostic, nearest};

/// A table without a key that it needs.
pub(super) fn missing(places: &Places<'_>, path: &str, key: &str) -> Diagnostic {
    let error = Diagnostic::new("io0003", format!("{} has no `{key}`", holder(path)));
    places.at_key(error, path, &format!("add `{}`", example(key)))
}

/// What an experiment file lacks, said at once; None if it lacks nothing.
pub(super) fn missing_sections(absent: &[&str]) -> Option<Diagnostic> {
    let (last, rest) = absent.split_last()?;
    let names = if rest.is_empty() {
        format!("`{last}`")
    } else {
        let rest: Vec<String> = rest.iter().map(|key| format!("`{key}`")).collect();
        format!("{} and no `{last}`", rest.join(", no "))
    };
    let examples: Vec<String> = absent.iter().map(|key| format!("`{}`", example(key))).collect();
    let error = Diagnostic::new("io0003", format!("the experiment has no {names}"));
    Some(error.note(format!("add {}", examples.join(", "))))
}

/// A table's name for people: `stack.volume`, or "factor 1" for what has no name yet.
fn holder(path: &str) -> String {
    match path.strip_prefix("factor[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok()) {
        Some(index) => format!("factor {}", index + 1),
        None => format!("`{path}`"),
    }
}

/// How a key that must be there is written.
fn example(key: &str) -> String {
    match key {
        "name" => "name = \"barrier\"",
        "stack" => "[stack]",
        "workload" => "[workload]",
        "decide" => "[decide]",
        "volume" => "volume = { kind = \"loop\", size = \"1GiB\" }",
        "size" => "size = \"1GiB\"",
        "devices" => "devices = [\"/dev/disk/by-id/...\"]",
        "kernel" => "kernel = \"debian:6.1\"",
        "level" => "level = \"raid0\"",
        "rw" => "rw = \"randwrite\"",
        "argv" => "argv = [\"program\", \"argument\"]",
        "metric" => "metric = \"iops\"",
        "baseline" => "baseline = \"level\"",
        _ => return format!("{key} = ..."),
    }
    .to_owned()
}

pub(super) fn unknown_key(places: &Places<'_>, path: &str, key: &str, known: &[&str]) -> Diagnostic {
    let of = match path.strip_suffix(&join("", key)).map(|before| before.trim_end_matches('.')) {
        None | Some("") => "an experiment".to_owned(),
        Some(table) => holder(table),
    };
    let error = Diagnostic::new("io0002", format!("`{key}` is not a key of {of}"));
    let mut error = places.at_key(error, path, "unknown key");
    match nearest(key, known.iter().copied()).or_else(|| synonym(key).filter(|word| known.contains(word))) {
        // The underlined text is then a whole path, of which the key is but the end.
        Some(near) if places.varied_path(path).is_some() => {
            error = error.note(format!("did you mean `{near}`?"));
        }
        Some(near) => error = error.fix(near),
        None if known.is_empty() => {}
        None if key.split_once('.').is_some_and(|(first, _)| known.contains(&first)) => {
            error = error.note(format!("it is one name with a dot in it; write it without quotes: `{key}`"));
        }
        None => error = error.note(format!("expected {}", list(known))),
    }
    error
}

/// Words that people use for what iostone calls otherwise.
fn synonym(word: &str) -> Option<&'static str> {
    Some(match word {
        "block" | "block_size" | "blocksize" => "bs",
        "mode" | "pattern" | "readwrite" => "rw",
        "depth" | "queue_depth" | "qd" => "iodepth",
        "threads" | "jobs" => "numjobs",
        "mix" | "rwmixwrite" | "read_percentage" => "rwmixread",
        "distribution" | "hotspot" => "random_distribution",
        "iops" => "rate_iops",
        "arrivals" => "rate_process",
        "pause" | "think" => "thinktime",
        "time" | "seconds" | "duration" => "runtime",
        "ramp" | "warmup" => "ramp_time",
        "command" | "cmd" | "args" => "argv",
        "opts" => "options",
        "device" | "path" => "devices",
        "capacity" => "size",
        "primary" | "figure" => "metric",
        "tolerance" => "margin",
        _ => return None,
    })
}

/// Deserialises into `None`, and into nothing else.
pub(super) struct Absent;

impl<'de> serde::Deserializer<'de> for Absent {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("absent"))
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Decodes a value, turning serde's complaint into one that points into the file.
pub(super) fn decode<T: DeserializeOwned>(
    value: Value,
    path: &str,
    places: &Places<'_>,
) -> Result<T, Diagnostic> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let inner = error.path().to_string();
        let message = error.inner().message().trim().to_owned();
        let full = if inner == "." { path.to_owned() } else { format!("{path}.{inner}").replace(".[", "[") };
        explain(&message, &full, path, places)
    })
}

/// Names between backticks in one of serde's messages.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn explain(message: &str, full: &str, section: &str, places: &Places<'_>) -> Diagnostic {
    let words = quoted(message);
    match words.split_first() {
        Some((key, known)) if message.starts_with("unknown field") => {
            let holder = full.strip_suffix(&format!(".{key}")).unwrap_or(full);
            let error = unknown_key(places, &join(holder, key), key, known);
            if message.contains("there are no fields") {
                error.note("nothing can be set here")
            } else {
                error
            }
        }
        Some((key, _)) if message.starts_with("missing field") => missing(places, full, key),
        Some((word, known)) if message.starts_with("unknown variant") => {
            let error = places.at_value(
                Diagnostic::new("io0005", format!("`{word}` is not a value of `{}`", list_or_key(full))),
                full,
                "not one of its values",
            );
            match nearest(word, known.iter().copied()) {
                Some(near) => error.fix(format!("\"{near}\"")),
                None => error.note(format!("expected {}", list(known))),
            }
        }
        _ if message.starts_with("invalid type") || message.starts_with("invalid value") => {
            let expected = message.split_once("expected ").map_or(message, |(_, expected)| expected);
            let message = match last_key(full).split_once('[') {
                Some((list, _)) => format!("`{list}` has an entry of the wrong kind"),
                None => format!("`{}` has a value of the wrong kind", last_key(full)),
            };
            places.at_value(
                Diagnostic::new("io0004", message),
                if full.is_empty() { section } else { full },
                &format!("expected {}", in_toml(expected)),
            )
        }
        _ => {
            // A quantity's complaint: "`4` is not a size: it needs a unit".
            let (what, reason) = message.rsplit_once(": ").unwrap_or((message, "not possible here"));
            places.at_value(Diagnostic::new("io0005", what), full, reason)
        }
    }
}

/// serde's words for what it expected, in those of an experiment file.
fn in_toml(expected: &str) -> &str {
    match expected {
        "a string" | "string only" => "a quoted string",
        "a sequence" => "a list in brackets, as in [\"...\"]",
        "a boolean" => "true or false",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number, 0 or more",
        "a map" => "a table",
        _ if expected.starts_with("struct ") => "a table, as in { key = value }",
        _ => expected,
    }
}

/// The last key of a path, without the number of an entry of its list.
fn list_or_key(path: &str) -> &str {
    last_key(path).split('[').next().unwrap_or_default()
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
