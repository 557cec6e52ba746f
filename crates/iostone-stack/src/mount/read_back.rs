//! What the kernel reports of a mount's options, held against what was asked.

use iostone_model::experiment::mount_default;
use iostone_model::trial::Check;

use super::options::MountOption;
use crate::error::StackError;
use crate::mountinfo::Mount;

/// Where options of the mount and options that differ from the filesystem's defaults are read.
pub(crate) const MOUNTINFO: &str = "/proc/self/mountinfo";

/// Settings whose being off shows in mountinfo by the absence of the word for on: the kernel's own, for every mount.
const BY_ABSENCE: [&str; 9] =
    ["ro", "nodiratime", "nosuid", "nodev", "noexec", "sync", "dirsync", "lazytime", "norecovery"];

/// Filesystems that word a setting only where it differs from the default (`xfs_fs_show_options` in
/// `fs/xfs/xfs_super.c`, `btrfs_show_options` in `fs/btrfs/super.c`, `f2fs_show_options` in `fs/f2fs/super.c`, whose later
/// kernels word both sides of most). ext2 and ext4 have a list of all, and defaults that mkfs can change.
const WORD_DIFFERENCES: [&str; 3] = ["xfs", "btrfs", "f2fs"];

/// The level of zlib's and zstd's compression where btrfs is told none, and the one that it always takes where it knows
/// of no levels: zstd before Linux 5.1 (btrfs(5), "COMPRESSION").
const COMPRESSION_LEVEL: &str = "3";

/// Whether what the kernel reports is what was asked: btrfs adds the level of compression that it took, and leaves it out
/// where it knows of none.
fn is_same(asked: &MountOption, reported: &MountOption) -> bool {
    let has_default_level = |one: &str, other: &str| {
        one.split_once(':').is_some_and(|(method, level)| method == other && level == COMPRESSION_LEVEL)
    };
    let (asks, says) = (asked.value.as_str(), reported.value.as_str());
    asked.name == reported.name
        && (asks == says
            || asked.name.starts_with("compress")
                && (has_default_level(says, asks) || has_default_level(asks, says)))
}

/// All that the kernel reports of one mount.
pub(crate) struct Reported<'a> {
    mounted: &'a Mount,
    /// What `/proc/fs/ext4/DEVICE/options` holds, which lists defaults too; none where the kernel offers no such file.
    all: Option<Vec<MountOption>>,
    all_path: String,
}

impl<'a> Reported<'a> {
    /// `all` is the content of the file with all options, and its path.
    pub(crate) fn new(mounted: &'a Mount, all: Option<(String, String)>) -> Self {
        let (all, all_path) = all.unzip();
        // Quota options are written without a line end between them.
        let all = all.map(|text| {
            text.split(['\n', ',']).filter(|word| !word.is_empty()).map(MountOption::of_word).collect()
        });
        Self { mounted, all, all_path: all_path.unwrap_or_default() }
    }

    /// Holds one option against the report.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] with what the kernel reports instead, [`StackError::NotReported`] where it has no word about
    /// that setting.
    pub(crate) fn check(&self, asked: &MountOption) -> Result<Check, StackError> {
        if let Some((read_back, from)) = self.find(asked) {
            return Ok(Check { layer: "mount".to_owned(), asked: asked.word.clone(), read_back, from });
        }
        let (layer, asked_word) = ("mount", asked.word.clone());
        let from = if self.all.is_some() && asked.flag().is_none() {
            format!("{MOUNTINFO} and {}", self.all_path)
        } else {
            MOUNTINFO.to_owned()
        };
        Err(match self.other_value(asked) {
            Some(read_back) => StackError::NotApplied { layer, asked: asked_word, read_back, from },
            None => StackError::NotReported { layer, asked: asked_word, reported: self.in_words(), from },
        })
    }

