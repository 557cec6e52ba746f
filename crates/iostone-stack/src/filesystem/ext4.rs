//! ext4: made anew for every trial by mkfs.ext4, known by a UUID of ours.

use std::ffi::OsString;
use std::fs::File;

use iostone_model::experiment::Ext4;
use iostone_model::trial::Check;

use crate::device::BlockDevice;
use crate::error::StackError;
use crate::fill::forget_cache;
use crate::guard::{self, Allowance};
use crate::journal::random_bytes;
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

use super::superblock::Superblock;

/// What keeps the kernel from working on the filesystem in the background during a trial, and mkfs from punching the
/// filled image full of holes (mke2fs(8)).
const EXTENDED: [(&str, Option<&str>); 3] =
    [("nodiscard", None), ("lazy_itable_init", Some("0")), ("lazy_journal_init", Some("0"))];

/// Options of mke2fs(8) that are passed on, with whether a value follows.
const KNOWN: [(&str, bool); 17] = [
    ("-b", true),
    ("-C", true),
    ("-D", false),
    ("-e", true),
    ("-g", true),
    ("-G", true),
    ("-i", true),
    ("-I", true),
    ("-j", false),
    ("-J", true),
    ("-L", true),
    ("-m", true),
    ("-M", true),
    ("-N", true),
    ("-o", true),
    ("-O", true),
    ("-T", true),
];

/// The layer of an ext4 filesystem.
#[derive(Debug)]
pub(crate) struct Ext4Layer {
    /// Arguments before the UUID and the device.
    arguments: Vec<String>,
}

impl Ext4Layer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, or take away what iostone relies on.
    pub(crate) fn new(ext4: &Ext4) -> Result<Self, StackError> {
        Ok(Self { arguments: merge_arguments(&ext4.mkfs)? })
    }
}

/// The words behind `mkfs.ext4`, but for the UUID and the device.
///
/// # Errors
/// As [`Ext4Layer::new`].
pub(crate) fn argument_words(ext4: &Ext4) -> Result<Vec<String>, StackError> {
    merge_arguments(&ext4.mkfs)
}

/// Checks the user's arguments one by one and merges their `-E` into ours, theirs winning.
///
/// mke2fs takes the device as a bare word, so a word that is not known to be an option or its value is refused: it
/// could name a device that nobody guarded.
fn merge_arguments(user: &[String]) -> Result<Vec<String>, StackError> {
    let wrong = |reason: String| StackError::usage("filesystem.mkfs", reason);
    let mut extended: Vec<(String, Option<String>)> =
        EXTENDED.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
    let mut passed = Vec::new();
    let mut words = user.iter();
    while let Some(word) = words.next() {
        let (option, glued) = match word.char_indices().nth(2) {
            Some((end, _)) if word.starts_with('-') => (&word[..end], Some(word[end..].to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            glued
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(|| wrong(format!("`{option}` needs a value")))
        };
        if option == "-E" {
            for item in value()?.split(',').filter(|item| !item.is_empty()) {
                let (key, value) = match item.split_once('=') {
                    Some((key, value)) => (key, Some(value.to_owned())),
                    None => (item, None),
                };
                if key == "offset" {
                    return Err(wrong(
                        "`-E offset` would put the filesystem elsewhere on the device".to_owned(),
                    ));
                }
                extended.retain(|(ours, _)| {
                    ours.strip_prefix("no").unwrap_or(ours) != key.strip_prefix("no").unwrap_or(key)
                });
                extended.push((key.to_owned(), value));
            }
            continue;
        }
        match KNOWN.iter().find(|(known, _)| *known == option) {
            Some((_, true)) => {
                let value = value()?;
                if option == "-J" && value.contains("device=") {
                    return Err(wrong(
                        "an external journal is another device, which the guard does not see".to_owned(),
                    ));
                }
                if option == "-O" && value.split(',').any(|feature| feature == "journal_dev") {
                    return Err(wrong("`journal_dev` makes no filesystem".to_owned()));
                }
                passed.extend([option.to_owned(), value]);
            }
            Some((_, false)) if glued.is_none() => passed.push(word.clone()),
            _ => {
                let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).chain(["-E"]).collect();
                return Err(wrong(format!(
                    "`{word}` is not passed on to mkfs.ext4; these are: {}",
                    known.join(" ")
                )));
            }
        }
    }
    let extended: Vec<String> = extended
        .into_iter()
        .map(|(key, value)| value.map_or_else(|| key.clone(), |value| format!("{key}={value}")))
        .collect();
    let mut arguments = vec!["-F".to_owned(), "-q".to_owned(), "-E".to_owned(), extended.join(",")];
    arguments.extend(passed);
    Ok(arguments)
}

impl Layer for Ext4Layer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mkfs = tool::find("mkfs.ext4")?;
        let device = site.require_device("filesystem")?.clone();
        let uuid = new_uuid()?;
        if site.claims.contains_key(&device.number) {
            // The user's own device: looked at again at the last moment, and the filesystem is taken off afterwards.
            let allowance = Allowance { destroy: &site.destroy, claims: &site.claims };
            guard::inspect(&device.path, &allowance)?;
            // Its stable name, by which it is found again even after a reboot.
            let node = device.stable_path().unwrap_or_else(|| device.path.clone());
            let step = Step::Mkfs { device: node, size_bytes: device.size_bytes, uuid: uuid.clone() };
            site.journal.begin(Scope::Trial, step)?;
        } else {
            check_own_loop(site, &device)?;
        }
        let mut arguments: Vec<OsString> = self.arguments.iter().map(OsString::from).collect();
        arguments.extend(["-U".into(), uuid.clone().into(), device.path.clone().into_os_string()]);
        tool::run_successfully(&mkfs, &arguments, site.interrupt())?;
        if let Some(image) = site.image.as_ref().filter(|_| !site.claims.contains_key(&device.number)) {
            // What mkfs wrote went through the page cache of the host under a buffered loop device.
            let file =
                File::open(&image.path).map_err(|source| StackError::io("open", &image.path, source))?;
            file.sync_data().map_err(|source| StackError::io("fsync", &image.path, source))?;
            forget_cache(&file, &image.path)?;
        }
        site.filesystem_uuid = Some(uuid);
        site.filesystem_kind = Some("ext4");
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("filesystem")?;
        let asked = site.filesystem_uuid.clone().unwrap_or_default();
        let superblock = Superblock::read(&device.path)?;
        let from = format!("superblock of {}", device.path.display());
        match superblock {
            Some(superblock) if superblock.uuid == asked => Ok(vec![Check {
                layer: "filesystem".to_owned(),
                asked: format!("ext4 {asked}"),
                read_back: format!("ext4 {}", superblock.uuid),
                from,
            }]),
            other => Err(StackError::NotApplied {
                layer: "filesystem",
                asked: format!("ext4 {asked}"),
                read_back: other.map_or("no ext4".to_owned(), |other| format!("ext4 {}", other.uuid)),
                from,
            }),
        }
    }
}

