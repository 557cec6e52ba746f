//! apt with a configuration of its own: lists, caches and sources apart, so that nothing of the machine's changes.
//!
//! The machine's configuration is read before ours (`apt.conf(5)`), so that its proxies and certificates hold; what it
//! would run after an update is taken out.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::release::ARCHITECTURE;
use crate::cache::make_directory;
use crate::error::GuestError;
use crate::locate;
use crate::process::{self, Output};

/// What kernels come in packages of; metas and debug information begin with the same letters.
const MOST_ARGUMENTS: usize = 500;

/// apt, asked through directories of ours.
#[derive(Debug)]
pub(super) struct Apt {
    directory: PathBuf,
    get: PathBuf,
    cache: PathBuf,
}

impl Apt {
    /// Its directories are made below this one.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when this machine has no apt.
    pub(super) fn at(directory: &Path) -> Result<Self, GuestError> {
        let found = |name| {
            locate::program(name).map_err(|_| {
                GuestError::Missing(
                    "fetching Debian kernels needs apt and dpkg, which this host lacks; next: name a kernel by \
                     its path (`/boot/vmlinuz-…`), with `machine.modules`"
                        .to_owned(),
                )
            })
        };
        let apt =
            Self { directory: directory.to_owned(), get: found("apt-get")?, cache: found("apt-cache")? };
        found("dpkg-deb")?;
        for below in ["sources", "lists/partial", "cache/archives/partial"] {
            make_directory(&directory.join(below))?;
        }
        apt.write("status", "")?;
        apt.write("apt.conf", &configuration(directory))?;
        Ok(apt)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), GuestError> {
        let path = self.directory.join(name);
        std::fs::write(&path, text).map_err(|error| GuestError::io("write", &path, error))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("-q").arg("-c").arg(self.directory.join("apt.conf")).current_dir(&self.directory);
        command
    }

    /// Reads the lists of these sources anew. Releases that an archive does not have are passed over.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when the archive cannot be reached, naming it.
    pub(super) fn update(&self, sources: &str, archive: &str, stop: &AtomicBool) -> Result<(), GuestError> {
        self.write("sources/debian.sources", sources)?;
        let mut command = self.command(&self.get);
        command.arg("update");
        let output = process::run(command, stop)?;
        match unreachable(&output.stderr) {
            None => Ok(()),
            Some(reason) => Err(GuestError::Missing(format!(
                "the archive `{archive}` cannot be read: {reason}; next: check the network, use a cached kernel (`iostone \
                 guest kernels --cached`), or name one by its path"
            ))),
        }
    }

