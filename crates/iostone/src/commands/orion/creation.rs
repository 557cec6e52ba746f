//! Makes LUNs that do not exist yet, as files of iostone's that are full of random data: `--create SIZE`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use iostone_engine::{EngineError, NoiseStream};
use iostone_machine::Failure;
use iostone_model::units::Bytes;
use iostone_stack::{check_room, create_own_file, mark_own_file};

use super::progress::Filling;
use crate::commands::target::refuse_mistyped_device;

/// Files that are being made; they go again unless they were filled.
#[derive(Debug, Default)]
pub(super) struct Creation {
    files: Vec<PathBuf>,
    filled: bool,
}

impl Creation {
    /// Makes the files, still without data, so that everything else can be asked before the long part begins.
    pub(super) fn begin(paths: Vec<PathBuf>, size: Bytes) -> Result<Self> {
        let mut creation = Self::default();
        let mut wanted = std::collections::BTreeMap::<PathBuf, u64>::new();
        for path in &paths {
            refuse_mistyped_device(path)?;
            let parent = path.parent().filter(|parent| parent.exists()).unwrap_or(Path::new("."));
            let together = wanted.entry(parent.to_owned()).or_default();
            *together = together.saturating_add(size.0);
        }
        for (parent, bytes) in &wanted {
            check_room(parent, *bytes).map_err(Failure::from)?;
        }
        for path in paths {
            create_own_file(&path).map_err(anyhow::Error::new)?;
            creation.files.push(path);
            let Some(path) = creation.files.last() else { continue };
            let file = OpenOptions::new().write(true).open(path);
            file.and_then(|file| file.set_len(size.0))
                .with_context(|| format!("cannot make `{}` {size} large", path.display()))?;
            mark_own_file(path)?;
        }
        Ok(creation)
    }

    /// Fills them.
    ///
    /// # Errors
    /// [`EngineError::Interrupted`] when the flag is raised meanwhile; the files are gone then.
    pub(super) fn fill(
        mut self,
        size: Bytes,
        seed: u64,
        stop: &AtomicBool,
        filling: &mut Filling<'_>,
    ) -> Result<()> {
        let mut noise = NoiseStream::new(seed);
        for path in &self.files {
            let name = path.display().to_string();
            let mut file =
                OpenOptions::new().write(true).open(path).with_context(|| format!("cannot open `{name}`"))?;
            let mut done = 0;
            while done < size.0 {
                if stop.load(Ordering::Relaxed) {
                    return Err(EngineError::Interrupted.into());
                }
                let chunk = noise.next_chunk();
                let left = usize::try_from(size.0 - done).unwrap_or(usize::MAX).min(chunk.len());
                let chunk = chunk.get(..left).unwrap_or_default();
                file.write_all(chunk).with_context(|| format!("cannot fill `{name}`"))?;
                done += left as u64;
                filling.tell(&name, Bytes(done), size);
            }
            flush(&file).with_context(|| format!("cannot flush `{name}`"))?;
            mark_own_file(path)?;
            filling.made(&name, size);
        }
        self.filled = true;
        Ok(())
    }
}

fn flush(file: &File) -> std::io::Result<()> {
    file.sync_all()
}

impl Drop for Creation {
    fn drop(&mut self) {
        if self.filled {
            return;
        }
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}
