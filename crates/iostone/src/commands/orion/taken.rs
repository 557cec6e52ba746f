//! The LUNs that a test was let at: the guard, whose files they are, and that no second test writes to them meanwhile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use iostone_machine::{Failure, FailureKind};
use iostone_model::orion::LunKind;
use iostone_orion::Lun;
use iostone_stack::{FileOwner, RefusalReason, StackError, file_owner, guard_file, mark_own_file};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::arguments::typed_again;
use crate::commands::dry_run::quoted;
use crate::commands::target::guard_device;

/// How the LUNs are going to be used.
pub(super) struct Use<'a> {
    /// Whether anything may be written to them.
    pub(super) writes: bool,
    /// Files and devices whose content the user let go, as typed behind `--destroy`.
    pub(super) destroy: &'a [String],
    /// The command line, to say the next one.
    pub(super) words: &'a [String],
}

/// LUNs that a test may have. On the way out, files that are iostone's are marked as such with what they hold then.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// iostone's own before.
    own: Vec<PathBuf>,
    /// Others, whose content the user let go.
    let_go: Vec<PathBuf>,
    /// Held as long as the test lasts.
    #[expect(dead_code, reason = "a lock lasts as long as its file is open")]
    locks: Vec<File>,
}

impl Taken {
    /// Takes the LUNs, or refuses one of them. Nothing is changed by that.
    pub(super) fn take(luns: &[Lun], to: &Use<'_>) -> Result<Self> {
        let let_go = |lun: &Lun| to.destroy.iter().any(|typed| is_named_by(typed, lun));
        if let Some(typed) = to.destroy.first().filter(|_| !to.writes) {
            bail!(
                "`--destroy {typed}` is for `-write` and `--prefill`, and this test only reads; leave it out"
            );
        }
        refuse_unknown_names(luns, to.destroy)?;
        // First of all: a file that another test is writing to looks like somebody else's.
        let locks = luns.iter().map(|lun| lock(lun, to.writes)).collect::<Result<_>>()?;
        let mut taken = Self { own: Vec::new(), let_go: Vec::new(), locks };
        let mut refused = None;
        let mut foreign: Vec<&str> = Vec::new();
        for lun in luns {
            match lun.kind {
                LunKind::Device if to.writes => guard_device(&lun.path, to.destroy)?,
                LunKind::Device => {}
                LunKind::File => {
                    let ours = file_owner(&lun.path).map_err(Failure::from)? == FileOwner::Ours;
                    if to.writes {
                        match guard_file(&lun.path, let_go(lun).then_some(lun.path.as_path())) {
                            Ok(()) => {}
                            Err(StackError::Refused(refusal))
                                if refusal.reason == RefusalReason::ForeignFile =>
                            {
                                foreign.push(&lun.name);
                                refused.get_or_insert(refusal);
                            }
                            Err(error) => return Err(Failure::from(error).into()),
                        }
                    }
                    let list = if ours { &mut taken.own } else { &mut taken.let_go };
                    list.push(lun.path.clone());
                }
            }
        }
        if let Some(mut refusal) = refused {
            // All of them at once: nobody wants to be told of ten files in ten attempts.
            let names: Vec<String> =
                foreign.iter().map(|name| format!("--destroy {}", quoted(name))).collect();
            let whose = if foreign.len() == 1 { "its content" } else { "the content of these files" };
            refusal.next = vec![
                format!("`{} {}` if {whose} may go", typed_again(to.words), names.join(" ")),
                "name files that do not exist yet in the `.lun` file, and make them with `--create SIZE`"
                    .to_owned(),
            ];
            return Err(Failure::from(StackError::Refused(refusal)).into());
        }
        Ok(taken)
    }

    /// From now on the test writes: what it writes over is iostone's.
    pub(super) fn begin_writing(&mut self) {
        self.own.append(&mut self.let_go);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for file in self.own.iter().filter(|file| file.is_file()) {
            // Without the mark it counts as somebody else's next time, which harms nobody.
            let _ = mark_own_file(file);
        }
    }
}

