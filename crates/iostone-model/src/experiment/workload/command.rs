//! A program to be timed, and figures picked from what it prints.

mod check;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::profile::{Profile, Profiled, Rehearsal, WorkloadKind};
use super::{DeclaredMetric, Ends, Preparation};
use crate::dataset::Quantity;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::units::{Bytes, Span};

/// A program to be timed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorkload {
    /// The program and its arguments; never a shell's line. It starts in the mounted filesystem or the directory. A program
    /// with a relative path, `./old.sh`, is also looked for beside the experiment file.
    pub argv: Vec<String>,
    /// Start it in this directory of the machine instead, relative to the experiment file. What it leaves there stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
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
    /// Makes relative paths of its files and of its working directory those of a directory.
    pub fn place_files(&mut self, directory: &Path) {
        for file in self.files.iter_mut().chain(&mut self.directory) {
            *file = directory.join(&*file);
        }
    }

    /// Whether a program is one of the files that are copied to where it starts.
    pub fn lays_out(&self, program: &str) -> bool {
        is_laid_out(program, &self.files)
    }

    /// Its programs, those of `prepare` first, that are named by a relative path and come out of none of its files.
    pub fn relative_programs(&mut self) -> impl Iterator<Item = &mut String> {
        let Self { argv, prepare, files, .. } = self;
        prepare.iter_mut().chain([argv]).filter_map(|argv| argv.first_mut()).filter(|program| {
            program.contains('/') && !program.starts_with('/') && !is_laid_out(program, files)
        })
    }

    /// What it has before its clock runs; the room that its programs take only they know.
    fn preparation(&self) -> Option<Preparation> {
        let copies = self.files.iter().map(|file| format!("copy {} there", file.display()));
        let programs = self.prepare.iter().map(|argv| format!("run {}", command_line(argv)));
        let steps: Vec<String> = copies.chain(programs).collect();
        let words = format!("untimed, outside all limits: {}; sync", steps.join("; "));
        (!steps.is_empty()).then_some(Preparation { words, bytes: Bytes(0) })
    }
}

fn is_laid_out(program: &str, files: &[PathBuf]) -> bool {
    let name = program.strip_prefix("./").filter(|name| !name.contains('/'));
    name.is_some_and(|name| files.iter().any(|file| file.file_name().is_some_and(|own| own == name)))
}

/// A program and its arguments as one would type them.
fn command_line(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word of a program's arguments as a shell would need it; none is involved, but people read it so.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

pub(super) const KIND: WorkloadKind = WorkloadKind::new("command", COMMAND_METRICS);

impl Profiled for CommandWorkload {
    fn profile(&self) -> Profile {
        let line = command_line(&self.argv);
        let programs = self.prepare.iter().chain([&self.argv]).filter_map(|argv| argv.first());
        Profile {
            command: Some(line.clone()),
            reads: false,
            writes: false,
            ends: Ends::ByWork,
            timeout: self.timeout.map(|timeout| timeout.0),
            may_time_out: true,
            ramp: Some(Timing::default()),
            needs_directory: true,
            // Whatever it makes is taken to be small.
            room: Some(Bytes(0)),
            preparation: self.preparation(),
            // What is laid out beside it is carried as one of the files.
            programs: programs.filter(|program| !self.lays_out(program)).cloned().collect(),
            files: self.files.clone(),
            ..Profile::of_program(vec![format!("command: {line}")], None)
        }
    }

    fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, configuration, findings);
    }

    fn rehearse(&mut self, _: Rehearsal) {}

    fn settle_metrics<'a>(&'a self, metrics: &mut Vec<DeclaredMetric<'a>>) {
        metrics.extend(self.metrics.iter().map(|(name, picked)| DeclaredMetric {
            name: Cow::Borrowed(name),
            unit: picked.unit.kind,
            direction: picked.better,
        }));
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

/// What the `command` workload yields, from wait4(2) and getrusage(2), beside what is picked from its output.
pub const COMMAND_METRICS: &[Metric] = &[
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
    metric("user_time", Unit::Seconds, Direction::Lower, "user CPU time"),
    metric("system_time", Unit::Seconds, Direction::Lower, "system CPU time"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_quoted_where_it_must_be() {
        let argv = ["sh", "-c", "cd x; curl 'a'", ""].map(str::to_owned);
        assert_eq!(command_line(&argv), r"sh -c 'cd x; curl '\''a'\''' ''");
    }

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
