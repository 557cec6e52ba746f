//! The mount table as `/proc/self/mountinfo` has it (`proc_pid_mountinfo(5)`).

use crate::root::Root;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mount {
    /// `major:minor` of the filesystem.
    pub device: String,
    /// The part of the filesystem that is mounted.
    pub root: String,
    /// Where it is mounted.
    pub target: String,
    /// Options of the mount, separated by commas.
    pub mount_options: String,
    /// Filesystem type, with its subtype: `fuse.sshfs`.
    pub filesystem: String,
    /// What is mounted: a device, or whatever the filesystem calls its source.
    pub source: String,
    /// Options of the superblock, separated by commas.
    pub super_options: String,
}

/// The mounts that the calling process sees, in the kernel's order; empty where there is no `/proc`.
pub fn read_mounts(root: &Root) -> Vec<Mount> {
    root.text("/proc/self/mountinfo").map(|text| parse_mountinfo(&text)).unwrap_or_default()
}

/// Reads the text of a mountinfo file. Lines that are not of its form are left out.
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.split('\n').filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: any number of optional
/// fields, then a dash. The fields before are six, and none of them is a lone dash unless it is a path.
fn parse_line(line: &str) -> Option<Mount> {
    // A single blank between fields, and an empty source shows as two blanks: splitting at runs would shift.
    let mut fields = line.split(' ');
    let (_mount_id, _parent_id) = (fields.next()?, fields.next()?);
    let (device, root, target, mount_options) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    fields.by_ref().find(|field| *field == "-")?;
    let (filesystem, source) = (fields.next()?, fields.next()?);
    let super_options = fields.next().unwrap_or_default();
    Some(Mount {
        device: device.to_owned(),
        root: decode_octal(root),
        target: decode_octal(target),
        mount_options: mount_options.to_owned(),
        filesystem: decode_octal(filesystem),
        source: decode_octal(source),
        super_options: decode_octal(super_options),
    })
}

/// Decodes `\040` and its like: the kernel writes blank, tab, newline, backslash and `#` as three octal digits
/// (`mangle_path` in `fs/seq_file.c`). Anything else stays as it is; bytes that are not UTF-8 become U+FFFD.
pub fn decode_octal(field: &str) -> String {
    let mut decoded = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match after {
            [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', tail @ ..] if byte == b'\\' => {
                decoded.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = tail;
            }
            _ => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

impl Mount {
    /// Options of the mount and of the superblock in one list, each once. First stands `ro` if either is
    /// read-only, else `rw`: only both together make a mount writable.
    pub fn options(&self) -> String {
        let given = || self.mount_options.split(',').chain(self.super_options.split(','));
        let mut options = vec![if given().any(|option| option == "ro") { "ro" } else { "rw" }];
        for option in given() {
            if !["", "ro", "rw"].contains(&option) && !options.contains(&option) {
                options.push(option);
            }
        }
        options.join(",")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_with_optional_fields_is_read() {
        let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:3 - ext3 /dev/root rw,errors=continue";
        let mounts = parse_mountinfo(line);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].device, "98:0");
        assert_eq!(mounts[0].root, "/mnt1");
        assert_eq!(mounts[0].target, "/mnt2");
        assert_eq!(mounts[0].filesystem, "ext3");
        assert_eq!(mounts[0].source, "/dev/root");
        assert_eq!(mounts[0].options(), "rw,noatime,errors=continue");
    }

    #[test]
    fn hostile_mount_points_are_decoded() {
        let line = r"40 35 7:1 /a\134b /mnt/my\040disk\011x\012- rw - ext4 /dev/disk\040one rw";
        let mounts = parse_mountinfo(line);
        assert_eq!(mounts[0].root, r"/a\b");
        assert_eq!(mounts[0].target, "/mnt/my disk\tx\n-");
        assert_eq!(mounts[0].source, "/dev/disk one");
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in [r"\", r"\0", r"\08", r"\400", r"a\x41", r"\04"] {
            assert_eq!(decode_octal(text), text);
        }
        assert_eq!(decode_octal(r"\134040"), r"\040");
        assert_eq!(decode_octal(r"\303\251"), "é");
    }

    #[test]
    fn an_empty_source_does_not_shift_the_fields() {
        let mounts = parse_mountinfo("41 35 0:9 / /x rw -  tmpfs rw");
        assert_eq!(mounts[0].filesystem, "");
        let mounts = parse_mountinfo("41 35 0:9 / /x rw - tmpfs  rw,size=1k");
        assert_eq!(mounts[0].source, "");
        assert_eq!(mounts[0].super_options, "rw,size=1k");
    }

    #[test]
    fn a_read_only_mount_of_a_writable_filesystem_is_read_only() {
        let mounts = parse_mountinfo("41 35 8:1 / /x ro,noatime - ext4 /dev/sda1 rw,noatime,discard");
        assert_eq!(mounts[0].options(), "ro,noatime,discard");
    }

    #[test]
    fn a_very_long_line_is_read() {
        let lower = "/var/lib/docker/overlay2/l/ABCDEFGHIJKLMNOPQRSTUVWXYZ:".repeat(200);
        let line = format!("50 1 0:50 / /merged rw shared:1 - overlay overlay rw,lowerdir={lower}");
        assert!(parse_mountinfo(&line)[0].super_options.ends_with(&lower));
    }

    #[test]
    fn lines_of_another_form_are_left_out() {
        assert!(parse_mountinfo("").is_empty());
        assert!(parse_mountinfo("/dev/sda1 / ext4 rw 0 0\n36 35 98:0 / /mnt rw shared:1").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = parse_mountinfo(&text);
        }

        #[test]
        fn every_path_survives_mangling(path in "[ -~\\t\\n]{0,40}") {
            let mangled: String = path
                .chars()
                .map(|c| if " \t\n\\#".contains(c) { format!("\\{:03o}", c as u32) } else { c.to_string() })
                .collect();
            prop_assert_eq!(decode_octal(&mangled), path);
        }
    }
}
