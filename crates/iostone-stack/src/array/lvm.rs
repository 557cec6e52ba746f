//! A logical volume striped over a volume group of its own: made by lvm(8), proven by the device mapper's table.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::LvmArray;
use iostone_model::trial::Check;

use super::label::PhysicalVolume;
use super::{OwnArray, kernel_support, lasting_path, members_of};
use crate::device::{BlockDevice, DeviceNumber, linked_devices, number_in, read_attribute};
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::{Geometry, Site};
use crate::step::{Scope, Step};
use crate::tool;

const LAYER: &str = "array";
/// The logical volume's name within its group.
pub(crate) const VOLUME_NAME: &str = "volume";
/// Bytes of a sector in the device mapper's tables.
const SECTOR: u64 = 512;

/// The layer of a striped logical volume.
#[derive(Debug)]
pub(crate) struct LvmLayer {
    /// Members that a stripe goes over.
    stripes: u32,
    stripe_bytes: Option<u64>,
}

/// The programs.
pub(super) struct Tools {
    lvm: PathBuf,
    dmsetup: PathBuf,
}

impl Tools {
    /// # Errors
    /// [`StackError::MissingTool`].
    pub(super) fn find() -> Result<Self, StackError> {
        Ok(Self { lvm: tool::find("lvm")?, dmsetup: tool::find("dmsetup")? })
    }
}

impl LvmLayer {
    /// # Errors
    /// [`StackError::Usage`] for more stripes than members, or a stripe size that lvm does not take.
    pub(crate) fn new(array: &LvmArray, members: usize) -> Result<Self, StackError> {
        let members = u32::try_from(members).unwrap_or(u32::MAX);
        let stripes = array.stripes.unwrap_or(members);
        if stripes == 0 || stripes > members {
            let reason = format!("a stripe over {stripes} of {members} members cannot be made");
            return Err(StackError::usage("array.stripes", reason));
        }
        if let Some(size) = array.stripe_size.filter(|size| size.0 < 4096 || !size.0.is_power_of_two()) {
            let reason = format!("{size} is no power of two from 4KiB on");
            return Err(StackError::usage("array.stripe_size", reason));
        }
        Ok(Self { stripes, stripe_bytes: array.stripe_size.map(|size| size.0) })
    }
}

/// The commands behind `lvm`, in their order, that make a group of the members and a volume over all of it.
pub(super) fn commands(
    array: &LvmArray,
    group: &str,
    members: &[PathBuf],
) -> Result<Vec<Vec<OsString>>, StackError> {
    let layer = LvmLayer::new(array, members.len())?;
    Ok(layer.commands(group, members))
}

impl LvmLayer {
    fn commands(&self, group: &str, members: &[PathBuf]) -> Vec<Vec<OsString>> {
        let config: [OsString; 2] = ["--config".into(), configuration(members).into()];
        let command = |words: &[&str]| {
            let words = words.iter().map(OsString::from);
            words.chain(config.iter().cloned()).collect::<Vec<_>>()
        };
        let mut commands: Vec<Vec<OsString>> = members
            .iter()
            .enumerate()
            .map(|(index, member)| {
                let uuid = PhysicalVolume::of_group(group, index).uuid_with_dashes();
                let mut words = command(&["pvcreate", "--yes", "--force", "--force", "--zero", "y"]);
                words.extend(
                    ["--norestorefile", "--uuid", &uuid, "--dataalignment", "1m"].map(OsString::from),
                );
                words.push(member.into());
                words
            })
            .collect();
        let mut make_group = command(&["vgcreate", "--yes", group]);
        make_group.extend(members.iter().map(OsString::from));
        commands.push(make_group);
        let stripes = self.stripes.to_string();
        // Nothing is wiped at its beginning: the filesystem is made anew over it anyhow.
        let mut make_volume = command(&["lvcreate", "--yes", "--zero", "n", "--wipesignatures", "n"]);
        make_volume.extend(["--name", VOLUME_NAME, "--extents", "100%FREE"].map(OsString::from));
        make_volume.extend(["--stripes", &stripes].map(OsString::from));
        if let Some(bytes) = self.stripe_bytes.filter(|_| self.stripes > 1) {
            make_volume.extend([OsString::from("--stripesize"), format!("{}k", bytes >> 10).into()]);
        }
        make_volume.push(group.into());
        commands.push(make_volume);
        commands
    }
}

