//! What the files of a test are called: `NAME_<date>_<time>`, never that of files which are there already.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// What follows the prefix.
const ENDINGS: [&str; 8] = [
    "_summary.txt",
    "_mbps.csv",
    "_iops.csv",
    "_lat.csv",
    "_trace.txt",
    "_hist.txt",
    "_record.jsonl",
    "_report.html",
];
const RECORD: &str = "_record.jsonl";
const REPORT: &str = "_report.html";

/// The beginning of the names of a test's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    /// A new one for a test that begins now, local time, as ORION does. Within the same minute a number is added.
    pub(super) fn new(test_name: &str) -> Self {
        Self::at(test_name, &jiff::Zoned::now().strftime("%Y%m%d_%H%M").to_string())
    }

    fn at(test_name: &str, minute: &str) -> Self {
        let first = format!("{test_name}_{minute}");
        let further = (2u32..).map(|number| format!("{first}_{number}"));
        let free = std::iter::once(first.clone()).chain(further).map(Self).find(Self::is_free);
        free.unwrap_or(Self(first))
    }

    fn is_free(&self) -> bool {
        // A dangling link is in the way too.
        ENDINGS.iter().all(|ending| std::fs::symlink_metadata(self.with(ending)).is_err())
    }

    /// That of a test to go on with, named by its prefix or by its record.
    pub(super) fn resumed(typed: &str) -> Result<Self> {
        let prefix = Self(typed.strip_suffix(RECORD).unwrap_or(typed).to_owned());
        if !prefix.record().exists() {
            bail!(
                "there is no record `{}`; `--resume` takes the prefix of a test's files, as in \
                 `--resume orion_20260101_1200`, or its record",
                prefix.record().display()
            );
        }
        Ok(prefix)
    }

    fn with(&self, ending: &str) -> PathBuf {
        PathBuf::from(format!("{}{ending}", self.0))
    }

    pub(super) fn record(&self) -> PathBuf {
        self.with(RECORD)
    }

    pub(super) fn report(&self) -> PathBuf {
        self.with(REPORT)
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_there_are_never_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("x").display().to_string();
        let first = Prefix::at(&name, "20261122_0730");
        assert!(first.as_str().ends_with("x_20261122_0730"));
        std::fs::write(first.with("_lat.csv"), "").unwrap();
        let second = Prefix::at(&name, "20261122_0730");
        assert!(second.as_str().ends_with("x_20261122_0730_2"));
        std::fs::write(second.record(), "").unwrap();
        assert!(Prefix::at(&name, "20261122_0730").as_str().ends_with("_3"));
        assert!(Prefix::at(&name, "20261122_0731").as_str().ends_with("_0731"));
    }

    #[test]
    fn a_test_to_go_on_with_is_named_by_prefix_or_record() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("x_20261122_0730").display().to_string();
        assert!(Prefix::resumed(&prefix).is_err());
        std::fs::write(format!("{prefix}_record.jsonl"), "").unwrap();
        let named = [prefix.clone(), format!("{prefix}_record.jsonl")];
        assert!(named.iter().all(|typed| Prefix::resumed(typed).unwrap() == Prefix(prefix.clone())));
    }
}
