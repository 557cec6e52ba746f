//! An image with all that lies below it: each file opened and looked at here, before QEMU is told of it by name.
//!
//! QEMU follows names wherever they lead, also in a circle. Here they are followed first; what is found is then stated to
//! QEMU with its format, so that nothing is looked up again by what a header says but the extents of a vmdk: QEMU opens
//! these as the kind that the descriptor states, and takes none for an image of another format.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::format::{Header, ImageFormat};
use super::{ImageError, Opened, occupied, open, parent_of, references};
use crate::open::open_file;

/// Images one below the other that are followed; snapshots seldom come to a dozen.
const DEEPEST: usize = 64;

/// A file and what it was when it was opened.
pub(super) struct Member<'a> {
    pub(super) path: &'a Path,
    pub(super) metadata: &'a fs::Metadata,
}

/// Parts of an image in files of their own.
#[derive(Default)]
pub(super) struct Parts {
    /// The external data file of a qcow2.
    pub(super) data: Option<(PathBuf, fs::Metadata)>,
    /// The extents of a vmdk.
    pub(super) extents: Vec<(PathBuf, fs::Metadata)>,
}

/// An image, its parts, and those below it; at least one.
pub(super) struct Chain {
    layers: Vec<(Opened, Parts)>,
}

impl Chain {
    /// The image by itself: what it names is not followed.
    pub(super) fn alone(image: Opened) -> Self {
        Self { layers: vec![(image, Parts::default())] }
    }

    /// The image and all that it names.
    ///
    /// # Errors
    /// A name that is no file's, a file that cannot be read or whose format is not certain, a circle, or a chain of more
    /// than 64 images.
    pub(super) fn follow(image: Opened) -> Result<Self, ImageError> {
        let mut layers: Vec<(Opened, Parts)> = Vec::new();
        let mut next = Some(image);
        while let Some(image) = next {
            let same = |(other, _): &(Opened, Parts)| is_same(&other.metadata, &image.metadata);
            if layers.iter().any(same) {
                return Err(ImageError::Usage(format!(
                    "the backing files of `{}` form a cycle; next: change one with `qemu-img rebase -u`, see qemu-img(1)",
                    image.path.display()
                )));
            }
            if layers.len() == DEEPEST {
                return Err(ImageError::Usage(format!(
                    "the chain of backing files is longer than {DEEPEST}, down to `{}`; next: merge some with `qemu-img commit`",
                    image.path.display()
                )));
            }
            let shown = image.path.display();
            let named = references::named(image.format, &image.header)
                .map_err(|reason| ImageError::Usage(format!("`{shown}`: {reason}; next: {NO_NAME}")))?;
            let place = parent_of(&image.path);
            let parts = Parts {
                data: named.data.map(|name| part(&place.join(name))).transpose()?,
                extents: named
                    .extents
                    .iter()
                    .map(|name| extent(&place.join(name)))
                    .collect::<Result<_, _>>()?,
            };
            next = match named.backing {
                Some((name, format)) => Some(below(&image, &place.join(name), format.as_deref())?),
                None => None,
            };
            layers.push((image, parts));
        }
        Ok(Self { layers })
    }

    pub(super) fn layers(&self) -> &[(Opened, Parts)] {
        &self.layers
    }

    /// All files.
    pub(super) fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.layers.iter().flat_map(|(image, parts)| {
            let parts = parts.data.iter().chain(&parts.extents);
            let parts = parts.map(|(path, metadata)| Member { path, metadata });
            std::iter::once(Member { path: &image.path, metadata: &image.metadata }).chain(parts)
        })
    }

    /// Which file is also known by these.
    pub(super) fn member_that_is(&self, file: &fs::Metadata) -> Option<Member<'_>> {
        self.members().find(|member| is_same(member.metadata, file))
    }

    /// Refuses what is in use.
    pub(super) fn free(&self) -> Result<String, ImageError> {
        let mut count = 0;
        for member in self.members() {
            count += 1;
            if let Some(user) = occupied::used_by(member.metadata) {
                return Err(ImageError::Refused(format!(
                    "`{}` is in use by {user} and may change while it is read; next: detach it first",
                    member.path.display()
                )));
            }
        }
        let what = if count == 1 { "it".to_owned() } else { format!("any of the {count} files") };
        Ok(format!("no loop device, swap or virtual machine uses {what}"))
    }

    /// A file that was written to while it was read gives an image of no moment at all.
    pub(super) fn unchanged(&self) -> Result<(), ImageError> {
        let stamp = |metadata: &fs::Metadata| {
            (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
        };
        for Member { path, metadata } in self.members() {
            let after = fs::metadata(path).map_err(|error| ImageError::io("look at", path, error))?;
            if stamp(metadata) != stamp(&after) {
                return Err(ImageError::Failed(format!(
                    "`{}` was written to while it was read; the target was not created; next: stop the writer",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// The permissions that all of its files give: nobody may read more in a copy.
    pub(super) fn common_mode(&self) -> u32 {
        self.members().fold(0o666, |mode, member| mode & member.metadata.mode())
    }
}

const NO_NAME: &str =
    "`qemu-img rebase -u -F FORMAT -b FILE` names a file instead, or convert with qemu-img itself";

/// The image below another, in the format that the upper one states, or that its own name and bytes agree on.
fn below(upper: &Opened, path: &Path, format: Option<&str>) -> Result<Opened, ImageError> {
    let stated = match format {
        None => None,
        Some(name) => Some(ImageFormat::of_name(name).ok_or_else(|| {
            ImageError::Usage(format!(
                "`{}` states the format `{}` for its backing file, which is not supported; next: {NO_NAME}",
                upper.path.display(),
                name.escape_debug()
            ))
        })?),
    };
    open(path, stated)
}

fn part(path: &Path) -> Result<(PathBuf, fs::Metadata), ImageError> {
    let metadata = open_file(path).and_then(|file| file.metadata());
    let metadata = metadata.map_err(|error| ImageError::unreadable(path, &error))?;
    Ok((path.to_owned(), metadata))
}

fn extent(path: &Path) -> Result<(PathBuf, fs::Metadata), ImageError> {
    let header = open_file(path).and_then(|file| Header::read(&file));
    let header = header.map_err(|error| ImageError::unreadable(path, &error))?;
    // Such an extent is a descriptor again, whose names QEMU follows.
    if header.head.starts_with(b"KDMV") && header.u64_le_at(12) == Some(0) {
        return Err(ImageError::Usage(format!(
            "the extent `{}` names further files, which are not followed; next: convert with qemu-img itself",
            path.display()
        )));
    }
    part(path)
}

fn is_same(left: &fs::Metadata, right: &fs::Metadata) -> bool {
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}
