//! The files that the figures of a load go to: checked before it runs, written after it.

use std::path::Path;

use anyhow::{Result, bail};
use iostone_report::clean;
use iostone_stack::{OutputFile, Permit, Placing, quote};

use super::load::Load;
use super::{Ran, fio_output};
use crate::printer::Printer;

/// Output files that may be written.
pub(super) struct Outputs {
    /// That of `--output`, held open: a load takes long.
    output: Option<OutputFile>,
    /// The logs of many clones are more files than a process may have open, so they are checked again when written.
    permit: Permit,
}

impl Outputs {
    /// Checks all of them.
    ///
    /// # Errors
    /// A file that may not be replaced or cannot be written, and a name behind `--destroy` that is no file of this load.
    pub(super) fn open(load: &Load) -> Result<Self> {
        let logs = fio_output::all_log_paths(load);
        refuse_unknown(load, &logs)?;
        let permit = Permit::new("--destroy", load.options.destroy.clone());
        for (path, placing) in &logs {
            OutputFile::check(path, *placing, &permit)?;
        }
        let open = |path| OutputFile::open(path, Placing::Replace, &permit);
        Ok(Self { output: load.options.output.as_deref().map(open).transpose()?, permit })
    }

    /// Writes the logs, and the figures to the output file or to standard output. Figures whose file cannot be written are
    /// on standard output too.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub(super) fn write(self, load: &Load, ran: &[Ran], text: &str, printer: &mut Printer) -> Result<()> {
        let logged = fio_output::write_all_logs(load, ran, &self.permit);
        let Some(output) = self.output else {
            printer.data(text);
            return logged;
        };
        let plain = anstream::adapter::strip_str(text).to_string();
        if let Err(unwritten) = output.write(&plain) {
            printer.data(text);
            return Err(unwritten.into());
        }
        logged
    }
}

/// A mistyped name would let nothing go. The words for devices are many, and the guard knows them.
fn refuse_unknown(load: &Load, logs: &[(std::path::PathBuf, Placing)]) -> Result<()> {
    let targets: Vec<&Path> = load
        .plan
        .phases
        .iter()
        .flat_map(|phase| &phase.jobs)
        .flat_map(|planned| &planned.job.targets)
        .map(AsRef::as_ref)
        .collect();
    // What exists and is no regular file may be a device.
    if targets.iter().any(|target| target.exists() && !target.is_file()) {
        return Ok(());
    }
    let files = targets
        .into_iter()
        .chain(load.options.output.as_deref())
        .chain(logs.iter().map(|(path, _)| path.as_path()));
    let known: Vec<&Path> = files.collect();
    match load.options.destroy.iter().find(|typed| !known.contains(&typed.as_path())) {
        Some(unknown) => bail!(
            "`--destroy {}` is no file of this load, neither a target nor an output",
            clean(&quote(unknown.as_os_str()))
        ),
        None => Ok(()),
    }
}
