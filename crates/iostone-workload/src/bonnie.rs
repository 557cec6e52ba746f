//! The `bonnie` workload: bonnie++ writes, rewrites, reads and seeks in one file, then makes and removes small ones.

mod command_line;
mod direct_read;
mod figures;
mod room;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::thread;

use iostone_model::dataset::{NO_SPACE, Observation};
use iostone_model::experiment::BonnieWorkload;
use iostone_model::trial::WorkloadReport;
use iostone_model::units::Bytes;
use iostone_probe::programs::find_program;
use iostone_tools::Input;

use crate::program::{Finished, Program};
use crate::{Measurement, Place, Prepared, RawOutput, TrialContext, WorkloadError};
use command_line::CommandLine;
use figures::Figures;

/// Where it works, below the directory of the trial.
const FOLDER: &str = "bonnie";
/// What bonnie++ takes for what is left out; it has to be said where something behind it is.
const CHUNK: Bytes = Bytes(8 << 10);
const SEEKS: u32 = 8192;
const FILES: u32 = 16;
/// Makes a table in HTML of bonnie++'s own lines; it comes with bonnie++.
const TO_HTML: &str = "bon_csv2html";

struct PreparedBonnie {
    spec: BonnieWorkload,
    file_size: Bytes,
    program: Program,
    seed: u64,
}

/// Whether this machine's bonnie++ can do what is asked, touching nothing; and the room it takes.
///
/// # Errors
/// A file that the page cache would serve, one that is larger than the volume, a user that only root can become.
pub(crate) fn preflight(
    spec: &BonnieWorkload,
    volume: Option<Bytes>,
    memory: Option<Bytes>,
) -> Result<Bytes, WorkloadError> {
    let memory = match memory {
        Some(memory) => memory,
        None => room::memory()?,
    };
    let needed = room::needed(spec, memory)?;
    if let Some(volume) = volume {
        room::check(spec, needed, volume, "the volume has")?;
    }
    if spec.user.is_some() && !rustix::process::geteuid().is_root() {
        let reason = "`workload.user` names another user, and only root can become one; leave it out, or run with `sudo`";
        return Err(WorkloadError::Unsuitable { program: "bonnie++", reason: reason.to_owned() });
    }
    Ok(needed)
}

pub(crate) fn prepare(
    spec: &BonnieWorkload,
    place: &Place,
    context: &TrialContext,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let needed = preflight(spec, None, None)?;
    let file_size = spec.file_size(room::memory()?);
    let seed = spec.seed.unwrap_or_else(|| small_seed(context.seed));
    let argv = CommandLine { spec, file_size, seed }.argv();
    let mut program = Program::in_trial(argv, place, context, "bonnie")?;
    room::check(spec, needed, room::free(&program.directory, spec)?, "there is room for")?;
    program.environment.insert("LC_ALL".to_owned(), "C".to_owned());
    // Started there, it needs no right to any folder above.
    program.directory.push(FOLDER);
    let folder = &program.directory;
    let open_to_all = |()| match spec.user {
        Some(_) => fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)),
        None => Ok(()),
    };
    fs::create_dir_all(folder)
        .and_then(open_to_all)
        .map_err(|source| WorkloadError::Make { path: folder.clone(), source })?;
    Ok(Box::new(PreparedBonnie { spec: spec.clone(), file_size, program, seed: context.seed }))
}

/// bonnie++ reads its seed as an `int`.
fn small_seed(seed: u64) -> u32 {
    u32::try_from(seed & 0x7fff_ffff).unwrap_or_default()
}

impl Prepared for PreparedBonnie {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.program.run(stop)?;
        let mut measurement = self.measurement(&finished);
        if measurement.report.error.is_none() {
            measurement.raw.extend(self.table_in_html(&finished.stdout));
            if let Some(size) = self.spec.direct_read.filter(|_| !measurement.interrupted) {
                direct_read::add(&mut measurement, &self.program.directory, size, self.seed, stop)?;
            }
        }
        Ok(measurement)
    }
}

