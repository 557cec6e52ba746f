//! The machine's registry of undo journals: where they lie, whose they are, and the replay of those of dead owners.

#[cfg(test)]
mod forged;
mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{StackError, UndoFailure};
use crate::guard::Leftovers;
use crate::journal::{self, Journal, Opened};
use crate::owner::Owner;
use crate::seal::Key;
use crate::tool::quote;
use crate::undo;

/// Names another place of the registry; for tests and for machines whose `/var/lib` cannot be written.
const STATE_DIRECTORY_VARIABLE: &str = "IOSTONE_STATE_DIR";

/// Looks at a locked journal whose owner lives, and whose owner is dead, [`PAUSE`] apart. A dead owner's threads may
/// still have requests under way that its limits held back until they were lifted.
const ATTEMPTS_ALIVE: u32 = 3;
const ATTEMPTS_DEAD: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// The registry: one directory for each user of the machine, `/var/lib/iostone` for root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    journals: PathBuf,
    key: Key,
}

/// What became of one journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum JournalOutcome {
    /// Its owner lives, or another cleanup is at it: nothing was touched.
    Alive {
        /// The owner, where it could be read.
        owner: Option<Owner>,
    },
    /// Everything in it is undone and it is gone.
    Undone {
        /// Whose it was.
        owner: Owner,
        /// What was there to undo, in the order in which it was; then what was not found, and what was left alone
        /// because others have used it since ("left alone: ..."), each with what to do.
        undone: Vec<String>,
    },
    /// Something in it could not be undone; it is kept.
    Failed {
        /// Whose it was.
        owner: Owner,
        /// What is left, why, and what to do.
        failure: UndoFailure,
    },
    /// It was written on another machine, which shares this directory: nothing was touched.
    Foreign {
        /// Whose it is.
        owner: Owner,
    },
    /// It is no journal of this user's that this version understands: nothing was touched.
    Unreadable {
        /// Why, and what to do.
        reason: String,
    },
}

/// What [`Registry::cleanup`] found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CleanupReport {
    /// Each journal with what became of it, by name.
    pub journals: Vec<(PathBuf, JournalOutcome)>,
}

impl CleanupReport {
    /// Whether something is left that nobody alive looks after.
    pub fn is_clean(&self) -> bool {
        !self.journals.iter().any(|(_, outcome)| {
            matches!(outcome, JournalOutcome::Failed { .. } | JournalOutcome::Unreadable { .. })
        })
    }
}

impl Registry {
    /// The registry of this user: `IOSTONE_STATE_DIR` if set, `/var/lib/iostone` for root, else
    /// `$XDG_STATE_HOME/iostone` or `~/.local/state/iostone` (XDG base directory specification).
    ///
    /// # Errors
    /// [`StackError::Usage`] when `IOSTONE_STATE_DIR` is relative, when there is no home directory and when the place
    /// cannot be made; the message names the variable. Those of [`Registry::at`].
    pub fn open() -> Result<Self, StackError> {
        Self::at(&state_directory(|name| std::env::var_os(name).map(PathBuf::from))?)
    }

    /// A registry at a place of the caller's; made if it is missing.
    ///
    /// What lies there is done by this process's user when it is replayed, so that nobody else may have written it.
    ///
    /// # Errors
    /// [`StackError::Refused`] where another user could have, or could put another directory in its place;
    /// [`StackError::Usage`] when it cannot be made.
    pub fn at(state_directory: &Path) -> Result<Self, StackError> {
        let journals = place::make(state_directory)?;
        Ok(Self { journals, key: Key::of(state_directory)? })
    }

    /// Looks where the registry of this user is, or would be made, without making anything.
    ///
    /// # Errors
    /// As [`Registry::open`], for a place that would be refused.
    pub fn look() -> Result<PathBuf, StackError> {
        let state_directory = state_directory(|name| std::env::var_os(name).map(PathBuf::from))?;
        place::check(&state_directory)?;
        Key::check(&state_directory)?;
        Ok(state_directory)
    }

    /// The directory of the journals.
    pub fn directory(&self) -> &Path {
        &self.journals
    }

    /// What earlier runs left on devices, beside the journals.
    pub(crate) fn leftovers(&self) -> Leftovers {
        self.journals.parent().map(Leftovers::of_state).unwrap_or_default()
    }

