//! `iostone demo`: the main job on an embedded experiment, sized for three minutes.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::{DemoArguments, RunOptions};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::recipe::Recipe;
use crate::{commands, interrupt};

/// Short trials on a small disk, ten blocks at most, and an end after three minutes whatever has been found.
const SHORT: &[&str] = &[
    "decide.blocks={ min = 6, max = 10 }",
    "decide.time=165s",
    "trials.settle=200ms",
    "workload.ramp_time=500ms",
    "workload.runtime=4s",
    "workload.size=64MiB",
];
const SMALL_VOLUME: &str = "stack.volume.size=256MiB";

pub(crate) fn demo(arguments: &DemoArguments, printer: &mut Printer) -> Result<ExitCode> {
    let root = rustix::process::geteuid().is_root();
    let name = if root { "barrier" } else { "flush-price" };
    let text = Recipe::named(name, "the demo's experiment is not built in")?.text;
    let mut set: Vec<String> = SHORT.iter().map(|&setting| setting.to_owned()).collect();
    if root {
        set.push(SMALL_VOLUME.to_owned());
    } else {
        printer.note(
            "The barrier experiment needs root to create a loop device; measuring the cost of a flush in this directory \
             instead.",
        );
    }
    set.extend(arguments.set.iter().cloned());
    let experiment = commands::run::parse(name, text, &set, printer)?;
    let options = RunOptions {
        set,
        json: arguments.json,
        full: arguments.full,
        runs: arguments.runs.clone(),
        ..RunOptions::default()
    };
    let code =
        commands::run::start(experiment, text, PathBuf::new(), &options, interrupt::stop_flag(), printer)?;
    if !root {
        let program = std::env::args().next().unwrap_or_else(|| "iostone".to_owned());
        printer.note(format_args!("\nFor the barrier experiment on a loop device: sudo {program} demo"));
    }
    Ok(code)
}
