//! What is mounted where, as the lines of `/proc/PID/mountinfo` have it (`proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The mount's id.
    pub mount_id: u64,
    /// Major and minor number of the device; major 0 for filesystems without one of their own (btrfs, overlay, tmpfs).
    pub number: (u32, u32),
    /// The part of the filesystem that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub target: PathBuf,
    /// Options of the mount point: `rw`, `noatime`.
    pub options: Vec<String>,
    /// Filesystem type, with its subtype: `fuse.sshfs`.
    pub filesystem: String,
    /// What is mounted: a device, or whatever the filesystem calls its source.
    pub source: PathBuf,
    /// Options of the filesystem, escaped as the kernel shows them: `rw`, `nobarrier`.
    pub super_options: Vec<String>,
}

/// The mounts of a table. Lines that cannot be understood are passed over; the kernel writes none.
pub fn parse(table: &[u8]) -> Vec<Mount> {
    table.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: six fields, any number of optional
/// ones, a dash. A single blank stands between fields: an empty source shows as two.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mount_id = text(fields.next()?).parse().ok()?;
    let _parent_id = fields.next()?;
    let number = parse_device_number(&text(fields.next()?))?;
    let (root, target, options) = (fields.next()?, fields.next()?, fields.next()?);
    fields.by_ref().find(|field| *field == b"-")?;
    let (filesystem, source) = (fields.next()?, fields.next()?);
    Some(Mount {
        mount_id,
        number,
        root: unescape(root),
        target: unescape(target),
        options: list(options),
        filesystem: unescape(filesystem).to_string_lossy().into_owned(),
        source: unescape(source),
        super_options: fields.next().map(list).unwrap_or_default(),
    })
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

fn list(field: &[u8]) -> Vec<String> {
    text(field).split(',').map(str::to_owned).collect()
}

/// A device's number as the kernel writes it: `8:16`.
pub fn parse_device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Turns `\040` and its like back into the bytes that they stand for: the kernel writes blank, tab, newline, backslash
/// and `#` as three octal digits (`mangle_path` in `fs/seq_file.c`).
pub fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        match after {
            [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', tail @ ..] if byte == b'\\' => {
                bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

impl Mount {
    /// The value of an option of the filesystem, as the path that it names: `upperdir=/a\040b`.
    pub fn super_option(&self, name: &str) -> Option<PathBuf> {
        self.super_options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
            .map(|value| unescape(value.as_bytes()))
    }

    /// Options of the mount and of the filesystem in one list, each once, as paths they name are spelt. First stands
    /// `ro` if either is read-only, else `rw`: only both together make a mount writable.
    pub fn all_options(&self) -> Vec<String> {
        let given = || self.options.iter().chain(&self.super_options).map(String::as_str);
        let mut options = vec![if given().any(|option| option == "ro") { "ro" } else { "rw" }];
        for option in given() {
            if !["", "ro", "rw"].contains(&option) && !options.contains(&option) {
                options.push(option);
            }
        }
        options.iter().map(|option| unescape(option.as_bytes()).to_string_lossy().into_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn only(line: &str) -> Mount {
        let mut mounts = parse(line.as_bytes());
        assert_eq!(mounts.len(), 1, "{line}");
        mounts.remove(0)
    }

    #[test]
    fn a_line_with_optional_fields_is_read() {
        let mount = only(
            "36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:3 - ext3 /dev/x\\134y rw,errors=continue\n",
        );
        assert_eq!((mount.mount_id, mount.number), (36, (98, 0)));
        assert_eq!(mount.root, Path::new("/mnt1"));
        assert_eq!(mount.target, Path::new("/a b"));
        assert_eq!(mount.filesystem, "ext3");
        assert_eq!(mount.source, Path::new("/dev/x\\y"));
        assert_eq!(mount.options, ["rw", "noatime"]);
        assert_eq!(mount.super_options, ["rw", "errors=continue"]);
        assert_eq!(mount.all_options(), ["rw", "noatime", "errors=continue"]);
    }

    #[test]
    fn hostile_mount_points_are_decoded() {
        let mount = only(r"40 35 7:1 /a\134b /mnt/my\040disk\011x\012- rw - ext4 /dev/disk\040one rw");
        assert_eq!(mount.root, Path::new(r"/a\b"));
        assert_eq!(mount.target, Path::new("/mnt/my disk\tx\n-"));
        assert_eq!(mount.source, Path::new("/dev/disk one"));
    }

    #[test]
    fn the_paths_among_an_overlays_options_are_read_with_whatever_is_in_them() {
        let mount = only(
            r"61 42 0:52 / /m rw - overlay o rw,lowerdir=/a\134:b,upperdir=/a\040b\054c:d,workdir=/w,volatile",
        );
        assert_eq!(mount.super_option("upperdir").unwrap(), Path::new("/a b,c:d"));
        assert_eq!(mount.super_option("lowerdir").unwrap(), Path::new("/a\\:b"));
        assert_eq!(mount.super_option("upper"), None);
        assert_eq!(mount.super_option("volatile"), None);
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in [r"\", r"\0", r"\08", r"\400", r"\777", r"a\x41", r"\04"] {
            assert_eq!(unescape(text.as_bytes()), Path::new(text));
        }
        assert_eq!(unescape(br"\134040"), Path::new(r"\040"));
        assert_eq!(unescape(br"\303\251"), Path::new("é"));
    }

    #[test]
    fn an_empty_field_does_not_shift_the_others() {
        assert_eq!(only("41 35 0:9 / /x rw -  tmpfs rw").filesystem, "");
        let mount = only("41 35 0:9 / /x rw - tmpfs  rw,size=1k");
        assert_eq!(mount.source, Path::new(""));
        assert_eq!(mount.super_options, ["rw", "size=1k"]);
    }

    #[test]
    fn a_read_only_mount_of_a_writable_filesystem_is_read_only() {
        let mount = only("41 35 8:1 / /x ro,noatime - ext4 /dev/sda1 rw,noatime,discard");
        assert_eq!(mount.all_options(), ["ro", "noatime", "discard"]);
    }

    #[test]
    fn a_name_that_is_not_utf_8_leaves_the_other_options() {
        let mut line = b"50 1 0:50 / /m rw - overlay o rw,upperdir=/a\xff,volatile".to_vec();
        assert_eq!(parse(&line)[0].super_options[2], "volatile");
        line.truncate(line.len() - 9);
        assert_eq!(parse(&line).len(), 1);
    }

    #[test]
    fn lines_of_another_form_are_passed_over() {
        assert_eq!(parse(b""), []);
        assert_eq!(parse(b"/dev/sda1 / ext4 rw 0 0\n36 35 98:0 / /mnt rw shared:1"), []);
        assert_eq!(parse(b"36 35\n\n36 35 98:0 / /x rw - ext4\n"), []);
        assert_eq!(parse_device_number("8:x"), None);
    }

    proptest! {
        #[test]
        fn whatever_the_kernel_escapes_comes_back(bytes in proptest::collection::vec(1u8.., 0..40)) {
            let escaped: String = bytes.iter().fold(String::new(), |text, byte| {
                if b" \t\n\\#".contains(byte) || !byte.is_ascii() {
                    format!("{text}\\{byte:03o}")
                } else {
                    format!("{text}{}", char::from(*byte))
                }
            });
            prop_assert_eq!(unescape(escaped.as_bytes()), PathBuf::from(OsString::from_vec(bytes)));
        }

        #[test]
        fn no_table_makes_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            parse(&bytes);
        }
    }
}