    /// Starts the journal of a session of this process.
    pub(crate) fn begin(
        &self,
        run_directory: &Path,
        work_directory: &Path,
        token: &str,
    ) -> Result<Journal, StackError> {
        let owner =
            Owner { work_directory: work_directory.to_owned(), ..Owner::current(run_directory, token)? };
        Journal::create(&self.journals, &owner, &self.key).map_err(|error| match error {
            StackError::Io { source, .. } if source.kind() != std::io::ErrorKind::AlreadyExists => {
                unusable(&self.journals, &source.to_string())
            }
            other => other,
        })
    }

    /// Replays the journals of dead owners; to be called by `iostone cleanup` and before any run.
    ///
    /// An owner is dead when its process is gone (or its boot) and the lock on its journal can be had; the lock is
    /// held during the replay, so that two cleanups at once share the work instead of doing it twice.
    ///
    /// # Errors
    /// [`StackError::Io`] when the registry itself cannot be read. What fails in a journal is in the report.
    pub fn cleanup(&self) -> Result<CleanupReport, StackError> {
        let mut names: Vec<PathBuf> = fs::read_dir(&self.journals)
            .map_err(|source| StackError::io("list", &self.journals, source))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        names.sort();
        let mut report = CleanupReport::default();
        for path in names {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(".new-") {
                journal::remove_unborn(&path);
            } else if let Some(outcome) = replay(&path, &self.key)? {
                report.journals.push((path, outcome));
            }
        }
        Ok(report)
    }
}

/// Opens a journal; gives a lock that is about to go a moment. A process that was just forked holds a copy of its
/// parent's until its exec, and one that was killed until the kernel has taken it apart: those of its threads that wait
/// under a limit of its own control group end, and give the lock up, only once that is lifted.
fn open_patiently(path: &Path, key: &Key) -> Result<Opened, StackError> {
    let mut attempts = 0;
    loop {
        let opened = Journal::open(path, key)?;
        if !matches!(opened, Opened::Locked) {
            return Ok(opened);
        }
        let of_dead = journal::peek(path, key).filter(|(owner, _)| is_dead(owner));
        let dead = of_dead.is_some();
        if let Some((owner, entries)) = of_dead {
            undo::let_signals_through(&owner, &entries);
        }
        if attempts >= if dead { ATTEMPTS_DEAD } else { ATTEMPTS_ALIVE } {
            return Ok(opened);
        }
        attempts += 1;
        std::thread::sleep(PAUSE);
    }
}

/// Whether a journal of this machine has lost its owner.
fn is_dead(owner: &Owner) -> bool {
    owner.is_of_this_host().unwrap_or(false) && !owner.is_alive().unwrap_or(true)
}

fn replay(path: &Path, key: &Key) -> Result<Option<JournalOutcome>, StackError> {
    let unreadable = |reason: String| {
        let next =
            format!("undo by hand the steps it lists that are yours, then `rm {}`", quote(path.as_os_str()));
        Ok(Some(JournalOutcome::Unreadable {
            reason: format!("{reason}; none of it was undone; next: {next}"),
        }))
    };
    let mut journal = match open_patiently(path, key) {
        Ok(Opened::Journal(journal)) => *journal,
        Ok(Opened::Locked) => {
            let owner = journal::peek(path, key).map(|(owner, _)| owner);
            return Ok(Some(JournalOutcome::Alive { owner }));
        }
        Ok(Opened::Gone) => return Ok(None),
        Ok(Opened::Unreadable(reason)) => return unreadable(reason),
        Err(error) => return unreadable(error.to_string()),
    };
    let owner = journal.owner.clone();
    if !owner.is_of_this_host()? {
        return Ok(Some(JournalOutcome::Foreign { owner }));
    }
    if !journal.released && owner.is_alive()? {
        return Ok(Some(JournalOutcome::Alive { owner: Some(owner) }));
    }
    Ok(Some(match undo::undo_steps(&mut journal, None) {
        Ok(undone) => {
            journal.remove()?;
            JournalOutcome::Undone { owner, undone: undone.into_words() }
        }
        Err(failure) => JournalOutcome::Failed { owner, failure },
    }))
}