/// Settings that keep lvm to these devices, and from everything that would outlast them: the file of known devices,
/// backups of metadata, udev, monitoring (lvm.conf(5), lvmconfig(8)).
fn configuration(members: &[PathBuf]) -> String {
    let accepted: Vec<String> =
        members.iter().map(|member| format!("\"a|^{}$|\",", escaped(member))).collect();
    let filter = format!("[{}\"r|.*|\"]", accepted.concat());
    format!(
        "devices {{ filter={filter} global_filter={filter} use_devicesfile=0 obtain_device_list_from_udev=0 \
         external_device_info_source=\"none\" hints=\"none\" }} \
         activation {{ udev_sync=0 udev_rules=0 monitoring=0 }} backup {{ backup=0 archive=0 }} \
         global {{ use_lvmpolld=0 event_activation=0 }}"
    )
}

/// A path as a pattern that matches nothing else.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().fold(String::new(), |mut pattern, letter| {
        if !letter.is_ascii_alphanumeric() && !"/_-".contains(letter) {
            pattern.push_str("\\\\");
        }
        pattern.push(letter);
        pattern
    })
}

/// The device mapper's name of a group's volume: hyphens within a name are doubled, one stands between the two.
pub(crate) fn mapped_name(group: &str) -> String {
    format!("{}-{VOLUME_NAME}", group.replace('-', "--"))
}

/// The device with that name in the device mapper, if there is one.
pub(crate) fn find_mapped(name: &str) -> Option<BlockDevice> {
    fs::read_dir("/sys/block").ok()?.flatten().find_map(|entry| {
        if read_attribute(&entry.path().join("dm/name")).ok()? != name {
            return None;
        }
        BlockDevice::numbered(number_in(&entry.path())?).ok()
    })
}

/// How one segment of a volume lies over its members: stripes, and bytes on one member before the next follows; a
/// linear one has one stripe and no such bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    stripes: u32,
    stripe_bytes: u64,
}

/// A table of the device mapper's: `START LENGTH striped COUNT CHUNK DEVICE OFFSET ...` or `START LENGTH linear ...`,
/// in sectors (Documentation/admin-guide/device-mapper/striped.rst, linear.rst). None for any other target.
fn parse_table(text: &str) -> Option<Vec<Segment>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.get(2)? {
                "linear" => Some(Segment { stripes: 1, stripe_bytes: 0 }),
                "striped" => Some(Segment {
                    stripes: words.get(3)?.parse().ok()?,
                    stripe_bytes: words.get(4)?.parse::<u64>().ok()?.checked_mul(SECTOR)?,
                }),
                _ => None,
            }
        })
        .collect()
}

fn read_table(name: &str, interrupt: Option<&AtomicBool>) -> Result<(String, Vec<Segment>), StackError> {
    let dmsetup = Tools::find()?.dmsetup;
    let words = [OsString::from("table"), "--noudevsync".into(), name.into()];
    let text = tool::run_successfully(&dmsetup, &words, interrupt)?.stdout;
    let segments = parse_table(&text).filter(|segments| !segments.is_empty()).ok_or_else(|| {
        StackError::unexpected(name, format!("its table is not understood: `{}`", text.trim()))
    })?;
    Ok((text.trim().to_owned(), segments))
}

impl Layer for LvmLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let lvm = Tools::find()?.lvm;
        let loaded = kernel_support::load_mapper(site.interrupt())?;
        site.notes
            .extend(loaded.iter().map(|module| format!("kernel module `{module}` loaded; it stays so")));
        let members = members_of(site, "array")?;
        let group = site.directory_name();
        let step =
            Step::VolumeGroup { name: group.clone(), members: members.iter().map(lasting_path).collect() };
        site.journal.begin(Scope::Trial, step)?;
        let paths: Vec<PathBuf> = members.iter().map(|member| member.path.clone()).collect();
        for words in self.commands(&group, &paths) {
            tool::run_successfully(&lvm, &words, site.interrupt())?;
        }
        let name = mapped_name(&group);
        let device = find_mapped(&name)
            .ok_or_else(|| StackError::unexpected(&name, "lvcreate made it, but the kernel has none"))?;
        let (table, segments) = read_table(&name, site.interrupt())?;
        site.notes.push(format!("table of the logical volume: {}", table.replace('\n', "; ")));
        site.geometry = segments
            .first()
            .filter(|segment| segment.stripes > 1)
            .map(|first| Geometry { chunk_bytes: first.stripe_bytes, data_members: first.stripes });
        site.members = members;
        site.array = Some(OwnArray::Mapped(name));
        site.device = Some(device);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("array")?;
        let Some(OwnArray::Mapped(name)) = &site.array else {
            return Err(StackError::unexpected(&device.path, "it is not the volume that was made"));
        };
        let mut checks = Vec::new();
        let mut judge = |holds: bool, asked: String, read_back: String, from: String| {
            if !holds {
                return Err(StackError::NotApplied { layer: LAYER, asked, read_back, from });
            }
            checks.push(Check { layer: LAYER.to_owned(), asked, read_back, from });
            Ok(())
        };
        let sysfs = device.sysfs();
        let read_back = read_attribute(&sysfs.join("dm/name"))?;
        judge(read_back == *name, name.clone(), read_back, format!("/sys/block/{}/dm/name", device.name))?;
        let below: BTreeSet<DeviceNumber> = linked_devices(&sysfs.join("slaves")).into_iter().collect();
        let members: BTreeSet<DeviceNumber> = site.members.iter().map(|member| member.number).collect();
        let enough = usize::try_from(self.stripes).is_ok_and(|stripes| below.len() >= stripes);
        judge(
            enough && below.is_subset(&members),
            format!("{} or more of {}", self.stripes, names(&members)),
            names(&below),
            format!("/sys/block/{}/slaves", device.name),
        )?;
        let (_, segments) = read_table(name, site.interrupt())?;
        for segment in segments {
            let asked_bytes = self.stripe_bytes.filter(|_| self.stripes > 1).unwrap_or(segment.stripe_bytes);
            let words = |stripes, bytes| format!("{stripes} stripes of {} KiB", bytes >> 10);
            judge(
                segment.stripes == self.stripes && segment.stripe_bytes == asked_bytes,
                words(self.stripes, asked_bytes),
                words(segment.stripes, segment.stripe_bytes),
                "dmsetup table".to_owned(),
            )?;
        }
        Ok(checks)
    }
}

