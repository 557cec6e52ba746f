//! What is mounted where, from `/proc/PID/mountinfo` (`proc_pid_mountinfo(5)`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::below::btrfs_filesystems;
use crate::device::{BlockDevice, DeviceNumber, number_of, parse_number};
use crate::error::StackError;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounted {
    pub(crate) mount_id: u64,
    /// The device's number; major 0 for filesystems without one of their own (btrfs, overlay, tmpfs).
    pub(crate) number: DeviceNumber,
    /// The part of the filesystem that is mounted.
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// Options of the mount point: `rw`, `noatime`.
    pub(crate) options: Vec<String>,
    pub(crate) filesystem: String,
    pub(crate) source: PathBuf,
    /// Options of the filesystem: `rw`, `nobarrier`.
    pub(crate) super_options: Vec<String>,
}

impl Mounted {
    /// Whether it is the filesystem on that device: by its number, or for a btrfs, whose number is anonymous, by the
    /// devices that it stands on.
    pub(crate) fn is_of(&self, device: DeviceNumber) -> bool {
        if self.number == device {
            return true;
        }
        if self.filesystem != "btrfs" {
            return false;
        }
        // The source is whichever of its devices the kernel names.
        let Ok(Some(source)) = BlockDevice::at(&self.source) else { return false };
        source.number == device
            || btrfs_filesystems()
                .iter()
                .any(|members| members.contains(&source.number) && members.contains(&device))
    }

    /// The value of an option of the filesystem, as the path that it names: `upperdir=/a\040b`.
    pub(crate) fn super_option(&self, name: &str) -> Option<PathBuf> {
        self.super_options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
            .map(|value| unescape(value.as_bytes()))
    }

    /// The numbers that files on it show: the mount's own, and that of its root where stat(2) gives another, as on
    /// btrfs, which has one for each subvolume.
    pub(crate) fn file_numbers(&self) -> Vec<DeviceNumber> {
        let mut numbers = vec![self.number];
        if let Ok(metadata) = fs::symlink_metadata(&self.target) {
            numbers.push(number_of(metadata.dev()));
        }
        numbers.dedup();
        numbers
    }
}

/// The mounts that this process sees.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not give the table.
pub(crate) fn own_mounts() -> Result<Vec<Mounted>, StackError> {
    let path = Path::new("/proc/self/mountinfo");
    let bytes = fs::read(path).map_err(|source| StackError::io("read", path, source))?;
    Ok(parse(&bytes))
}

/// The mounts of every mount namespace that some process of this machine lives in, each with one such process's id.
pub(crate) fn mounts_of_all_namespaces() -> Result<Vec<(u32, Mounted)>, StackError> {
    let own = std::process::id();
    let mut mounts: Vec<(u32, Mounted)> = own_mounts()?.into_iter().map(|mount| (own, mount)).collect();
    let mut seen: BTreeSet<PathBuf> = fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    for pid in processes() {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        if let Ok(bytes) = fs::read(format!("/proc/{pid}/mountinfo")) {
            mounts.extend(parse(&bytes).into_iter().map(|mount| (pid, mount)));
        }
    }
    Ok(mounts)
}

/// A path as it is seen in the other mount namespaces, by one process of each (`/proc/PID/root`, `proc_pid_root(5)`).
pub(crate) fn as_others_see(path: &Path) -> Vec<PathBuf> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let mut seen: BTreeSet<PathBuf> = fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    let other = |pid: &u32| {
        let namespace = fs::read_link(format!("/proc/{pid}/ns/mnt"));
        namespace.is_ok_and(|namespace| seen.insert(namespace))
    };
    let others = processes().into_iter().filter(other);
    others.map(|pid| PathBuf::from(format!("/proc/{pid}/root")).join(below)).collect()
}

