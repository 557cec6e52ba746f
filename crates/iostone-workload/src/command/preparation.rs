//! What a `command` has before its clock runs: files copied to where it starts, programs run there, all of it written back.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_model::experiment::CommandWorkload;
use iostone_probe::programs::find_program;

use crate::WorkloadError;
use crate::program::Program;
use crate::tool::{settle_files, write_back};

/// So many lines of a failed program's standard error are repeated.
const COMPLAINT_LINES: usize = 4;

/// Finds out, touching nothing, whether the files that a command needs can be read, and where it is to start.
///
/// # Errors
/// [`WorkloadError::File`] or [`WorkloadError::Directory`] with the first that cannot.
pub(crate) fn preflight(spec: &CommandWorkload) -> Result<(), WorkloadError> {
    if let Some(directory) = &spec.directory {
        fs::read_dir(directory)
            .map_err(|source| WorkloadError::Directory { path: directory.clone(), source })?;
    }
    spec.files.iter().try_for_each(|file| open(file).map(drop))
}

/// The first program of a command that this machine does not have. One with a path may come out of `prepare`.
pub(crate) fn missing_program(spec: &CommandWorkload) -> Option<&str> {
    let is_missing = |program: &&str| {
        if program.contains('/') {
            // A relative path that is a file beside the experiment was made absolute with the plan.
            let is_there = program.starts_with('/') && Path::new(program).exists();
            !is_there && spec.prepare.is_empty() && !spec.lays_out(program)
        } else {
            find_program(program).is_none()
        }
    };
    let programs = spec.prepare.iter().chain([&spec.argv]).filter_map(|argv| argv.first());
    programs.map(String::as_str).find(is_missing)
}

/// A program of a command that is a directory.
pub(crate) fn directory_as_program(spec: &CommandWorkload) -> Option<&str> {
    let mut programs = spec.prepare.iter().chain([&spec.argv]).filter_map(|argv| argv.first());
    programs.find(|program| program.starts_with('/') && Path::new(program).is_dir()).map(String::as_str)
}

/// A program of a command that is a file but not to be executed, whoever asks. What `prepare` makes may be another.
pub(crate) fn not_executable(spec: &CommandWorkload) -> Option<&str> {
    let mut programs = spec.prepare.iter().chain([&spec.argv]).filter_map(|argv| argv.first());
    let is_plain = |program: &&String| {
        let mode = fs::metadata(program).map(|metadata| metadata.permissions().mode());
        program.starts_with('/') && mode.is_ok_and(|mode| mode & 0o111 == 0)
    };
    let first = programs.find(is_plain)?;
    (spec.prepare.is_empty() || spec.prepare.first()?.first() == Some(first)).then_some(first)
}

/// Copies and runs what comes before a command, where and with what it will be run itself.
///
/// # Errors
/// A file that cannot be had or copied, a program that cannot be started or fails, or an interrupt.
pub(super) fn carry_out(
    spec: &CommandWorkload,
    command: &Program,
    stop: &AtomicBool,
) -> Result<(), WorkloadError> {
    if spec.files.is_empty() && spec.prepare.is_empty() {
        return Ok(());
    }
    for file in &spec.files {
        copy(file, &command.directory)?;
        if stop.load(Ordering::Relaxed) {
            return Err(WorkloadError::Interrupted);
        }
    }
    for argv in &spec.prepare {
        let program = Program { argv: argv.clone(), ..command.clone() }.unlimited();
        let finished = program.run(stop).map_err(of_prepare)?;
        match &finished.error {
            _ if finished.interrupted => return Err(WorkloadError::Interrupted),
            Some(reason) => {
                let told = with_complaint(reason, &finished.stderr);
                return Err(WorkloadError::Prepare(told));
            }
            None => {}
        }
    }
    // What is left to write would be written while the command is timed. Files of a directory of the user's stay cached:
    // whoever wants them cold says so in `prepare`.
    match &spec.directory {
        Some(_) => write_back(&command.directory),
        None => settle_files(&command.directory),
    }
}

/// Says of a program that could not be started that it is not the command itself.
fn of_prepare(error: WorkloadError) -> WorkloadError {
    match error {
        WorkloadError::Spawn { program, source } => WorkloadError::SpawnPrepare { program, source },
        error => error,
    }
}

