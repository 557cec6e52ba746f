//! The files that a file of an overlay is made of: what is written to it is written to one of them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{DeviceNumber, number_of};
use crate::mountinfo::{self, Mounted, without_backslashes};

/// Overlays on overlays: the kernel stacks two of them (`FILESYSTEM_MAX_STACK_DEPTH`).
const DEPTH_MAX: usize = 4;

/// A file, told by its filesystem and inode.
pub(crate) type FileNumber = (DeviceNumber, u64);

/// A file's own number, and those of the files in the layers of the overlay that it is on, in whichever mount namespace
/// that is mounted.
///
/// The layers' paths are those that were given to mount(2) (Documentation/filesystems/overlayfs.rst); a layer that cannot be
/// found any more, because it was given by a relative path or was unmounted since, is left out.
pub(crate) fn numbers_of(path: &Path, own: FileNumber) -> Vec<FileNumber> {
    let mut found = BTreeSet::from([own]);
    // Only a filesystem without a device of its own can be an overlay, and then the tables are worth a look.
    if own.0.0 == 0 {
        let mounts = mountinfo::mounts_of_all_namespaces().unwrap_or_default();
        add_layers(path, own.0, &mounts, 0, &mut found);
    }
    found.into_iter().collect()
}

fn add_layers(
    path: &Path,
    number: DeviceNumber,
    mounts: &[(u32, Mounted)],
    depth: usize,
    found: &mut BTreeSet<FileNumber>,
) {
    let overlays = mounts.iter().filter(|(_, mounted)| {
        mounted.filesystem == "overlay" && mounted.number == number && path.starts_with(&mounted.target)
    });
    for (pid, mounted) in overlays {
        let Ok(below) = path.strip_prefix(&mounted.target) else { continue };
        let within = mounted.root.strip_prefix("/").unwrap_or(&mounted.root).join(below);
        for layer in layers(mounted) {
            let place = layer.join(&within);
            // As the process sees it in whose namespace the overlay is mounted.
            let seen = Path::new("/proc").join(pid.to_string()).join("root");
            let seen = seen.join(place.strip_prefix("/").unwrap_or(&place));
            let Ok(metadata) = fs::symlink_metadata(&seen) else { continue };
            let number = number_of(metadata.dev());
            let is_new = metadata.is_file() && found.insert((number, metadata.ino()));
            if is_new && number.0 == 0 && depth < DEPTH_MAX {
                add_layers(&place, number, mounts, depth + 1, found);
            }
        }
    }
}

/// The upper directory and the lower ones. Since Linux 6.5 each lower one may have an option of its own (`lowerdir+`).
fn layers(mounted: &Mounted) -> Vec<PathBuf> {
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
