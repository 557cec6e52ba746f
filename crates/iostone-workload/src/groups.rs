//! Programs that enter control groups before they begin: whatever they do there counts, and nothing of ours does.

#![expect(unsafe_code, reason = "write(2) in the child, between fork(2) and execve(2), has no safe wrapper")]

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostone_probe::programs::find_program;

use crate::WorkloadError;

/// The writing process, whatever number it has in whatever namespace (cgroups(7)).
const MYSELF: &[u8] = b"0\n";

/// What a program that could not be started tells of the group that did not take it.
#[derive(Debug)]
pub(crate) struct Entrance {
    groups: Vec<PathBuf>,
    refusal: PipeReader,
}

impl Entrance {
    /// Lets the program that `command` starts move itself into each group, named by its `cgroup.procs`, before it begins.
    /// The files are opened here: the child may only do what is async-signal-safe (signal-safety(7)).
    ///
    /// # Errors
    /// [`WorkloadError::Enter`] with the group whose file cannot be opened for writing.
    pub(crate) fn into(groups: &[PathBuf], command: &mut Command) -> Result<Self, WorkloadError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |group: &PathBuf, source| WorkloadError::Enter {
            program: program.clone(),
            group: directory_of(group),
            source,
        };
        let mut files = Vec::new();
        for group in groups {
            let file = OpenOptions::new().write(true).open(group).map_err(|source| failed(group, source))?;
            files.push(file);
        }
        let (refusal, tell) = io::pipe().map_err(|source| WorkloadError::Spawn { program, source })?;
        if !files.is_empty() {
            // SAFETY: the closure only calls write(2), which is async-signal-safe, on descriptors that it owns, with
            // pointers to bytes that outlive the call; it allocates nothing.
            unsafe { command.pre_exec(move || enter_all(&files, &tell)) };
        }
        Ok(Self { groups: groups.to_vec(), refusal })
    }

    /// Why the program could not be started; `command`, whose child it was, must be gone by now.
    pub(crate) fn explain(mut self, program: String, source: io::Error) -> WorkloadError {
        let mut number = [0];
        // Without a refusal the pipe is empty, and nobody is left who could write into it.
        let told = self.refusal.read(&mut number).is_ok_and(|bytes| bytes == 1);
        match self.groups.get(usize::from(number[0])).filter(|_| told) {
            Some(group) => WorkloadError::Enter { program, group: directory_of(group), source },
            None if source.kind() == io::ErrorKind::NotFound => {
                let source = missing_interpreter(&program).map(io::Error::other).unwrap_or(source);
                WorkloadError::Spawn { program, source }
            }
            None => WorkloadError::Spawn { program, source },
        }
    }
}

/// Why the system says of a program that is there that it is not: what it names to run it is missing (execve(2), ENOENT).
fn missing_interpreter(program: &str) -> Option<String> {
    let path = find_program(program)?;
    Some(match interpreter(&path)?.as_str() {
        name if !name.is_empty() => not_there(name),
        _ => "the loader that it is linked with is not on this machine; `file` names it".to_owned(),
    })
}

/// The same of a script that was not started yet.
pub(crate) fn lacks_interpreter(script: &Path) -> Option<String> {
    let name = interpreter(script)?;
    (name.starts_with('/') && !Path::new(&name).exists()).then(|| not_there(&name))
}

fn not_there(interpreter: &str) -> String {
    format!("its first line names the interpreter `{interpreter}`, which is not there")
}

/// What the first line of a file names to run it; nothing where it is no script.
fn interpreter(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    // The kernel itself reads no more of the first line (`BINPRM_BUF_SIZE`, linux/binfmts.h).
    File::open(path).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = String::from_utf8_lossy(head.strip_prefix(b"#!").unwrap_or_default()).into_owned();
    Some(line.lines().next().unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned())
}

fn directory_of(procs: &Path) -> PathBuf {
    procs.parent().unwrap_or(procs).to_owned()
}

/// In the child. The number of the group that refuses goes to the parent, because only the system's number of the error
/// comes through otherwise.
fn enter_all(files: &[File], tell: &PipeWriter) -> io::Result<()> {
    for (number, file) in (0u8..).zip(files) {
        if write(file.as_raw_fd(), MYSELF).is_err() {
            let error = io::Error::last_os_error();
            let _ = write(tell.as_raw_fd(), &[number]);
            return Err(error);
        }
    }
    Ok(())
}

fn write(descriptor: i32, bytes: &[u8]) -> Result<(), ()> {
    // SAFETY: the pointer and the length are of a live slice.
    let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    if usize::try_from(written) == Ok(bytes.len()) { Ok(()) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_writes_itself_into_each_group_before_it_begins() {
        let directory = tempfile::tempdir().unwrap();
        let groups: Vec<PathBuf> = ["a", "b"].iter().map(|name| directory.path().join(name)).collect();
        for group in &groups {
            fs::write(group, "").unwrap();
        }
        let mut command = Command::new("cat");
        command.args(&groups);
        let _entrance = Entrance::into(&groups, &mut command).unwrap();
        assert_eq!(command.output().unwrap().stdout, b"0\n0\n");
    }

    #[test]
    fn a_group_that_is_not_there_is_named_before_anything_starts() {
        let group = PathBuf::from("/nowhere/iostone-x/cgroup.procs");
        let error = Entrance::into(&[group], &mut Command::new("true")).unwrap_err().to_string();
        assert_eq!(
            error,
            "`true` could not enter the control group `/nowhere/iostone-x`: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn a_group_that_refuses_is_named_and_a_program_that_is_missing_is_not_taken_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("cgroup.procs");
        fs::write(&open, "").unwrap();
        // Writing to it fails with ENOSPC (full(4)), as a cpuset without processors does.
        let groups = [open.clone(), PathBuf::from("/dev/full")];
        let mut command = Command::new("true");
        let entrance = Entrance::into(&groups, &mut command).unwrap();
        let source = command.spawn().unwrap_err();
        drop(command);
        let error = entrance.explain("true".to_owned(), source);
        assert!(matches!(&error, WorkloadError::Enter { group, .. } if group.ends_with("dev")), "{error}");
        assert!(error.to_string().contains("No space left"), "{error}");

        let mut command = Command::new("no-such-program-here");
        let entrance = Entrance::into(&[open], &mut command).unwrap();
        let source = command.spawn().unwrap_err();
        drop(command);
        assert!(matches!(entrance.explain(String::new(), source), WorkloadError::Spawn { .. }));
    }
}
