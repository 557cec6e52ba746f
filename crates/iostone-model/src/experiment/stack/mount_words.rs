//! The words of mount options: which setting each of them says, in which value, and what a filesystem has without a word.

/// Settings that the virtual filesystem layer keeps for each mount, by (word, name, value): mount(8),
/// "Filesystem-independent mount options".
const OF_ANY_FILESYSTEM: [(&str, &str, &str); 21] = [
    ("ro", "ro", "on"),
    ("rw", "ro", "off"),
    ("noatime", "atime", "noatime"),
    ("atime", "atime", "relatime"),
    ("relatime", "atime", "relatime"),
    ("norelatime", "atime", "strictatime"),
    ("strictatime", "atime", "strictatime"),
    ("nostrictatime", "atime", "relatime"),
    ("nodiratime", "nodiratime", "on"),
    ("diratime", "nodiratime", "off"),
    ("nosuid", "nosuid", "on"),
    ("suid", "nosuid", "off"),
    ("nodev", "nodev", "on"),
    ("dev", "nodev", "off"),
    ("noexec", "noexec", "on"),
    ("exec", "noexec", "off"),
    ("sync", "sync", "on"),
    ("async", "sync", "off"),
    ("dirsync", "dirsync", "on"),
    ("lazytime", "lazytime", "on"),
    ("nolazytime", "lazytime", "off"),
];

/// Other spellings of the filesystems' own options, by (word, name, value) (Documentation/admin-guide/ext4.rst and
/// xfs.rst, fs/ext4/super.c, btrfs(5), Documentation/filesystems/f2fs.rst). F2FS calls its cache of extents by the second
/// name since Linux 6.2.
const SPELLINGS: [(&str, &str, &str); 21] = [
    ("dioread_lock", "dioread_nolock", "off"),
    ("bsdgroups", "grpid", "on"),
    ("sysvgroups", "grpid", "off"),
    ("nogrpid", "grpid", "off"),
    ("bsddf", "minixdf", "off"),
    ("noload", "norecovery", "on"),
    ("norecovery", "norecovery", "on"),
    ("no_prefetch_block_bitmaps", "prefetch_block_bitmaps", "off"),
    ("noinit_itable", "init_itable", "off"),
    ("nombcache", "nombcache", "on"),
    ("no_mbcache", "nombcache", "on"),
    ("iversion", "i_version", "on"),
    ("compress", "compress", "zlib"),
    ("compress=none", "compress", "no"),
    ("compress-force", "compress-force", "zlib"),
    ("compress-force=no", "compress", "no"),
    ("compress-force=none", "compress", "no"),
    ("discard=sync", "discard", "on"),
    ("space_cache", "space_cache", "v1"),
    ("nospace_cache", "space_cache", "off"),
    ("read_extent_cache", "extent_cache", "on"),
];

/// Settings that are on or off, and are written `X`, `noX`, `X=0` or `X=1`: first those of ext4, some of which the others
/// share, then those of XFS, of btrfs and of F2FS.
const TOGGLES: [&str; 33] = [
    "barrier",
    "auto_da_alloc",
    "delalloc",
    "discard",
    "dioread_nolock",
    "block_validity",
    "user_xattr",
    "acl",
    "journal_checksum",
    "quota",
    "warn_on_error",
    "grpid",
    "minixdf",
    "prefetch_block_bitmaps",
    "i_version",
    "debug",
    "largeio",
    "ikeep",
    "datacow",
    "datasum",
    "treelog",
    "autodefrag",
    "flushoncommit",
    "enospc_debug",
    "ssd",
    "ssd_spread",
    "inline_xattr",
    "inline_data",
    "inline_dentry",
    "flush_merge",
    "extent_cache",
    "checkpoint_merge",
    "gc_merge",
];

/// Settings that are a number of bytes, which may be written with a suffix and come back with another.
const SIZES: [&str; 4] = ["allocsize", "logbsize", "max_inline", "max_atomic_write"];

/// What a filesystem does without a word about it, by (filesystem, name, value); settings whose default depends on the kernel
/// or the device are left out (Documentation/admin-guide/ext4.rst; `xfs_fs_show_options` in `fs/xfs/xfs_super.c`; btrfs(5);
/// Documentation/filesystems/f2fs.rst).
const DEFAULTS: [(&str, &str, &str); 34] = [
    ("ext2", "acl", "on"),
    ("ext2", "barrier", "on"),
    ("ext2", "user_xattr", "on"),
    ("ext4", "acl", "on"),
    ("ext4", "auto_da_alloc", "on"),
    ("ext4", "barrier", "on"),
    ("ext4", "commit", "5"),
    ("ext4", "data", "ordered"),
    ("ext4", "delalloc", "on"),
    ("ext4", "dioread_nolock", "on"),
    ("ext4", "discard", "off"),
    ("ext4", "user_xattr", "on"),
    ("xfs", "discard", "off"),
    ("xfs", "ikeep", "off"),
    ("xfs", "largeio", "off"),
    ("xfs", "grpid", "off"),
    ("btrfs", "autodefrag", "off"),
    ("btrfs", "barrier", "on"),
    ("btrfs", "commit", "30"),
    ("btrfs", "compress", "no"),
    ("btrfs", "datacow", "on"),
    ("btrfs", "datasum", "on"),
    ("btrfs", "discard", "off"),
    ("btrfs", "flushoncommit", "off"),
    ("btrfs", "max_inline", "2048"),
    ("btrfs", "treelog", "on"),
    ("btrfs", "acl", "on"),
    ("btrfs", "enospc_debug", "off"),
    ("btrfs", "ssd_spread", "off"),
    ("f2fs", "barrier", "on"),
    ("f2fs", "checkpoint_merge", "off"),
    ("f2fs", "discard", "off"),
    ("f2fs", "flush_merge", "off"),
    ("f2fs", "gc_merge", "off"),
];

