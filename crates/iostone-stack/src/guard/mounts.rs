//! Whether a device, or anything on it, is mounted, holds the root filesystem, or serves as swap.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::Objection;
use super::family::Member;
use crate::below::{btrfs_filesystems, disks_under_path};
use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::{RefusalReason, StackError};
use crate::mountinfo::{self, Mount, unescape};
use crate::tool::quote;

/// The objection, if there is one; the root filesystem first. A device counts as the root filesystem's for being the
/// disk under it only if it `has_disk`: what shows a part of that disk may be another part.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not give its tables.
pub(super) fn objection(
    device: &BlockDevice,
    family: &[Member],
    has_disk: bool,
) -> Result<Option<Objection>, StackError> {
    let numbers: BTreeSet<DeviceNumber> = family.iter().map(|member| member.device.number).collect();
    let mounts = mountinfo::mounts_of_all_namespaces()?;
    let mut found: Vec<&(u32, Mount)> =
        mounts.iter().filter(|(_, mounted)| stands_on(mounted, &numbers)).collect();
    // The root of this namespace tells most, then mounts that the user can see.
    let own = std::process::id();
    found.sort_by_key(|(pid, mounted)| (mounted.target != Path::new("/") || *pid != own, *pid != own));
    let under_root =
        has_disk && disks_under_path(Path::new("/"))?.iter().any(|below| numbers.contains(&below.number));
    if let Some((pid, mounted)) = found.first() {
        let chain = family
            .iter()
            .find(|member| member.device.number == mounted.number)
            .map_or(device.name.clone(), |member| member.chain.clone());
        return Ok(Some(mounted_objection(*pid, mounted, &chain, under_root)));
    }
    if under_root {
        let because = "it holds the root filesystem";
        return Ok(Some(Objection::alive(RefusalReason::Root, because, Vec::new()).losing("this system")));
    }
    if let Some(members) =
        btrfs_filesystems().into_iter().find(|members| members.iter().any(|number| numbers.contains(number)))
    {
        let because = format!("it is one of {} devices of a mounted btrfs", members.len());
        let next = "`btrfs filesystem show --mounted`, then `umount` it".to_owned();
        return Ok(Some(Objection::alive(RefusalReason::Mounted, because, vec![next]).losing("that btrfs")));
    }
    Ok(swap_objection(family))
}

fn mounted_objection(pid: u32, mounted: &Mount, chain: &str, under_root: bool) -> Objection {
    let target = mounted.target.display();
    let what = format!("the {} on `{target}`", mounted.filesystem);
    let own = pid == std::process::id();
    if under_root || (own && mounted.target == Path::new("/")) {
        let because = format!("it holds the root filesystem ({chain})");
        return Objection::alive(RefusalReason::Root, because, Vec::new()).losing("this system");
    }
    let quoted = quote(mounted.target.as_os_str());
    if own {
        let because = format!("it is mounted on `{target}` ({chain})");
        return Objection::alive(RefusalReason::Mounted, because, vec![format!("`umount {quoted}`")])
            .losing(what);
    }
    let because = format!("it is mounted on `{target}` in the mount namespace of process {pid} ({chain})");
    let next = format!("`nsenter --target {pid} --mount umount {quoted}`");
    Objection::alive(RefusalReason::Mounted, because, vec![next]).losing(what)
}

/// By the mount's own device number, or by its source where the filesystem has an anonymous one.
fn stands_on(mounted: &Mount, numbers: &BTreeSet<DeviceNumber>) -> bool {
    if mounted.number.0 != 0 {
        return numbers.contains(&mounted.number);
    }
    mounted.source.is_absolute()
        && BlockDevice::at(&mounted.source)
            .ok()
            .flatten()
            .is_some_and(|source| numbers.contains(&source.number))
}

/// `/proc/swaps` (`proc_swaps(5)`) and the place of a hibernation image (`/sys/power/resume`).
fn swap_objection(family: &[Member]) -> Option<Objection> {
    // A kernel without swap has no such file.
    let swaps = fs::read("/proc/swaps").unwrap_or_default();
    for path in swap_paths(&swaps) {
        let Some(swap) = BlockDevice::at(&path).ok().flatten() else { continue };
        if let Some(member) = family.iter().find(|member| member.device.number == swap.number) {
            let because = format!("it serves as swap ({})", member.chain);
            let next = format!("`swapoff {}`", quote(path.as_os_str()));
            let objection = Objection::alive(RefusalReason::Swap, because, vec![next]);
            return Some(objection.losing("memory of running processes"));
        }
    }
    if let Ok(resume) = read_attribute(Path::new("/sys/power/resume"))
        && let Some(number) = iostone_model::mountinfo::parse_device_number(&resume)
        && let Some(member) = family.iter().find(|member| member.device.number == number)
    {
        let because = format!("the machine hibernates to it ({})", member.chain);
        let next = "`echo 0:0 > /sys/power/resume`".to_owned();
        return Some(Objection::alive(RefusalReason::Swap, because, vec![next]));
    }
    None
}

pub(super) fn swap_paths(swaps: &[u8]) -> Vec<std::path::PathBuf> {
    swaps
        .split(|&byte| byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(u8::is_ascii_whitespace).next())
        .filter(|field| !field.is_empty())
        .map(unescape)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_areas_are_listed_without_the_heading() {
        let text =
            b"Filename\t\t\t\tType\t\tSize\nsome\\040file file 4 0 -2\n/dev/sdb2  partition\t4\t0\t-3\n";
        assert_eq!(swap_paths(text), [Path::new("some file"), Path::new("/dev/sdb2")]);
        assert!(swap_paths(b"").is_empty());
    }
}
