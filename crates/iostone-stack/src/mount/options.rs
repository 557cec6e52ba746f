//! Mount options as in fstab, brought to one form so that two spellings of one setting are seen to be one.

use rustix::mount::MountFlags;

use crate::error::StackError;

/// What mount(8), init systems and desktop programs read in fstab, and the kernel does not.
const NOT_FOR_THE_KERNEL: [&str; 15] = [
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "_netdev",
    "nofail",
    "loop",
    "offset",
    "sizelimit",
    "uhelper",
    "helper",
    "fail",
];
/// What would not mount a filesystem but change another mount, or use a device that the guard has not seen.
const REFUSED: [&str; 17] = [
    "remount",
    "bind",
    "rbind",
    "move",
    "shared",
    "rshared",
    "private",
    "rprivate",
    "slave",
    "rslave",
    "unbindable",
    "runbindable",
    "journal_path",
    "journal_dev",
    "device",
    "logdev",
    "rtdev",
];

/// Settings that the virtual filesystem layer keeps for each mount, by (word, name, value) and flag of mount(2).
const FLAGS: [(&str, &str, &str, MountFlags); 21] = [
    ("ro", "ro", "on", MountFlags::RDONLY),
    ("rw", "ro", "off", MountFlags::empty()),
    ("noatime", "atime", "noatime", MountFlags::NOATIME),
    ("atime", "atime", "relatime", MountFlags::empty()),
    ("relatime", "atime", "relatime", MountFlags::RELATIME),
    ("norelatime", "atime", "strictatime", MountFlags::STRICTATIME),
    ("strictatime", "atime", "strictatime", MountFlags::STRICTATIME),
    ("nostrictatime", "atime", "relatime", MountFlags::empty()),
    ("nodiratime", "nodiratime", "on", MountFlags::NODIRATIME),
    ("diratime", "nodiratime", "off", MountFlags::empty()),
    ("nosuid", "nosuid", "on", MountFlags::NOSUID),
    ("suid", "nosuid", "off", MountFlags::empty()),
    ("nodev", "nodev", "on", MountFlags::NODEV),
    ("dev", "nodev", "off", MountFlags::empty()),
    ("noexec", "noexec", "on", MountFlags::NOEXEC),
    ("exec", "noexec", "off", MountFlags::empty()),
    ("sync", "sync", "on", MountFlags::SYNCHRONOUS),
    ("async", "sync", "off", MountFlags::empty()),
    ("dirsync", "dirsync", "on", MountFlags::DIRSYNC),
    ("lazytime", "lazytime", "on", MountFlags::LAZYTIME),
    ("nolazytime", "lazytime", "off", MountFlags::empty()),
];

/// Other spellings of the filesystems' own options, by (word, name, value) (Documentation/admin-guide/ext4.rst and
/// xfs.rst, fs/ext4/super.c, btrfs(5)).
const SPELLINGS: [(&str, &str, &str); 16] = [
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
    ("discard=sync", "discard", "on"),
];

/// Settings that are on or off, and are written `X`, `noX`, `X=0` or `X=1`: first those of ext4, some of which the others
/// share, then those of XFS and of btrfs.
const TOGGLES: [&str; 25] = [
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
];

/// Settings that are a number of bytes, which may be written with a suffix and come back with another.
const SIZES: [&str; 4] = ["allocsize", "logbsize", "max_inline", "max_atomic_write"];

/// One option in its single form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountOption {
    /// As it was written: `barrier=0`.
    pub(crate) word: String,
    /// The setting: `barrier`.
    pub(crate) name: String,
    /// Its value: `off`.
    pub(crate) value: String,
}

impl MountOption {
    /// Brings one word to its single form, whether it was asked for or reported by the kernel.
    pub(crate) fn of_word(word: &str) -> Self {
        let (name, value) = single_form(word);
        Self { word: word.to_owned(), name, value }
    }

    /// The flag of mount(2) that stands for it; none if it goes to the filesystem as text.
    pub(crate) fn flag(&self) -> Option<MountFlags> {
        FLAGS.iter().find(|(word, ..)| *word == self.word).map(|(.., flag)| *flag)
    }
}

