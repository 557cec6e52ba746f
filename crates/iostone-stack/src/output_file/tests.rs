//! Output files, by what becomes of those that exist.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::error::{Refusal, RefusalReason};

/// A directory on a filesystem with extended attributes; none where there is none.
fn place() -> Option<TempDir> {
    let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    write(&place.path().join("probe"), "x", &Permit::none()).unwrap();
    if write(&place.path().join("probe"), "x", &Permit::none()).is_err() {
        eprintln!("skipped: needs a filesystem with extended attributes");
        return None;
    }
    Some(place)
}

fn write(path: &Path, text: &str, permit: &Permit) -> Result<(), StackError> {
    OutputFile::check(path, Placing::Replace, permit)?;
    OutputFile::open(path, Placing::Replace, permit)?.write(text)
}

fn append(path: &Path, text: &str, permit: &Permit) -> Result<(), StackError> {
    OutputFile::open(path, Placing::Append, permit)?.write(text)
}

fn refused(result: Result<(), StackError>) -> Box<Refusal> {
    match result {
        Err(StackError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

/// Writes a file until its modification time is another one: the kernel's clock for files may stand still for a few
/// milliseconds.
fn edit(path: &Path, text: &str) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    while fs::metadata(path).unwrap().modified().unwrap() == before {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn our_own_file_is_written_again_until_somebody_edits_it() {
    let Some(place) = place() else { return };
    let path = place.path().join("report");
    for text in ["a long report", "short", ""] {
        write(&path, text, &Permit::none()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    write(&path, "report", &Permit::none()).unwrap();
    edit(&path, "notes!");
    let refusal = refused(write(&path, "x", &Permit::none()));
    assert!(refusal.because.contains("was changed since"), "{refusal}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "notes!");
}

#[test]
fn a_foreign_file_is_refused_until_its_name_is_typed_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("my thesis");
    fs::write(&path, "years of work").unwrap();
    let named = |name: &Path| Permit::new("--overwrite", vec![name.to_owned()]);
    for permit in [Permit::new("--overwrite", Vec::new()), named(Path::new("my thesis"))] {
        let refusal = refused(write(&path, "x", &permit));
        assert_eq!(refusal.reason, RefusalReason::ForeignFile);
        let option = format!("`--overwrite '{}'` if its content is not needed", path.display());
        assert!(refusal.to_string().contains(&option), "{refusal}");
        assert!(refusal.to_string().contains("13 bytes"), "{refusal}");
    }
    assert!(refused(write(&path, "x", &Permit::none())).to_string().contains("mv --no-clobber"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "years of work");
    write(&path, "x", &named(&path)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
}

#[test]
fn an_empty_file_is_taken_and_one_that_was_never_written_goes_again() {
    let place = tempfile::tempdir().unwrap();
    let (empty, new) = (place.path().join("empty"), place.path().join("new"));
    fs::write(&empty, "").unwrap();
    for path in [&empty, &new] {
        drop(OutputFile::open(path, Placing::Replace, &Permit::none()).unwrap());
    }
    assert!(empty.exists() && !new.exists());
    write(&empty, "x", &Permit::none()).unwrap();
    assert_eq!(fs::read_to_string(&empty).unwrap(), "x");
}

#[test]
fn what_somebody_writes_to_it_meanwhile_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("report");
    let output = OutputFile::open(&path, Placing::Replace, &Permit::none()).unwrap();
    edit(&path, "notes");
    let refusal = refused(output.write("x"));
    assert!(refusal.because.contains("while iostone was running"), "{refusal}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
}

#[test]
fn links_lead_to_what_is_checked_and_a_swapped_name_is_not_written_to() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("thesis"), "years of work").unwrap();
    symlink("thesis", at("link")).unwrap();
    refused(write(&at("link"), "x", &Permit::none()));
    let output = OutputFile::open(&at("new"), Placing::Replace, &Permit::none()).unwrap();
    fs::remove_file(at("new")).unwrap();
    symlink("thesis", at("new")).unwrap();
    output.write("x").unwrap();
    assert_eq!(fs::read_to_string(at("thesis")).unwrap(), "years of work");
}

#[test]
fn logs_are_appended_to_our_own_files_and_a_foreign_one_stays_foreign() {
    let Some(place) = place() else { return };
    let (ours, theirs) = (place.path().join("ours"), place.path().join("theirs"));
    fs::write(&theirs, "theirs ").unwrap();
    for text in ["one ", "two "] {
        append(&ours, text, &Permit::none()).unwrap();
    }
    assert_eq!(fs::read_to_string(&ours).unwrap(), "one two ");
    let refusal = refused(append(&theirs, "one ", &Permit::new("--destroy", Vec::new())));
    assert!(refusal.loses.is_empty() && refusal.to_string().contains("may be appended"), "{refusal}");
    let named = Permit::new("--destroy", vec![theirs.clone()]);
    append(&theirs, "one ", &named).unwrap();
    append(&theirs, "two ", &named).unwrap();
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs one two ");
    // Its first words are not iostone's to write over.
    refused(write(&theirs, "x", &Permit::none()));
}

#[test]
fn streams_are_written_to_and_directories_are_not() {
    let place = tempfile::tempdir().unwrap();
    write(Path::new("/dev/null"), "x", &Permit::none()).unwrap();
    assert!(matches!(write(Path::new("/dev/full"), "x", &Permit::none()), Err(StackError::Io { .. })));
    assert!(matches!(write(place.path(), "x", &Permit::none()), Err(StackError::Io { .. })));
    let fifo = place.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    write(&fifo, "through", &Permit::none()).unwrap();
    assert_eq!(reader.join().unwrap(), "through");
}

#[test]
fn an_own_descriptor_is_appended_to() {
    use std::os::fd::AsRawFd;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("log");
    fs::write(&path, "before ").unwrap();
    let file = File::open(&path).unwrap();
    for folder in ["/dev/fd", "/proc/self/fd"] {
        let name = PathBuf::from(format!("{folder}/{}", file.as_raw_fd()));
        write(&name, "text ", &Permit::none()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "before text text ");
    assert!(
        open_own_stream(Path::new("/dev/fd/1x")).is_none() && open_own_stream(Path::new("fd/1")).is_none()
    );
}

#[test]
fn files_of_other_users_and_devices_are_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("theirs");
    fs::write(&path, "").unwrap();
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    assert!(refused(write(&path, "x", &Permit::none())).because.contains("nobody"));
    let Some(device) = ["/dev/vda", "/dev/sda", "/dev/loop0"].map(Path::new).into_iter().find(|d| d.exists())
    else {
        return;
    };
    let named = Permit::new("--overwrite", vec![device.to_owned()]);
    assert_eq!(refused(OutputFile::check(device, Placing::Replace, &named)).reason, RefusalReason::NotAFile);
}
