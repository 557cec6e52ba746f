//! The `dbench` workload: clients that replay the recorded file operations of an office server.

mod command_line;

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_model::dataset::{Ending, NO_SPACE, Observation};
use iostone_model::experiment::DbenchWorkload;
use iostone_model::metric::DBENCH_METRICS;
use iostone_model::trial::WorkloadReport;
use iostone_tools::Input;

use crate::program::{Finished, Program, patience};
use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};
use command_line::{CommandLine, LoadFile, Version};

/// Where its clients work, below the directory of the trial: dbench leaves folders behind.
const FOLDER: &str = "dbench";

/// What dbench's own loadfile reads of the bytes that it moves: 1472 of 2488 MB a pass.
const READ_SHARE: f64 = 1472.1 / (1472.1 + 1016.0);

struct PreparedDbench {
    spec: DbenchWorkload,
    version: Version,
    loadfile: LoadFile,
    program: Program,
}

/// Whether this machine's dbench can do what is asked, touching nothing.
///
/// # Errors
/// No dbench, no loadfile, or an option that this version lacks.
pub(crate) fn preflight(spec: &DbenchWorkload) -> Result<(), WorkloadError> {
    command_line_of(spec).map(|_| ())
}

fn command_line_of(spec: &DbenchWorkload) -> Result<(Version, LoadFile), WorkloadError> {
    let version = Version::of_installed()?;
    version.check(spec)?;
    Ok((version, LoadFile::of(spec)?))
}

pub(crate) fn prepare(
    spec: &DbenchWorkload,
    place: &Place,
    context: &TrialContext,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let (version, loadfile) = command_line_of(spec)?;
    let argv = CommandLine { spec, version: &version, loadfile: &loadfile, folder: FOLDER }.argv();
    let mut program = Program::in_trial(argv, place, context, "dbench")?;
    program.environment.insert("LC_ALL".to_owned(), "C".to_owned());
    // A loadfile that it cannot read makes it go round for ever.
    let asked = u64::from(spec.seconds) + u64::from(spec.warm_up.unwrap_or(0));
    program.timeout = Some(patience(Duration::from_secs(asked)));
    let folder = program.directory.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|source| WorkloadError::Make { path: folder, source })?;
    Ok(Box::new(PreparedDbench { spec: spec.clone(), version, loadfile, program }))
}

impl Prepared for PreparedDbench {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.program.run(stop)?;
        Ok(self.measurement(&finished))
    }
}

/// Whether dbench met the end of the volume. The first client to do so may have written a part; then it says only that.
fn says_full(finished: &Finished, read: Result<&Observation, &String>) -> bool {
    let is_short = finished.error.is_some() && finished.stdout.contains("expected to write");
    let is_read = read.is_ok_and(|observation| observation.facts.ending == Some(Ending::DiskFull));
    finished.errno().is_some() || is_short || is_read
}

