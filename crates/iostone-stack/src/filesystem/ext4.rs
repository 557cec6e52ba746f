//! ext4: made anew for every trial by mkfs.ext4, known by a UUID of ours, laid out for the array below.

use iostone_model::experiment::Ext4;
use iostone_model::trial::Check;

use super::arguments::{Given, Known, split, wrong};
use super::making::{self, check_uuid, expect, superblock_of};
use super::superblock::ExtSuperblock;
use crate::device::BlockDevice;
use crate::error::StackError;
use crate::layer::Layer;
use crate::own_uuid::new_uuid;
use crate::site::{Geometry, Site};
use crate::tool;

/// What keeps the kernel from working on the filesystem in the background during a trial, and mkfs from punching the
/// filled image full of holes (mke2fs(8)).
const EXTENDED: [(&str, Option<&str>); 3] =
    [("nodiscard", None), ("lazy_itable_init", Some("0")), ("lazy_journal_init", Some("0"))];

/// Options of mke2fs(8) that are passed on.
const KNOWN: [Known; 18] = [
    Known::short("-b", true),
    Known::short("-C", true),
    Known::short("-D", false),
    Known::short("-e", true),
    Known::short("-E", true),
    Known::short("-g", true),
    Known::short("-G", true),
    Known::short("-i", true),
    Known::short("-I", true),
    Known::short("-j", false),
    Known::short("-J", true),
    Known::short("-L", true),
    Known::short("-m", true),
    Known::short("-M", true),
    Known::short("-N", true),
    Known::short("-o", true),
    Known::short("-O", true),
    Known::short("-T", true),
];

/// Bytes of a block over an array where the user asks for no other size: mke2fs(8) would take 1 KiB below 512 MiB, and
/// a stride counts blocks.
const BLOCK_BYTES: u64 = 4096;

/// One of the family that mke2fs(8) makes, and what of it is passed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flavour {
    /// The program's name.
    pub(super) mkfs: &'static str,
    /// Options that are passed on.
    pub(super) known: &'static [Known],
    /// Items of `-E` that are ours unless the user says otherwise.
    pub(super) extended: &'static [(&'static str, Option<&'static str>)],
    /// The features that `-O` may add; none where all may be added.
    pub(super) features: Option<&'static [&'static str]>,
}

const EXT4: Flavour = Flavour { mkfs: "mkfs.ext4", known: &KNOWN, extended: &EXTENDED, features: None };

/// The layer of an ext4 filesystem.
#[derive(Debug)]
pub(crate) struct Ext4Layer {
    arguments: Arguments,
}

impl Ext4Layer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, or take away what iostone relies on.
    pub(crate) fn new(ext4: &Ext4) -> Result<Self, StackError> {
        Ok(Self { arguments: Arguments::parse(&EXT4, &ext4.mkfs)? })
    }
}

/// The words behind `mkfs.ext4`, but for the UUID and the device.
///
/// # Errors
/// As [`Ext4Layer::new`], and for a chunk that is no whole number of blocks.
pub(super) fn argument_words(ext4: &Ext4, geometry: Option<Geometry>) -> Result<Vec<String>, StackError> {
    Arguments::parse(&EXT4, &ext4.mkfs)?.words(geometry)
}

/// The user's arguments, looked at.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Items of `-E`, ours and theirs.
    extended: Vec<(String, Option<String>)>,
    /// Everything else, as it is passed on.
    passed: Vec<String>,
    /// `-b`, if they say it.
    block_bytes: Option<u64>,
}

/// How the filesystem lies over an array, in its own blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stripes {
    stride: u64,
    width: u64,
    block_bytes: u64,
}

impl Stripes {
    /// How the filesystem on a device says that it lies.
    fn of(found: &ExtSuperblock) -> Self {
        Self { stride: found.stride_blocks, width: found.stripe_width_blocks, block_bytes: found.block_bytes }
    }

    fn in_words(self) -> String {
        format!("stride {}, stripe width {} blocks of {} bytes", self.stride, self.width, self.block_bytes)
    }
}

impl Flavour {
    /// The word used in the experiment file.
    fn kind(&self) -> &'static str {
        self.mkfs.trim_start_matches("mkfs.")
    }

    /// Refuses what would make another member of the family of it.
    fn check_features(&self, given: &Given) -> Result<(), StackError> {
        let Some(features) = self.features else { return Ok(()) };
        let beyond = given.items().find(|item| !item.starts_with('^') && !features.contains(item));
        let Some(beyond) = beyond else { return Ok(()) };
        let kind = self.kind();
        Err(wrong(format!("`-O {beyond}` is refused: {kind} lacks this feature; use ext4")))
    }
}

