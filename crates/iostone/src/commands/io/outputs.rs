//! The files that the figures of a load go to: checked before it runs, written after it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_model::load::IoEngine;
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
        refuse_shared(load, &logs)?;
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

/// One file cannot be two things: what the load writes, what it knows of that, the figures, and the logs.
fn refuse_shared(load: &Load, logs: &[(PathBuf, Placing)]) -> Result<()> {
    let jobs = || load.plan.phases.iter().flat_map(|phase| &phase.jobs).map(|planned| &planned.job);
    let written = jobs().filter(|job| job.engine != IoEngine::Null).flat_map(|job| {
        let ledger = job.verify.as_ref().and_then(|verify| verify.ledger.as_ref());
        job.targets.iter().chain(ledger)
    });
    let loaded: BTreeSet<PathBuf> = written.map(|path| place_of(path)).collect();
    let output = load.options.output.as_deref();
    let shared = output.into_iter().chain(logs.iter().map(|(path, _)| path.as_path())).find(|path| {
        let is_log = output != Some(*path);
        loaded.contains(&place_of(path))
            || (is_log && output.is_some_and(|it| place_of(it) == place_of(path)))
    });
    // Such as /dev/null, to which anything may go at once.
    match shared.filter(|path| !path.exists() || path.is_file()) {
        Some(path) => bail!(
            "`{}` is named twice in this load, as an output and as a target, a ledger or another output; name another \
             file",
            clean(&quote(path.as_os_str()))
        ),
        None => Ok(()),
    }
}

/// Where a file is, or would be, by whatever spelling.
fn place_of(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.canonicalize().unwrap_or(whole)
}

/// A mistyped name would let nothing go. The words for devices are many, and the guard knows them.
fn refuse_unknown(load: &Load, logs: &[(PathBuf, Placing)]) -> Result<()> {
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
