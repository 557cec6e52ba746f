//! What a load may be put on: a device that the guard lets pass, a new file, or one that iostone made.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Result, bail};
use iostone_engine::Job;
use iostone_machine::Failure;
use iostone_model::experiment::{BlockVolume, Filesystem, Mount, Queue, Stack, Volume};
use iostone_stack::{FileOwner, Session, check_room, create_own_file, file_owner, guard_file};

/// Takes a job's target, or refuses it. Says whether a file was made.
pub(super) fn take(job: &mut Job, destroy: Option<&Path>) -> Result<bool> {
    let metadata = std::fs::metadata(&job.target);
    if metadata.is_err() && std::fs::symlink_metadata(&job.target).is_ok() {
        bail!("`{}` is a symbolic link that leads nowhere; name the file itself", job.target.display());
    }
    if metadata.is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        if job.rw.writes() {
            guard_device(&job.target)?;
        }
        return Ok(false);
    }
    if job.rw.writes() {
        guard_file(&job.target, destroy).map_err(Failure::from)?;
    }
    match file_owner(&job.target).map_err(Failure::from)? {
        FileOwner::Nobody if !job.target.exists() => {
            let Some(size) = job.size else {
                let name = job.target.display();
                bail!("`{name}` does not exist; say how large it should be, as in `--size 1GiB`");
            };
            check_room(
                job.target.parent().filter(|parent| parent.exists()).unwrap_or(Path::new(".")),
                size.0,
            )
            .map_err(Failure::from)?;
            // A directory that is not there is the command line's fault, not the machine's.
            create_own_file(&job.target).map_err(anyhow::Error::new)?;
            Ok(true)
        }
        // Holes of somebody's file are data too: reading must not fill them.
        FileOwner::Foreign { bytes } if !job.rw.writes() => {
            if job.size.is_some_and(|size| size.0 > bytes) {
                let name = job.target.display();
                bail!(
                    "`{name}` has {bytes} bytes, fewer than `--size`, and is not iostone's to prolong; leave `--size` out"
                );
            }
            job.layout = false;
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// Writing to a device destroys what is on it.
fn guard_device(device: &Path) -> Result<()> {
    let stack = Stack {
        volume: Volume::Block(BlockVolume { devices: vec![std::path::absolute(device)?] }),
        queue: Queue::default(),
        filesystem: Filesystem::None,
        mount: Mount::default(),
    };
    Session::preflight(&stack, false, Path::new("/")).map_err(Failure::from)?;
    Ok(())
}
