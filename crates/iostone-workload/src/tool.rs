//! What runs of foreign tools have in common: output read by the readers that import files, and the report's frame.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use iostone_model::dataset::Observation;
use iostone_model::trial::WorkloadReport;
use iostone_probe::programs::find_program;
use iostone_tools::Input;
use rustix::fs::{Advice, Mode, OFlags, fadvise, fsync, open, syncfs};

use crate::program::{Finished, Program, tells_full};
use crate::{Measurement, RawOutput, WorkloadError};

/// The locale in which every tool prints: points in numbers, English words.
const LOCALE: (&str, &str) = ("LC_ALL", "C");

/// Makes a program speak the language that the readers know.
pub(crate) fn in_plain_words(mut program: Program) -> Program {
    program.environment.insert(LOCALE.0.to_owned(), LOCALE.1.to_owned());
    program
}

/// What a tool answers to a question about itself, its two streams one behind the other.
///
/// # Errors
/// It could not be started: it is not installed.
pub(crate) fn ask(program: &str, argument: &str) -> Result<String, WorkloadError> {
    let path = find_program(program).unwrap_or_else(|| program.into());
    let output = Command::new(path)
        .arg(argument)
        .env(LOCALE.0, LOCALE.1)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| WorkloadError::Spawn { program: program.to_owned(), source })?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The version that a tool states in the first line of its answer.
///
/// # Errors
/// As [`ask`].
pub(crate) fn version(program: &str, argument: &str) -> Result<String, WorkloadError> {
    Ok(ask(program, argument)?.lines().next().unwrap_or_default().trim().to_owned())
}

/// Runs a step that comes before the measurement.
///
/// # Errors
/// It could not be started, was interrupted, or failed; then with its own words.
pub(crate) fn prepare_with(program: &Program, stop: &AtomicBool) -> Result<Finished, WorkloadError> {
    let finished = program.run(stop)?;
    checked(finished)
}

/// Lets only a step through that did what it should.
///
/// # Errors
/// As [`prepare_with`].
pub(crate) fn checked(finished: Finished) -> Result<Finished, WorkloadError> {
    match failure(&finished) {
        _ if finished.interrupted => Err(WorkloadError::Interrupted),
        Some(reason) => Err(WorkloadError::Preparation(reason)),
        None => Ok(finished),
    }
}

/// Why a tool failed, with the line in which it says so.
pub(crate) fn failure(finished: &Finished) -> Option<String> {
    let reason = finished.error.clone()?;
    if finished.interrupted {
        return Some(reason);
    }
    let lines = || finished.stderr.lines().chain(finished.stdout.lines()).map(str::trim);
    let telling = |line: &&str| {
        // A key of a JSON document, such as `"error" : 0`, complains of nothing.
        !line.starts_with('"')
            && [
                "Bad option",
                "bad option",
                "error",
                "failed",
                "FATAL",
                "cannot",
                "No space",
                "not permitted",
                "unrecognized",
                "invalid",
            ]
            .iter()
            .any(|word| line.contains(word))
    };
    if let Some(line) = lines().find(|line| tells_full(line)) {
        return Some(format!(
            "{reason}, saying: {line}; the volume was full: give it a larger one (`stack.volume.size`, or `--volume` of \
             `compare`), or write less"
        ));
    }
    let last_complaint = || finished.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    Some(match lines().find(telling).or_else(last_complaint) {
        Some(line) => format!("{reason}, saying: {line}"),
        None => reason,
    })
}

/// The one observation in what a tool printed.
///
/// # Errors
/// A sentence: what was printed is not as the tool prints it.
pub(crate) fn observe(tool: &'static str, text: &str) -> Result<Observation, String> {
    let format =
        iostone_tools::find(tool).ok_or_else(|| format!("nothing here reads what `{tool}` prints"))?;
    let reading = format
        .read(&mut Input::of_text(tool, text))
        .map_err(|error| format!("what `{tool}` printed is not as expected: {error}"))?;
    let mut observations = reading.observations;
    match (observations.pop(), observations.len()) {
        (Some(only), 0) if !only.figures.is_empty() => Ok(only),
        (None, _) | (Some(_), 0) => Err(format!("`{tool}` printed no figures")),
        (Some(_), more) => Err(format!("`{tool}` printed {} results where one was expected", more + 1)),
    }
}

