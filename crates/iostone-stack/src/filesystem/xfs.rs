//! XFS: made anew for every trial by mkfs.xfs, known by a UUID of ours, laid out for the array below.

use std::path::Path;

use iostone_model::experiment::Xfs;
use iostone_model::trial::Check;

use super::arguments::{Given, Known, split, wrong};
use super::making::{self, check_uuid, expect, superblock_of};
use super::superblock::XfsSuperblock;
use super::version::version_of;
use crate::device::size_in_words;
use crate::error::StackError;
use crate::layer::Layer;
use crate::own_uuid::new_uuid;
use crate::site::{Geometry, Site};
use crate::tool;

/// Options of mkfs.xfs(8) that are passed on. Left out are those that name another device or file (`-r`, `-p`, `-c`).
const KNOWN: [Known; 9] = [
    Known::short("-b", true),
    Known::short("-d", true),
    Known::short("-i", true),
    Known::short("-l", true),
    Known::short("-L", true),
    Known::short("-m", true),
    Known::short("-n", true),
    Known::short("-q", false),
    Known::short("-s", true),
];

/// Items within an option that are refused, and why.
const REFUSED: [(&str, &str, &str); 8] = [
    ("-d", "file", "the filesystem is made on the stack's device"),
    ("-d", "name", "the filesystem is made on the stack's device"),
    ("-d", "rtinherit", "there is no realtime device"),
    ("-l", "file", "an external log is another device, which the guard does not check"),
    ("-l", "name", "an external log is another device, which the guard does not check"),
    ("-l", "logdev", "an external log is another device, which the guard does not check"),
    ("-l", "internal=0", "an external log is another device, which the guard does not check"),
    ("-m", "uuid", "iostone knows its filesystem by a UUID of its own"),
];

/// Items of `-d` that say how the filesystem lies over an array.
const LAYOUT: [&str; 5] = ["su", "sw", "sunit", "swidth", "noalign"];

/// Since this version of xfsprogs (release notes: "mkfs: stop allowing tiny filesystems") mkfs.xfs takes no
/// small filesystems, unless three variables of its own test suite are set.
const NO_SMALL_SINCE: (u32, u32) = (5, 19);
/// The smallest that it takes, in bytes; measured with 6.1.0.
const SMALLEST_BYTES: u64 = 300 << 20;
/// The largest that it does not take over an array with stripes, because the log comes out below 64 MiB; measured with
/// 6.1.0.
const TOO_SMALL_STRIPED_BYTES: u64 = 512 << 20;

/// The layer of an XFS filesystem.
#[derive(Debug)]
pub(crate) struct XfsLayer {
    arguments: Arguments,
}

impl XfsLayer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, or take away what iostone relies on.
    pub(crate) fn new(xfs: &Xfs) -> Result<Self, StackError> {
        Ok(Self { arguments: Arguments::parse(&xfs.mkfs)? })
    }
}

/// The words behind `mkfs.xfs`, but for the device.
///
/// # Errors
/// As [`XfsLayer::new`].
pub(super) fn argument_words(
    xfs: &Xfs,
    geometry: Option<Geometry>,
    uuid: &str,
) -> Result<Vec<String>, StackError> {
    Ok(Arguments::parse(&xfs.mkfs)?.words(geometry, uuid))
}

/// Refuses a size that the mkfs.xfs of this machine does not take; `size_bytes` is what the filesystem gets at most.
///
/// # Errors
/// [`StackError::Usage`] with the smallest size.
pub(super) fn check_size(mkfs: &Path, size_bytes: u64, is_striped: bool) -> Result<(), StackError> {
    let Some(version) = version_of(mkfs)? else { return Ok(()) };
    if version < NO_SMALL_SINCE {
        return Ok(());
    }
    let (version, has) = (format!("{}.{}", version.0, version.1), size_in_words(size_bytes));
    let too_small = |takes: String| {
        let reason = format!(
            "mkfs.xfs {version} cannot create a filesystem on {has}: {takes}; make it larger, or use ext4"
        );
        Err(StackError::usage("volume.size", reason))
    };
    if size_bytes < SMALLEST_BYTES {
        return too_small(format!("it needs at least {}", size_in_words(SMALLEST_BYTES)));
    }
    if is_striped && size_bytes <= TOO_SMALL_STRIPED_BYTES {
        return too_small(format!(
            "it needs more than {} on a striped array",
            size_in_words(TOO_SMALL_STRIPED_BYTES)
        ));
    }
    Ok(())
}

