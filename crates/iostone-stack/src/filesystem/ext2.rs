//! ext2: made anew for every trial by mkfs.ext2, without a journal, known by a UUID of ours.
//!
//! Most kernels since 4.0 have no driver of its own for it: the one of ext4 serves it (`CONFIG_EXT4_USE_FOR_EXT2`), as
//! long as it has no feature that ext2 does not know (`ext2_feature_set_ok`, `fs/ext4/super.c`).

use iostone_model::experiment::Ext2;
use iostone_model::trial::Check;

use super::arguments::Known;
use super::ext4::{Arguments, Flavour};
use super::making::{check_uuid, expect, superblock_of};
use super::superblock::ExtSuperblock;
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::{Geometry, Site};

/// Options of mke2fs(8) that are passed on: none about a journal, clusters or groups of groups, which ext2 has not.
const KNOWN: [Known; 14] = [
    Known::short("-b", true),
    Known::short("-D", false),
    Known::short("-e", true),
    Known::short("-E", true),
    Known::short("-g", true),
    Known::short("-i", true),
    Known::short("-I", true),
    Known::short("-L", true),
    Known::short("-m", true),
    Known::short("-M", true),
    Known::short("-N", true),
    Known::short("-o", true),
    Known::short("-O", true),
    Known::short("-T", true),
];

/// As for ext4, but for its journal; ext2's own driver sets no inode tables up later, and mke2fs writes them whole.
const EXTENDED: [(&str, Option<&str>); 2] = [("nodiscard", None), ("lazy_itable_init", Some("0"))];

/// Features that the kernel mounts as ext2 (`EXT2_FEATURE_*_SUPP`, `fs/ext4/ext4.h`), and those of the compatible kind,
/// by their names in ext4(5).
const FEATURES: [&str; 9] = [
    "dir_index",
    "ext_attr",
    "filetype",
    "large_file",
    "meta_bg",
    "none",
    "resize_inode",
    "sparse_super",
    "sparse_super2",
];

const EXT2: Flavour =
    Flavour { mkfs: "mkfs.ext2", known: &KNOWN, extended: &EXTENDED, features: Some(&FEATURES) };

/// What a superblock without a journal and without extents is called in checks.
const PLAIN: &str = "no journal, no extents";

/// The layer of an ext2 filesystem.
#[derive(Debug)]
pub(crate) struct Ext2Layer {
    arguments: Arguments,
}

impl Ext2Layer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, or make something else than ext2.
    pub(crate) fn new(ext2: &Ext2) -> Result<Self, StackError> {
        Ok(Self { arguments: Arguments::parse(&EXT2, &ext2.mkfs)? })
    }
}

/// The words behind `mkfs.ext2`, but for the UUID and the device.
///
/// # Errors
/// As [`Ext2Layer::new`], and for a chunk that is no whole number of blocks.
pub(super) fn argument_words(ext2: &Ext2, geometry: Option<Geometry>) -> Result<Vec<String>, StackError> {
    Arguments::parse(&EXT2, &ext2.mkfs)?.words(geometry)
}

impl Layer for Ext2Layer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        self.arguments.make(&EXT2, site)
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("filesystem")?;
        let asked = site.filesystem_uuid.as_deref().unwrap_or_default();
        let found = ExtSuperblock::read(&device.path)?;
        let mut checks =
            vec![check_uuid("ext2", device, asked, found.as_ref().map(|found| found.uuid.as_str()))?];
        if let Some(found) = &found {
            let word = |has: bool, what: &str| format!("{}{what}", if has { "a " } else { "no " });
            let read_back = if found.has_journal || found.has_extents {
                format!(
                    "{}, {}",
                    word(found.has_journal, "journal"),
                    word(found.has_extents, "tree of extents")
                )
            } else {
                PLAIN.to_owned()
            };
            checks.push(expect(PLAIN.to_owned(), read_back, superblock_of(device))?);
        }
        checks.extend(self.arguments.check_stripes(site.geometry, device, found.as_ref())?);
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(words: &[&str]) -> Result<String, String> {
        let ext2 = Ext2 { mkfs: words.iter().map(|word| (*word).to_owned()).collect() };
        argument_words(&ext2, None).map(|words| words.join(" ")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_arguments_are_those_of_ext4_without_a_journal() {
        assert_eq!(merged(&[]).unwrap(), "-F -q -E nodiscard,lazy_itable_init=0");
        assert_eq!(
            merged(&["-O", "^dir_index,sparse_super", "-b4096"]).unwrap(),
            "-F -q -E nodiscard,lazy_itable_init=0 -O ^dir_index,sparse_super -b 4096"
        );
        let array = Some(Geometry { chunk_bytes: 256 << 10, data_members: 2 });
        let over = argument_words(&Ext2::default(), array).unwrap().join(" ");
        assert_eq!(over, "-F -q -E nodiscard,lazy_itable_init=0,stride=64,stripe-width=128 -b 4096");
    }

    #[test]
    fn nothing_that_would_make_ext4_of_it_gets_through() {
        let error = merged(&["-O", "has_journal"]).unwrap_err();
        assert!(error.contains("ext2 lacks this feature"), "{error}");
        for words in [
            &["-j"][..],
            &["-J", "size=4"],
            &["-O", "extent"],
            &["-t", "ext4"],
            &["-C", "64k"],
            &["/dev/sda"],
        ] {
            assert!(merged(words).is_err(), "{words:?}");
        }
    }
}