impl PreparedDbench {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let read = observed(&finished.stdout);
        let is_full = !finished.interrupted && says_full(finished, read.as_ref());
        let error = self.failure(finished, read.as_ref(), is_full);
        let facts = self.facts(&finished.stdout, read.as_ref().ok());
        let mut report = WorkloadReport {
            kind: "dbench".to_owned(),
            measured_seconds: finished.wall.as_secs_f64(),
            error,
            errno: is_full.then_some(NO_SPACE),
            facts,
            ..WorkloadReport::default()
        };
        let mut metrics = BTreeMap::new();
        if let (Ok(observation), None) = (read, &report.error) {
            metrics = figures(&observation);
            describe(observation, &mut report, metrics.get("throughput").copied());
        }
        Measurement {
            metrics,
            report,
            raw: finished.raw(""),
            interrupted: finished.interrupted,
            cpu: Some(finished.cpu),
        }
    }

    /// What went wrong, in one sentence. dbench says it on its standard output.
    fn failure(
        &self,
        finished: &Finished,
        read: Result<&Observation, &String>,
        is_full: bool,
    ) -> Option<String> {
        if finished.interrupted {
            return finished.error.clone();
        }
        if is_full {
            return Some(format!(
                "the volume was full: dbench's {} clients found no space left on the device; give \
                 `stack.volume.size` about 25 MiB a client, or ask for fewer `workload.clients`",
                self.spec.clients
            ));
        }
        if let Some(error) = &finished.error {
            let said = first_complaint(&finished.stdout).or_else(|| first_complaint(&finished.stderr));
            return Some(match said {
                Some(said) => format!("{error}, saying: {said}"),
                None => error.clone(),
            });
        }
        // Clients may fail and dbench end as if nothing had been.
        let failed = |line: &&str| line.starts_with('[') && line.contains("] ") && line.contains("failed");
        if let Some(said) = finished.stdout.lines().map(str::trim).find(failed) {
            return Some(format!("a client of dbench failed, saying: {said}"));
        }
        match read {
            Err(reason) => Some(format!("what dbench printed cannot be read: {reason}")),
            Ok(observation) => match &observation.facts.ending {
                Some(Ending::Failed(why)) => Some(format!("dbench failed: {why}")),
                _ if observation.value("throughput") == Some(0.0) => {
                    Some("dbench moved not one byte in the measured time".to_owned())
                }
                _ => None,
            },
        }
    }

    fn facts(&self, stdout: &str, observation: Option<&Observation>) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::from([
            ("version".to_owned(), format!("dbench {}", self.version)),
            ("argv".to_owned(), self.program.argv.join(" ")),
            ("loadfile".to_owned(), self.loadfile.to_string()),
            ("warm_up".to_owned(), format!("{} s", self.spec.warm_up_seconds())),
            ("data".to_owned(), "zeros: dbench writes nothing else".to_owned()),
        ]);
        let operations = operations(stdout);
        if !operations.is_empty() {
            facts.insert("operations".to_owned(), operations.join("; "));
        }
        let remarks = observation.map(|observation| observation.facts.remarks.join("; "));
        facts.extend(remarks.filter(|text| !text.is_empty()).map(|remarks| ("remarks".to_owned(), remarks)));
        facts
    }
}

/// The one run that a log of a trial holds.
fn observed(stdout: &str) -> Result<Observation, String> {
    let format = iostone_tools::find("dbench").ok_or("there is no reader for dbench")?;
    let reading =
        format.read(&mut Input::of_text("stdout.txt", stdout)).map_err(|error| error.to_string())?;
    reading.observations.into_iter().next().ok_or_else(|| "it holds no run".to_owned())
}

/// The figures that an experiment can name.
fn figures(observation: &Observation) -> BTreeMap<String, f64> {
    DBENCH_METRICS
        .iter()
        .filter_map(|metric| Some((metric.name.to_owned(), observation.value(metric.name)?)))
        .collect()
}

/// Adds what was observed beside the figures: the time they cover, the bytes, the seconds one by one.
fn describe(observation: Observation, report: &mut WorkloadReport, throughput: Option<f64>) {
    let watched = observation.series.get("throughput").and_then(|series| series.at_seconds.last());
    report.measured_seconds = watched.copied().unwrap_or(report.measured_seconds);
    let facts = &observation.facts;
    let claimed = facts.claimed_read_bytes.zip(facts.claimed_written_bytes);
    // Their sum is certain. In less than a pass of the loadfile the shares are not; the flag of the page cache alone rests on
    // them.
    let (read, written) = claimed.unwrap_or_else(|| {
        let bytes = throughput.unwrap_or_default() * report.measured_seconds;
        (whole(bytes * READ_SHARE), whole(bytes * (1.0 - READ_SHARE)))
    });
    report.claimed_read_bytes = read;
    report.claimed_written_bytes = written;
    report.series = observation.series;
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// The rows of its table of operations: `NTCreateX 5768 (mean 0.157 ms, maximum 8.415 ms)`.
fn operations(stdout: &str) -> Vec<String> {
    let table = stdout.lines().skip_while(|line| !line.trim_start().starts_with("Operation ")).skip(2);
    table
        .map_while(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [name, count, mean, max] => Some(format!("{name} {count} (mean {mean} ms, maximum {max} ms)")),
            _ => None,
        })
        .collect()
}

/// The first line that tells what went wrong.
fn first_complaint(text: &str) -> Option<&str> {
    let telling = |line: &&str| {
        let line = line.to_ascii_lowercase();
        ["failed", "error", "invalid", "unable"].iter().any(|word| line.contains(word))
    };
    text.lines().map(str::trim).find(telling)
}

#[cfg(test)]
mod tests;
