//! The image files under volumes of ours: made once, kept from trial to trial, given new content for each.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::below::describe_filesystem;
use crate::error::StackError;
use crate::fill;
use crate::journal::sync_directory;
use crate::site::{Image, Site};
use crate::step::{FileIdentity, Scope, Step};

/// `O_DIRECT`, the loop driver and mkfs all work in blocks of at most this many bytes.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// The images that a volume needs.
#[derive(Debug, Clone)]
pub(crate) struct Images<'a> {
    /// Where they are made; the session's work directory if none.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) count: u32,
    /// Of each.
    pub(crate) size_bytes: u64,
    /// Written over with random data, or left as holes.
    pub(crate) fill: bool,
    /// How they are reached, for the note: "direct I/O".
    pub(crate) io: &'static str,
}

impl Images<'_> {
    /// Makes the images, or takes those of the trial before, and gives them content that no trial has seen. What is
    /// kept and not needed is removed first, for its room.
    ///
    /// # Errors
    /// As [`fill::fill`], and [`StackError::Io`] when a file cannot be made.
    pub(crate) fn make(&self, site: &mut Site) -> Result<Vec<Image>, StackError> {
        let parent = self.directory.map_or_else(|| site.work_directory.clone(), Path::to_owned);
        let own = site.own_directory(&parent)?;
        let paths: Vec<PathBuf> = (0..self.count)
            .map(|index| match self.count {
                1 => own.join("volume.img"),
                _ => own.join(format!("volume-{index}.img")),
            })
            .collect();
        let (kept, stale): (Vec<Image>, Vec<Image>) = std::mem::take(&mut site.images)
            .into_iter()
            .partition(|image| image.size_bytes == self.size_bytes && paths.contains(&image.path));
        site.images = kept;
        for old in stale {
            let failed = crate::undo::undo_entry(&mut site.journal, old.entry);
            failed.map_err(|failure| StackError::unexpected(&old.path, failure.to_string()))?;
        }
        let mut images = Vec::new();
        for (index, path) in (0..).zip(paths) {
            let image = match site.images.iter().find(|image| image.path == path) {
                Some(image) => image.clone(),
                None => create_image(site, path, self.size_bytes)?,
            };
            if !site.images.contains(&image) {
                site.images.push(image.clone());
            }
            let file = open_image(&image, true)?;
            if self.fill {
                // Another content for each, or a mirror could not be told from its neighbour.
                let seed = site.seed.wrapping_add(index);
                fill::fill(&file, &image.path, self.size_bytes, seed, site.interrupt())?;
            } else {
                fill::make_sparse(&file, &image.path, self.size_bytes)?;
            }
            images.push(image);
        }
        if !self.fill {
            site.notes.push(
                "the image is sparse: blocks never written are read without touching the disk".to_owned(),
            );
        }
        if let Some(first) = images.first() {
            let place = describe_filesystem(&first.path)?;
            site.notes.push(match self.count {
                1 => format!("backing file on {place}, {}", self.io),
                count => format!("{count} backing files on {place}, {}", self.io),
            });
            site.stands_on = Some(first.path.clone());
        }
        Ok(images)
    }
}

fn create_image(site: &mut Site, path: PathBuf, size_bytes: u64) -> Result<Image, StackError> {
    fill::check_room_for_image(path.parent().unwrap_or(&path), size_bytes)?;
    let entry = site.journal.begin(Scope::Session, Step::Image { path: path.clone() })?;
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path);
    let file = match created {
        Ok(file) => file,
        Err(source) => {
            site.journal.mark_undone(entry);
            return Err(StackError::io("create", &path, source));
        }
    };
    if let Some(parent) = path.parent() {
        sync_directory(parent)?;
    }
    let identity = identity_of(&file, &path)?;
    site.journal.confirm(entry, identity)?;
    Ok(Image { path, size_bytes, identity, entry })
}

/// Opens the image, with `O_DIRECT` if the filesystem takes it and `direct` asks for it, and makes sure that it is ours.
pub(super) fn open_image(image: &Image, direct: bool) -> Result<File, StackError> {
    let open = |flags| {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | flags).open(&image.path)
    };
    let file = match open(if direct { libc::O_DIRECT } else { 0 }) {
        Err(error) if direct && error.raw_os_error() == Some(libc::EINVAL) => open(0),
        other => other,
    }
    .map_err(|source| StackError::io("open", &image.path, source))?;
    if identity_of(&file, &image.path)? != image.identity {
        return Err(StackError::unexpected(&image.path, "it is no longer the file that iostone created"));
    }
    Ok(file)
}

/// What tells a file from others.
pub(super) fn identity_of(file: &File, path: &Path) -> Result<FileIdentity, StackError> {
    let metadata = file.metadata().map_err(|source| StackError::io("stat", path, source))?;
    Ok(FileIdentity { dev: metadata.dev(), ino: metadata.ino() })
}
