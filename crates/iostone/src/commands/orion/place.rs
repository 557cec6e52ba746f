//! Where a test was begun: the `.lun` file and the LUNs are named from there.

use std::path::{Path, PathBuf};

use iostone_model::experiment::quoted;
use iostone_model::orion::OrionHeader;
use iostone_orion::OrionError;
use iostone_orion::lun::{EntryFault, LunError};

use super::arguments::typed_again;

/// The current directory, without links.
pub(super) fn here() -> Option<PathBuf> {
    std::env::current_dir().and_then(std::fs::canonicalize).ok()
}

/// What keeps a test from going on, with where it was begun if that is elsewhere and may be the reason.
pub(super) fn told_of(
    error: anyhow::Error,
    header: &OrionHeader,
    typed: &str,
    words: &[String],
) -> anyhow::Error {
    let Some(begun) = header.directory.as_deref().filter(|begun| Some(Path::new(begun)) != here().as_deref())
    else {
        return error;
    };
    if !is_of_place(&error) {
        return error;
    }
    // The prefix leads to the record from anywhere.
    let prefix = std::path::absolute(typed).unwrap_or_else(|_| PathBuf::from(typed)).display().to_string();
    let again = |word: &String| match word.strip_suffix(typed) {
        Some(option @ ("" | "--resume=")) => format!("{option}{prefix}"),
        _ => word.clone(),
    };
    let words: Vec<String> = words.iter().map(again).collect();
    let go = format!("cd {} && {}", quoted(begun), typed_again(&words));
    let gone = if Path::new(begun).is_dir() { "" } else { ", which is not there any more" };
    anyhow::anyhow!(
        "the test was begun in `{begun}`{gone}, from where its `.lun` file and LUNs are named; go on there with `{go}`, \
         for seen from here: {error:#}"
    )
}

/// Whether something was not found, or something else was.
fn is_of_place(error: &anyhow::Error) -> bool {
    if let Some(OrionError::Changed { .. }) = error.downcast_ref() {
        return true;
    }
    matches!(
        error.downcast_ref(),
        Some(
            LunError::Missing { .. }
                | LunError::Entry { fault: EntryFault::Missing { .. } | EntryFault::NoDirectory { .. }, .. }
        )
    )
}
