//! What a load may be put on: a device that the guard lets pass, a new file, or one that iostone made. Each is found once
//! and held open; what is checked here is what the engine opens and what is marked afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_engine::{Job, Pins, Preparation, make_room_for_files};
use iostone_machine::Failure;
use iostone_model::load::IoEngine;
use iostone_stack::{Entry, FileOwner, check_room, file_owner, guard_file, mark_own_file};

use crate::commands::target::{
    ClaimedDevice, Found, GuardedDevice, Held, inspect_device, not_found, refuse_mistyped_device,
};

/// The files and devices that loads were let at.
#[derive(Debug, Default)]
pub(super) struct Taken {
    targets: Vec<Target>,
    pins: Pins,
    guarded: Vec<GuardedDevice>,
    /// Keep devices that are written from being mounted or claimed by anybody else.
    claims: Vec<ClaimedDevice>,
}

/// A file or device that is held.
#[derive(Debug)]
struct Target {
    held: Held,
    /// Made for a load; it goes again if that does not begin.
    created: bool,
    /// iostone's own, whose content after the load is how it is known.
    own: bool,
    /// Whether a load writes to it. One that is only read keeps the mark that it has: what somebody else writes to it
    /// meanwhile is theirs.
    written: bool,
}

impl Taken {
    /// Takes the targets of a job, or refuses one of them.
    pub(super) fn take(&mut self, job: &mut Job, destroy: &[PathBuf]) -> Result<()> {
        if job.engine == IoEngine::Null {
            // As in fio: nothing is done to the targets, so they need not be there, and no file is made.
            job.targets.fill(PathBuf::from("/dev/null"));
            (job.direct, job.preparation) = (false, Preparation::Leave);
            return Ok(());
        }
        // A directory, a descriptor to hold and one for each thread.
        let files = (self.targets.len() + job.targets.len()) as u64;
        make_room_for_files(files.saturating_mul(u64::from(job.numjobs) + 2));
        for target in job.targets.clone() {
            let mut target = match self.targets.iter().position(|taken| taken.held.path() == target) {
                Some(index) => self.targets.swap_remove(index),
                None => Target::hold(job, &target)?,
            };
            let permitted = target.permit(job, destroy, &mut self.guarded);
            self.pins.insert(target.held.path().to_owned(), target.held.pin().clone());
            self.targets.push(target);
            permitted?;
        }
        self.take_ledger(job)
    }

    /// What is known of a job's units is kept in a file that is found once as well.
    fn take_ledger(&mut self, job: &Job) -> Result<()> {
        let Some(verify) = &job.verify else { return Ok(()) };
        let Some(path) = verify.ledger.as_deref().filter(|path| self.pins.get(path).is_none()) else {
            return Ok(());
        };
        let (held, created) = match Held::find(path).map_err(not_found)? {
            Found::Held(held) => (held, false),
            // The engine says what is wrong with that.
            Found::Nothing(_) if verify.only || !job.rw.writes() => return Ok(()),
            Found::Nothing(entry) => (create(entry)?, true),
        };
        self.pins.insert(path.to_owned(), held.pin().clone());
        self.targets.push(Target { held, created, own: false, written: false });
        Ok(())
    }

    /// Refuses to remove files that are not iostone's, as `unlink` of a load that only reads would, unless they are named.
    pub(super) fn permit_unlink(&self, paths: &[PathBuf], destroy: &[PathBuf]) -> Result<()> {
        let named = self.targets.iter().filter(|target| paths.iter().any(|path| path == target.held.path()));
        for target in named.filter(|target| target.held.metadata().is_file() && !target.own) {
            let let_go = destroy.iter().find(|named| *named == target.held.path());
            guard_file(target.held.file(), target.held.path(), let_go.map(PathBuf::as_path))
                .map_err(Failure::from)?;
        }
        Ok(())
    }

    /// Takes the devices that the guard let pass for this process alone. All were asked for before, as a device that is
    /// claimed is one in use.
    pub(super) fn claim(&mut self) -> Result<()> {
        for device in self.guarded.drain(..) {
            self.claims.push(device.claim()?);
        }
        Ok(())
    }

