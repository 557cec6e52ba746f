//! Finds the runs there are, and the one that somebody means: by path, by name, by id, or the latest.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_fleet::is_fleet;
use iostone_guest::Cache;
use iostone_lab::history::NamedSummary;
use iostone_lab::{Index, LabError, index_file, is_import};
use iostone_model::figures::counted;
use iostone_model::summary::RunListing;
use iostone_stack::leave_to_caller;

use crate::printer::Printer;

/// The runs below a directory, newest last, and whether there are more that cannot be read. Those are warned of, each
/// with the reason, because one of them may be meant.
pub(crate) fn all(parent: &Path, printer: &mut Printer) -> Result<(Vec<RunListing>, bool)> {
    let found = index().runs(parent)?;
    for error in &found.damaged {
        printer.warning(error);
    }
    let unreadable = unreadable(parent);
    for (path, error) in &unreadable {
        printer.warning(format_args!("`{}` cannot be read: {error}", path.display()));
    }
    Ok((found.runs, !(found.damaged.is_empty() && unreadable.is_empty())))
}

/// The index of this user: the file that `IOSTONE_INDEX` names, none with `off`, else one in the cache directory. Root has its
/// own, under sudo as well, so that nobody leads it to another file; it takes some ms a run to make the caller's.
pub(crate) fn index() -> Index {
    match std::env::var_os("IOSTONE_INDEX").filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => Index::none(),
        Some(file) => Index::at(Path::new(&file)),
        None => Cache::of_user().map_or_else(|_| Index::none(), |cache| Index::at(&index_file(cache.root()))),
    }
}

/// Directories that may hold a run, but do not let themselves be looked into: somebody else's, mostly.
fn unreadable(parent: &Path) -> Vec<(PathBuf, Error)> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut unreadable: Vec<(PathBuf, Error)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.path(), is_run(&entry.path()).err()?)))
        .collect();
    unreadable.sort_by(|(left, _), (right, _)| left.cmp(right));
    unreadable
}

/// Whether a path is that of a run. Files beside the runs are none.
fn is_run(path: &Path) -> Result<bool, Error> {
    match path.join("plan.json").try_exists() {
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(false),
        Ok(false) => Ok(is_import(path)),
        found => found,
    }
}

