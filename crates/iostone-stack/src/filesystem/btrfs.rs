//! btrfs: made anew for every trial by mkfs.btrfs, over one device or several, known by a UUID of ours.

mod mounted;
mod registration;

use std::path::Path;

use iostone_model::experiment::{Array, Btrfs, Stack};
use iostone_model::trial::Check;

use super::arguments::{Given, Known, split, wrong};
use super::making::{self, check_uuid, expect, superblock_of};
use super::superblock::BtrfsSuperblock;
use super::version::version_of;
use crate::device::{BlockDevice, size_in_words};
use crate::error::StackError;
use crate::layer::Layer;
use crate::own_uuid::new_uuid;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

pub(super) use mounted::MountedBtrfs;
pub(crate) use registration::forget;

/// Options of mkfs.btrfs(8) that are passed on. Left out is what takes content from elsewhere (`--rootdir`), and what
/// iostone gives itself.
const KNOWN: [Known; 11] = [
    Known::both("-b", "--byte-count", true),
    Known::both("", "--checksum", true),
    Known::both("", "--csum", true),
    Known::both("-d", "--data", true),
    Known::both("-L", "--label", true),
    Known::both("-m", "--metadata", true),
    Known::both("-M", "--mixed", false),
    Known::both("-n", "--nodesize", true),
    Known::both("-O", "--features", true),
    Known::both("-R", "--runtime-features", true),
    Known::both("-s", "--sectorsize", true),
];

/// The profiles that were asked for, as the kernel names them; none where mkfs.btrfs chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Profiles {
    data: Option<String>,
    metadata: Option<String>,
    /// Data and metadata lie together.
    is_mixed: bool,
}

/// The layer of a btrfs.
#[derive(Debug)]
pub(crate) struct BtrfsLayer {
    /// Arguments before the UUID and the devices.
    arguments: Vec<String>,
    /// Whether it joins all volumes; else it stands on the one device below.
    is_array: bool,
}

impl BtrfsLayer {
    /// # Errors
    /// [`StackError::Usage`] for arguments that would name another device, take away what iostone relies on, or
    /// contradict the array.
    pub(crate) fn new(btrfs: &Btrfs, stack: &Stack) -> Result<Self, StackError> {
        let (arguments, _) = arguments_of(btrfs, &stack.array)?;
        Ok(Self { arguments, is_array: matches!(stack.array, Array::Btrfs(_)) })
    }

    /// The devices of the filesystem.
    fn devices(&self, site: &Site) -> Result<Vec<BlockDevice>, StackError> {
        if self.is_array && !site.members.is_empty() {
            return Ok(site.members.clone());
        }
        Ok(vec![site.require_device("filesystem")?.clone()])
    }
}

/// The words behind `mkfs.btrfs`, but for the UUID and the devices.
///
/// # Errors
/// As [`BtrfsLayer::new`].
pub(super) fn argument_words(btrfs: &Btrfs, array: &Array) -> Result<Vec<String>, StackError> {
    arguments_of(btrfs, array).map(|(arguments, _)| arguments)
}

/// Since this version of btrfs-progs (release notes: metadata is duplicated on one device of whatever kind) the profile
/// that is left out is known.
const KNOWN_PROFILES_SINCE: (u32, u32) = (5, 15);

/// Refuses a size that the mkfs.btrfs of this machine does not take; `size_bytes` is what each of its devices has.
///
/// # Errors
/// [`StackError::Usage`] with the smallest size, and for arguments as [`BtrfsLayer::new`].
pub(super) fn check_size(
    mkfs: &Path,
    btrfs: &Btrfs,
    array: &Array,
    size_bytes: u64,
) -> Result<(), StackError> {
    let (_, profiles) = arguments_of(btrfs, array)?;
    let least = smallest_bytes(&profiles);
    if size_bytes >= least {
        return Ok(());
    }
    let Some(version) = version_of(mkfs)?.filter(|version| *version >= KNOWN_PROFILES_SINCE) else {
        return Ok(());
    };
    let each = if matches!(array, Array::Btrfs(_)) { "each member" } else { "the volume" };
    let reason = format!(
        "mkfs.btrfs {}.{} cannot create a filesystem on {}: {each} needs at least {least} bytes; make it larger, or use ext4",
        version.0,
        version.1,
        size_in_words(size_bytes)
    );
    Err(StackError::usage("volume.size", reason))
}

/// The smallest size of each device, in bytes, as mkfs.btrfs 6.2 says it for every pair of profiles (`minimum size for
/// each btrfs device is`): what the first groups of blocks take, and those of each profile that is not theirs.
fn smallest_bytes(profiles: &Profiles) -> u64 {
    // Data and metadata together need less than any volume here has.
    if profiles.is_mixed {
        return 0;
    }
    let (data, metadata) =
        (profiles.data.as_deref().unwrap_or("single"), profiles.metadata.as_deref().unwrap_or("dup"));
    let of_data = match data {
        "single" => 0,
        "dup" => 120,
        _ => 56,
    };
    let of_metadata = match metadata {
        "single" => 0,
        "dup" => 64,
        _ => 24,
    };
    (45 + of_data + of_metadata) << 20
}

