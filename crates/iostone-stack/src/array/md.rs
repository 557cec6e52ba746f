//! Software RAID: made by mdadm(8) from the members, proven by what the kernel tells of it in sysfs.

mod facts;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostone_model::experiment::{MdArray, MdLevel};
use iostone_model::trial::Check;

use super::{OwnArray, kernel_support, lasting_path, members_of};
use crate::device::{BlockDevice, read_attribute};
use crate::error::StackError;
use crate::layer::Layer;
use crate::own_uuid::new_uuid;
use crate::site::{Geometry, Site};
use crate::step::{Scope, Step};
use crate::tool;

/// A node appears within a moment of the array, by the kernel, udev or mdadm.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// The layer of a software RAID.
#[derive(Debug)]
pub(crate) struct MdLayer {
    array: MdArray,
}

impl MdLayer {
    /// # Errors
    /// [`StackError::Usage`] for too few members, and for a chunk that the level does not take.
    pub(crate) fn new(array: &MdArray, members: usize) -> Result<Self, StackError> {
        let wrong = |key, reason: String| Err(StackError::usage(key, reason));
        let level = array.level.as_str();
        let fewest = array.level.fewest_members();
        if u32::try_from(members).is_ok_and(|members| members < fewest) {
            return wrong("array", format!("{level} takes at least {fewest} members, not {members}"));
        }
        if let Some(chunk) = array.chunk {
            if array.level == MdLevel::Raid1 {
                return wrong("array.chunk", "mirrors have no chunk; leave it out".to_owned());
            }
            if chunk.0 == 0 || !chunk.0.is_multiple_of(4096) {
                return wrong("array.chunk", format!("{chunk} is not a multiple of 4KiB"));
            }
            // raid10_takeover and raid5's setup_conf refuse others; RAID0 has taken any multiple since Linux 2.6.31.
            if array.level != MdLevel::Raid0 && !chunk.0.is_power_of_two() {
                return wrong("array.chunk", format!("{chunk} is not a power of two, as {level} needs it"));
            }
        }
        Ok(Self { array: array.clone() })
    }
}

/// mdadm.
///
/// # Errors
/// [`StackError::MissingTool`].
pub(super) fn find_tool() -> Result<PathBuf, StackError> {
    tool::find("mdadm")
}

/// The words behind `mdadm` that create an array. No file of configuration is read or written, nothing is asked, and
/// no resync runs beside the trial.
pub(super) fn create_words(array: &MdArray, node: &Path, uuid: &str, members: &[PathBuf]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--create".into(), node.into(), "--run".into()];
    words.extend(["--config=none", "--homehost=any"].map(OsString::from));
    words.push(format!("--name={}", array_name(uuid)).into());
    words.push(format!("--uuid={}", mdadm_uuid(uuid)).into());
    words.push(format!("--level={}", array.level.as_str()).into());
    words.push(format!("--raid-devices={}", members.len()).into());
    if members.len() == 1 {
        // An array of one is what the comparison of counts begins with, and to mdadm most likely a mistake.
        words.push("--force".into());
    }
    if let Some(chunk) = array.chunk {
        words.push(format!("--chunk={}K", chunk.0 >> 10).into());
    }
    if let Some(metadata) = array.metadata {
        words.push(format!("--metadata={}", metadata.as_str()).into());
    }
    if array.level != MdLevel::Raid0 {
        // Above 100 GB mdadm would add a bitmap, whose writes are then measured too.
        words.extend(["--assume-clean", "--bitmap=none"].map(OsString::from));
    }
    words.extend(members.iter().map(OsString::from));
    words
}

/// The name in the superblock, which holds the beginning of the UUID: `iostone-01234567`.
pub(crate) fn array_name(uuid: &str) -> String {
    format!("iostone-{}", uuid.split('-').next().unwrap_or_default())
}

/// A UUID as mdadm writes it: four times eight digits with colons between.
fn mdadm_uuid(uuid: &str) -> String {
    let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    let mut text = String::with_capacity(35);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index.is_multiple_of(8) {
            text.push(':');
        }
        text.push(digit);
    }
    text
}

/// A number that no array and no node has, downwards from 127 as mdadm counts its own.
fn free_node() -> Result<PathBuf, StackError> {
    (0..128u32)
        .rev()
        .find(|number| {
            !Path::new(&format!("/sys/block/md{number}")).exists()
                && std::fs::symlink_metadata(format!("/dev/md{number}")).is_err()
        })
        .map(|number| PathBuf::from(format!("/dev/md{number}")))
        .ok_or_else(|| StackError::unexpected("/dev/md0", "all numbers up to `/dev/md127` are taken"))
}

/// The device behind the node, once both are there.
fn wait_for(node: &Path) -> Result<BlockDevice, StackError> {
    let mut found = BlockDevice::at(node);
    for _ in 0..ATTEMPTS {
        if let Ok(Some(device)) = found {
            return Ok(device);
        }
        std::thread::sleep(PAUSE);
        found = BlockDevice::at(node);
    }
    found?.ok_or_else(|| StackError::unexpected(node, "mdadm made it, but it is no block device"))
}