/// Whether it is told to lie over stripes, by the user or by the array.
///
/// # Errors
/// As [`XfsLayer::new`].
pub(super) fn is_striped(xfs: &Xfs, geometry: Option<Geometry>) -> Result<bool, StackError> {
    Ok(Arguments::parse(&xfs.mkfs)?.stripes(geometry).is_some())
}

/// The user's arguments, looked at.
#[derive(Debug)]
struct Arguments {
    /// Items of `-d`, which ours join.
    data: Vec<String>,
    /// Items of `-m`, which the UUID joins.
    metadata: Vec<String>,
    /// Everything else, as it is passed on.
    passed: Vec<String>,
}

/// How the filesystem lies over an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stripes {
    unit_bytes: u64,
    width_bytes: u64,
}

impl Stripes {
    fn in_words(self) -> String {
        format!("stripe unit {} bytes, width {} bytes", self.unit_bytes, self.width_bytes)
    }
}

impl Arguments {
    fn parse(user: &[String]) -> Result<Self, StackError> {
        let mut arguments = Self { data: Vec::new(), metadata: Vec::new(), passed: Vec::new() };
        for given in split("mkfs.xfs", &KNOWN, user)? {
            refuse(&given)?;
            match given.name {
                "-d" => arguments.data.extend(given.items().map(str::to_owned)),
                "-m" => arguments.metadata.extend(given.items().map(str::to_owned)),
                _ => arguments.passed.extend(given.words()),
            }
        }
        Ok(arguments)
    }

    /// How it is to lie over an array: as the user says, or as the array lies; none without either.
    fn stripes(&self, geometry: Option<Geometry>) -> Option<Stripes> {
        let value = |key: &str| {
            self.data.iter().find_map(|item| parse_size(item.strip_prefix(key)?.strip_prefix('=')?))
        };
        if let (Some(unit_bytes), Some(members)) = (value("su"), value("sw")) {
            return Some(Stripes { unit_bytes, width_bytes: unit_bytes.saturating_mul(members) });
        }
        // These two count blocks of 512 bytes (mkfs.xfs(8)).
        if let (Some(unit), Some(width)) = (value("sunit"), value("swidth")) {
            let [unit_bytes, width_bytes] = [unit, width].map(|blocks| blocks.saturating_mul(512));
            return Some(Stripes { unit_bytes, width_bytes });
        }
        let geometry = geometry.filter(|geometry| !self.says_layout() && geometry.data_members > 1);
        geometry.map(|geometry| Stripes {
            unit_bytes: geometry.chunk_bytes,
            width_bytes: geometry.chunk_bytes.saturating_mul(u64::from(geometry.data_members)),
        })
    }

    fn says_layout(&self) -> bool {
        self.data.iter().any(|item| LAYOUT.contains(&item.split('=').next().unwrap_or(item)))
    }

    fn words(&self, geometry: Option<Geometry>, uuid: &str) -> Vec<String> {
        let mut data = self.data.clone();
        if let Some(geometry) = geometry.filter(|_| !self.says_layout()) {
            if geometry.data_members > 1 {
                data.push(format!("su={}", geometry.chunk_bytes));
                data.push(format!("sw={}", geometry.data_members));
            } else {
                // One member's data is no stripe, and told as one it would need as large a volume. What the device
                // below says of its chunk is not to be taken for one either.
                data.push("noalign".to_owned());
            }
        }
        let metadata: Vec<String> =
            std::iter::once(format!("uuid={uuid}")).chain(self.metadata.iter().cloned()).collect();
        // -K: no discard, which would punch the filled image full of holes.
        let mut words: Vec<String> = ["-f", "-K", "-q", "-m"].map(str::to_owned).into();
        words.push(metadata.join(","));
        if !data.is_empty() {
            words.extend(["-d".to_owned(), data.join(",")]);
        }
        words.extend(self.passed.iter().filter(|word| *word != "-q").cloned());
        words
    }
}

fn refuse(given: &Given) -> Result<(), StackError> {
    for item in given.items() {
        let key = item.split('=').next().unwrap_or(item);
        let refused =
            REFUSED.iter().find(|(option, what, _)| *option == given.name && (*what == key || *what == item));
        if let Some((option, what, because)) = refused {
            return Err(wrong(format!("`{option} {what}` is refused: {because}")));
        }
    }
    Ok(())
}

