//! Makes LUNs that do not exist yet, as files of iostone's that are full of random data: `--create SIZE`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use iostone_engine::{EngineError, NoiseStream, Pin};
use iostone_machine::{Failure, FailureKind};
use iostone_model::units::Bytes;
use iostone_orion::lun::{lun_file_of, parse_lun_text};
use iostone_stack::{StackError, check_room, file_writing, guard_file, mark_own_file, mark_writing};
use rustix::fs::{FlockOperation, flock};

use super::progress::Filling;
use crate::commands::target::{Found, Held, not_found, refuse_mistyped_device};

/// As whom files are marked while they are being filled.
const WRITER: &str = "create";
/// The mark is renewed so often.
const RENEWAL: Duration = Duration::from_secs(10);
/// A write so long after the mark is somebody else's.
const LEEWAY: Duration = Duration::from_secs(60);

/// Removes what a `--create` that was killed left half made, and gives the names: the files hold random data, and are made
/// anew. Those that somebody wrote to since stay.
pub(super) fn clear_half_made(test_name: &str) -> Result<Vec<PathBuf>> {
    let file = lun_file_of(test_name);
    // What is wrong with the list is told by who reads it for good.
    let Ok(text) = std::fs::read(&file) else { return Ok(Vec::new()) };
    let Ok(lines) = parse_lun_text(&file.display().to_string(), &text) else { return Ok(Vec::new()) };
    let mut cleared = Vec::new();
    for path in lines.into_iter().map(|line| PathBuf::from(line.name)) {
        // What cannot be found is told by who takes the list for good.
        let Ok(Found::Held(held)) = Held::find(&path) else { continue };
        if is_half_made(&held)? {
            guard_file(held.file(), &path, Some(&path)).map_err(Failure::from)?;
            if held.remove().map_err(Failure::from)? {
                cleared.push(path);
            }
        }
    }
    Ok(cleared)
}

fn is_half_made(held: &Held) -> Result<bool> {
    if !held.metadata().is_file() {
        return Ok(false);
    }
    let path = held.path();
    let writing = file_writing(held.file(), path).map_err(Failure::from)?;
    if !writing.is_some_and(|it| it.writer == WRITER && it.is_its_own(SystemTime::UNIX_EPOCH, LEEWAY)) {
        return Ok(false);
    }
    if flock(held.file(), FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        let message = format!("`{}` is being made by another test; wait until that is done", path.display());
        return Err(Failure::new(FailureKind::Usage, message).into());
    }
    Ok(true)
}

/// Files that are being made; they go again unless they were filled.
#[derive(Debug, Default)]
pub(super) struct Creation {
    files: Vec<Held>,
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
            let Found::Nothing(entry) = Held::find(&path).map_err(not_found)? else { continue };
            // What came into being meanwhile is not ours: it is asked about as any other LUN.
            let Some(made) = Held::create(entry).map_err(anyhow::Error::new)? else { continue };
            creation.files.push(made);
            let Some(made) = creation.files.last() else { continue };
            made.file()
                .set_len(size.0)
                .with_context(|| format!("cannot make `{}` {size} large", path.display()))?;
            mark_own_file(made.file(), &path)?;
        }
        Ok(creation)
    }

    /// The file that was made under a name.
    pub(super) fn made(&self, path: &Path) -> Option<&Pin> {
        self.files.iter().find(|made| made.path() == path).map(Held::pin)
    }

    /// Whether there are none to be made.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
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
        let mark = |made: &Held| -> std::result::Result<(), StackError> {
            mark_writing(made.file(), made.path(), WRITER)
        };
        self.files.iter().try_for_each(mark)?;
        for made in &self.files {
            let name = made.path().display().to_string();
            let mut file =
                made.open(OpenOptions::new().write(true)).with_context(|| format!("cannot open `{name}`"))?;
            let mut done = 0;
            let mut marked = Instant::now();
            mark(made)?;
            while done < size.0 {
                if stop.load(Ordering::Relaxed) {
                    return Err(EngineError::Interrupted.into());
                }
                let chunk = noise.next_chunk();
                let left = usize::try_from(size.0 - done).unwrap_or(usize::MAX).min(chunk.len());
                let chunk = chunk.get(..left).unwrap_or_default();
                file.write_all(chunk).with_context(|| format!("cannot fill `{name}`"))?;
                done += left as u64;
                if marked.elapsed() >= RENEWAL {
                    // What is still to be written down would hold up the mark, and with it the writes that it is to vouch for.
                    file.sync_data().with_context(|| format!("cannot flush `{name}`"))?;
                    mark(made)?;
                    marked = Instant::now();
                }
                filling.tell(&name, Bytes(done), size);
            }
            flush(&file).with_context(|| format!("cannot flush `{name}`"))?;
            mark_own_file(&file, made.path())?;
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
        for made in &self.files {
            let _ = made.remove();
        }
    }
}