fn unusable(journals: &Path, reason: &str) -> StackError {
    StackError::setting(
        journals,
        format!(
            "undo journals cannot be written there ({reason}); set `{STATE_DIRECTORY_VARIABLE}` to the absolute path of a \
             writable directory"
        ),
    )
}

fn state_directory(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, StackError> {
    // An empty variable counts as not set.
    if let Some(path) = variable(STATE_DIRECTORY_VARIABLE).filter(|path| !path.as_os_str().is_empty()) {
        if path.is_absolute() {
            return Ok(path);
        }
        // It would be another registry for each working directory, so that no cleanup found the journals again.
        return Err(StackError::setting(
            STATE_DIRECTORY_VARIABLE,
            format!("it must be an absolute path, but is `{}`", path.display()),
        ));
    }
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/iostone"));
    }
    // The specification has relative values ignored.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("iostone"))
        .ok_or_else(|| {
            let reason = format!(
                "it is not an absolute path, so undo journals have no directory; set it, or `{STATE_DIRECTORY_VARIABLE}`"
            );
            StackError::setting("HOME", reason)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_the_place() {
        let set = |name: &str| (name == STATE_DIRECTORY_VARIABLE).then(|| PathBuf::from("/somewhere"));
        assert_eq!(state_directory(set).unwrap(), Path::new("/somewhere"));
        let relative = |name: &str| (name == STATE_DIRECTORY_VARIABLE).then(|| PathBuf::from("somewhere"));
        let error = state_directory(relative).unwrap_err();
        assert!(matches!(error, StackError::Usage { .. }));
        assert_eq!(error.to_string(), "`IOSTONE_STATE_DIR`: it must be an absolute path, but is `somewhere`");
        let empty = |name: &str| match name {
            STATE_DIRECTORY_VARIABLE => Some(PathBuf::new()),
            "HOME" => Some(PathBuf::from("/home/somebody")),
            _ => None,
        };
        assert!(state_directory(empty).is_ok());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_with_the_variable() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Registry::at(&file).unwrap_err();
        assert!(matches!(error, StackError::Usage { .. }));
        assert!(error.to_string().contains(STATE_DIRECTORY_VARIABLE), "{error}");
        if !rustix::process::geteuid().is_root() {
            let error = state_directory(|_| None).unwrap_err();
            assert!(error.to_string().contains(STATE_DIRECTORY_VARIABLE), "{error}");
        }
    }

    #[test]
    fn journals_of_the_living_and_what_is_no_journal_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::at(directory.path()).unwrap();
        let alive = registry
            .begin(Path::new("/run-directory"), Path::new("/run-directory"), "alive-0123456789abcdef")
            .unwrap();
        let foreign = registry.directory().join("notes.txt");
        fs::write(&foreign, "hello\n").unwrap();
        let report = registry.cleanup().unwrap();
        assert!(!report.is_clean());
        assert_eq!(report.journals.len(), 2);
        assert!(matches!(&report.journals[1].1, JournalOutcome::Unreadable { .. }));
        assert!(
            matches!(&report.journals[0].1, JournalOutcome::Alive { owner: Some(owner) } if owner.token == "alive-0123456789abcdef")
        );
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "hello\n");
        let path = alive.path.clone();
        drop(alive);
        // The lock is free now, but the owner, this process, lives.
        let report = registry.cleanup().unwrap();
        assert!(matches!(&report.journals[0].1, JournalOutcome::Alive { .. }));
        assert!(path.exists());
    }

    #[test]
    fn a_journal_of_another_machine_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::at(directory.path()).unwrap();
        let mut owner = Owner::current(Path::new("/run-directory"), "foreign-0123456789abcdef").unwrap();
        owner.host = "elsewhere".to_owned();
        drop(Journal::create(registry.directory(), &owner, &registry.key).unwrap());
        let report = registry.cleanup().unwrap();
        assert!(matches!(&report.journals[0].1, JournalOutcome::Foreign { .. }));
        assert!(report.is_clean());
    }

    #[test]
    fn an_unborn_journal_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::at(directory.path()).unwrap();
        fs::write(registry.directory().join(".new-1"), "").unwrap();
        assert!(registry.cleanup().unwrap().journals.is_empty());
        assert_eq!(fs::read_dir(registry.directory()).unwrap().count(), 0);
    }
}