    /// The targets for the engine.
    pub(super) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Nothing was measured: files that were made for it go again.
    pub(super) fn remove_created(&self) {
        for target in self.targets.iter().filter(|target| target.created) {
            let _ = target.held.remove();
        }
    }

    /// Removes files that loads were on, as `unlink` of fio asks for.
    pub(super) fn unlink(&self, paths: &[PathBuf]) -> Result<()> {
        let named = self.targets.iter().filter(|target| paths.iter().any(|path| path == target.held.path()));
        for target in named.filter(|target| target.held.metadata().is_file()) {
            target.held.remove().map_err(Failure::from)?;
        }
        Ok(())
    }

    /// From now on the files that loads wrote to are known by the content that was left in them; with `filled`, when gaps
    /// were filled before the load, those that were only read as well.
    pub(super) fn mark_own(&self, filled: bool) -> Result<()> {
        for target in self.targets.iter().filter(|target| target.own && (target.written || filled)) {
            mark_own_file(target.held.file(), target.held.path())?;
        }
        Ok(())
    }
}

impl Target {
    /// Finds a target and holds it, or makes it.
    fn hold(job: &Job, path: &Path) -> Result<Self> {
        let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
        let name = path.display();
        let (held, created) = match Held::find(path).map_err(not_found)? {
            Found::Held(held) => (held, false),
            Found::Nothing(_) if path.is_symlink() => {
                bail!("`{name}` is a symbolic link that leads nowhere; name the file itself")
            }
            Found::Nothing(_) if only_checks => {
                bail!("`{name}` does not exist, so there is nothing to check")
            }
            Found::Nothing(entry) => {
                let Some(size) = job.size else {
                    bail!("`{name}` does not exist; say how large it should be, as in `--size 1GiB`");
                };
                refuse_mistyped_device(path)?;
                let parent = path.parent().filter(|parent| parent.exists()).unwrap_or(Path::new("."));
                check_room(parent, job.offset.0.saturating_add(size.0)).map_err(Failure::from)?;
                (create(entry)?, true)
            }
        };
        Ok(Self { held, created, own: false, written: false })
    }

    /// Whether a job may have it.
    fn permit(&mut self, job: &mut Job, destroy: &[PathBuf], guarded: &mut Vec<GuardedDevice>) -> Result<()> {
        let (path, file) = (self.held.path(), self.held.file());
        let changes = job.changes_targets();
        if self.held.is_block_device() {
            if changes {
                let named: Vec<String> =
                    destroy.iter().map(|path| path.to_string_lossy().into_owned()).collect();
                guarded.push(inspect_device(self.held.pin(), path, &named).map_err(Failure::from)?);
            }
            return Ok(());
        }
        if !self.held.metadata().is_file() {
            // What else there is, the engine takes or names.
            return Ok(());
        }
        if changes {
            let destroy = destroy.iter().find(|named| *named == path);
            guard_file(file, path, destroy.map(PathBuf::as_path)).map_err(Failure::from)?;
        }
        // Holes of somebody's file are data too: reading must not fill them.
        if let FileOwner::Foreign { bytes } = file_owner(file, path).map_err(Failure::from)?
            && !changes
        {
            let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
            let wanted = job.size.map_or(0, |size| job.offset.0.saturating_add(size.0));
            // What a check finds missing is its finding.
            if wanted > bytes && !only_checks {
                let name = path.display();
                bail!(
                    "`{name}` has {bytes} bytes, fewer than `--size`, and is not iostone's to prolong; leave `--size` \
                     out"
                );
            }
            job.preparation = Preparation::Leave;
            return Ok(());
        }
        self.own = true;
        self.written |= changes || self.created;
        Ok(())
    }
}

/// Makes a file in the directory that was found.
fn create(entry: Entry) -> Result<Held> {
    let name = entry.path().display().to_string();
    match Held::create(entry).map_err(anyhow::Error::new)? {
        Some(held) => Ok(held),
        None => bail!("`{name}` was made by somebody else just now; begin again"),
    }
}
