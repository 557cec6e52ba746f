//! `iostone io`: the load engine by itself, in fio's language.

mod arguments;
mod document;
mod fio_output;
mod load;
mod outputs;
mod progress;
mod steady;
mod target;
mod text;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iostone_engine::{Job, Outcome, prepare_pinned, run_together};
use iostone_fio::output::merge_outcomes;
use iostone_fio::{Phase, PlannedJob};

use crate::cli::{IoArguments, IoFormat, IoOptions};
use crate::exit_code::{ExitCode, IoFailed};
use crate::interrupt;
use crate::printer::Printer;
use document::{Done, document};
use load::Load;
use outputs::Outputs;
use progress::LoadProgress;
use target::Taken;

/// Jobs that ran, with what they did.
struct Ran {
    planned: PlannedJob,
    outcome: Outcome,
}

pub(crate) fn io(arguments: &IoArguments, printer: &mut Printer) -> Result<ExitCode> {
    let load = load::read(arguments, printer)?;
    if load.options.parse_only {
        printer.data(&load.describe());
        return Ok(ExitCode::Success);
    }
    let outputs = Outputs::open(&load)?;
    let stop = interrupt::stop_flag();
    let started = fio_output::Started::now(&load);
    let mut ran: Vec<Ran> = Vec::new();
    let mut progress = LoadProgress::new(printer, load.options.eta);
    let mut kept_from = None;
    for phase in &load.plan.phases {
        match run_phase(phase, &load.options, &stop, &mut progress) {
            Ok(more) => ran.extend(more),
            Err(error) if ran.is_empty() => return Err(error),
            // What the phases before it measured is not lost.
            Err(error) => {
                kept_from = Some(error);
                break;
            }
        }
        // As in fio, a job that fails ends alone: the phases behind it still run.
        if ran.iter().any(|ran| ran.outcome.interrupted) {
            break;
        }
    }
    drop(progress);
    let text = in_format(&load, &ran, started)?;
    let written = outputs.write(&load, &ran, &text, printer);
    // What ended the load is worth more than what kept its figures from a file.
    match (kept_from.map_or_else(|| judge(&ran), Err), written) {
        (Ok(code), written) => written.map(|()| code),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(unwritten)) => {
            printer.warning(format!("{unwritten}"));
            Err(error)
        }
    }
}

/// Prepares and runs the jobs of a phase beside each other.
fn run_phase(
    phase: &Phase,
    options: &IoOptions,
    stop: &AtomicBool,
    progress: &mut LoadProgress,
) -> Result<Vec<Ran>> {
    let mut taken = Taken::default();
    let mut run = || -> Result<Vec<Outcome>> {
        // All of them are let pass before any is touched: what one job lays out in a file that it shares with
        // another must not look to that one as if somebody else had written it.
        let mut jobs: Vec<Job> = phase.jobs.iter().map(|planned| planned.job.clone()).collect();
        jobs.iter_mut().try_for_each(|job| taken.take(job, &options.destroy))?;
        for planned in phase.jobs.iter().filter(|planned| planned.unlink) {
            taken.permit_unlink(&planned.job.targets, &options.destroy)?;
        }
        taken.claim()?;
        let mut prepared = Vec::new();
        for job in &jobs {
            prepared.push(prepare_pinned(job, taken.pins(), stop, &mut |now| progress.tell(now))?);
        }
        Ok(run_together(prepared, stop, &mut |now| progress.tell(now))?)
    };
    let outcomes = match run() {
        Ok(outcomes) => outcomes,
        Err(error) => {
            // Nothing was measured, so the files that were made for it go again.
            taken.remove_created();
            return Err(error);
        }
    };
    let filled = outcomes.iter().any(|outcome| outcome.layout.written.0 > 0);
    if let Err(error) = taken.mark_own(filled) {
        // What keeps a file from being marked may be what ended the load, whose figures are worth more.
        if outcomes.iter().all(Outcome::succeeded) {
            return Err(error);
        }
    }
    for planned in phase.jobs.iter().filter(|planned| planned.unlink) {
        taken.unlink(&planned.job.targets)?;
    }
    let ran = phase.jobs.iter().cloned().zip(outcomes);
    Ok(ran.map(|(planned, outcome)| Ran { planned, outcome }).collect())
}

/// The figures, in the form that was asked for.
fn in_format(load: &Load, ran: &[Ran], started: fio_output::Started) -> Result<String> {
    if !load.options.json && load.options.output_format != IoFormat::Normal {
        return Ok(fio_output::write(load, ran, started));
    }
    let done: Vec<Done<'_>> = ran
        .iter()
        .map(|ran| Done { name: &ran.planned.name, job: &ran.planned.job, outcome: &ran.outcome })
        .collect();
    if load.options.json {
        return Ok(format!("{}\n", serde_json::to_string_pretty(&document(&done))?));
    }
    Ok(in_words(ran)?)
}

/// The figures for people: clones of one job are one, as nobody wants to read the same table four times.
fn in_words(ran: &[Ran]) -> std::result::Result<String, std::fmt::Error> {
    let mut texts = Vec::new();
    let sections: Vec<&[Ran]> = ran.chunk_by(|a, b| a.planned.section == b.planned.section).collect();
    for clones in &sections {
        let outcomes: Vec<&Outcome> = clones.iter().map(|ran| &ran.outcome).collect();
        let (Some(first), Some(outcome)) = (clones.first(), merge_outcomes(&outcomes)) else { continue };
        let name = match clones.len() {
            1 => first.planned.name.clone(),
            several => format!("{} ({several} jobs)", first.planned.name),
        };
        let done = Done { name: &name, job: &first.planned.job, outcome: &outcome };
        texts.push(text::describe(&done, ran.len() > 1, sections.len() > 1)?);
    }
    Ok(texts.join("\n"))
}

/// Whether every job did what it was asked to.
fn judge(ran: &[Ran]) -> Result<ExitCode> {
    if let Some(fault) = ran.iter().find_map(|ran| ran.outcome.error.as_ref()) {
        return Err(IoFailed { reason: fault.to_string(), interrupted: false }.into());
    }
    if let Some(mismatch) =
        ran.iter().filter_map(|ran| ran.outcome.verify.as_ref()).find_map(|verify| verify.mismatches.first())
    {
        return Err(IoFailed { reason: mismatch.to_string(), interrupted: false }.into());
    }
    if ran.iter().any(|ran| ran.outcome.interrupted) {
        let reason = "interrupted; the figures cover the time before".to_owned();
        return Err(IoFailed { reason, interrupted: true }.into());
    }
    Ok(ExitCode::Success)
}

/// A path as people write it.
fn show(path: &Path) -> String {
    iostone_report::clean(&path.display().to_string())
}
