//! F2FS: made anew for every trial by mkfs.f2fs, known by a UUID of ours.

use std::path::Path;

use iostone_model::experiment::F2fs;
use iostone_model::trial::Check;

use super::arguments::{Known, split};
use super::making::{self, check_uuid};
use super::superblock::F2fsSuperblock;
use super::version::words_version_of;
use crate::device::size_in_words;
use crate::error::StackError;
use crate::layer::Layer;
use crate::own_uuid::new_uuid;
use crate::site::Site;
use crate::tool;

/// Options of mkfs.f2fs(8) that are passed on. Left out are those that name another device (`-c`), make the filesystem
/// for a device of zones (`-m`) or write nothing (`-S`).
const KNOWN: [Known; 14] = [
    Known::short("-a", true),
    Known::short("-C", true),
    Known::short("-e", true),
    Known::short("-E", true),
    Known::short("-i", false),
    Known::short("-l", true),
    Known::short("-o", true),
    Known::short("-O", true),
    Known::short("-r", false),
    Known::short("-s", true),
    Known::short("-t", true),
    Known::short("-T", true),
    Known::short("-w", true),
    Known::short("-z", true),
];

/// The smallest volume that mkfs.f2fs takes, in bytes, where nobody asks for other sections: 26 segments of 2 MiB, of
/// which 8 MiB are for files; measured with 1.15.0.
const SMALLEST_BYTES: u64 = 52 << 20;

/// The layer of an F2FS filesystem.
#[derive(Debug)]
pub(crate) struct F2fsLayer {
    f2fs: F2fs,
}

impl F2fsLayer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, or take away what iostone relies on.
    pub(crate) fn new(f2fs: &F2fs) -> Result<Self, StackError> {
        argument_words(f2fs)?;
        Ok(Self { f2fs: f2fs.clone() })
    }
}

/// The words behind `mkfs.f2fs`, but for the UUID and the device.
///
/// # Errors
/// As [`F2fsLayer::new`].
pub(super) fn argument_words(f2fs: &F2fs) -> Result<Vec<String>, StackError> {
    let given = split("mkfs.f2fs", &KNOWN, &f2fs.mkfs)?;
    let mut words: Vec<String> = ["-f", "-q"].map(str::to_owned).into();
    // No discard, which would punch the filled image full of holes.
    if !given.iter().any(|given| given.name == "-t") {
        words.extend(["-t", "0"].map(str::to_owned));
    }
    words.extend(given.iter().flat_map(super::arguments::Given::words));
    Ok(words)
}

/// Whether the user sets what the smallest size follows from: segments in a section, sections in a zone, spare room.
fn is_sized(f2fs: &F2fs) -> Result<bool, StackError> {
    let given = split("mkfs.f2fs", &KNOWN, &f2fs.mkfs)?;
    Ok(given.iter().any(|given| matches!(given.name, "-o" | "-s" | "-z")))
}

/// Refuses a size that mkfs.f2fs does not take; `size_bytes` is what the filesystem gets at most.
///
/// # Errors
/// [`StackError::Usage`] with the smallest size.
pub(super) fn check_size(mkfs: &Path, f2fs: &F2fs, size_bytes: u64) -> Result<(), StackError> {
    if size_bytes >= SMALLEST_BYTES || is_sized(f2fs)? {
        return Ok(());
    }
    let version = words_version_of(mkfs)?.map(|version| format!(" {version}")).unwrap_or_default();
    let reason = format!(
        "mkfs.f2fs{version} cannot create a filesystem on {}: it needs at least {}; make it larger, or use ext4",
        size_in_words(size_bytes),
        size_in_words(SMALLEST_BYTES)
    );
    Err(StackError::usage("volume.size", reason))
}

impl Layer for F2fsLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mkfs = tool::find("mkfs.f2fs")?;
        let device = site.require_device("filesystem")?.clone();
        check_size(&mkfs, &self.f2fs, device.size_bytes)?;
        let uuid = new_uuid(&site.journal.owner.token)?;
        let mut arguments = argument_words(&self.f2fs)?;
        arguments.extend(["-U".to_owned(), uuid.clone()]);
        making::make(site, &mkfs, &arguments, &uuid, &[device])?;
        site.filesystem_uuid = Some(uuid);
        site.filesystem_kind = Some("f2fs");
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("filesystem")?;
        let asked = site.filesystem_uuid.as_deref().unwrap_or_default();
        let found = F2fsSuperblock::read(&device.path)?;
        let uuid = found.as_ref().map(|found| found.uuid.as_str());
        Ok(vec![check_uuid("F2FS", device, asked, uuid)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f2fs(words: &[&str]) -> F2fs {
        F2fs { mkfs: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    fn words(user: &[&str]) -> Result<String, String> {
        argument_words(&f2fs(user)).map(|words| words.join(" ")).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_discarded_unless_the_user_says_so() {
        assert_eq!(words(&[]).unwrap(), "-f -q -t 0");
        assert_eq!(words(&["-t1", "-O", "extra_attr"]).unwrap(), "-f -q -t 1 -O extra_attr");
    }

    #[test]
    fn nothing_that_could_name_a_device_gets_through() {
        for user in [
            &["/dev/sda"][..],
            &["-c", "/dev/sdb"],
            &["-m"],
            &["-S"],
            &["-f"],
            &["-U", "x"],
            &["8192"],
            &["-V"],
        ] {
            assert!(words(user).is_err(), "{user:?}");
        }
    }

    #[test]
    fn a_volume_too_small_is_refused_unless_the_user_says_how_it_is_cut() {
        let check = |user: &[&str], size_bytes| {
            check_size(Path::new("/nonexistent"), &f2fs(user), size_bytes).is_ok()
        };
        assert!(check(&[], 52 << 20) && check(&["-s", "2"], 1 << 20));
        let mkfs = Path::new("/bin/true");
        let error = check_size(mkfs, &f2fs(&[]), 51 << 20).unwrap_err().to_string();
        assert!(error.contains("51 MiB") && error.contains("at least 52 MiB"), "{error}");
    }
}
