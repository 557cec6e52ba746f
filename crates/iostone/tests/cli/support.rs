//! A place of its own for each test: a temporary directory in which the binary runs, with its own registry and runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const BARRIER: &str = include_str!("../../../../experiments/barrier.toml");
pub(crate) const FLUSH_PRICE: &str = include_str!("../../../../experiments/flush-price.toml");
pub(crate) const OPEN_LOOP: &str = include_str!("../../../../experiments/open-loop.toml");

/// A temporary directory that the binary takes for its current one. Nothing of it stays.
pub(crate) struct Bench {
    directory: TempDir,
}

/// How the binary ended and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    /// Writes a file and gives its name back.
    pub(crate) fn write<'a>(&self, name: &'a str, content: impl AsRef<[u8]>) -> &'a str {
        fs::write(self.path(name), content).unwrap();
        name
    }

    /// The binary in this directory, with none of the caller's settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("iostone"));
        command.args(arguments).current_dir(self.directory.path());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "IOSTONE_QUIET", "COLUMNS"] {
            command.env_remove(variable);
        }
        command.env_remove("IOSTONE_CATALOGUE").env("XDG_CONFIG_HOME", self.path("config"));
        command.env("IOSTONE_STATE_DIR", self.path("state")).env("IOSTONE_RUNS", self.runs());
        command.env("IOSTONE_INDEX", self.path("state/index.sqlite3"));
        command
    }

    pub(crate) fn iostone(&self, arguments: &[&str]) -> Said {
        Said::from(self.command(arguments).output().unwrap())
    }

    /// The names of everything in the directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.directory.path())
    }

    /// The run directories, sorted.
    pub(crate) fn run_directories(&self) -> Vec<PathBuf> {
        if !self.runs().exists() {
            return Vec::new();
        }
        names(&self.runs()).into_iter().map(|name| self.runs().join(name)).collect()
    }

    /// The only run there is.
    pub(crate) fn only_run(&self) -> PathBuf {
        let runs = self.run_directories();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Fails if a command left an undo journal, or a work directory of a trial.
    #[track_caller]
    pub(crate) fn assert_undone(&self) {
        let journals = self.path("state/journals");
        if journals.exists() {
            assert_eq!(names(&journals), Vec::<String>::new(), "an undo journal is left");
        }
        for run in self.run_directories() {
            let left: Vec<String> =
                names(&run).into_iter().filter(|name| name.starts_with("iostone-")).collect();
            assert_eq!(left, Vec::<String>::new(), "a work directory is left in `{}`", run.display());
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Said {
    /// Fails with everything that was said unless the binary ended with that code.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Stdout as the one JSON document that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}", self.stdout))
    }

    /// Fails unless a piece of text was said on stderr.
    #[track_caller]
    pub(crate) fn complains_of(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "`{text}` is not in:\n{}", self.stderr);
        self
    }
}

/// Compares text with the snapshot of that name.
#[track_caller]
pub(crate) fn assert_text(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Puts words of equal meaning for what differs from run to run: the directory, and the date and id of runs of an
/// experiment.
pub(crate) fn masked(text: &str, bench: &Bench, experiment: &str) -> String {
    let here = fs::canonicalize(bench.path("")).unwrap();
    let text = text.replace(&here.display().to_string(), "[here]");
    let middle = format!("-{experiment}-");
    let mut pieces = text.split(&middle);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = whole.len();
        let date =
            end.checked_sub("2026-11-21".len()).and_then(|start| whole.get(start..)).unwrap_or_default();
        let id = piece.get(..8).filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric()));
        match id {
            Some(_) if date.starts_with("20") => {
                whole.truncate(end - date.len());
                whole.push_str("[date]");
                whole.push_str(&middle);
                whole.push_str("[id]");
                whole.push_str(piece.get(8..).unwrap_or_default());
            }
            _ => {
                whole.push_str(&middle);
                whole.push_str(piece);
            }
        }
    }
    whole
}
