//! What a workload takes up on the filesystem that was made for it: room, extents, and the room that is left.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostone_engine::extents_of;
use iostone_model::trial::{FileSpace, FreeSpace, MOST_FILES, SpaceRecord};

use crate::below::filesystem_kind;
use crate::ioctl::fsmap;
use crate::session::Applied;

/// Looks at a trial's own filesystem three times: as it was made, with the workload's files laid out, and after it.
///
/// It holds no file open between, so that it never stands in the way of an unmount. Whatever cannot be read is a loss of the
/// record and no error. Before each look everything is synced, which an unmount would wait for as well.
#[derive(Debug)]
pub struct SpaceWatch {
    mount: PathBuf,
    /// Where the workload's files lie on this host; none where they lie in memory.
    directory: Option<PathBuf>,
    record: SpaceRecord,
}

impl SpaceWatch {
    /// The first look, at a stack that has just been built. None where iostone made no filesystem: in a directory of the
    /// user's others work too, and a bare device has no files.
    pub fn made(applied: &Applied) -> Option<Self> {
        let mount = applied.target.mount.clone()?;
        let directory = match &applied.container {
            Some(container) => container.backing.clone(),
            None => applied.target.directory.clone(),
        };
        let mut watch = Self { mount, directory, record: SpaceRecord::default() };
        match filesystem_kind(&watch.mount) {
            Ok(kind) => watch.record.filesystem = kind,
            Err(error) => watch.lose(format!("the filesystem's kind: {error}")),
        }
        let used = watch.used();
        watch.record.used_made_bytes = used;
        Some(watch)
    }

    /// The second look, once the workload's files are laid out.
    pub fn prepared(&mut self) {
        self.record.used_prepared_bytes = self.used();
        self.record.files_prepared = self.files();
        self.record.free_prepared = self.free();
    }

    /// The last look, after the workload.
    pub fn after(mut self) -> SpaceRecord {
        self.record.used_after_bytes = self.used();
        self.record.files = self.files();
        self.record.free_after = self.free();
        self.record
    }

    /// Notes what could not be read; the same three times is one loss.
    fn lose(&mut self, loss: String) {
        if !self.record.losses.contains(&loss) {
            self.record.losses.push(loss);
        }
    }

    /// Bytes in use, statfs(2): all blocks but the free ones. 0 where that cannot be read, with a loss.
    fn used(&mut self) -> u64 {
        let read = || -> io::Result<(u64, u64)> {
            let mount = File::open(&self.mount)?;
            rustix::fs::syncfs(&mount)?;
            let told = rustix::fs::fstatvfs(&mount)?;
            Ok((told.f_frsize * told.f_blocks, told.f_frsize * told.f_blocks.saturating_sub(told.f_bfree)))
        };
        match read() {
            Ok((capacity, used)) => {
                self.record.capacity_bytes = capacity;
                used
            }
            Err(error) => {
                self.lose(format!("the bytes in use: {error}"));
                0
            }
        }
    }

    /// The workload's files. An upper directory that no file was copied up to yet may not be there: that is no loss.
    fn files(&mut self) -> FileSpace {
        let mut walk = Walk::default();
        let Some(directory) = self.directory.clone() else { return walk.found };
        match fs::symlink_metadata(&directory) {
            Ok(own) => walk.go_through(&directory, own.dev()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                walk.found.extents = Some(0);
                return walk.found;
            }
            Err(error) => walk.losses.push(format!("the workload's directory: {error}")),
        }
        let Walk { mut found, no_map, losses } = walk;
        if let Some(error) = no_map {
            found.extents = None;
            self.lose(format!("extents: not available on {}: {error}", self.kind()));
        } else {
            found.extents = found.extents.or(Some(0));
        }
        for loss in losses {
            self.lose(loss);
        }
        found
    }

    /// The free runs, where the filesystem tells them: ext4 and XFS do, btrfs does not.
    fn free(&mut self) -> Option<FreeSpace> {
        let runs = File::open(&self.mount).and_then(|mount| fsmap::free_runs(&mount));
        match runs {
            Ok(runs) => Some(joined(runs.iter().map(|run| (run.device, run.physical, run.length)))),
            Err(error) => {
                self.lose(format!("free runs: not available on {}: {error}", self.kind()));
                None
            }
        }
    }