/// A measurement of a tool that has ended: what is known without reading its output. A failed one has no figures.
pub(crate) fn measurement(
    kind: &'static str,
    program: &Program,
    version: &str,
    finished: &Finished,
) -> Measurement {
    let mut facts = BTreeMap::from([
        ("argv".to_owned(), program.argv.join(" ")),
        ("status".to_owned(), finished.status.clone()),
        ("version".to_owned(), version.to_owned()),
        (
            "cpu_seconds".to_owned(),
            format!("{:.3} user, {:.3} system", finished.cpu.user_seconds, finished.cpu.system_seconds),
        ),
    ]);
    facts.retain(|_, fact| !fact.is_empty());
    let report = WorkloadReport {
        kind: kind.to_owned(),
        measured_seconds: finished.wall.as_secs_f64(),
        error: failure(finished),
        errno: finished.errno(),
        facts,
        stderr_tail: finished.stderr_tail(),
        ..WorkloadReport::default()
    };
    let raw: Vec<RawOutput> = finished.raw("");
    Measurement {
        metrics: BTreeMap::new(),
        report,
        raw,
        interrupted: finished.interrupted,
        cpu: Some(finished.cpu),
    }
}

impl Measurement {
    /// Takes what a reader found, unless the tool failed; what could not be read fails the trial.
    pub(crate) fn take(&mut self, observed: Result<Observation, String>) {
        if self.report.error.is_some() {
            return;
        }
        let observation = match observed {
            Ok(observation) => observation,
            Err(reason) => {
                self.report.error = Some(reason);
                return;
            }
        };
        let facts = observation.facts;
        self.metrics = observation.figures.into_iter().map(|(name, figure)| (name, figure.value)).collect();
        self.report.claimed_read_bytes = facts.claimed_read_bytes.unwrap_or_default();
        self.report.claimed_written_bytes = facts.claimed_written_bytes.unwrap_or_default();
        if let Some(seconds) = self.metrics.get("wall_time") {
            self.report.measured_seconds = *seconds;
        }
        if !facts.remarks.is_empty() {
            self.state("remarks", facts.remarks.join("; "));
        }
    }

    /// States a fact about the trial.
    pub(crate) fn state(&mut self, name: &str, words: impl Into<String>) {
        self.report.facts.insert(name.to_owned(), words.into());
    }
}

/// Writes back everything that was laid out on the filesystem of a directory (`syncfs(2)`).
///
/// # Errors
/// The system's reason, as a sentence.
pub(crate) fn write_back(directory: &Path) -> Result<(), WorkloadError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = open(directory, flags, Mode::empty())
        .map_err(|errno| failed_preparation("open", directory, &errno))?;
    syncfs(&opened)
        .or_else(|_| fsync(&opened))
        .map_err(|errno| failed_preparation("write back", directory, &errno))
}

/// [`write_back()`], then drops the pages of the files in the directory from the page cache, as far as the kernel follows
/// that advice (`posix_fadvise(2)`).
///
/// # Errors
/// The system's reason, as a sentence.
pub(crate) fn settle_files(directory: &Path) -> Result<(), WorkloadError> {
    write_back(directory)?;
    let entries =
        std::fs::read_dir(directory).map_err(|error| failed_preparation("list", directory, &error))?;
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        if let Ok(file) = open(entry.path(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            // Advice: a filesystem that cannot follow it keeps its pages.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
    }
    Ok(())
}

fn failed_preparation(what: &str, directory: &Path, reason: &dyn std::fmt::Display) -> WorkloadError {
    WorkloadError::Preparation(format!("{what} `{}`: {reason}", directory.display()))
}