/// Whether what was typed behind `--destroy` is this LUN: its name in the `.lun` file, or its absolute path.
fn is_named_by(typed: &str, lun: &Lun) -> bool {
    typed == lun.name || std::path::absolute(&lun.path).is_ok_and(|path| path == Path::new(typed))
}

/// A name that is none of the LUNs was meant for one of them.
fn refuse_unknown_names(luns: &[Lun], destroy: &[String]) -> Result<()> {
    if luns.iter().any(|lun| lun.kind == LunKind::Device) {
        // Devices are let go by stable names, which the guard knows.
        return Ok(());
    }
    let Some(unknown) = destroy.iter().find(|typed| !luns.iter().any(|lun| is_named_by(typed, lun))) else {
        return Ok(());
    };
    let all: Vec<String> = luns.iter().map(|lun| format!("`{}`", lun.name)).collect();
    bail!("`--destroy {unknown}` is none of the LUNs, which are {}", all.join(", "))
}

/// How often and how long a device's lock is waited for: udev holds it for moments, `systemd-udevd(8)`.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Several tests may read a LUN; one that writes has it for itself, flock(2).
fn lock(lun: &Lun, writes: bool) -> Result<File> {
    let file = File::open(&lun.path).with_context(|| format!("cannot open `{}`", lun.name))?;
    let operation =
        if writes { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
    for attempt in 1..=ATTEMPTS {
        match flock(&file, operation) {
            Err(Errno::WOULDBLOCK) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => break,
            // A network filesystem without locks has no second test to tell of either.
            Ok(()) | Err(_) => return Ok(file),
        }
    }
    let name = &lun.name;
    let (kind, message) = if writes {
        (
            FailureKind::Refused,
            format!("`{name}` is in use by another test; writing to it would spoil that one"),
        )
    } else {
        (
            FailureKind::Usage,
            format!("`{name}` is being written to by another test; wait until that one has ended"),
        )
    };
    Err(Failure::new(kind, message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lun(path: &Path) -> Lun {
        let bytes = std::fs::metadata(path).unwrap().len();
        Lun { name: path.display().to_string(), path: path.to_owned(), kind: LunKind::File, bytes }
    }

    fn take(luns: &[Lun], writes: bool, destroy: &[String]) -> Result<Taken> {
        Taken::take(luns, &Use { writes, destroy, words: &["-run".to_owned(), "simple".to_owned()] })
    }

    #[test]
    fn all_foreign_files_are_told_with_the_one_command_that_lets_them_go() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b c"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::write(path, "precious").unwrap();
        }
        let luns = paths.each_ref().map(|path| lun(path));
        assert!(take(&luns, false, &[]).is_ok());
        let refused = take(&luns, true, &[]).unwrap_err().to_string();
        let next = format!("--destroy {} --destroy '{}'", luns[0].name, luns[1].name);
        assert!(refused.contains(&next), "{refused}");
        assert!(take(&luns, true, &[luns[0].name.clone()]).is_err());
        assert!(take(&luns, true, &[luns[0].name.clone(), luns[1].name.clone()]).is_ok());
        let stray = take(&luns, true, &["c".to_owned()]).unwrap_err().to_string();
        assert!(stray.contains("`--destroy c` is none of the LUNs"), "{stray}");
    }

    #[test]
    fn one_that_writes_has_its_luns_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "data").unwrap();
        let luns = [lun(&path)];
        let reading = (take(&luns, false, &[]).unwrap(), take(&luns, false, &[]).unwrap());
        assert!(take(&luns, true, &[luns[0].name.clone()]).is_err());
        drop(reading);
        let _writing = take(&luns, true, &[luns[0].name.clone()]).unwrap();
        assert!(take(&luns, false, &[]).is_err());
    }

    #[test]
    fn a_file_that_was_let_go_but_not_written_to_stays_somebody_elses() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "data").unwrap();
        let luns = [lun(&path)];
        drop(take(&luns, true, &[luns[0].name.clone()]).unwrap());
        assert!(take(&luns, true, &[]).is_err());
        let mut taken = take(&luns, true, &[luns[0].name.clone()]).unwrap();
        taken.begin_writing();
        drop(taken);
        if file_owner(&path).unwrap() == FileOwner::Ours {
            assert!(take(&luns, true, &[]).is_ok());
        }
    }
}
