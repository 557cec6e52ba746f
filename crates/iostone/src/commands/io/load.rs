//! Reads what is to be done: fio's options and job files, made into a plan for the engine.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use iostone_fio::{Argument, JobFile, MachineFacts, OnDisk, Plan, Planning, Problem, Request, World, plan};
use iostone_model::load::IoEngine;
use iostone_report::clean;

use super::arguments;
use crate::cli::{IoArguments, IoOptions};
use crate::exit_code::FileErrors;
use crate::printer::Printer;

/// What is to be done.
pub(super) struct Load {
    pub(super) options: IoOptions,
    pub(super) jobs: JobFile,
    pub(super) plan: Plan,
}

/// Reads the command line and the job files; remarks on what is legal and may not be what was meant.
pub(super) fn read(given: &IoArguments, printer: &mut Printer) -> Result<Load> {
    let arguments::Load { options, arguments, files } = arguments::sort(given)?;
    let (arguments, is_auto) = choose_engine(arguments, files.is_empty());
    let world = World {
        files: &OnDisk,
        variable: &|name: &str| std::env::var_os(name),
        machine: MachineFacts::read()?,
    };
    let request =
        Request { arguments: &arguments, files: &files, only: &options.section, lenient: options.lenient };
    let jobs = iostone_fio::read(&request, &world).map_err(|problems| refuse(&problems, printer))?;
    let mut entropy = [0u8; 8];
    rustix::rand::getrandom(&mut entropy, rustix::rand::GetRandomFlags::empty())?;
    let planning =
        Planning { targets: &OnDisk, lenient: options.lenient, entropy: u64::from_ne_bytes(entropy) };
    let mut plan = plan(&jobs, &planning).map_err(|problems| refuse(&problems, printer))?;
    for dropped in jobs.dropped.iter().chain(&plan.dropped) {
        let option = &dropped.option;
        printer
            .warning(clean(&format!("{}: `{}` was dropped: {}", option.place, option.written, dropped.why)));
    }
    for remark in jobs.remarks.iter().chain(&plan.remarks) {
        printer.warning(clean(&format!("{}: {}", remark.place, remark.text)));
    }
    if is_auto {
        plan.phases
            .iter_mut()
            .flat_map(|phase| &mut phase.jobs)
            .for_each(|planned| planned.job.engine = IoEngine::Auto);
    }
    keep_generations(&mut plan, &options)?;
    let writer =
        plan.phases.iter().flat_map(|phase| &phase.jobs).find(|planned| planned.job.changes_targets());
    if let Some(writer) = writer.filter(|_| options.readonly) {
        bail!("`{}` is a load that writes, and `--readonly` forbids that", clean(&writer.name));
    }
    Ok(Load { options, jobs, plan })
}

/// Shows each problem with its place.
fn refuse(problems: &[Problem], printer: &mut Printer) -> anyhow::Error {
    if let [only] = problems {
        return anyhow::anyhow!("{}", clean(&only.to_string()));
    }
    for problem in problems {
        printer.note(clean(&format!("error: {problem}")));
    }
    FileErrors { file: "the load".to_owned(), count: problems.len() }.into()
}

/// fio's own default is a synchronous engine, which has no depth. On the command line, where nobody chose an engine,
/// the depth does.
fn choose_engine(mut arguments: Vec<Argument>, is_command_line: bool) -> (Vec<Argument>, bool) {
    let is_engine = |argument: &Argument| argument.name == "ioengine";
    let is_asked_for =
        arguments.iter().any(|argument| is_engine(argument) && argument.value.as_deref() != Some("auto"));
    if is_asked_for || !is_command_line {
        return (arguments, false);
    }
    arguments.retain(|argument| !is_engine(argument));
    let value = Some("io_uring".to_owned());
    arguments.insert(0, Argument { name: "ioengine".to_owned(), value, position: 0 });
    (arguments, true)
}

/// Gives the one verifying job the ledger of the command line.
fn keep_generations(plan: &mut Plan, options: &IoOptions) -> Result<()> {
    if options.ledger.is_none() && !options.after_crash {
        return Ok(());
    }
    let mut verifying: Vec<_> = plan
        .phases
        .iter_mut()
        .flat_map(|phase| &mut phase.jobs)
        .filter_map(|planned| planned.job.verify.as_mut())
        .collect();
    let [verify] = verifying.as_mut_slice() else {
        bail!(
            "`--ledger` and `--after-crash` are about the blocks of one job with `--verify`, and there are {}",
            verifying.len()
        );
    };
    if let Some(ledger) = &options.ledger {
        verify.ledger = Some(ledger.clone());
    }
    if options.after_crash && verify.ledger.is_none() {
        bail!("`--after-crash` needs the `--ledger` that was kept before the crash");
    }
    verify.after_crash = options.after_crash;
    Ok(())
}

impl Load {
    /// What would be done, for people.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        let phases = self.plan.phases.len();
        for (number, phase) in (1..).zip(&self.plan.phases) {
            if phases > 1 {
                let _ = writeln!(text, "phase {number} of {phases}");
            }
            for planned in &phase.jobs {
                let job = &planned.job;
                let targets: Vec<String> =
                    job.targets.iter().map(|target| super::show(Path::new(target))).collect();
                let _ = writeln!(
                    text,
                    "{}: {} {} at depth {} on {}",
                    clean(&planned.name),
                    job.rw.word(),
                    match (job.bs.read.smallest(), job.bs.read.largest()) {
                        (least, most) if least == most => least.to_string(),
                        (least, most) => format!("{least} to {most}"),
                    },
                    job.iodepth,
                    targets.join(", ")
                );
            }
        }
        text
    }
}
