//! The `fio` workload: fio, or iostone in its place, with a job file; its files laid out first, its JSON+ read.

mod guard;
mod merged;

use std::io::{Seek, Write};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::{FioProgram, FioWorkload};
use iostone_model::units::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::capture::is_cut;
use crate::program::{Finished, Program};
use crate::tool::{self, checked, in_plain_words, measurement, settle_files};
use crate::{Measurement, Place, Prepared, RawOutput, TrialContext, WorkloadError};
use guard::CheckedJob;

struct PreparedFio {
    job: CheckedJob,
    program: Program,
    version: String,
}

/// Reads the job and holds it against the guard.
///
/// # Errors
/// It is no job file, would touch what is not the trial's, or reads a file that a volume of that size cannot hold.
pub(crate) fn preflight(spec: &FioWorkload, volume: Option<Bytes>) -> Result<(), WorkloadError> {
    let job = guard::check(spec)?;
    match (job.largest_read, volume) {
        (Some(file), Some(volume)) if file > volume => {
            let reason = format!(
                "a job of it reads a file of {}, but the volume has {}; make its `size` smaller, or the volume larger",
                file.approximate(),
                volume.approximate()
            );
            Err(WorkloadError::Unsuitable { program: "fio", reason })
        }
        _ => Ok(()),
    }
}

pub(crate) fn prepare(
    spec: &FioWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let mut job = guard::check(spec)?;
    // iostone lays files out, writes them back and drops them from the cache before its own clock runs.
    job.lays_out_first &= spec.program == FioProgram::Fio;
    let version = match spec.program {
        FioProgram::Fio => tool::version("fio", "--version")?,
        FioProgram::Iostone => concat!("iostone ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let plain = |argv| Program::in_trial(argv, place, context, "fio").map(in_plain_words);
    if job.lays_out_first {
        let mut layout = plain(arguments(spec, context.seed, true))?.unlimited();
        layout.timeout = spec.timeout.map(|timeout| timeout.0);
        checked(run(&layout, &job, stop)?)?;
        settle_files(&layout.directory)?;
    }
    let mut program = plain(arguments(spec, context.seed, false))?;
    program.timeout = spec.timeout.map(|timeout| timeout.0);
    Ok(Box::new(PreparedFio { job, program, version }))
}

/// fio's command line. The job comes on its standard input, so that what was checked is what runs and no job file lies
/// among what is measured.
fn arguments(spec: &FioWorkload, seed: u64, layout: bool) -> Vec<String> {
    let mut argv = match spec.program {
        FioProgram::Fio => vec!["fio".to_owned()],
        // The agent is a process of this program, wherever it runs.
        FioProgram::Iostone => vec!["/proc/self/exe".to_owned(), "io".to_owned()],
    };
    argv.push("--output-format=json+".to_owned());
    // A job's own `randseed` wins over this one.
    // It takes 63 bits.
    argv.push(format!("--randseed={}", seed >> 1));
    if layout {
        argv.push("--create_only=1".to_owned());
    }
    argv.extend(spec.sections.iter().map(|section| format!("--section={section}")));
    argv.push("-".to_owned());
    argv
}

fn run(program: &Program, job: &CheckedJob, stop: &AtomicBool) -> Result<Finished, WorkloadError> {
    let input = in_memory(&job.text)
        .map_err(|error| WorkloadError::Preparation(format!("hand fio its job: {error}")))?;
    program.run_fed(stop, input)
}

/// Text to be read from the start.
fn in_memory(text: &str) -> std::io::Result<Stdio> {
    let mut file = std::fs::File::from(memfd_create("job.fio", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

impl Prepared for PreparedFio {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = run(&self.program, &self.job, stop)?;
        Ok(self.measurement(&finished))
    }
}

impl PreparedFio {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let mut measured = measurement("fio", &self.program, &self.version, finished);
        measured.raw.push(RawOutput { name: "job.fio".to_owned(), text: self.job.text.clone() });
        if let Some(output) = measured.raw.iter_mut().find(|raw| raw.name == "stdout.txt") {
            "fio.json".clone_into(&mut output.name);
        }
        if finished.interrupted {
            return measured;
        }
        match merged::read(&finished.stdout, is_cut(&finished.stdout), self.job.in_phases) {
            Ok(outcome) => outcome.fill(&mut measured),
            Err(reason) => {
                measured.report.error.get_or_insert(reason);
            }
        }
        measured.report.must_reach_device = self.job.is_direct;
        if self.job.lays_out_first {
            let words = "by fio itself before the trial, written back and dropped from the page cache";
            measured.state("laid_out", words);
        }
        measured
    }
}

#[cfg(test)]
mod tests;