/// Makes sure that a loop device still has our file and is not mounted, whatever happened since it was attached.
fn check_own_loop(site: &Site, device: &BlockDevice) -> Result<(), StackError> {
    let image = site
        .image
        .as_ref()
        .ok_or_else(|| StackError::unexpected(&device.path, "no layer vouches for this device"))?;
    let attached = crate::volume::open_attached(&device.path)?;
    let ours = attached.is_some_and(|(_, status)| crate::volume::is_of_file(&status, image.identity));
    if !ours {
        return Err(StackError::unexpected(
            &device.path,
            "it no longer has the file that iostone attached to it",
        ));
    }
    for (_, mounted) in mountinfo::mounts_of_all_namespaces()? {
        if mounted.number == device.number {
            return Err(StackError::unexpected(
                &device.path,
                format!("somebody mounted it on `{}`", mounted.target.display()),
            ));
        }
    }
    Ok(())
}

/// A random UUID, version 4 (RFC 9562).
fn new_uuid() -> Result<String, StackError> {
    let mut bytes = random_bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(format_uuid(bytes))
}

/// A UUID as text: 8-4-4-4-12 hexadecimal digits.
pub(crate) fn format_uuid(bytes: [u8; 16]) -> String {
    use std::fmt::Write;
    bytes.iter().enumerate().fold(String::with_capacity(36), |mut text, (index, byte)| {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(words: &[&str]) -> Result<String, String> {
        merge_arguments(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            .map(|words| words.join(" "))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_users_extended_options_win_over_ours() {
        assert_eq!(merged(&[]).unwrap(), "-F -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0");
        assert_eq!(
            merged(&["-E", "stride=4,lazy_itable_init=1", "-O", "^has_journal", "-b4096"]).unwrap(),
            "-F -q -E nodiscard,lazy_journal_init=0,stride=4,lazy_itable_init=1 -O ^has_journal -b 4096"
        );
        assert_eq!(
            merged(&["-Ediscard"]).unwrap(),
            "-F -q -E lazy_itable_init=0,lazy_journal_init=0,discard"
        );
    }

    #[test]
    fn nothing_that_could_name_a_device_gets_through() {
        for words in [
            &["/dev/sda"][..],
            &["-F"],
            &["-FF"],
            &["-U", "clear"],
            &["-n"],
            &["-S"],
            &["-t", "ext3"],
            &["-z", "/tmp/undo"],
            &["-J", "device=/dev/sdb"],
            &["-Jsize=4,device=LABEL=x"],
            &["-O", "journal_dev"],
            &["-E", "offset=4096"],
            &["--", "/dev/sda"],
            &["-b"],
            &["-j/dev/sda"],
            &["-é", "x"],
            &[""],
        ] {
            assert!(merged(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_uuid_is_random_and_well_formed() {
        let (one, two) = (new_uuid().unwrap(), new_uuid().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.len(), 36);
        assert_eq!(one.as_bytes()[14], b'4');
        assert_eq!(format_uuid([0xab; 16]), "abababab-abab-abab-abab-abababababab");
    }
}