impl PreparedBonnie {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let read = observed(&finished.stdout);
        let error = self.failure(finished, read.as_deref());
        let runs = read.unwrap_or_default();
        let figures = Figures::of(&runs, &self.spec);
        let claimed = room::claimed(&self.spec, self.file_size);
        let mut report = WorkloadReport {
            kind: "bonnie".to_owned(),
            measured_seconds: finished.wall.as_secs_f64(),
            facts: self.facts(&runs, &figures),
            ..WorkloadReport::default()
        };
        let mut metrics = BTreeMap::new();
        if error.is_none() {
            metrics = figures.values;
            report.absent = figures.absent;
            report.claimed_read_bytes = claimed.read;
            report.claimed_written_bytes = claimed.written;
        }
        report.errno = error.as_ref().filter(|_| finished.says_full()).map(|_| NO_SPACE);
        report.error = error;
        Measurement {
            metrics,
            report,
            raw: raw(finished),
            interrupted: finished.interrupted,
            cpu: Some(finished.cpu),
        }
    }

    /// What went wrong, in one sentence.
    fn failure(&self, finished: &Finished, read: Result<&[Observation], &String>) -> Option<String> {
        if finished.interrupted {
            return finished.error.clone();
        }
        if finished.says_full() {
            return Some(format!(
                "the volume was full: bonnie++ found no space left on the device for its file of {}; give it a larger \
                 volume, or set `workload.size`, `workload.memory` and `workload.files`",
                self.file_size.approximate()
            ));
        }
        if let Some(error) = &finished.error {
            let said = format!("{}\n{}", finished.stderr, finished.stdout);
            let complaint = said.lines().map(str::trim).find(|line| {
                line.starts_with("Can't") || line.contains("rror") || line.contains("should be")
            });
            return Some(match complaint {
                Some(complaint) => format!("{error}, saying: {complaint}"),
                None => error.clone(),
            });
        }
        match read {
            Err(reason) => Some(format!("what bonnie++ printed cannot be read: {reason}")),
            Ok(runs) => {
                let asked = usize::try_from(self.spec.runs).unwrap_or(usize::MAX);
                (runs.len() != asked).then(|| format!("bonnie++ printed {} runs of {asked}", runs.len()))
            }
        }
    }

    fn facts(&self, runs: &[Observation], figures: &Figures) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::from([
            ("argv".to_owned(), self.program.argv.join(" ")),
            ("file_size".to_owned(), self.file_size.to_string()),
            ("data".to_owned(), "zeros, but for one byte in each chunk".to_owned()),
            (
                "flushed".to_owned(),
                "each phase that writes ends with fsync(2) in its measured time".to_owned(),
            ),
        ]);
        let first = runs.first();
        let version = first.and_then(|run| run.labels.get("tool_version"));
        facts.extend(version.map(|version| ("version".to_owned(), format!("bonnie++ {version}"))));
        let remarks: Vec<&str> = runs.iter().flat_map(|run| &run.facts.remarks).map(String::as_str).collect();
        if !remarks.is_empty() {
            facts.insert("remarks".to_owned(), remarks.join("; "));
        }
        if !figures.too_fast.is_empty() {
            facts.insert("too_fast".to_owned(), figures.too_fast.join(", "));
        }
        if !figures.single_runs.is_empty() {
            facts.insert("runs".to_owned(), figures.single_runs.join("; "));
        }
        facts
    }

    /// bonnie++'s own table, as its users know it; none where the converter is missing or refuses.
    fn table_in_html(&self, lines: &str) -> Option<RawOutput> {
        find_program(TO_HTML)?;
        let (reader, mut writer) = std::io::pipe().ok()?;
        let text = lines.to_owned();
        // A long text does not fit the pipe at once; if the converter ends early, so does the thread.
        let feeder = thread::spawn(move || {
            let _ = writer.write_all(text.as_bytes());
        });
        let program = Program { argv: vec![TO_HTML.to_owned()], ..self.program.clone() }.unlimited();
        let finished = program.run_fed(&AtomicBool::new(false), Stdio::from(reader)).ok()?;
        let _ = feeder.join();
        let complete = finished.error.is_none() && finished.stdout.contains("<table");
        complete.then(|| RawOutput { name: "bonnie.html".to_owned(), text: finished.stdout })
    }
}

/// Its lines of values, and its table for people.
fn raw(finished: &Finished) -> Vec<RawOutput> {
    [("bonnie.csv", &finished.stdout), ("bonnie.txt", &finished.stderr)]
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| RawOutput { name: name.to_owned(), text: text.clone() })
        .collect()
}

/// The runs of a trial, one for each line of values.
fn observed(lines: &str) -> Result<Vec<Observation>, String> {
    let format = iostone_tools::find("bonnie").ok_or("there is no reader for bonnie++")?;
    let reading = format.read(&mut Input::of_text("bonnie.csv", lines)).map_err(|error| error.to_string())?;
    Ok(reading.observations)
}

#[cfg(test)]
mod tests;
