//! Finds the run that somebody means: by path, by name, by id, or the latest.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_lab::list_runs;

/// Finds a run. `named` is a path, a directory's name below `parent`, a part of one that fits one run only, or
/// `latest`.
pub(crate) fn find(parent: &Path, named: &str) -> Result<PathBuf> {
    let direct = Path::new(named);
    if direct.join("plan.json").exists() {
        return Ok(direct.to_owned());
    }
    let (runs, _) = list_runs(parent)?;
    if named == "latest" {
        return match runs.last() {
            Some(run) => Ok(parent.join(&run.directory)),
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
