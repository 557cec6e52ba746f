//! A program to be timed, and figures picked from what it prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dataset::Quantity;
use crate::metric::{Direction, Unit};
use crate::units::Span;

/// A program to be timed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorkload {
    /// The program and its arguments; never a shell's line. It starts in the mounted filesystem or the directory.
    pub argv: Vec<String>,
    /// Files that are copied to where it starts, each under its own name, before the clock runs. Paths are relative to the
    /// experiment file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// Programs with their arguments that are run there, one after the other, before the clock runs and outside all limits:
    /// `[["tar", "-xzf", "sources.tar.gz"]]`. One that fails fails the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<String>>,
    /// Further environment variables. `IOSTONE_TRIAL`, `IOSTONE_CONFIGURATION` and `IOSTONE_MOUNT` are always set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A trial that takes longer is ended and counts as failed; so does one of which a program of `prepare` takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Further figures, picked from what the program prints; a trial that lacks one has failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, PickedMetric>,
}

impl CommandWorkload {
    /// Makes relative paths of its files those of a directory.
    pub fn place_files(&mut self, directory: &Path) {
        for file in &mut self.files {
            *file = directory.join(&*file);
        }
    }
}

/// A figure picked from a program's output: by `regex`, or by `pointer` where the output is JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PickedMetric {
    /// A regular expression with one group, the number; where it matches several times the last counts. `(?m)` makes
    /// `^` and `$` match at lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// A JSON pointer (RFC 6901) to a number, in the document that the program prints: `/results/0/mean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Where it is printed.
    #[serde(default)]
    pub from: OutputStream,
    /// The unit that the program prints it in: `MB/s`, `MiB/s`, `Mbps`, `/s`, `ms`, `s`, `KiB`, `%`; none for a bare number.
    #[serde(default, skip_serializing_if = "PickedUnit::is_bare")]
    pub unit: PickedUnit,
    /// Which way it is better.
    pub better: Direction,
}

/// Which of a program's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// A unit as a program prints it: the kind, and how much one of it is. The text in files: `"MB/s"`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct PickedUnit {
    /// What kind it is; values are kept in that kind's base unit.
    pub kind: Unit,
    text: String,
}

impl PickedUnit {
    /// How many base units one of it is: 1 000 000 for `MB/s`.
    pub fn factor(&self) -> f64 {
        Self::quantity(&self.text).map_or(1.0, |quantity| quantity.value)
    }

    fn quantity(text: &str) -> Option<Quantity> {
        format!("1{text}").parse().ok()
    }

    fn is_bare(&self) -> bool {
        self.text.is_empty()
    }
}

impl Default for PickedUnit {
    fn default() -> Self {
        Self { kind: Unit::Plain, text: String::new() }
    }
}

impl FromStr for PickedUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E'));
        match Self::quantity(text).filter(|_| !digits) {
            Some(quantity) => Ok(Self { kind: quantity.unit, text: text.to_owned() }),
            None => Err(format!(
                "`{text}` is not a unit; expected MB/s, MiB/s, Mbps, /s, ms, s, KiB, % or the like"
            )),
        }
    }
}

impl Serialize for PickedUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for PickedUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_how_much_one_of_it_is() {
        let read = |text: &str| {
            let unit: PickedUnit = text.parse().unwrap();
            (unit.factor(), unit.kind)
        };
        assert_eq!(read("MB/s"), (1e6, Unit::BytesPerSecond));
        assert_eq!(read("MiB/s"), (1_048_576.0, Unit::BytesPerSecond));
        assert_eq!(read("ms"), (1e-3, Unit::Seconds));
        assert_eq!(read("/s"), (1.0, Unit::PerSecond));
        assert_eq!(read("%"), (0.01, Unit::Share));
        assert_eq!(read(""), (1.0, Unit::Plain));
        assert!("0MB/s".parse::<PickedUnit>().is_err());
        assert!("furlongs".parse::<PickedUnit>().unwrap_err().contains("`furlongs` is not a unit"));
    }
}
