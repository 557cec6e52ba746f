//! Holds what a journal says against what iostone can have made. A step that does not stand up to it is none that was
//! begun, so that the whole journal is not ours.

use std::path::{Component, Path, PathBuf};

use iostone_model::experiment::SysctlRow;

use super::{Claim, Entry};
use crate::container::ENGINE_VARIABLE;
use crate::control_groups::is_known_controller;
use crate::device::DeviceNumber;
use crate::own_uuid::is_of_session;
use crate::owner::Owner;
use crate::provide::SERVER_VARIABLE;
use crate::queue;
use crate::session::{PROCESS_VARIABLE, is_token};
use crate::site::own_directory_name;
use crate::step::Step;
use crate::undo::is_ours;

/// More devices than any stack has.
const DEVICES_MAX: usize = 1024;
/// More directories, or controllers, than any engine or group has.
const PARTS_MAX: usize = 32;
/// The largest numbers that the kernel gives devices (`MINORBITS`, `include/linux/kdev_t.h`).
const MAJOR_MAX: u32 = (1 << 12) - 1;
const MINOR_MAX: u32 = (1 << 20) - 1;
/// `NBD_MAJOR` (include/uapi/linux/major.h).
const NBD_MAJOR: u32 = 43;
/// md arrays are given numbers below this.
const MD_NUMBERS: u32 = 128;

/// Checks who a journal names as its owner.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn check_owner(owner: &Owner) -> Result<(), String> {
    if !is_token(&owner.token) {
        return Err(format!("`{}` is no token of a session", owner.token));
    }
    check_path(&owner.run_directory)?;
    check_path(&owner.work_directory)
}

/// # Errors
/// That it is a number that no device has, in words.
pub(super) fn check_number(number: DeviceNumber) -> Result<(), String> {
    let is_possible = number.0 <= MAJOR_MAX && number.1 <= MINOR_MAX;
    is_possible.then_some(()).ok_or_else(|| format!("no device has the number {}:{}", number.0, number.1))
}

/// What a journal says before a step.
pub(super) struct Known<'a> {
    pub(super) owner: &'a Owner,
    /// The run's directory and the one to work in, where they are now.
    pub(super) places: &'a [PathBuf],
    pub(super) claims: &'a [Claim],
    pub(super) entries: &'a [Entry],
}

