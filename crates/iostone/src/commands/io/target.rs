//! What a load may be put on: a device that the guard lets pass, a new file, or one that iostone made.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_engine::{EngineChoice, Job, Preparation};
use iostone_machine::Failure;
use iostone_stack::{FileOwner, check_room, create_own_file, file_owner, guard_file, mark_own_file};

use crate::commands::target::{guard_device, refuse_mistyped_device};

/// The files that loads were let at.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Made for a load; they go again if it does not begin.
    created: Vec<PathBuf>,
    /// iostone's own, whose content after the load is how they are known.
    own: Vec<OwnFile>,
}

/// A file that iostone made.
#[derive(Debug)]
struct OwnFile {
    path: PathBuf,
    /// Whether a load writes to it. One that is only read keeps the mark that it has: what somebody else writes to it
    /// meanwhile is theirs.
    written: bool,
}

impl Taken {
    /// Takes the targets of a job, or refuses one of them.
    pub(super) fn take(&mut self, job: &mut Job, destroy: &[PathBuf]) -> Result<()> {
        if job.engine == EngineChoice::Null {
            // As in fio: nothing is done to the targets, so they need not be there, and no file is made.
            job.targets.fill(PathBuf::from("/dev/null"));
            (job.direct, job.preparation) = (false, Preparation::Leave);
            return Ok(());
        }
        for target in job.targets.clone() {
            self.take_target(job, &target, destroy)?;
        }
        Ok(())
    }

    fn take_target(&mut self, job: &mut Job, target: &Path, destroy: &[PathBuf]) -> Result<()> {
        let metadata = std::fs::metadata(target);
        if metadata.is_err() && std::fs::symlink_metadata(target).is_ok() {
            bail!("`{}` is a symbolic link that leads nowhere; name the file itself", target.display());
        }
        let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
        let changes = job.changes_targets();
        if metadata.is_ok_and(|metadata| metadata.file_type().is_block_device()) {
            let named: Vec<String> = destroy.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            return if changes { guard_device(target, &named) } else { Ok(()) };
        }
        if changes {
            let destroy = destroy.iter().find(|path| *path == target);
            guard_file(target, destroy.map(PathBuf::as_path)).map_err(Failure::from)?;
        }
        match file_owner(target).map_err(Failure::from)? {
            FileOwner::Nobody if !target.exists() && only_checks => {
                bail!("`{}` does not exist, so there is nothing to check", target.display());
            }
            FileOwner::Nobody if !target.exists() => self.make(job, target)?,
            // Holes of somebody's file are data too: reading must not fill them.
            FileOwner::Foreign { bytes } if !changes => {
                let wanted = job.size.map_or(0, |size| job.offset.0.saturating_add(size.0));
                // What a check finds missing is its finding.
                if wanted > bytes && !only_checks {
                    let name = target.display();
                    bail!(
                        "`{name}` has {bytes} bytes, fewer than `--size`, and is not iostone's to prolong; leave \
                         `--size` out"
                    );
                }
                job.preparation = Preparation::Leave;
                return Ok(());
            }
            _ => {}
        }
        let written = changes || self.created.iter().any(|created| created == target);
        match self.own.iter_mut().find(|own| own.path == target) {
            Some(own) => own.written |= written,
            None if target.is_file() => self.own.push(OwnFile { path: target.to_owned(), written }),
            None => {}
        }
        Ok(())
    }

    fn make(&mut self, job: &Job, target: &Path) -> Result<()> {
        let Some(size) = job.size else {
            let name = target.display();
            bail!("`{name}` does not exist; say how large it should be, as in `--size 1GiB`");
        };
        refuse_mistyped_device(target)?;
        let parent = target.parent().filter(|parent| parent.exists()).unwrap_or(Path::new("."));
        check_room(parent, job.offset.0.saturating_add(size.0)).map_err(Failure::from)?;
        // A directory that is not there is the command line's fault, not the machine's.
        create_own_file(target).map_err(anyhow::Error::new)?;
        self.created.push(target.to_owned());
        Ok(())
    }

    /// Nothing was measured: files that were made for it go again.
    pub(super) fn remove_created(&self) {
        for file in &self.created {
            let _ = std::fs::remove_file(file);
        }
    }

    /// From now on the files that loads wrote to are known by the content that was left in them; with `filled`, when gaps
    /// were filled before the load, those that were only read as well.
    pub(super) fn mark_own(&self, filled: bool) -> Result<()> {
        for own in self.own.iter().filter(|own| (own.written || filled) && own.path.is_file()) {
            mark_own_file(&own.path)?;
        }
        Ok(())
    }
}
