//! The LUNs that a test was let at: the guard, whose files they are, and that no second test writes to them meanwhile.

mod before;
mod lock;
mod permit;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result};
use iostone_machine::Failure;
use iostone_model::orion::LunKind;
use iostone_orion::Lun;
use iostone_stack::{FileOwner, file_owner, mark_own_file, mark_writing, unmark_file};

pub(super) use before::{Before, writer_of};
use permit::Refused;

use crate::commands::target::{ClaimedDevice, GuardedDevice};

/// What is going to be done to a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    /// It is only read.
    Read,
    /// What was never written of a file is filled, and nothing else is changed.
    FillHoles,
    /// Each aligned MiB of zeros is replaced too.
    FillZeros,
    /// Any of it is written over.
    Write,
}

/// How the LUNs are going to be used.
pub(super) struct Use<'a> {
    /// What is done to each, in their order.
    pub(super) touches: &'a [Touch],
    /// Whether `-write` or `--prefill` was asked for.
    pub(super) writes: bool,
    /// LUNs that are about to be made: nobody else may have them meanwhile.
    pub(super) makes: bool,
    /// Files and devices whose content the user let go, as typed behind `--destroy`.
    pub(super) destroy: &'a [String],
    /// The command line, to say the next one.
    pub(super) words: &'a [String],
    /// What an earlier session of the test may have left.
    pub(super) before: Option<&'a Before>,
}

/// LUNs that a test may have. On the way out, files that it wrote to are marked as iostone's with what they hold then.
#[derive(Debug, Default)]
pub(super) struct Taken {
    files: Vec<TakenFile>,
    /// Those that the test began to write to.
    written: Vec<WrittenFile>,
    /// Held as long as the test lasts.
    locks: Vec<Arc<File>>,
    /// Devices that are written, which nobody else can mount or claim meanwhile.
    claims: Vec<ClaimedDevice>,
}

#[derive(Debug)]
struct TakenFile {
    /// As it was named.
    path: PathBuf,
    /// Open for reading; it holds the lock as well.
    file: Arc<File>,
    /// Whether it is iostone's, or of an earlier session of the same test.
    ours: bool,
}

#[derive(Debug)]
struct WrittenFile {
    path: PathBuf,
    file: Arc<File>,
    ours: bool,
    /// When it was last written to before the test began.
    before: Option<SystemTime>,
}

impl Taken {
    /// Takes the LUNs, or refuses some of them. Nothing is changed by that.
    pub(super) fn take(luns: &[Lun], to: &Use<'_>) -> Result<Self> {
        let named = permit::named(luns, to)?;
        let mut taken = Self::default();
        let mut refused = Refused::default();
        let mut guarded: Vec<GuardedDevice> = Vec::new();
        for ((lun, touch), named) in luns.iter().zip(to.touches).zip(named) {
            guarded.extend(taken.take_one((lun, named), *touch, to, &mut refused)?);
        }
        refused.into_result(to)?;
        for (lun, touch) in luns.iter().zip(to.touches) {
            if *touch != Touch::Read {
                OpenOptions::new()
                    .write(true)
                    .open(lun.way())
                    .with_context(|| format!("`{}` cannot be written to", lun.name))?;
            }
        }
        for device in guarded {
            taken.claims.push(device.claim()?);
        }
        Ok(taken)
    }

    /// Takes one; gives a device that may be claimed once all were asked for.
    fn take_one(
        &mut self,
        (lun, named): (&Lun, bool),
        touch: Touch,
        to: &Use<'_>,
        refused: &mut Refused,
    ) -> Result<Option<GuardedDevice>> {
        let alone = touch != Touch::Read || to.makes;
        if lun.kind == LunKind::Device {
            // The guard looks whether anybody has the device's lock: it must not find ours.
            let guarded = permit::ask_for_device(lun, touch, to, refused)?;
            self.locks.push(Arc::new(lock::lock(lun, alone)?));
            return Ok(guarded);
        }
        // Before anything else: a file that another test is writing to looks like somebody else's.
        let file = Arc::new(lock::lock(lun, alone)?);
        self.locks.push(Arc::clone(&file));
        let ours = permit::ask_for_file((lun, &file), named, touch, to, refused)?;
        self.files.push(TakenFile { path: lun.path.clone(), file, ours });
        Ok(None)
    }

    /// From now on the test writes, as which it is known by if it is killed: what it writes over is iostone's.
    pub(super) fn begin_writing(&mut self, writer: &str) -> Result<()> {
        for TakenFile { path, file, ours } in self.files.drain(..) {
            let before = modified(&file);
            let marked = mark_writing(&file, &path, writer);
            self.written.push(WrittenFile { path, file, ours, before });
            marked?;
        }
        Ok(())
    }

    /// From now on the test only reads, and others may do so too.
    pub(super) fn begin_reading(&mut self) {
        self.claims.clear();
        for lock in &self.locks {
            lock::share(lock);
        }
    }

    /// What was never written of a file was filled: if it was iostone's, it is so with what it holds now.
    pub(super) fn filled(&self, lun: &Lun) -> Result<()> {
        if let Some(taken) = self.files.iter().find(|taken| taken.ours && taken.path == lun.path) {
            mark_own_file(&taken.file, &taken.path)?;
        }
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for WrittenFile { path, file, ours, before } in &self.written {
            if !ours && modified(file) == *before {
                // Let go, but not written to after all: it is still what it was.
                unmark_file(file);
            } else {
                // Without the mark it counts as somebody else's next time, which harms nobody.
                let _ = mark_own_file(file, path);
            }
        }
    }
}

fn modified(file: &File) -> Option<SystemTime> {
    file.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Whether a file is known for iostone's own by its mark.
fn is_ours(file: &File, name: &Path) -> Result<bool> {
    Ok(file_owner(file, name).map_err(Failure::from)? == FileOwner::Ours)
}