/// The ids of all processes that this one sees.
pub(crate) fn processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The lines that can be understood; the kernel writes no others.
pub(crate) fn parse(bytes: &[u8]) -> Vec<Mounted> {
    bytes.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &[u8]) -> Option<Mounted> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let separator = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |index: usize| fields.get(index).and_then(|field| std::str::from_utf8(field).ok());
    let options =
        |index: usize| text(index).map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>());
    Some(Mounted {
        mount_id: text(0)?.parse().ok()?,
        number: parse_number(text(2)?)?,
        root: unescape(fields.get(3)?),
        target: unescape(fields.get(4)?),
        options: options(5)?,
        filesystem: text(separator + 1)?.to_owned(),
        source: unescape(fields.get(separator + 2)?),
        super_options: options(separator + 3).unwrap_or_default(),
    })
}

/// Turns `\040` and its like back into the bytes that they stand for.
pub(crate) fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| byte == b'\\').and_then(|digits| {
            digits.iter().try_fold(0u32, |value, digit| {
                matches!(digit, b'0'..=b'7').then(|| value * 8 + u32::from(digit - b'0'))
            })
        });
        if let Some(code) = code.and_then(|code| u8::try_from(code).ok()) {
            bytes.push(code);
            rest = &tail[3..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Takes off the backslashes by which overlayfs is told that a comma, a colon or a backslash belongs to a name
/// (Documentation/filesystems/overlayfs.rst, "Multiple lower layers").
pub(crate) fn without_backslashes(path: &Path) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = path.as_os_str().as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let next = if byte == b'\\' { rest.next() } else { None };
        bytes.push(*next.unwrap_or(&byte));
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_is_read() {
        let line =
            b"36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:2 - ext4 /dev/x\\134y rw,nobarrier\n";
        let mounts = parse(line);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].target, Path::new("/a b"));
        assert_eq!(mounts[0].source, Path::new("/dev/x\\y"));
        assert_eq!(mounts[0].number, (98, 0));
        assert_eq!(mounts[0].options, ["rw", "noatime"]);
        assert_eq!(mounts[0].super_options, ["rw", "nobarrier"]);
    }

    #[test]
    fn the_paths_among_an_overlays_options_are_read_with_whatever_is_in_them() {
        let line = br"61 42 0:52 / /m rw - overlay o rw,lowerdir=/a\134:b,upperdir=/a\040b\054c:d,workdir=/w,volatile";
        let mounted = parse(line).remove(0);
        assert_eq!(mounted.super_option("upperdir").unwrap(), Path::new("/a b,c:d"));
        assert_eq!(mounted.super_option("lowerdir").unwrap(), Path::new("/a\\:b"));
        assert_eq!(mounted.super_option("upper"), None);
        assert_eq!(mounted.super_option("volatile"), None);
        // Kernels that show what they were given.
        assert_eq!(without_backslashes(Path::new(r"/a\,b\\c\:d")), Path::new(r"/a,b\c:d"));
        assert_eq!(without_backslashes(Path::new("/a\\")), Path::new("/a\\"));
    }

    #[test]
    fn torn_lines_are_passed_over() {
        assert_eq!(parse(b"36 35\n\n36 35 98:0 / /x rw - \n"), []);
    }

    #[test]
    fn a_backslash_at_the_end_stays() {
        assert_eq!(unescape(b"a\\04"), Path::new("a\\04"));
        assert_eq!(unescape(b"a\\777"), Path::new("a\\777"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_kernel_escapes_comes_back(bytes in proptest::collection::vec(1u8.., 0..40)) {
            // mangle_path of the kernel (fs/seq_file.c) escapes these.
            let escaped: String = bytes.iter().fold(String::new(), |text, byte| {
                if b" \t\n\\#".contains(byte) || !byte.is_ascii() {
                    format!("{text}\\{byte:03o}")
                } else {
                    format!("{text}{}", char::from(*byte))
                }
            });
            proptest::prop_assert_eq!(unescape(escaped.as_bytes()), PathBuf::from(OsString::from_vec(bytes)));
        }

        #[test]
        fn no_table_makes_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            parse(&bytes);
        }
    }
}