/// A reason with the end of what the program complained of, in one line.
fn with_complaint(reason: &str, stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.split_at_checked(lines.len().saturating_sub(COMPLAINT_LINES)) {
        Some((_, last)) if !last.is_empty() => format!("{reason}, saying: {}", last.join(" / ")),
        _ => reason.to_owned(),
    }
}

/// Never waits: a FIFO without a writer would hold open(2) up, and no signal would end that.
fn open(path: &Path) -> Result<File, WorkloadError> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = File::options().read(true).custom_flags(flags).open(path).and_then(|file| {
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    });
    opened.map_err(|source| WorkloadError::File { path: path.to_owned(), source })
}

fn copy(from: &Path, directory: &Path) -> Result<(), WorkloadError> {
    let to = directory.join(from.file_name().unwrap_or_default());
    let mut source = open(from)?;
    let failed = |source| WorkloadError::Make { path: to.clone(), source };
    // Never through what lies there already, be it a link that an earlier program made.
    let mut copied = File::create_new(&to).map_err(failed)?;
    io::copy(&mut source, &mut copied).map_err(failed)?;
    let permissions = source.metadata().map_err(failed)?.permissions();
    fs::set_permissions(&to, permissions).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::PathBuf;

    fn carried_out(files: &[PathBuf], prepare: &[&[&str]], directory: &Path) -> Result<(), WorkloadError> {
        let spec = CommandWorkload {
            argv: vec!["true".to_owned()],
            files: files.to_vec(),
            prepare: prepare.iter().map(|argv| argv.iter().map(|&word| word.to_owned()).collect()).collect(),
            ..CommandWorkload::default()
        };
        let command = Program { directory: directory.to_owned(), ..Program::default() };
        preflight(&spec)?;
        carry_out(&spec, &command, &AtomicBool::new(false))
    }

    #[test]
    fn files_are_copied_before_programs_run_in_their_order() {
        let (beside, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = beside.path().join("words.txt");
        fs::write(&file, "one\n").unwrap();
        let programs: &[&[&str]] = &[&["cp", "words.txt", "copy.txt"], &["sh", "-c", "echo two >>copy.txt"]];
        carried_out(&[file], programs, place.path()).unwrap();
        assert_eq!(fs::read_to_string(place.path().join("copy.txt")).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_complaint() {
        let place = tempfile::tempdir().unwrap();
        let programs: &[&[&str]] = &[&["tar", "-xzf", "missing.tar.gz"], &["touch", "later"]];
        let error = carried_out(&[], programs, place.path()).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "before the measurement: `workload.prepare`: `tar` ended with status 2, saying: tar"
            ),
            "{error}"
        );
        assert!(error.contains("missing.tar.gz") && !place.path().join("later").exists(), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_from_the_command() {
        let place = tempfile::tempdir().unwrap();
        let error = carried_out(&[], &[&["/no/such"]], place.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("`/no/such`, which `workload.prepare` names, could not be started"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_missing_or_none_is_named() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("nowhere.tar.gz");
        let error = carried_out(&[missing], &[], place.path()).unwrap_err().to_string();
        assert!(error.contains("nowhere.tar.gz`, which `workload.files` names, cannot be read"), "{error}");
        let error = carried_out(&[place.path().to_owned()], &[], place.path()).unwrap_err().to_string();
        assert!(error.ends_with("it is not a regular file"), "{error}");
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let error = carried_out(&[fifo], &[], place.path()).unwrap_err().to_string();
        assert!(error.ends_with("it is not a regular file"), "{error}");
    }

    #[test]
    fn what_lies_there_already_is_not_written_over() {
        let (beside, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, foreign) = (beside.path().join("a"), beside.path().join("foreign"));
        fs::write(&file, "new").unwrap();
        fs::write(&foreign, "kept").unwrap();
        std::os::unix::fs::symlink(&foreign, place.path().join("a")).unwrap();
        assert!(carried_out(&[file], &[], place.path()).is_err());
        assert_eq!(fs::read_to_string(foreign).unwrap(), "kept");
    }
}
