//! `iostone fleet sign` and `verify`: who measured a run, and that nobody changed it since.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::printer::Printer;
use iostone_report::clean;

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct SignArguments {
    /// Run directories
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// The private SSH key, or the public half of one that an agent holds
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct VerifyArguments {
    /// Run directories
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// Who may have signed, as in `ssh-keygen(1)`, ALLOWED SIGNERS
    #[arg(long, value_name = "FILE")]
    signers: PathBuf,
}

/// `ssh-keygen` reads a device to its end, which it may not have.
fn regular(file: &Path, option: &str) -> Result<()> {
    let name = clean(&file.display().to_string());
    match std::fs::metadata(file) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => bail!("`{option} {name}` is no regular file"),
        Err(error) => bail!("`{option} {name}` cannot be read: {error}"),
    }
}

pub(crate) fn sign(arguments: &SignArguments, printer: &mut Printer) -> Result<ExitCode> {
    regular(&arguments.key, "--key")?;
    for run in &arguments.runs {
        iostone_fleet::sign(run, &arguments.key)?;
        printer.data(&format!("{}: signed\n", clean(&run.display().to_string())));
    }
    Ok(ExitCode::Success)
}

pub(crate) fn verify(arguments: &VerifyArguments, printer: &mut Printer) -> Result<ExitCode> {
    regular(&arguments.signers, "--signers")?;
    let mut code = ExitCode::Success;
    for run in &arguments.runs {
        let name = clean(&run.display().to_string());
        match iostone_fleet::verify(run, &arguments.signers) {
            Ok(signer) => printer.data(&format!("{name}: unchanged, signed by {}\n", clean(&signer))),
            Err(error @ iostone_fleet::FleetError::NoProgram { .. }) => return Err(error.into()),
            Err(error) => {
                printer.failure(format_args!("{name}: {error}"));
                code = ExitCode::Failure;
            }
        }
    }
    Ok(code)
}