    fn kind(&self) -> &str {
        if self.record.filesystem.is_empty() { "the filesystem" } else { &self.record.filesystem }
    }
}

/// Free runs of `(device, start, length)` in the order of the device, with neighbours joined: ext4 tells those of each block
/// group apart.
fn joined(runs: impl Iterator<Item = (u32, u64, u64)>) -> FreeSpace {
    let mut found = FreeSpace::default();
    let mut current: Option<(u32, u64, u64)> = None;
    for (device, start, length) in runs {
        found.bytes += length;
        current = match current {
            Some((on, from, so_far)) if on == device && from + so_far == start => {
                Some((on, from, so_far + length))
            }
            _ => {
                found.extents += 1;
                Some((device, start, length))
            }
        };
        found.longest_bytes = found.longest_bytes.max(current.map_or(0, |(_, _, length)| length));
    }
    found
}

/// What was found below a directory.
#[derive(Debug, Default)]
struct Walk {
    found: FileSpace,
    /// The filesystem tells no extents; it is not asked again.
    no_map: Option<String>,
    losses: Vec<String>,
}

impl Walk {
    /// Goes through a directory and those below it on the same device; links are not followed.
    fn go_through(&mut self, top: &Path, device: u64) {
        let mut directories = vec![top.to_owned()];
        while let Some(directory) = directories.pop() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(error) => {
                    self.losses.push(format!("a directory of the workload: {error}"));
                    continue;
                }
            };
            for entry in entries.flatten() {
                // What went since it was listed is no file of the workload any more.
                let Ok(found) = entry.metadata() else { continue };
                if found.dev() != device {
                    continue;
                }
                if found.is_dir() {
                    directories.push(entry.path());
                } else if found.is_file() {
                    if self.found.count >= MOST_FILES {
                        self.losses.push(format!("more than {MOST_FILES} files: the rest is not counted"));
                        return;
                    }
                    self.take(&entry.path(), &found);
                }
            }
        }
    }

    fn take(&mut self, path: &Path, found: &fs::Metadata) {
        self.found.count += 1;
        self.found.bytes += found.len();
        self.found.allocated_bytes += found.blocks() * 512;
        if self.no_map.is_some() {
            return;
        }
        match open_quietly(path).and_then(|file| extents_of(&file)) {
            Ok(extents) => {
                let count = |extents: usize| u64::try_from(extents).unwrap_or(u64::MAX);
                *self.found.extents.get_or_insert_default() += count(extents.len());
                self.found.encoded_extents +=
                    count(extents.iter().filter(|extent| extent.is_encoded()).count());
                self.found.shared_extents +=
                    count(extents.iter().filter(|extent| extent.is_shared()).count());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.no_map = Some(error.to_string()),
        }
    }
}

/// Opens a regular file without leaving a trace of it: no access time (which only the owner may ask for), no wait for the
/// other end of a pipe that took its place.
fn open_quietly(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let open = |flags| fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    open(flags | libc::O_NOATIME).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => open(flags),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_runs_are_one() {
        let free = joined([(1, 0, 10), (1, 10, 5), (1, 20, 7), (2, 27, 100)].into_iter());
        assert_eq!(free, FreeSpace { extents: 3, longest_bytes: 100, bytes: 122 });
        assert_eq!(joined(std::iter::empty()), FreeSpace::default());
    }

    #[test]
    fn a_walk_counts_files_and_follows_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("one"), [1; 5000]).unwrap();
        fs::write(folder.path().join("two"), [2; 3000]).unwrap();
        std::os::unix::fs::symlink("two", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("outside")).unwrap();
        let mut walk = Walk::default();
        walk.go_through(folder.path(), fs::metadata(folder.path()).unwrap().dev());
        assert_eq!((walk.found.count, walk.found.bytes), (2, 8000));
        assert_eq!(walk.losses, Vec::<String>::new());
        let mut elsewhere = Walk::default();
        elsewhere.go_through(folder.path(), 0);
        assert_eq!(elsewhere.found, FileSpace::default(), "stays on its device");
    }
}