/// Settings that every mount has, and what they are without a word.
const DEFAULTS_OF_ALL: [(&str, &str); 9] = [
    ("ro", "off"),
    ("atime", "relatime"),
    ("nodiratime", "off"),
    ("nosuid", "off"),
    ("nodev", "off"),
    ("noexec", "off"),
    ("sync", "off"),
    ("dirsync", "off"),
    ("lazytime", "off"),
];

/// Settings of their own that several filesystems have under one name and in one meaning (the same sources, and
/// Documentation/filesystems/ext2.rst and Documentation/admin-guide/xfs.rst). XFS has had no word for its barriers
/// since Linux 4.19, and always sends flushes.
const SHARED: [(&str, &[&str]); 13] = [
    ("acl", &["ext2", "ext4", "btrfs", "f2fs"]),
    ("barrier", &["ext2", "ext4", "xfs", "btrfs", "f2fs"]),
    ("commit", &["ext4", "btrfs"]),
    ("dax", &["ext2", "ext4", "xfs"]),
    ("discard", &["ext4", "xfs", "btrfs", "f2fs"]),
    ("errors", &["ext2", "ext4", "f2fs"]),
    ("grpid", &["ext2", "ext4", "xfs"]),
    ("minixdf", &["ext2", "ext4"]),
    ("norecovery", &["ext4", "xfs", "btrfs", "f2fs"]),
    ("quota", &["ext2", "ext4", "xfs", "f2fs"]),
    ("resgid", &["ext2", "ext4", "f2fs"]),
    ("resuid", &["ext2", "ext4", "f2fs"]),
    ("user_xattr", &["ext2", "ext4", "f2fs"]),
];

/// The setting that a mount option is about, and its value, in one form for all spellings: `barrier` and `off` for
/// `barrier=0` and `nobarrier`, `atime` and `noatime` for `noatime`.
pub fn mount_setting(word: &str) -> (String, String) {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    if let Some((_, name, value)) = OF_ANY_FILESYSTEM.iter().find(|(flag, ..)| *flag == word) {
        return pair(name, value);
    }
    if let Some((_, name, value)) = SPELLINGS.iter().find(|(spelling, ..)| *spelling == word) {
        return pair(name, value);
    }
    let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
    if TOGGLES.contains(&key) {
        return match value {
            None | Some("1") => pair(key, "on"),
            Some("0") => pair(key, "off"),
            Some(other) => pair(key, other),
        };
    }
    if let Some(positive) = key.strip_prefix("no")
        && value.is_none()
        && TOGGLES.contains(&positive)
    {
        return pair(positive, "off");
    }
    if SIZES.contains(&key)
        && let Some(bytes) = value.and_then(parse_size)
    {
        return (key.to_owned(), bytes.to_string());
    }
    pair(key, value.unwrap_or("on"))
}

/// What a filesystem does where no option says anything about one of its own settings; none where that depends on the
/// kernel or the device, or is not known.
pub fn mount_default(filesystem: &str, setting: &str) -> Option<&'static str> {
    let found = DEFAULTS.iter().find(|(own, name, _)| *own == filesystem && *name == setting);
    found.map(|(.., value)| *value)
}

/// The same of the settings that every mount has, whatever the filesystem.
pub(in crate::experiment) fn default_of_all(setting: &str) -> Option<&'static str> {
    DEFAULTS_OF_ALL.iter().find(|(name, _)| *name == setting).map(|(_, value)| *value)
}

/// Whether two filesystems both have a setting, in one meaning.
pub(in crate::experiment) fn is_shared(setting: &str, one: &str, other: &str) -> bool {
    let shared = SHARED.iter().find(|(name, _)| *name == setting);
    default_of_all(setting).is_some()
        || shared.is_some_and(|(_, filesystems)| filesystems.contains(&one) && filesystems.contains(&other))
}

/// A number with a suffix as the kernel's `memparse` takes it: `64k`, `1M`.
fn parse_size(text: &str) -> Option<u64> {
    let (last, suffix) = text.char_indices().last()?;
    let shift = match suffix.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => return text.parse().ok(),
    };
    text.get(..last)?.parse::<u64>().ok()?.checked_mul(1 << shift)
}
