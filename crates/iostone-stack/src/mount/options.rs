//! Mount options as in fstab, brought to one form so that two spellings of one setting are seen to be one.

use iostone_model::experiment::mount_setting;
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

/// What would stop the machine: an error of the filesystem under test is a result, not the end of the host (ext4(5), btrfs(5)).
const PANICS: [&str; 2] = ["errors=panic", "fatal_errors=panic"];

/// Options that are flags of mount(2), or the absence of one, and never go to the filesystem as text.
const FLAGS: [(&str, MountFlags); 21] = [
    ("ro", MountFlags::RDONLY),
    ("rw", MountFlags::empty()),
    ("noatime", MountFlags::NOATIME),
    ("atime", MountFlags::empty()),
    ("relatime", MountFlags::RELATIME),
    ("norelatime", MountFlags::STRICTATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("nostrictatime", MountFlags::empty()),
    ("nodiratime", MountFlags::NODIRATIME),
    ("diratime", MountFlags::empty()),
    ("nosuid", MountFlags::NOSUID),
    ("suid", MountFlags::empty()),
    ("nodev", MountFlags::NODEV),
    ("dev", MountFlags::empty()),
    ("noexec", MountFlags::NOEXEC),
    ("exec", MountFlags::empty()),
    ("sync", MountFlags::SYNCHRONOUS),
    ("async", MountFlags::empty()),
    ("dirsync", MountFlags::DIRSYNC),
    ("lazytime", MountFlags::LAZYTIME),
    ("nolazytime", MountFlags::empty()),
];

/// Settings of btrfs that cannot be had together, by (name, value) and name, and why (btrfs(5)): the kernel drops one of
/// them without a word, which one depends on their order.
const EXCLUSIVE: [(&str, &str, &str, &str); 2] = [
    ("datacow", "off", "compress", "data overwritten in place is not compressed"),
    ("datasum", "off", "compress", "compressed data always has checksums"),
];

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
        let (name, value) = mount_setting(word);
        Self { word: word.to_owned(), name, value }
    }

    /// The flag of mount(2) that stands for it; none if it goes to the filesystem as text.
    pub(crate) fn flag(&self) -> Option<MountFlags> {
        FLAGS.iter().find(|(word, _)| *word == self.word).map(|(_, flag)| *flag)
    }
}

/// Whether it asks for `compress` or `compress-force` with any method.
fn is_compression(option: &MountOption, name: &str) -> bool {
    option.name.starts_with(name) && option.value != "no"
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
                return Err(wrong(format!("`{word}` is not allowed: it affects another mount or device")));
            }
            if PANICS.contains(&word) {
                return Err(wrong(format!(
                    "`{word}` is not allowed: an error of the filesystem would stop the whole machine"
                )));
            }
            if word == "ro" {
                return Err(wrong(
                    "`ro` is not allowed: nothing could be written, the workload's own files included"
                        .to_owned(),
                ));
            }
            let option = MountOption::of_word(word);
            if let Some(earlier) = options.iter().find(|earlier| earlier.name == option.name) {
                let how = if earlier.value == option.value { "says the same as" } else { "contradicts" };
                return Err(wrong(format!("`{word}` {how} `{}`; keep one of them", earlier.word)));
            }
            options.push(option);
        }
        for (name, value, other, because) in EXCLUSIVE {
            let one = options.iter().find(|option| option.name == name && option.value == value);
            let other = options.iter().find(|option| is_compression(option, other));
            if let (Some(one), Some(other)) = (one, other) {
                let (one, other) = (&one.word, &other.word);
                return Err(wrong(format!("`{one}` contradicts `{other}`: {because}; keep one of them")));
            }
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
            ("space_cache", "space_cache=v1"),
            ("compress-force=none", "compress=no"),
            ("nossd_spread", "ssd_spread=0"),
            ("read_extent_cache", "extent_cache"),
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
            &["commit=5", "commit=6"],
            &["sync", "async"],
            &["space_cache", "space_cache=v2"],
            &["nodatacow", "compress=zstd"],
            &["compress-force=lzo", "nodatasum"],
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains("keep one of them"), "{error}");
        }
    }

    #[test]
    fn what_goes_together_is_let_through() {
        for words in
            [&["nodatacow", "nodatasum"][..], &["nodatacow", "compress=no"], &["datacow", "compress=zstd"]]
        {
            assert!(parse(words).is_ok(), "{words:?}");
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