    /// What the headers of the lists say: alias and own name of each release, `("stable", "trixie")`.
    pub(super) fn releases(&self) -> Vec<(String, String)> {
        let lists = std::fs::read_dir(self.directory.join("lists")).into_iter().flatten().flatten();
        let headers = lists.filter(|entry| entry.file_name().to_string_lossy().ends_with("Release"));
        headers
            .filter_map(|entry| {
                let text = String::from_utf8_lossy(&std::fs::read(entry.path()).ok()?).into_owned();
                let field = |name: &str| {
                    text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                Some((field("Suite:")?, field("Codename:")?))
            })
            .collect()
    }

    /// The names of all packages that begin so.
    pub(super) fn names(&self, prefix: &str, stop: &AtomicBool) -> Result<Vec<String>, GuestError> {
        let output = self.ask(&["pkgnames", prefix], &[], stop)?;
        Ok(output.stdout.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// The records of packages: all versions of all that are there.
    pub(super) fn show(&self, names: &[String], stop: &AtomicBool) -> Result<String, GuestError> {
        self.of_many("show", names, stop)
    }

    /// Lines of `name | version | URI release/component ...`.
    pub(super) fn madison(&self, names: &[String], stop: &AtomicBool) -> Result<String, GuestError> {
        self.of_many("madison", names, stop)
    }

    fn of_many(&self, verb: &str, names: &[String], stop: &AtomicBool) -> Result<String, GuestError> {
        let mut text = String::new();
        for names in names.chunks(MOST_ARGUMENTS) {
            // Its status says that some of them are not there, which is as it should be.
            text.push_str(&self.ask(&[verb], names, stop)?.stdout);
        }
        Ok(text)
    }

    fn ask(&self, words: &[&str], names: &[String], stop: &AtomicBool) -> Result<Output, GuestError> {
        let mut command = self.command(&self.cache);
        command.args(words).args(names);
        process::run(command, stop)
    }

    /// Removes the cache of the lists, twice as large as they are: one question in a day does not need it.
    pub(super) fn forget(&self) {
        let _ = std::fs::remove_file(self.directory.join("cache/pkgcache.bin"));
    }

    /// Downloads a package into a directory, verified against the lists; returns the file.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when the archive does not give it.
    pub(super) fn download(
        &self,
        package: &str,
        version: &str,
        into: &Path,
        stop: &AtomicBool,
    ) -> Result<PathBuf, GuestError> {
        make_directory(into)?;
        let mut command = self.command(&self.get);
        command.arg("download").arg(format!("{package}={version}")).current_dir(into);
        let output = process::run(command, stop)?;
        let entries = std::fs::read_dir(into).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut archives =
            entries.filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
        match archives.next() {
            Some(archive) if output.success => Ok(archive),
            _ => Err(GuestError::Missing(format!(
                "`{package}` {version} cannot be downloaded: {}; next: `iostone guest kernels --refresh`",
                complaint(&output.stderr)
            ))),
        }
    }
}

/// Unpacks a package.
///
/// # Errors
/// [`GuestError::Unsuitable`] when dpkg cannot.
pub(super) fn unpack(archive: &Path, into: &Path, stop: &AtomicBool) -> Result<(), GuestError> {
    make_directory(into)?;
    let mut command = Command::new(locate::program("dpkg-deb")?);
    command.arg("-x").arg(archive).arg(into);
    let output = process::run(command, stop)?;
    if output.success {
        return Ok(());
    }
    Err(GuestError::Unsuitable(format!(
        "`{}` cannot be unpacked: {}",
        archive.display(),
        complaint(&output.stderr)
    )))
}

/// What apt said when a server did not answer; none when at most a release was not there. Lists that it could not read
/// are reported on lines of their own, as warnings or errors.
fn unreachable(stderr: &str) -> Option<String> {
    let reason = stderr.lines().find(|line| line.contains("Failed to fetch"))?;
    let reason = reason.trim_start_matches(['W', 'E', ':', ' ']);
    Some(reason.to_owned())
}

/// The first error of apt's.
fn complaint(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().find(|line| line.starts_with("E:")).or_else(|| lines().next_back());
    first.map_or_else(|| "no reason given".to_owned(), |line| line.trim_start_matches("E: ").to_owned())
}

fn configuration(directory: &Path) -> String {
    // `#clear` takes out what the machine's own configuration says, such as programs to run afterwards.
    format!(
        "#clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{directory}/sources/\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State \"{directory}/\";\n\
         Dir::State::lists \"{directory}/lists/\";\n\
         Dir::State::status \"{directory}/status\";\n\
         Dir::Cache \"{directory}/cache/\";\n\
         Dir::Cache::archives \"{directory}/cache/archives/\";\n\
         Dir::Cache::pkgcache \"pkgcache.bin\";\n\
         Dir::Cache::srcpkgcache \"\";\n\
         APT::Architecture \"{ARCHITECTURE}\";\n\
         APT::Architectures {{ \"{ARCHITECTURE}\"; }};\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"1\";\n\
         Acquire::http::Timeout \"20\";\n\
         Acquire::https::Timeout \"20\";\n",
        directory = directory.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_told_from_a_release_that_is_not_there() {
        let gone = "E: The repository 'http://mirror.example oldoldstable-security Release' does not have a Release file.";
        assert_eq!(unreachable(gone), None);
        let silent = "W: Failed to fetch http://mirror.example/InRelease  Temporary failure resolving 'mirror.example'\n\
                      W: Some index files failed to download.";
        assert!(unreachable(silent).unwrap().starts_with("Failed to fetch"));
    }

    #[test]
    fn the_first_error_is_the_reason() {
        assert_eq!(complaint("W: late\nE: Version '1' was not found\nE: more"), "Version '1' was not found");
        assert_eq!(complaint(""), "no reason given");
    }
}