fn names(numbers: &BTreeSet<DeviceNumber>) -> String {
    let names: Vec<String> = numbers
        .iter()
        .map(|&number| {
            BlockDevice::numbered(number)
                .map_or_else(|_| format!("{}:{}", number.0, number.1), |device| device.name)
        })
        .collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use iostone_model::units::Bytes;

    use super::*;

    const GROUP: &str = "iostone-test-0123456789abcdef";

    fn words(array: &LvmArray, members: &[&str]) -> Vec<String> {
        let members: Vec<PathBuf> = members.iter().map(PathBuf::from).collect();
        let commands = commands(array, GROUP, &members).unwrap();
        let config = configuration(&members);
        commands
            .iter()
            .map(|words| {
                let words: Vec<String> =
                    words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                words.join(" ").replace(&format!(" --config {config}"), "")
            })
            .collect()
    }

    #[test]
    fn lvm_makes_a_group_and_one_volume_over_all_of_it() {
        let array = LvmArray { stripes: None, stripe_size: Some(Bytes(256 << 10)) };
        assert_eq!(
            words(&array, &["/dev/vda", "/dev/vdb"]),
            [
                "pvcreate --yes --force --force --zero y --norestorefile \
                 --uuid ioston-e001-2345-6789-abcd-ef00-000000 --dataalignment 1m /dev/vda",
                "pvcreate --yes --force --force --zero y --norestorefile \
                 --uuid ioston-e001-2345-6789-abcd-ef00-000001 --dataalignment 1m /dev/vdb",
                "vgcreate --yes iostone-test-0123456789abcdef /dev/vda /dev/vdb",
                "lvcreate --yes --zero n --wipesignatures n --name volume --extents 100%FREE --stripes 2 \
                 --stripesize 256k iostone-test-0123456789abcdef",
            ]
        );
        let one = words(&LvmArray { stripes: Some(1), stripe_size: Some(Bytes(4096)) }, &["/dev/vda"]);
        assert!(one.last().unwrap().contains("--stripes 1 iostone"), "{one:?}");
    }

    #[test]
    fn lvm_sees_no_other_device() {
        let text = configuration(&[PathBuf::from("/dev/vda"), PathBuf::from("/dev/x.y")]);
        assert!(text.contains(r#"filter=["a|^/dev/vda$|","a|^/dev/x\\.y$|","r|.*|"] global"#), "{text}");
    }

    #[test]
    fn stripes_that_do_not_fit_are_refused() {
        for (stripes, size) in [(Some(3), None), (Some(0), None), (None, Some(3000)), (None, Some(2048))] {
            let array = LvmArray { stripes, stripe_size: size.map(Bytes) };
            assert!(LvmLayer::new(&array, 2).is_err(), "{array:?}");
        }
    }

    #[test]
    fn a_table_tells_stripes_in_sectors() {
        assert_eq!(
            parse_table("0 180224 striped 2 512 254:0 2048 254:16 2048\n").unwrap(),
            [Segment { stripes: 2, stripe_bytes: 256 << 10 }]
        );
        assert_eq!(
            parse_table("0 90112 linear 254:0 2048\n").unwrap(),
            [Segment { stripes: 1, stripe_bytes: 0 }]
        );
        assert_eq!(parse_table("0 8 crypt x"), None);
        assert_eq!(parse_table("0 8 striped 2 x"), None);
    }

    #[test]
    fn hyphens_are_doubled_in_the_mapped_name() {
        assert_eq!(mapped_name("iostone-a-b"), "iostone--a--b-volume");
    }
}
