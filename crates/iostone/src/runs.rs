//! Finds the run that somebody means: by path, by name, by id, or the latest.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_lab::list_runs;

use crate::printer::Printer;

/// Finds a run. `named` is a path, a directory's name below `parent`, a part of one that fits one run only, or
/// `latest`. Damaged runs are warned of, because one of them may be meant.
pub(crate) fn find(parent: &Path, named: &str, printer: &mut Printer) -> Result<PathBuf> {
    for direct in [PathBuf::from(named), parent.join(named)] {
        if direct.join("plan.json").exists() {
            return Ok(direct);
        }
    }
    let (runs, damaged) = list_runs(parent)?;
    for error in &damaged {
        printer.warning(error);
    }
    if named == "latest" {
        return match runs.last() {
            Some(run) => Ok(parent.join(&run.directory)),
            None if !damaged.is_empty() => bail!("no run in `{}` can be read", parent.display()),
            None => bail!("there is no run in `{}` yet; make one with `iostone demo`", parent.display()),
        };
    }
    let fitting: Vec<&str> =
        runs.iter().map(|run| run.directory.as_str()).filter(|name| name.contains(named)).collect();
    match fitting.as_slice() {
        [one] => Ok(parent.join(one)),
        [] => bail!(
            "`{named}` is no run directory, and no run in `{}` has it in its name; `iostone list` shows them",
            parent.display()
        ),
        several => bail!("`{named}` fits several runs: {}; give more of the name", several.join(", ")),
    }
}