impl Known<'_> {
    /// Checks that the session can have begun a step.
    ///
    /// # Errors
    /// Why it cannot, in words.
    pub(super) fn check(&self, step: &Step) -> Result<(), String> {
        let token = &self.owner.token;
        let require = |holds: bool, what: &str| {
            holds.then_some(()).ok_or_else(|| format!("{} {what}", step.describe()))
        };
        match step {
            Step::Directory { path, content_is_ours: true } => self.check_own(path),
            Step::Directory { path, content_is_ours: false } => {
                check_path(path)?;
                let is_on_the_way = self.places.iter().any(|place| place.starts_with(path));
                require(is_on_the_way, "is neither the run's nor one of its parents")
            }
            Step::Image { path } => self.check_within_own(path),
            Step::Fuse { target } | Step::LayerMount { target, number: None } => {
                self.check_within_own(target)
            }
            Step::Mount { target, number } | Step::LayerMount { target, number: Some(number) } => {
                check_number(*number)?;
                self.check_within_own(target)
            }
            Step::Nbd { number, socket } => {
                check_number(*number)?;
                require(number.0 == NBD_MAJOR, "has the number of another driver")?;
                self.check_within_own(socket)
            }
            Step::Loop { backing, .. } => {
                check_path(backing)?;
                require(
                    is_ours(backing, token) || is_node(backing),
                    "has a backing file that is not the session's",
                )
            }
            Step::Queue { name, number, diskseq, setting, old } => {
                check_number(*number)?;
                require(is_device_name(name), "is of no device")?;
                require(
                    queue::is_possible(setting, old),
                    "is not a setting that iostone changes, or not one of its values",
                )?;
                let is_claimed = self.claims.contains(&Claim { number: *number, diskseq: *diskseq });
                require(
                    is_claimed || self.makes_devices(),
                    "belongs to a device that the session neither claimed nor created",
                )
            }
            Step::Sysctl { name, old } => require(
                SysctlRow::of(name).is_some_and(|row| row.is_possible(old)),
                "is not a setting that iostone changes, or not one of its values",
            ),
            Step::BtrfsDevices { numbers } => {
                require(numbers.len() <= DEVICES_MAX, "is too long")?;
                numbers.iter().try_for_each(|&number| check_number(number))
            }
            Step::Mkfs { device, uuid, .. } => {
                check_device(device)?;
                require(is_of_session(uuid, token), "has a UUID that the session did not make")
            }
            Step::MdArray { node, uuid, members } => {
                require(is_md_node(node), "has a name that iostone does not give to arrays")?;
                require(is_of_session(uuid, token), "has a UUID that the session did not make")?;
                check_devices(members)
            }
            Step::VolumeGroup { name, members } => {
                require(*name == own_directory_name(token), "does not have the session's name")?;
                check_devices(members)
            }
            Step::Processes { variable, value } => {
                require(variable == PROCESS_VARIABLE && value == token, "do not have the session's marker")
            }
            Step::Server { variable, value } => require(
                variable == SERVER_VARIABLE && is_numbered(value, token),
                "do not have the session's marker",
            ),
            Step::Engine { variable, value, roots, group } => {
                require(
                    variable == ENGINE_VARIABLE && is_numbered(value, token),
                    "does not have the session's marker",
                )?;
                require(
                    *group == format!("{}-engine", own_directory_name(token)),
                    "has a group of another name",
                )?;
                require(roots.len() <= PARTS_MAX, "has too many directories")?;
                roots.iter().try_for_each(|root| self.check_within_own(root))
            }
            Step::ControlGroup { path, home } => {
                check_path(path)?;
                check_path(home)?;
                require(path.ends_with(own_directory_name(token)), "does not have the session's name")
            }
            Step::HandDown { group, controllers } => {
                check_path(group)?;
                require(controllers.len() <= PARTS_MAX, "has too many names")?;
                let are_known = controllers.iter().all(|name| is_known_controller(name));
                require(are_known, "is not a controller that iostone knows")
            }
        }
    }

    /// Checks that a directory of the session's own may have been found elsewhere: with those above it, as far as they have
    /// other names. That all steps are the session's afterwards is for whoever moves them to check.
    ///
    /// # Errors
    /// Why it may not, in words.
    pub(super) fn check_move(&self, from: &Path, to: &Path) -> Result<(), String> {
        check_path(from)?;
        check_path(to)?;
        let moves_own = self.entries.iter().any(|entry| {
            matches!(&entry.step, Step::Directory { path, content_is_ours: true } if path.starts_with(from))
        });
        if moves_own {
            return Ok(());
        }
        Err(format!("the session had no directory in `{}`", from.display()))
    }

    fn check_own(&self, path: &Path) -> Result<(), String> {
        check_path(path)?;
        if is_ours(path, &self.owner.token) {
            return Ok(());
        }
        Err(format!("`{}` is not in a directory of the session", path.display()))
    }

    fn check_within_own(&self, path: &Path) -> Result<(), String> {
        check_path(path)?;
        self.check_own(path.parent().unwrap_or(path))
    }

    /// Whether the session attached or joined a device, whose number no step tells. Undoing knows such a device by its
    /// marks.
    fn makes_devices(&self) -> bool {
        self.entries.iter().any(|entry| {
            matches!(
                entry.step,
                Step::Loop { .. } | Step::Nbd { .. } | Step::MdArray { .. } | Step::VolumeGroup { .. }
            )
        })
    }
}

/// An absolute path that leads where its components say.
fn check_path(path: &Path) -> Result<(), String> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if path.is_absolute() && path.components().all(is_plain) {
        return Ok(());
    }
    Err(format!("`{}` is no absolute path without `..`", path.display()))
}

fn check_devices(members: &[PathBuf]) -> Result<(), String> {
    if members.len() > DEVICES_MAX {
        return Err("there are too many members".to_owned());
    }
    members.iter().try_for_each(|member| check_device(member))
}

fn check_device(path: &Path) -> Result<(), String> {
    check_path(path)?;
    if path.starts_with("/dev") && path != Path::new("/dev") {
        return Ok(());
    }
    Err(format!("`{}` is no name of a device", path.display()))
}

/// A node that the kernel names: `/dev/loop3`.
fn is_node(path: &Path) -> bool {
    path.parent() == Some(Path::new("/dev")) && path.file_name().is_some_and(|name| !name.is_empty())
}

/// A name under `/sys/block`.
fn is_device_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'!' | b'.');
    !name.is_empty() && !name.starts_with('.') && name.len() < 32 && name.bytes().all(is_plain)
}

fn is_md_node(node: &Path) -> bool {
    let number = node.to_str().and_then(|text| text.strip_prefix("/dev/md"));
    (0..MD_NUMBERS).any(|known| number == Some(known.to_string().as_str()))
}

/// The token with the number of a journal's entry: `TOKEN-7`.
fn is_numbered(value: &str, token: &str) -> bool {
    let number = value.strip_prefix(token).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|digits| {
        (1..=10).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