fn single_form(word: &str) -> (String, String) {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    if let Some((_, name, value, _)) = FLAGS.iter().find(|(flag, ..)| *flag == word) {
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

/// The options of one mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountOptions {
    options: Vec<MountOption>,
}

impl MountOptions {
    /// Reads a list of options, each of which may itself be a list with commas.
    ///
    /// # Errors
    /// [`StackError::Usage`] for one setting given twice, and for words that are none of the kernel's.
    pub(crate) fn parse(words: &[String]) -> Result<Self, StackError> {
        let wrong = |reason: String| StackError::usage("mount.options", reason);
        let mut options: Vec<MountOption> = Vec::new();
        for word in
            words.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty())
        {
            let key = word.split('=').next().unwrap_or(word);
            // Nothing but the defaults is what is there without it.
            if word == "defaults" {
                continue;
            }
            if NOT_FOR_THE_KERNEL.contains(&key)
                || key.starts_with("x-")
                || key.starts_with("X-")
                || key == "comment"
            {
                return Err(wrong(format!(
                    "`{word}` is for fstab and mount(8), not for the kernel; leave it out"
                )));
            }
            if REFUSED.contains(&key) {
                return Err(wrong(format!(
                    "`{word}` is refused: it acts on another mount or another device"
                )));
            }
            let option = MountOption::of_word(word);
            if let Some(earlier) = options.iter().find(|earlier| earlier.name == option.name) {
                let how = if earlier.value == option.value { "says the same as" } else { "contradicts" };
                return Err(wrong(format!("`{word}` {how} `{}`; keep one of them", earlier.word)));
            }
            options.push(option);
        }
        Ok(Self { options })
    }

    /// The options in the order in which they were given.
    pub(crate) fn options(&self) -> &[MountOption] {
        &self.options
    }

    /// The options as they were written.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.options.iter().map(|option| option.word.as_str()).collect()
    }

    /// The options that go to the filesystem, as text for mount(2).
    pub(crate) fn data(&self) -> String {
        let words: Vec<&str> = self
            .options
            .iter()
            .filter(|option| option.flag().is_none())
            .map(|option| option.word.as_str())
            .collect();
        words.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<MountOptions, String> {
        MountOptions::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn flags_and_text_are_told_apart() {
        let options = parse(&["noatime,barrier=0", " commit=7 ", "defaults"]).unwrap();
        assert_eq!(options.words(), ["noatime", "barrier=0", "commit=7"]);
        assert_eq!(options.data(), "barrier=0,commit=7");
    }

    #[test]
    fn spellings_of_one_setting_are_one() {
        for (one, other) in [
            ("nobarrier", "barrier=0"),
            ("barrier", "barrier=1"),
            ("dioread_lock", "nodioread_nolock"),
            ("bsdgroups", "grpid"),
            ("noload", "norecovery"),
            ("auto_da_alloc=0", "noauto_da_alloc"),
            ("strictatime", "norelatime"),
            ("allocsize=64m", "allocsize=65536k"),
            ("logbsize=262144", "logbsize=256k"),
            ("nodatacow", "datacow=0"),
            ("compress", "compress=zlib"),
            ("discard=sync", "discard"),
        ] {
            let (one, other) = (MountOption::of_word(one), MountOption::of_word(other));
            assert_eq!((one.name, one.value), (other.name, other.value));
        }
    }

    #[test]
    fn one_setting_twice_is_an_error() {
        for words in [
            &["barrier=0", "barrier=1"][..],
            &["nobarrier", "barrier=0"],
            &["noatime,relatime"],
            &["ro", "rw"],
            &["commit=5", "commit=6"],
            &["sync", "async"],
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains("keep one of them"), "{error}");
        }
    }

    #[test]
    fn what_is_not_for_the_kernel_is_an_error() {
        for word in [
            "nofail",
            "x-systemd.automount",
            "remount",
            "bind",
            "loop=/dev/loop0",
            "journal_path=/dev/sdb",
            "logdev=/dev/sdb",
            "rtdev=/dev/sdb",
            "device=/dev/sdb",
        ] {
            assert!(parse(&[word]).is_err(), "{word}");
        }
    }
}
