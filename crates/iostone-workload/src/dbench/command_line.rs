//! What dbench is started with: its version decides which options there are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostone_model::experiment::DbenchWorkload;
use iostone_probe::programs::find_program;

use crate::WorkloadError;

/// Where packages and `make install` put dbench's own loadfile.
const LOADFILES: [&str; 4] = [
    "/usr/share/dbench/client.txt",
    "/usr/local/share/dbench/client.txt",
    "/usr/share/doc/dbench/loadfiles/client.txt",
    "/usr/local/share/doc/dbench/loadfiles/client.txt",
];

/// A version as dbench tells it: `4.00`, `5.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version(String);

impl Version {
    /// Asks the installed dbench. Neither version has an option for it; both print it before they refuse a wrong one.
    pub(super) fn of_installed() -> Result<Self, WorkloadError> {
        let path = find_program("dbench").ok_or(WorkloadError::NotInstalled { program: "dbench" })?;
        let output = Command::new(&path)
            .arg("--version")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| WorkloadError::Spawn { program: "dbench".to_owned(), source })?;
        Self::of_banner(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| WorkloadError::Unsuitable {
            program: "dbench",
            reason: format!("`{}` does not tell its version, so it may be another program", path.display()),
        })
    }

    /// From its first line: `dbench version 4.00 - Copyright Andrew Tridgell 1999-2004`.
    pub(super) fn of_banner(text: &str) -> Option<Self> {
        let rest = text.lines().find_map(|line| line.trim().strip_prefix("dbench version "))?;
        rest.split_whitespace().next().map(|version| Self(version.to_owned()))
    }

    fn major(&self) -> u32 {
        self.0.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }

    /// dbench 5 works on several kinds of storage and must be told which.
    fn has_backends(&self) -> bool {
        self.major() >= 5
    }

    /// Whether this version has what is asked for.
    ///
    /// # Errors
    /// A version before 4, or a warm-up that dbench 4 cannot be told.
    pub(super) fn check(&self, spec: &DbenchWorkload) -> Result<(), WorkloadError> {
        let unsuitable = |reason: String| Err(WorkloadError::Unsuitable { program: "dbench", reason });
        if self.major() < 4 {
            return unsuitable(format!("version {} is installed, but 4 or 5 is needed", self.0));
        }
        match spec.warm_up {
            Some(asked) if !self.has_backends() && asked != spec.seconds / 5 => unsuitable(format!(
                "`workload.warm_up` is {asked}, but version {} always warms up for a fifth of `workload.seconds`, {} s; \
                 leave `warm_up` out, or use dbench 5",
                self.0,
                spec.seconds / 5
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The file of operations that is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadFile(PathBuf);

impl LoadFile {
    /// The one that is asked for, or dbench's own.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn of(spec: &DbenchWorkload) -> Result<Self, WorkloadError> {
        let unsuitable = |reason: String| WorkloadError::Unsuitable { program: "dbench", reason };
        match &spec.loadfile {
            Some(path) if path.is_file() => Ok(Self(path.clone())),
            Some(path) => {
                Err(unsuitable(format!("`workload.loadfile` names `{}`, which is no file", path.display())))
            }
            None => LOADFILES
                .iter()
                .map(Path::new)
                .find(|path| path.is_file())
                .map(|path| Self(path.to_owned()))
                .ok_or_else(|| {
                    unsuitable(format!(
                        "its own loadfile is in none of the usual places (`{}`, ...); name one with \
                             `workload.loadfile`",
                        LOADFILES[0]
                    ))
                }),
        }
    }
}

#[cfg(test)]
impl LoadFile {
    pub(super) fn named(path: &str) -> Self {
        Self(PathBuf::from(path))
    }
}

impl fmt::Display for LoadFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.display())
    }
}

/// The whole command line.
pub(super) struct CommandLine<'a> {
    pub(super) spec: &'a DbenchWorkload,
    pub(super) version: &'a Version,
    pub(super) loadfile: &'a LoadFile,
    /// Where its clients work, relative to where it is started.
    pub(super) folder: &'a str,
}

impl CommandLine<'_> {
    /// Program and arguments.
    pub(super) fn argv(&self) -> Vec<String> {
        let spec = self.spec;
        let mut argv = vec!["dbench".to_owned()];
        if self.version.has_backends() {
            argv.extend(["-B".to_owned(), "fileio".to_owned()]);
            argv.push(format!("--warmup={}", spec.warm_up_seconds()));
        }
        argv.push(format!("--loadfile={}", self.loadfile));
        argv.extend(["-t".to_owned(), spec.seconds.to_string(), "-D".to_owned(), self.folder.to_owned()]);
        for (set, option) in [
            (spec.sync, "-s"),
            (spec.sync_directories, "-S"),
            (spec.fsync, "-F"),
            (spec.xattr, "-x"),
            (spec.no_resolve, "--no-resolve"),
        ] {
            argv.extend(set.then(|| option.to_owned()));
        }
        if let Some(rate) = spec.target_rate {
            argv.extend(["-R".to_owned(), (rate.0 / 1_000_000).to_string()]);
        }
        argv.extend(spec.clients_per_process.map(|clients| format!("--clients-per-process={clients}")));
        // With several clients a process, dbench counts processes.
        argv.push((spec.clients / spec.clients_per_process.unwrap_or(1).max(1)).to_string());
        argv
    }
}