    /// What the kernel reports that says the same as what was asked, and where.
    fn find(&self, asked: &MountOption) -> Option<(String, String)> {
        let same = |option: &MountOption| is_same(asked, option);
        let shown = self.shown();
        if let Some(option) = shown.iter().find(|option| same(option)) {
            return Some((option.word.clone(), MOUNTINFO.to_owned()));
        }
        if shown.iter().any(|option| option.name == asked.name) {
            return None;
        }
        // No word about access times means that each access is recorded (proc_pid_mountinfo(5)).
        if asked.name == "atime" && asked.value == "strictatime" {
            return Some(("neither `noatime` nor `relatime`".to_owned(), MOUNTINFO.to_owned()));
        }
        if BY_ABSENCE.contains(&asked.name.as_str()) && asked.value == "off" {
            return Some((format!("no `{}`", asked.name), MOUNTINFO.to_owned()));
        }
        let filesystem = self.mounted.filesystem.as_str();
        if WORD_DIFFERENCES.contains(&filesystem)
            && mount_default(filesystem, &asked.name) == Some(asked.value.as_str())
        {
            return Some((format!("the default `{}`", asked.name), MOUNTINFO.to_owned()));
        }
        let option = self.all.as_ref()?.iter().find(|option| same(option))?;
        Some((option.word.clone(), self.all_path.clone()))
    }

    /// The words in mountinfo, of the mount first and of the filesystem after.
    fn shown(&self) -> Vec<MountOption> {
        let mount = self.mounted.options.iter().map(|word| MountOption::of_word(word));
        // `rw` of the filesystem as a whole says nothing about this mount.
        let filesystem =
            self.mounted.super_options.iter().filter(|word| !matches!(word.as_str(), "rw" | "ro"));
        mount.chain(filesystem.map(|word| MountOption::of_word(word))).collect()
    }

    /// What is reported of the same setting.
    fn other_value(&self, asked: &MountOption) -> Option<String> {
        let of_setting = |options: &[MountOption]| {
            options.iter().find(|option| option.name == asked.name).map(|option| option.word.clone())
        };
        of_setting(&self.shown()).or_else(|| of_setting(self.all.as_deref().unwrap_or_default()))
    }