/// A number with a suffix of mkfs.xfs(8) that does not depend on the filesystem: `64k`, `2`.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (end, suffix @ ('k' | 'm' | 'g')) => (
            &text[..end],
            1_u64
                << if suffix == 'k' {
                    10
                } else if suffix == 'm' {
                    20
                } else {
                    30
                },
        ),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

impl Layer for XfsLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mkfs = tool::find("mkfs.xfs")?;
        let device = site.require_device("filesystem")?.clone();
        check_size(&mkfs, device.size_bytes, self.arguments.stripes(site.geometry).is_some())?;
        let uuid = new_uuid(&site.journal.owner.token)?;
        let arguments = self.arguments.words(site.geometry, &uuid);
        making::make(site, &mkfs, &arguments, &uuid, &[device])?;
        site.filesystem_uuid = Some(uuid);
        site.filesystem_kind = Some("xfs");
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("filesystem")?;
        let asked = site.filesystem_uuid.as_deref().unwrap_or_default();
        let found = XfsSuperblock::read(&device.path)?;
        let mut checks =
            vec![check_uuid("XFS", device, asked, found.as_ref().map(|found| found.uuid.as_str()))?];
        if let (Some(stripes), Some(found)) = (self.arguments.stripes(site.geometry), found) {
            let read_back = Stripes { unit_bytes: found.unit_bytes, width_bytes: found.width_bytes };
            checks.push(expect(stripes.in_words(), read_back.in_words(), superblock_of(device))?);
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: Geometry = Geometry { chunk_bytes: 256 << 10, data_members: 2 };
    const ALONE: Geometry = Geometry { chunk_bytes: 256 << 10, data_members: 1 };

    fn arguments(words: &[&str]) -> Result<Arguments, StackError> {
        Arguments::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn words(user: &[&str], geometry: Option<Geometry>) -> String {
        arguments(user).unwrap().words(geometry, "UUID").join(" ")
    }

    #[test]
    fn an_array_gives_unit_and_width_unless_the_user_does() {
        assert_eq!(words(&[], None), "-f -K -q -m uuid=UUID");
        assert_eq!(words(&[], Some(ARRAY)), "-f -K -q -m uuid=UUID -d su=262144,sw=2");
        assert_eq!(words(&[], Some(ALONE)), "-f -K -q -m uuid=UUID -d noalign");
        assert_eq!(
            words(&["-d", "agcount=4", "-m", "reflink=0", "-i", "size=1024", "-q"], Some(ARRAY)),
            "-f -K -q -m uuid=UUID,reflink=0 -d agcount=4,su=262144,sw=2 -i size=1024"
        );
        for layout in ["su=64k,sw=4", "sunit=128,swidth=512", "noalign"] {
            assert_eq!(words(&["-d", layout], Some(ARRAY)), format!("-f -K -q -m uuid=UUID -d {layout}"));
        }
    }

    #[test]
    fn what_is_read_back_is_what_was_asked_in_whatever_unit() {
        let stripes = |user: &[&str]| arguments(user).unwrap().stripes(Some(ARRAY));
        let is = |unit_bytes, width_bytes| Some(Stripes { unit_bytes, width_bytes });
        assert_eq!(stripes(&[]), is(256 << 10, 512 << 10));
        assert_eq!(stripes(&["-d", "su=64k,sw=4"]), is(64 << 10, 256 << 10));
        assert_eq!(stripes(&["-d", "sunit=128,swidth=512"]), is(64 << 10, 256 << 10));
        assert_eq!(stripes(&["-d", "noalign"]), None);
        assert_eq!(arguments(&[]).unwrap().stripes(Some(ALONE)), None, "one member is no stripe");
        assert_eq!(stripes(&["-d", "su=1b,sw=4"]), None, "blocks of a size not yet known");
    }

    #[test]
    fn nothing_that_could_name_a_device_gets_through() {
        for words in [
            &["/dev/sda"][..],
            &["-d", "name=/dev/sda"],
            &["-dfile,size=1g"],
            &["-l", "logdev=/dev/sdb,size=64m"],
            &["-l", "internal=0"],
            &["-r", "rtdev=/dev/sdb"],
            &["-p", "/etc/passwd"],
            &["-c", "options=/etc/x"],
            &["-m", "crc=1,uuid=aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa"],
            &["-N"],
            &["-V"],
            &["--unsupported"],
        ] {
            assert!(arguments(words).is_err(), "{words:?}");
        }
    }
}