/// Names of the fleets below a directory, in order.
pub(crate) fn fleets(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| is_fleet(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// That there is no run below a directory, and what to do about it.
pub(crate) fn none_yet(parent: &Path) -> String {
    let place = parent.display();
    match fleets(parent).as_slice() {
        [] => format!("no runs in `{place}` yet; start one with `iostone demo`"),
        several @ [.., last] => format!(
            "no runs in `{place}` but {}; `iostone report {}` shows {}",
            counted(several.len(), "fleet"),
            parent.join(last).display(),
            if several.len() == 1 { "it" } else { "the latest" }
        ),
    }
}

/// Finds a run, as [`find_any`] does; a fleet of that name does not make it ambiguous.
pub(crate) fn find(parent: &Path, named: &str, printer: &mut Printer) -> Result<PathBuf> {
    let path = search(parent, named, false, printer)?;
    if is_fleet(&path) {
        let place = path.display();
        bail!("`{place}` is a fleet, where one run is wanted: name one of `{place}/hosts`");
    }
    Ok(path)
}

/// Finds a run or a fleet. `named` is a path, a directory's name below `parent`, a part of one that fits one of them only,
/// `latest` or `last` for the last run, or `last-3` for the third before it.
pub(crate) fn find_any(parent: &Path, named: &str, printer: &mut Printer) -> Result<PathBuf> {
    search(parent, named, true, printer)
}

fn search(parent: &Path, named: &str, of_fleets: bool, printer: &mut Printer) -> Result<PathBuf> {
    for direct in [PathBuf::from(named), parent.join(named)] {
        match is_run(&direct).map(|run| run || is_fleet(&direct)) {
            Ok(true) => return Ok(direct),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                bail!("`{}` cannot be read: {error}", direct.display())
            }
            _ => {}
        }
    }
    let (runs, more) = all(parent, printer)?;
    if let Some(before) = before_last(named) {
        return match runs.iter().rev().nth(before) {
            Some(run) => Ok(parent.join(&run.directory)),
            None if more => bail!("no run in `{}` can be read", parent.display()),
            None if runs.is_empty() => bail!("{}", none_yet(parent)),
            None => bail!("`{named}`: there are only {} runs in `{}`", runs.len(), parent.display()),
        };
    }
    let fleets = fleets(parent);
    let mut fitting: Vec<&str> =
        runs.iter().map(|run| run.directory.as_str()).filter(|name| name.contains(named)).collect();
    let runs_fitting = fitting.len();
    if of_fleets || fitting.is_empty() {
        fitting.extend(fleets.iter().map(String::as_str).filter(|name| name.contains(named)));
    }
    let kinds = match runs_fitting {
        0 => "fleets",
        some if some == fitting.len() => "runs",
        _ => "runs and fleets",
    };
    match fitting.as_slice() {
        [one] => Ok(parent.join(one)),
        [] => bail!(
            "`{named}` is neither a run directory nor part of the name of a run in `{}`; `iostone list` shows the runs",
            parent.display()
        ),
        several => bail!("`{named}` matches several {kinds}: {}; give more of the name", several.join(", ")),
    }
}

/// `last` and `latest` are 0, `last-3` is 3.
fn before_last(named: &str) -> Option<usize> {
    match named {
        "last" | "latest" => Some(0),
        _ => named.strip_prefix("last-")?.parse().ok(),
    }
}

/// Finds several runs. Each name is one of [`find`], or a range of two, both included, which goes from the older to the newer
/// whichever is named first: `last-10..last`. No run is given twice.
pub(crate) fn find_several(parent: &Path, named: &[String], printer: &mut Printer) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for name in named {
        // A path may hold two dots.
        let range = name
            .split_once("..")
            .filter(|(from, to)| !from.is_empty() && !to.is_empty() && !name.contains('/'));
        let Some((from, to)) = range else {
            found.push(find(parent, name, printer)?);
            continue;
        };
        let (runs, _) = all(parent, printer)?;
        let place = |end: &str, printer: &mut Printer| -> Result<usize> {
            // More than there are is all there are.
            if let Some(before) = before_last(end) {
                return match runs.len().checked_sub(1) {
                    Some(last) => Ok(last.saturating_sub(before)),
                    None => bail!("{}", none_yet(parent)),
                };
            }
            let path = find(parent, end, printer)?;
            match runs.iter().position(|run| parent.join(&run.directory) == path) {
                Some(place) => Ok(place),
                None => bail!("`{end}` is not in `{}`, so that no range ends there", parent.display()),
            }
        };
        let (from, to) = (place(from, printer)?, place(to, printer)?);
        let within = runs.get(from.min(to)..=from.max(to)).unwrap_or_default();
        found.extend(within.iter().map(|run| parent.join(&run.directory)));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Ok(found)
}

/// The summaries of all runs below a directory. What cannot be read is warned of.
pub(crate) fn summaries(parent: &Path, printer: &mut Printer) -> Result<Vec<NamedSummary>> {
    let (runs, _) = all(parent, printer)?;
    let mut index = index();
    let mut summaries = Vec::new();
    for RunListing { directory, .. } in runs {
        match index.summary(&parent.join(&directory)) {
            Ok(summary) => summaries.push(NamedSummary { directory, summary }),
            Err(error) => printer.warning(error),
        }
    }
    Ok(summaries)
}

/// The summary of a run, with the name of its directory.
pub(crate) fn summary(index: &mut Index, path: &Path) -> Result<NamedSummary, LabError> {
    // Of `.` the name is that of the directory itself.
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(NamedSummary { directory, summary: index.summary(path)? })
}

/// Leaves records to who called sudo. That it did not work changes nothing about them.
pub(crate) fn hand_over(directory: &Path, printer: &mut Printer) {
    if let Err(error) = leave_to_caller(directory) {
        let place = directory.display();
        printer.warning(format_args!("cannot change the owner of `{place}` to the user of sudo: {error}"));
    }
}