    /// Everything that is reported, each word once.
    fn in_words(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        let mount = self.mounted.options.iter().chain(&self.mounted.super_options).map(String::as_str);
        for word in mount.chain(self.all.iter().flatten().map(|option| option.word.as_str())) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(",")
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A mount of ext4 with defaults, as Linux 6.18 reports it.
    const DEFAULTS: &str = "rw\nbsddf\nnogrpid\nblock_validity\ndioread_nolock\nnodiscard\ndelalloc\nnowarn_on_error\n\
        journal_checksum\nbarrier\nauto_da_alloc\nuser_xattr\nacl\nnoquota\nresuid=0\nresgid=0\nerrors=continue\n\
        commit=5\nmin_batch_time=0\nmax_batch_time=15000\ni_version\nstripe=0\ndata=ordered\n\
        inode_readahead_blks=32\ninit_itable=10\nmax_dir_size_kb=0\nprefetch_block_bitmaps";

    fn mounted(options: &str, super_options: &str) -> Mount {
        let split = |list: &str| list.split(',').map(str::to_owned).collect();
        Mount {
            mount_id: 1,
            number: (7, 0),
            root: PathBuf::from("/"),
            target: PathBuf::from("/x"),
            options: split(options),
            filesystem: "ext4".to_owned(),
            source: PathBuf::from("/dev/loop0"),
            super_options: split(super_options),
        }
    }

    fn check(
        asked: &str,
        options: &str,
        super_options: &str,
        changed: &[(&str, &str)],
    ) -> Result<String, String> {
        let mounted = mounted(options, super_options);
        let all = changed.iter().fold(DEFAULTS.to_owned(), |text, (from, to)| text.replace(from, to));
        Reported::new(&mounted, Some((all, "/proc/fs/ext4/loop0/options".to_owned())))
            .check(&MountOption::of_word(asked))
            .map(|check| check.read_back)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_read_back_as_the_kernel_words_them() {
        for (asked, super_options, changed, expected) in [
            ("barrier=0", "rw,nobarrier", &[("\nbarrier", "\nnobarrier")][..], "nobarrier"),
            ("nobarrier", "rw,nobarrier", &[("\nbarrier", "\nnobarrier")], "nobarrier"),
            ("barrier=1", "rw", &[], "barrier"),
            ("barrier", "rw", &[], "barrier"),
            ("commit=7", "rw,commit=7", &[("commit=5", "commit=7")], "commit=7"),
            ("commit=5", "rw", &[], "commit=5"),
            ("data=writeback", "rw,data=writeback", &[("data=ordered", "data=writeback")], "data=writeback"),
            ("data=ordered", "rw", &[], "data=ordered"),
            (
                "dioread_lock",
                "rw,nodioread_nolock",
                &[("dioread_nolock", "nodioread_nolock")],
                "nodioread_nolock",
            ),
            ("nodelalloc", "rw,nodelalloc", &[("\ndelalloc", "\nnodelalloc")], "nodelalloc"),
            ("auto_da_alloc=0", "rw,noauto_da_alloc", &[("\nauto_da", "\nnoauto_da")], "noauto_da_alloc"),
            ("noload", "rw,norecovery", &[], "norecovery"),
            ("bsdgroups", "rw,grpid", &[("nogrpid", "grpid")], "grpid"),
            ("init_itable=0", "rw,init_itable=0", &[("init_itable=10", "init_itable=0")], "init_itable=0"),
            ("noinit_itable", "rw,noinit_itable", &[("\ninit_itable=10", "")], "noinit_itable"),
            ("lazytime", "rw,lazytime", &[], "lazytime"),
            ("sync", "rw,sync", &[], "sync"),
            ("async", "rw", &[], "no `sync`"),
            ("discard", "rw,discard", &[("nodiscard", "discard")], "discard"),
            ("nodiscard", "rw", &[], "nodiscard"),
            ("noatime", "rw", &[], "noatime"),
        ] {
            assert_eq!(
                check(asked, "rw,noatime", super_options, changed).as_deref(),
                Ok(expected),
                "{asked}"
            );
        }
        assert_eq!(check("strictatime", "rw", "rw", &[]).unwrap(), "neither `noatime` nor `relatime`");
        assert_eq!(check("ro", "ro,relatime", "rw", &[]).unwrap(), "ro");
        assert_eq!(check("exec", "rw", "rw", &[]).unwrap(), "no `noexec`");
    }

    #[test]
    fn xfs_btrfs_and_f2fs_word_only_what_differs_from_their_defaults() {
        const XFS: &str = "rw,inode64,logbufs=8,logbsize=256k,sunit=512,swidth=1024,noquota";
        const BTRFS: &str =
            "rw,nodatasum,nodatacow,compress=zstd:3,discard=async,space_cache=v2,subvolid=5,subvol=/";
        // As Linux 4.19 words it on a device that does not rotate.
        const OLD_BTRFS: &str = "rw,compress=zstd,ssd,space_cache,subvolid=5,subvol=/";
        const FORCED: &str = "rw,compress-force=zstd:3,nospace_cache,autodefrag,subvolid=5,subvol=/";
        const F2FS: &str = "rw,lazytime,background_gc=on,nogc_merge,discard,discard_unit=block,user_xattr,inline_xattr,acl,\
            inline_data,inline_dentry,flush_merge,barrier,read_extent_cache,mode=adaptive,active_logs=6,\
            alloc_mode=reuse,checkpoint_merge,fsync_mode=posix,memory=normal,errors=continue";
        for (filesystem, super_options, asked, expected) in [
            ("xfs", XFS, "logbsize=262144", Ok("logbsize=256k")),
            ("xfs", XFS, "sunit=512", Ok("sunit=512")),
            ("xfs", XFS, "noquota", Ok("noquota")),
            ("xfs", XFS, "nodiscard", Ok("the default `discard`")),
            ("xfs", XFS, "largeio", Err("shows only")),
            ("xfs", XFS, "barrier=1", Err("shows only")),
            ("btrfs", BTRFS, "nodatacow", Ok("nodatacow")),
            ("btrfs", BTRFS, "datacow", Err("`nodatacow`")),
            ("btrfs", BTRFS, "compress=zstd", Ok("compress=zstd:3")),
            ("btrfs", BTRFS, "compress=zstd:5", Err("`compress=zstd:3`")),
            ("btrfs", BTRFS, "barrier", Ok("the default `barrier`")),
            ("btrfs", BTRFS, "max_inline=2k", Ok("the default `max_inline`")),
            ("btrfs", BTRFS, "nodiscard", Err("`discard=async`")),
            ("btrfs", BTRFS, "nobarrier", Err("shows only")),
            ("btrfs", BTRFS, "nodatasum", Ok("nodatasum")),
            ("btrfs", BTRFS, "space_cache=v2", Ok("space_cache=v2")),
            ("btrfs", BTRFS, "space_cache", Err("`space_cache=v2`")),
            ("btrfs", BTRFS, "noautodefrag", Ok("the default `autodefrag`")),
            ("btrfs", BTRFS, "autodefrag", Err("shows only")),
            ("btrfs", BTRFS, "nossd_spread", Ok("the default `ssd_spread`")),
            ("btrfs", BTRFS, "ssd", Err("shows only")),
            ("btrfs", BTRFS, "compress-force=zstd", Err("shows only")),
            ("btrfs", OLD_BTRFS, "compress=zstd:3", Ok("compress=zstd")),
            ("btrfs", OLD_BTRFS, "compress=zstd", Ok("compress=zstd")),
            ("btrfs", OLD_BTRFS, "compress=zstd:5", Err("`compress=zstd`")),
            ("btrfs", OLD_BTRFS, "space_cache=v1", Ok("space_cache")),
            ("btrfs", OLD_BTRFS, "nospace_cache", Err("`space_cache`")),
            ("btrfs", OLD_BTRFS, "ssd", Ok("ssd")),
            ("btrfs", OLD_BTRFS, "nossd", Err("`ssd`")),
            ("btrfs", FORCED, "compress-force=zstd", Ok("compress-force=zstd:3")),
            ("btrfs", FORCED, "compress-force", Err("`compress-force=zstd:3`")),
            ("btrfs", FORCED, "autodefrag", Ok("autodefrag")),
            ("btrfs", FORCED, "nospace_cache", Ok("nospace_cache")),
            ("f2fs", F2FS, "nobarrier", Err("`barrier`")),
            ("f2fs", F2FS, "barrier", Ok("barrier")),
            ("f2fs", F2FS, "extent_cache", Ok("read_extent_cache")),
            ("f2fs", F2FS, "noinline_data", Err("`inline_data`")),
            ("f2fs", F2FS, "fsync_mode=posix", Ok("fsync_mode=posix")),
            ("f2fs", F2FS, "fsync_mode=nobarrier", Err("`fsync_mode=posix`")),
            ("f2fs", "rw,lazytime,nobarrier", "nobarrier", Ok("nobarrier")),
            ("f2fs", "rw,inline_data", "barrier", Ok("the default `barrier`")),
        ] {
            let mounted = Mount { filesystem: filesystem.to_owned(), ..mounted("rw", super_options) };
            let found = Reported::new(&mounted, None).check(&MountOption::of_word(asked));
            let found = found.map(|check| check.read_back).map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{asked}"),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{asked}: {error}"),
                (found, _) => panic!("{filesystem} {asked}: {found:?}"),
            }
        }
    }

    #[test]
    fn an_option_that_did_not_take_is_an_error_with_what_is_reported() {
        for (asked, options, super_options, reported) in [
            ("barrier=0", "rw,relatime", "rw", "`barrier`"),
            ("barrier=1", "rw,relatime", "rw,nobarrier", "`nobarrier`"),
            ("commit=0", "rw,relatime", "rw", "`commit=5`"),
            ("commit=5", "rw,relatime", "rw,commit=7", "`commit=7`"),
            ("noatime", "rw,relatime", "rw", "`relatime`"),
            ("strictatime", "rw,relatime", "rw", "`relatime`"),
            ("oldalloc", "rw,relatime", "rw", "shows only"),
            ("nodev", "rw,relatime", "rw", "shows only"),
            ("rw", "ro,relatime", "rw", "`ro`"),
        ] {
            let error = check(asked, options, super_options, &[]).unwrap_err();
            assert!(error.contains(reported), "{asked}: {error}");
        }
    }
}
