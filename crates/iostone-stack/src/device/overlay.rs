//! The files that a file of an overlay is made of: what is written to it is written to one of them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{DeviceNumber, number_of};
use crate::mountinfo::{self, Mount, without_backslashes};

/// Overlays on overlays: the kernel stacks two of them (`FILESYSTEM_MAX_STACK_DEPTH`).
const DEPTH_MAX: usize = 4;

/// A file, told by its filesystem and inode.
pub(crate) type FileNumber = (DeviceNumber, u64);

/// A file's own number, and those that the same bytes have on the other side of an overlay, in whichever mount namespace that
/// is mounted: of a merged file those in its layers, of a file in a layer that of the merged one.
///
/// The layers' paths are those that were given to mount(2) (Documentation/filesystems/overlayfs.rst). They are looked up as
/// the process sees them in whose namespace the overlay is mounted, and as this one does: a container often sees them no
/// more.
pub(crate) fn numbers_of(path: &Path, own: FileNumber) -> Vec<FileNumber> {
    let mounts = mountinfo::mounts_of_all_namespaces().unwrap_or_default();
    let overlays: Vec<(u32, Mount)> =
        mounts.into_iter().filter(|(_, mounted)| mounted.filesystem == "overlay").collect();
    let mut found = BTreeSet::from([own]);
    let mut left = vec![(path.to_owned(), 0)];
    while let Some((path, depth)) = left.pop() {
        for (pid, mounted) in &overlays {
            for place in other_sides(&path, mounted) {
                let known = found.len();
                found.extend(numbers_at(&place, *pid));
                if found.len() > known && depth < DEPTH_MAX {
                    left.push((place, depth + 1));
                }
            }
        }
    }
    found.into_iter().collect()
}

/// The paths of a file on the other side of an overlay, if it is on either.
fn other_sides(path: &Path, mounted: &Mount) -> Vec<PathBuf> {
    let root = mounted.root.strip_prefix("/").unwrap_or(&mounted.root);
    let layers = layers(mounted);
    let merged = path.strip_prefix(&mounted.target).ok().map(|below| root.join(below));
    let below = merged.iter().flat_map(|within| layers.iter().map(move |layer| layer.join(within)));
    let above = layers
        .iter()
        .filter_map(|layer| path.strip_prefix(layer).ok()?.strip_prefix(root).ok())
        .map(|within| mounted.target.join(within));
    below.chain(above).collect()
}

/// The numbers of the files at a path, as a process sees it and as this one does.
fn numbers_at(place: &Path, pid: u32) -> Vec<FileNumber> {
    let seen = Path::new("/proc").join(pid.to_string()).join("root");
    let seen = seen.join(place.strip_prefix("/").unwrap_or(place));
    let files = [seen.as_path(), place].into_iter().filter_map(|path| fs::symlink_metadata(path).ok());
    files.filter(fs::Metadata::is_file).map(|metadata| (number_of(metadata.dev()), metadata.ino())).collect()
}

/// The upper directory and the lower ones. Since Linux 6.5 each lower one may have an option of its own (`lowerdir+`).
fn layers(mounted: &Mount) -> Vec<PathBuf> {
    let mut layers: Vec<PathBuf> = mounted.super_option("upperdir").into_iter().collect();
    for option in &mounted.super_options {
        for name in ["lowerdir+=", "datadir+="] {
            layers.extend(option.strip_prefix(name).map(|value| mountinfo::unescape(value.as_bytes())));
        }
    }
    if let Some(lower) = mounted.super_option("lowerdir") {
        layers.extend(split_at_colons(lower.as_os_str().as_bytes()));
    }
    layers.retain(|layer| layer.is_absolute());
    layers
}

/// Lower directories stand with colons between; one within a name has a backslash before it.
fn split_at_colons(list: &[u8]) -> Vec<PathBuf> {
    let mut is_escaped = false;
    let names = list.split(|&byte| {
        let is_end = byte == b':' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| without_backslashes(Path::new(OsStr::from_bytes(name)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_directories_are_split_at_colons_that_are_not_escaped() {
        let split = |text: &str| split_at_colons(text.as_bytes());
        assert_eq!(split("/a:/b"), [Path::new("/a"), Path::new("/b")]);
        assert_eq!(split(r"/a\:b::/c"), [Path::new("/a:b"), Path::new("/c")]);
        assert_eq!(split(r"/a\"), [Path::new(r"/a\")], "nothing behind it");
        assert!(split("").is_empty());
    }

    #[test]
    fn every_form_of_layers_is_read() {
        let line = b"61 42 0:52 / /m rw - overlay o rw,lowerdir=/a:/b,upperdir=/u,workdir=/w\n\
            62 42 0:53 / /n rw - overlay o rw,lowerdir+=/c,lowerdir+=/d,datadir+=/e\n";
        let mounts = mountinfo::parse(line);
        assert_eq!(layers(&mounts[0]), ["/u", "/a", "/b"].map(PathBuf::from));
        assert_eq!(layers(&mounts[1]), ["/c", "/d", "/e"].map(PathBuf::from));
    }
}