/// How data lie over so many members.
fn geometry(level: MdLevel, chunk_bytes: u64, members: u32) -> Option<Geometry> {
    let data_members = match level {
        MdLevel::Raid1 => return None,
        // Two copies of each chunk; over an odd count they shift from stripe to stripe, so that a stripe is as wide as
        // all members (`raid10_set_io_opt`, drivers/md/raid10.c).
        MdLevel::Raid10 if members.is_multiple_of(2) => members / 2,
        MdLevel::Raid0 | MdLevel::Raid10 => members,
        MdLevel::Raid5 => members.saturating_sub(1),
    };
    (chunk_bytes > 0 && data_members > 0).then_some(Geometry { chunk_bytes, data_members })
}

impl Layer for MdLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mdadm = find_tool()?;
        let loaded = kernel_support::load_md(self.array.level, site.interrupt())?;
        site.notes
            .extend(loaded.iter().map(|module| format!("kernel module `{module}` loaded; it stays so")));
        let members = members_of(site, "array")?;
        let uuid = new_uuid(&site.journal.owner.token)?;
        let node = free_node()?;
        let step = Step::MdArray {
            node: node.clone(),
            uuid: uuid.clone(),
            members: members.iter().map(lasting_path).collect(),
        };
        site.journal.begin(Scope::Trial, step)?;
        let paths: Vec<PathBuf> = members.iter().map(|member| member.path.clone()).collect();
        let words = create_words(&self.array, &node, &uuid, &paths);
        tool::run_successfully(&mdadm, &words, site.interrupt())?;
        let device = wait_for(&node)?;
        let chunk = read_attribute(&device.sysfs().join("md/chunk_size"))?.parse().unwrap_or_default();
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        site.geometry = geometry(self.array.level, chunk, count);
        site.notes.push(format!("assembly: {}", facts::assembly_line(&mdadm, &node, site.interrupt())?));
        site.members = members;
        site.array = Some(OwnArray::Md(uuid));
        site.device = Some(device);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("array")?;
        let Some(OwnArray::Md(uuid)) = &site.array else {
            return Err(StackError::unexpected(&device.path, "it is not the array that was made"));
        };
        let mut checks = facts::check_sysfs(&self.array, device, site.members.len())?;
        checks.push(facts::check_detail(&find_tool()?, &device.path, uuid, site.interrupt())?);
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::MdMetadata;
    use iostone_model::units::Bytes;

    use super::*;

    const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";

    fn array(level: MdLevel, chunk: Option<u64>) -> MdArray {
        MdArray { level, chunk: chunk.map(Bytes), metadata: None }
    }

    fn words(array: &MdArray, members: &[&str]) -> String {
        let members: Vec<PathBuf> = members.iter().map(PathBuf::from).collect();
        let words = create_words(array, Path::new("/dev/md127"), UUID, &members);
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn mdadm_is_told_everything_and_asks_nothing() {
        let common = "--create /dev/md127 --run --config=none --homehost=any --name=iostone-01234567 \
                      --uuid=01234567:89abcdef:01234567:89abcdef";
        assert_eq!(
            words(&array(MdLevel::Raid0, Some(256 << 10)), &["/dev/vda", "/dev/vdb"]),
            format!("{common} --level=raid0 --raid-devices=2 --chunk=256K /dev/vda /dev/vdb")
        );
        assert_eq!(
            words(&array(MdLevel::Raid0, None), &["/dev/vda"]),
            format!("{common} --level=raid0 --raid-devices=1 --force /dev/vda")
        );
        let mirror = MdArray { metadata: Some(MdMetadata::V10), ..array(MdLevel::Raid1, None) };
        assert_eq!(
            words(&mirror, &["/dev/vda", "/dev/vdb"]),
            format!(
                "{common} --level=raid1 --raid-devices=2 --metadata=1.0 --assume-clean --bitmap=none /dev/vda /dev/vdb"
            )
        );
    }

    #[test]
    fn what_a_level_cannot_be_is_refused() {
        for (level, chunk, members) in [
            (MdLevel::Raid1, Some(4096), 2),
            (MdLevel::Raid5, Some(12288), 3),
            (MdLevel::Raid0, Some(1000), 2),
            (MdLevel::Raid0, Some(0), 2),
            (MdLevel::Raid5, None, 2),
            (MdLevel::Raid10, None, 1),
            (MdLevel::Raid0, None, 0),
        ] {
            assert!(MdLayer::new(&array(level, chunk), members).is_err(), "{level:?} {chunk:?} {members}");
        }
        MdLayer::new(&array(MdLevel::Raid0, Some(12288)), 1).unwrap();
        MdLayer::new(&array(MdLevel::Raid5, Some(65536)), 3).unwrap();
    }

    #[test]
    fn a_stripe_is_as_wide_as_the_members_that_hold_data() {
        let width = |level, members| geometry(level, 65536, members).map(|geometry| geometry.data_members);
        assert_eq!(width(MdLevel::Raid0, 1), Some(1));
        assert_eq!(width(MdLevel::Raid0, 4), Some(4));
        assert_eq!(width(MdLevel::Raid1, 2), None);
        assert_eq!(width(MdLevel::Raid10, 4), Some(2));
        assert_eq!(width(MdLevel::Raid10, 3), Some(3));
        assert_eq!(width(MdLevel::Raid5, 3), Some(2));
    }
}