fn arguments_of(btrfs: &Btrfs, array: &Array) -> Result<(Vec<String>, Profiles), StackError> {
    let given = split("mkfs.btrfs", &KNOWN, &btrfs.mkfs)?;
    // -K: no discard, which would punch the filled image full of holes.
    let mut arguments: Vec<String> = ["-f", "-K", "-q"].map(str::to_owned).into();
    let mut profiles = Profiles::default();
    if let Array::Btrfs(array) = array {
        let (data, metadata) = (array.level, array.metadata.unwrap_or(array.level));
        for (option, profile) in [("--data", data), ("--metadata", metadata)] {
            arguments.extend([option.to_owned(), profile.as_str().to_owned()]);
        }
        if let Some(given) = given.iter().find(|given| matches!(given.name, "--data" | "--metadata")) {
            return Err(wrong(format!(
                "`{}` is set by `stack.array`: use `array.level` or `array.metadata`",
                given.name
            )));
        }
        profiles.data = Some(data.as_str().to_owned());
        profiles.metadata = Some(metadata.as_str().to_owned());
    }
    for given in &given {
        note_profile(given, &mut profiles);
        arguments.extend(given.words());
    }
    Ok((arguments, profiles))
}

fn note_profile(given: &Given, profiles: &mut Profiles) {
    // mkfs.btrfs takes them in any case of letters.
    let value = || given.value.as_deref().map(str::to_ascii_lowercase);
    match given.name {
        "--data" => profiles.data = value(),
        "--metadata" => profiles.metadata = value(),
        "--mixed" => profiles.is_mixed = true,
        _ => {}
    }
}

impl Layer for BtrfsLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mkfs = tool::find("mkfs.btrfs")?;
        let devices = self.devices(site)?;
        let uuid = new_uuid(&site.journal.owner.token)?;
        // mkfs itself registers several devices with the kernel, and so does udev.
        let numbers = devices.iter().map(|device| device.number).collect();
        site.journal.begin(Scope::Trial, Step::BtrfsDevices { numbers })?;
        let mut arguments = self.arguments.clone();
        arguments.extend(["-U".to_owned(), uuid.clone()]);
        making::make(site, &mkfs, &arguments, &uuid, &devices)?;
        if devices.len() > 1 {
            // A mount names one device; the kernel has to know the others by then.
            for device in &devices {
                registration::scan(device)?;
            }
        }
        site.device = devices.into_iter().next();
        site.filesystem_uuid = Some(uuid);
        site.filesystem_kind = Some("btrfs");
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let devices = self.devices(site)?;
        let asked = site.filesystem_uuid.as_deref().unwrap_or_default();
        let mut checks = Vec::new();
        for device in &devices {
            let found = BtrfsSuperblock::read(&device.path)?;
            checks.push(check_uuid("btrfs", device, asked, found.as_ref().map(|found| found.uuid.as_str()))?);
            if let Some(found) = found.filter(|_| devices.len() > 1) {
                checks.push(expect(
                    format!("{} devices", devices.len()),
                    format!("{} devices", found.device_count),
                    superblock_of(device),
                )?);
            }
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{BtrfsArray, BtrfsProfile};

    use super::*;

    fn words(user: &[&str], array: &Array) -> Result<(String, Profiles), String> {
        let btrfs = Btrfs { mkfs: user.iter().map(|word| (*word).to_owned()).collect() };
        arguments_of(&btrfs, array)
            .map(|(words, profiles)| (words.join(" "), profiles))
            .map_err(|error| error.to_string())
    }

    fn array(metadata: Option<BtrfsProfile>) -> Array {
        Array::Btrfs(BtrfsArray { level: BtrfsProfile::Raid0, metadata })
    }

    #[test]
    fn the_array_says_the_profiles() {
        let (text, profiles) = words(&["--nodesize", "16k"], &array(None)).unwrap();
        assert_eq!(text, "-f -K -q --data raid0 --metadata raid0 --nodesize 16k");
        assert_eq!(profiles.metadata.as_deref(), Some("raid0"));
        let (text, _) = words(&[], &array(Some(BtrfsProfile::Raid1))).unwrap();
        assert_eq!(text, "-f -K -q --data raid0 --metadata raid1");
        let error = words(&["-d", "single"], &array(None)).unwrap_err();
        assert!(error.contains("`stack.array`"), "{error}");
    }

    #[test]
    fn without_an_array_the_user_may_say_them() {
        assert_eq!(words(&[], &Array::None).unwrap().0, "-f -K -q");
        let (text, profiles) = words(&["-mDUP", "-d=single"], &Array::None).unwrap();
        assert_eq!(text, "-f -K -q --metadata DUP --data =single");
        assert_eq!(profiles.metadata.as_deref(), Some("dup"));
    }

    #[test]
    fn nothing_that_could_name_a_device_gets_through() {
        for user in [
            &["/dev/sda"][..],
            &["-r", "/etc"],
            &["--rootdir=/etc"],
            &["-U", "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa"],
            &["-f"],
            &["--shrink"],
            &["--mixed=/dev/sda"],
            &["--data"],
        ] {
            assert!(words(user, &Array::None).is_err(), "{user:?}");
        }
    }

    #[test]
    fn the_smallest_size_goes_by_the_profiles() {
        let smallest = |data: &str, metadata: &str| {
            let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            smallest_bytes(&Profiles { data: name(data), metadata: name(metadata), is_mixed: false })
        };
        // As mkfs.btrfs 6.2 says them.
        assert_eq!(smallest("", ""), 114_294_784);
        assert_eq!(smallest("single", "single"), 47_185_920);
        assert_eq!(smallest("single", "raid1"), 72_351_744);
        assert_eq!(smallest("raid0", "raid0"), 131_072_000);
        assert_eq!(smallest("raid10", "raid1"), 131_072_000);
        assert_eq!(smallest("raid0", "single"), 105_906_176);
        assert_eq!(smallest("dup", "single"), 173_015_040);
        assert_eq!(smallest("raid1", "dup"), 173_015_040);
        assert_eq!(smallest("dup", "raid1"), 198_180_864);
        assert_eq!(smallest("dup", "dup"), 240_123_904);
    }
}
