//! Devices named by what does not change with the order of discovery: a serial number, the id of an EBS volume.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::figures::list;

use super::{BlockDevice, number_of, parse_number, read_attribute};
use crate::error::StackError;

/// The key that names the devices.
const KEY: &str = "volume.devices";

/// How a device is named in an experiment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name<'a> {
    /// A node, or a link to one.
    Path(&'a Path),
    /// `serial:TEXT`.
    Serial(&'a str),
    /// `vol-0123456789abcdef0`: what stands behind `vol-`.
    Ebs(&'a str),
}

/// A disk and the serial numbers that sysfs gives for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Disk {
    name: String,
    serial: String,
}

/// Checks the form of a name, on whatever machine.
///
/// # Errors
/// [`StackError::Usage`] for what is neither an absolute path nor a stable id.
pub(crate) fn check(word: &Path) -> Result<(), StackError> {
    read(word).map(drop)
}

/// The node of the device that is named so.
///
/// # Errors
/// [`StackError::Usage`] if no device has that id, with those that there are, or if several have it.
pub(crate) fn resolve(word: &Path) -> Result<PathBuf, StackError> {
    let name = match read(word)? {
        Name::Path(path) => return Ok(path.to_owned()),
        Name::Serial(serial) => choose(serial, &disks())
            .map_err(|reason| StackError::usage(KEY, format!("`{}`: {reason}", word.display())))?,
        Name::Ebs(id) => {
            // The serial number of an EBS volume on NVMe is its id without the dash (Amazon EBS User Guide, "Map
            // Amazon EBS volumes to NVMe device names").
            let serial = format!("vol{id}");
            let disks = disks();
            if disks.iter().all(|disk| disk.serial != serial)
                && let Some(link) = link_of_volume(id)
            {
                return Ok(link);
            }
            choose(&serial, &disks)
                .map_err(|reason| StackError::usage(KEY, format!("`{}`: {reason}", word.display())))?
        }
    };
    let number = read_attribute(&Path::new("/sys/block").join(&name).join("dev"))?;
    let number = parse_number(&number)
        .ok_or_else(|| StackError::unexpected(&name, format!("`{number}` is not a device number")))?;
    Ok(BlockDevice::numbered(number)?.path)
}

fn read(word: &Path) -> Result<Name<'_>, StackError> {
    let named = |text: &str| !text.is_empty() && !text.contains('/');
    match word.to_str() {
        _ if word.is_absolute() => Ok(Name::Path(word)),
        Some(text) => match (text.strip_prefix("serial:"), text.strip_prefix("vol-")) {
            (Some(serial), _) if named(serial) => Ok(Name::Serial(serial)),
            (_, Some(id)) if named(id) => Ok(Name::Ebs(id)),
            _ => Err(not_a_name(word)),
        },
        None => Err(not_a_name(word)),
    }
}

fn not_a_name(word: &Path) -> StackError {
    StackError::usage(
        KEY,
        format!(
            "`{}` is neither an absolute path such as `/dev/disk/by-id/...` nor `serial:...` nor `vol-...`",
            word.display()
        ),
    )
}

/// The one disk with that serial number, or in words why there is not one.
fn choose(serial: &str, disks: &[Disk]) -> Result<String, String> {
    let found: Vec<&Disk> = disks.iter().filter(|disk| disk.serial == serial).collect();
    match found.as_slice() {
        [one] => Ok(one.name.clone()),
        [] if disks.is_empty() => Err(format!("no device has the serial number `{serial}`, nor any other")),
        [] => {
            let there: Vec<String> =
                disks.iter().map(|disk| format!("`{}` ({})", disk.serial, disk.name)).collect();
            Err(format!("no device has the serial number `{serial}`; there are {}", there.join(", ")))
        }
        several => {
            let names: Vec<String> = several.iter().map(|disk| format!("`/dev/{}`", disk.name)).collect();
            Err(format!("{} have this serial number; name one of them by its path", list(&names)))
        }
    }
}

/// Every disk that tells a serial number: virtio as an attribute of its own, NVMe and SCSI as one of the device behind.
fn disks() -> Vec<Disk> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let mut disks: Vec<Disk> = entries
        .flatten()
        .filter_map(|entry| {
            let serial = ["serial", "device/serial"]
                .iter()
                .filter_map(|attribute| read_attribute(&entry.path().join(attribute)).ok())
                .map(|text| text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
                .find(|text| !text.is_empty())?;
            Some(Disk { name: entry.file_name().to_string_lossy().into_owned(), serial })
        })
        .collect();
    disks.sort_by(|one, other| one.name.cmp(&other.name));
    disks
}

/// Where the kernel has no serial number for it, as under Xen: a link of udev's that names the whole volume.
fn link_of_volume(id: &str) -> Option<PathBuf> {
    let mut links: Vec<(PathBuf, u64)> = fs::read_dir("/dev/disk/by-id")
        .ok()?
        .flatten()
        .filter(|entry| names_volume(&entry.file_name().to_string_lossy(), id))
        .filter_map(|entry| {
            use std::os::unix::fs::MetadataExt;
            Some((entry.path(), fs::metadata(entry.path()).ok()?.rdev()))
        })
        .collect();
    links.sort();
    let (first, number) = links.first()?.clone();
    // Several links are fine as long as they lead to one device.
    links.iter().all(|(_, other)| number_of(*other) == number_of(number)).then_some(first)
}

fn names_volume(link: &str, id: &str) -> bool {
    ["vol", "vol-"].iter().any(|prefix| {
        link.strip_suffix(&format!("{prefix}{id}"))
            .is_some_and(|before| before.is_empty() || before.ends_with(['_', '-']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, serial: &str) -> Disk {
        Disk { name: name.to_owned(), serial: serial.to_owned() }
    }

    #[test]
    fn a_name_is_a_path_a_serial_number_or_a_volume() {
        assert_eq!(read(Path::new("/dev/sdb")).unwrap(), Name::Path(Path::new("/dev/sdb")));
        assert_eq!(read(Path::new("serial:iostone-v0")).unwrap(), Name::Serial("iostone-v0"));
        assert_eq!(read(Path::new("vol-01ab")).unwrap(), Name::Ebs("01ab"));
        for wrong in ["sdb", "serial:", "vol-", "serial:../x", "./serial:x"] {
            assert!(check(Path::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_disk_has_the_serial_number_or_the_error_lists_what_there_is() {
        let disks = [disk("vda", "root"), disk("vdb", "v0"), disk("vdc", "v0")];
        assert_eq!(choose("root", &disks).unwrap(), "vda");
        assert_eq!(
            choose("v1", &disks[..2]).unwrap_err(),
            "no device has the serial number `v1`; there are `root` (vda), `v0` (vdb)"
        );
        assert_eq!(
            choose("v0", &disks).unwrap_err(),
            "`/dev/vdb` and `/dev/vdc` have this serial number; name one of them by its path"
        );
        assert!(choose("v0", &[]).unwrap_err().ends_with("nor any other"));
    }

    #[test]
    fn a_link_names_the_whole_volume_and_no_part_of_it() {
        assert!(names_volume("nvme-Amazon_Elastic_Block_Store_vol01ab", "01ab"));
        assert!(names_volume("xen-vol-01ab", "01ab"));
        assert!(!names_volume("nvme-Amazon_Elastic_Block_Store_vol01ab-part1", "01ab"));
        assert!(!names_volume("nvme-Amazon_Elastic_Block_Store_vol901ab", "01ab"));
    }
}
