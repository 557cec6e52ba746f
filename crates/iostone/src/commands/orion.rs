//! `iostone orion`: Oracle ORION's command line, load points and files.

mod arguments;
mod creation;
mod help;
mod luns;
mod place;
mod plan;
mod prefix;
mod progress;
mod results;
mod session;
mod taken;

use anyhow::{Context, Result};
use iostone_model::orion::OrionTest;
use iostone_orion::lun::{lun_file_of, missing_luns, parse_lun_text, read_lun_file};

use crate::cli::OrionArguments;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use arguments::{Invocation, OrionOptions};
pub(crate) use help::HELP;

pub(crate) fn orion(arguments: &OrionArguments, printer: &mut Printer) -> Result<ExitCode> {
    let asked = arguments::sort(&arguments.words)?;
    match asked {
        Invocation::Help => {
            printer.data(HELP);
            Ok(ExitCode::Success)
        }
        Invocation::Test(test, options) => {
            hush(&options, printer);
            if options.plan {
                plan::print(&test, disks(&test, &options)?, &options, printer)?;
                return Ok(ExitCode::Success);
            }
            session::begin(*test, &options, &arguments.words, printer)
        }
        Invocation::Resume(prefix, options) => {
            hush(&options, printer);
            session::go_on(&prefix, options, &arguments.words, printer)
        }
    }
}

/// `--quiet` behind ORION's options is for all of iostone too.
fn hush(options: &OrionOptions, printer: &mut Printer) {
    if options.quiet {
        *printer = Printer::new(true);
    }
}

/// The disks that scale the loads: as many as LUNs, unless it was said.
fn disks(test: &OrionTest, options: &OrionOptions) -> Result<u32> {
    let explained = "the number of disks defaults to the number of LUNs; use `-num_disks N` to plan without a `.lun` file";
    let luns = match (test.num_disks, options.create) {
        (Some(disks), _) => return Ok(disks),
        (None, None) => read_lun_file(&test.test_name).context(explained)?.len(),
        // They need not be there yet.
        (None, Some(_)) => {
            let missing = missing_luns(&test.test_name).context(explained)?;
            let file = lun_file_of(&test.test_name);
            let listed = std::fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            parse_lun_text(&file.display().to_string(), &listed)?.len().max(missing.len())
        }
    };
    Ok(u32::try_from(luns)?)
}