impl Arguments {
    /// Checks the user's arguments one by one and merges their `-E` into ours, theirs winning.
    pub(super) fn parse(flavour: &Flavour, user: &[String]) -> Result<Self, StackError> {
        let mut extended: Vec<(String, Option<String>)> = flavour
            .extended
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned)))
            .collect();
        let mut passed = Vec::new();
        let mut block_bytes = None;
        for given in split(flavour.mkfs, flavour.known, user)? {
            match given.name {
                "-E" => {
                    for item in given.items() {
                        let (key, value) = match item.split_once('=') {
                            Some((key, value)) => (key, Some(value.to_owned())),
                            None => (item, None),
                        };
                        if key == "offset" {
                            return Err(wrong(
                                "`-E offset` would put the filesystem elsewhere on the device",
                            ));
                        }
                        extended.retain(|(ours, _)| {
                            ours.strip_prefix("no").unwrap_or(ours) != key.strip_prefix("no").unwrap_or(key)
                        });
                        extended.push((key.to_owned(), value));
                    }
                    continue;
                }
                "-J" if given.items().any(|item| item.starts_with("device=")) => {
                    return Err(wrong(
                        "an external journal is another device, which the guard does not check",
                    ));
                }
                "-O" if given.items().any(|feature| feature == "journal_dev") => {
                    return Err(wrong("`journal_dev` creates no filesystem"));
                }
                "-O" => flavour.check_features(&given)?,
                "-b" => {
                    // A negative number leaves the choice above it to mke2fs.
                    block_bytes = given.value.as_deref().and_then(|value| value.parse().ok());
                }
                _ => {}
            }
            passed.extend(given.words());
        }
        Ok(Self { extended, passed, block_bytes })
    }

    fn says(&self, keys: &[&str]) -> bool {
        self.extended.iter().any(|(key, _)| keys.contains(&key.as_str()))
    }

    /// Holds how it lies over an array against what its superblock says; none without an array.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] where the two differ.
    pub(super) fn check_stripes(
        &self,
        geometry: Option<Geometry>,
        device: &BlockDevice,
        found: Option<&ExtSuperblock>,
    ) -> Result<Option<Check>, StackError> {
        let Some((stripes, found)) = self.stripes(geometry)?.zip(found) else { return Ok(None) };
        expect(stripes.in_words(), Stripes::of(found).in_words(), superblock_of(device)).map(Some)
    }

    /// How it lies over an array; none without one, or where the user says it.
    fn stripes(&self, geometry: Option<Geometry>) -> Result<Option<Stripes>, StackError> {
        let Some(geometry) = geometry else { return Ok(None) };
        if self.says(&["stride", "stripe-width", "stripe_width"]) {
            return Ok(None);
        }
        let block_bytes = match self.block_bytes {
            Some(bytes) => bytes,
            // mke2fs would choose, and a stride counts what it has chosen.
            None if self.passed.iter().any(|word| word == "-b") => return Ok(None),
            None => BLOCK_BYTES,
        };
        if block_bytes == 0 || !geometry.chunk_bytes.is_multiple_of(block_bytes) {
            return Err(wrong(format!(
                "the array's chunk of {} bytes is not a multiple of the block size of {block_bytes} bytes",
                geometry.chunk_bytes
            )));
        }
        let stride = geometry.chunk_bytes / block_bytes;
        Ok(Some(Stripes { stride, width: stride * u64::from(geometry.data_members), block_bytes }))
    }

    /// Makes the filesystem on the device that is there, with a UUID of its own.
    pub(super) fn make(&self, flavour: &Flavour, site: &mut Site) -> Result<(), StackError> {
        let mkfs = tool::find(flavour.mkfs)?;
        let device = site.require_device("filesystem")?.clone();
        let uuid = new_uuid(&site.journal.owner.token)?;
        let mut arguments = self.words(site.geometry)?;
        arguments.extend(["-U".to_owned(), uuid.clone()]);
        making::make(site, &mkfs, &arguments, &uuid, &[device])?;
        site.filesystem_uuid = Some(uuid);
        site.filesystem_kind = Some(flavour.kind());
        Ok(())
    }

    /// The words behind the program's name, but for the UUID and the device.
    pub(super) fn words(&self, geometry: Option<Geometry>) -> Result<Vec<String>, StackError> {
        let stripes = self.stripes(geometry)?;
        let mut extended: Vec<String> = self
            .extended
            .iter()
            .map(|(key, value)| value.as_ref().map_or_else(|| key.clone(), |value| format!("{key}={value}")))
            .collect();
        let mut block = Vec::new();
        if let Some(stripes) = stripes {
            extended.push(format!("stride={}", stripes.stride));
            extended.push(format!("stripe-width={}", stripes.width));
            if self.block_bytes.is_none() {
                block = vec!["-b".to_owned(), stripes.block_bytes.to_string()];
            }
        }
        let ours = ["-F".to_owned(), "-q".to_owned(), "-E".to_owned(), extended.join(",")];
        Ok(ours.into_iter().chain(block).chain(self.passed.iter().cloned()).collect())
    }
}

impl Layer for Ext4Layer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        self.arguments.make(&EXT4, site)
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("filesystem")?;
        let asked = site.filesystem_uuid.as_deref().unwrap_or_default();
        let found = ExtSuperblock::read(&device.path)?;
        let mut checks =
            vec![check_uuid("ext4", device, asked, found.as_ref().map(|found| found.uuid.as_str()))?];
        checks.extend(self.arguments.check_stripes(site.geometry, device, found.as_ref())?);
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: Geometry = Geometry { chunk_bytes: 256 << 10, data_members: 2 };

    fn merged_over(words: &[&str], geometry: Option<Geometry>) -> Result<String, String> {
        let ext4 = Ext4 { mkfs: words.iter().map(|word| (*word).to_owned()).collect() };
        argument_words(&ext4, geometry).map(|words| words.join(" ")).map_err(|error| error.to_string())
    }

    fn merged(words: &[&str]) -> Result<String, String> {
        merged_over(words, None)
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
    fn an_array_gives_stride_and_width_unless_the_user_does() {
        let ours = "-F -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        let over = |words: &[&str]| merged_over(words, Some(ARRAY)).unwrap();
        assert_eq!(over(&[]), format!("{ours},stride=64,stripe-width=128 -b 4096"));
        assert_eq!(over(&["-b", "1024"]), format!("{ours},stride=256,stripe-width=512 -b 1024"));
        assert_eq!(over(&["-E", "stripe_width=4"]), format!("{ours},stripe_width=4"));
        assert_eq!(over(&["-b", "-2048"]), format!("{ours} -b -2048"));
        let odd = Some(Geometry { chunk_bytes: 6 << 10, data_members: 2 });
        assert!(merged_over(&[], odd).unwrap_err().contains("not a multiple of the block size"));
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
}
