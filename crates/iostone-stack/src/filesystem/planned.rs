//! The command of a stack's mkfs before anything stands, for a dry run.

use iostone_model::experiment::{Array, Filesystem, MdLevel, Stack};

use super::{btrfs, ext2, ext4, f2fs, xfs};
use crate::site::Geometry;

/// mdadm's own chunk, in bytes (mdadm(8), `--chunk`).
const MD_CHUNK_BYTES: u64 = 512 << 10;
/// lvcreate's own stripe size, in bytes (lvmlocal defaults, `allocation/stripesize` of lvm.conf(5)).
const LVM_STRIPE_BYTES: u64 = 64 << 10;

/// How the array of a stack will lay data over its members; none where it is not striped.
pub(crate) fn geometry_of(stack: &Stack) -> Option<Geometry> {
    let members = u32::try_from(stack.volume.members()).ok()?;
    match &stack.array {
        Array::None | Array::Btrfs(_) => None,
        Array::Md(md) => {
            let data_members = match md.level {
                MdLevel::Raid0 => members,
                MdLevel::Raid1 => return None,
                MdLevel::Raid10 => members / 2,
                MdLevel::Raid5 => members.saturating_sub(1),
            };
            Some(Geometry {
                chunk_bytes: md.chunk.map_or(MD_CHUNK_BYTES, |chunk| chunk.0),
                data_members: data_members.max(1),
            })
        }
        Array::Lvm(lvm) => Some(Geometry {
            chunk_bytes: lvm.stripe_size.map_or(LVM_STRIPE_BYTES, |size| size.0),
            data_members: lvm.stripes.unwrap_or(members),
        })
        .filter(|geometry| geometry.data_members > 1),
    }
}

/// `mkfs.ext4 ... -U UUID`, but for the devices; none without a filesystem, and for one that could not be made.
pub(crate) fn mkfs_line(stack: &Stack) -> Option<String> {
    let geometry = geometry_of(stack);
    let words = match &stack.filesystem {
        Filesystem::None => return None,
        Filesystem::Ext4(ext4) => ext4::argument_words(ext4, geometry).ok()?,
        Filesystem::Ext2(ext2) => ext2::argument_words(ext2, geometry).ok()?,
        Filesystem::F2fs(f2fs) => f2fs::argument_words(f2fs).ok()?,
        Filesystem::Xfs(xfs) => xfs::argument_words(xfs, geometry, "UUID").ok()?,
        Filesystem::Btrfs(btrfs) => btrfs::argument_words(btrfs, &stack.array).ok()?,
    };
    let name = stack.filesystem.name()?;
    // mkfs.xfs has it among the options of `-m`.
    let uuid = if name == "xfs" { "" } else { " -U UUID" };
    Some(format!("mkfs.{name} {}{uuid}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use iostone_model::experiment::{BlockVolume, Ext2, F2fs, LvmArray, MdArray, Volume, Xfs};
    use iostone_model::units::Bytes;

    use super::*;

    fn over(array: Array) -> Stack {
        let devices = ["a", "b", "c", "d"].map(|name| PathBuf::from(format!("/dev/{name}"))).into();
        Stack {
            array,
            filesystem: Filesystem::Xfs(Xfs::default()),
            ..Stack::of(Volume::Block(BlockVolume { devices }))
        }
    }

    fn md(level: MdLevel) -> Stack {
        over(Array::Md(MdArray { level, chunk: Some(Bytes(256 << 10)), metadata: None }))
    }

    #[test]
    fn data_members_are_those_that_hold_data_in_a_stripe() {
        let members = |stack: &Stack| geometry_of(stack).map(|geometry| geometry.data_members);
        assert_eq!(members(&md(MdLevel::Raid0)), Some(4));
        assert_eq!(members(&md(MdLevel::Raid10)), Some(2));
        assert_eq!(members(&md(MdLevel::Raid5)), Some(3));
        assert_eq!(members(&md(MdLevel::Raid1)), None);
        assert_eq!(members(&over(Array::Lvm(LvmArray { stripes: Some(2), stripe_size: None }))), Some(2));
        assert_eq!(members(&over(Array::Lvm(LvmArray { stripes: Some(1), stripe_size: None }))), None);
    }

    #[test]
    fn the_command_is_told_with_the_arrays_geometry() {
        assert_eq!(
            mkfs_line(&md(MdLevel::Raid0)).unwrap(),
            "mkfs.xfs -f -K -q -m uuid=UUID -d su=262144,sw=4"
        );
        let of = |filesystem| mkfs_line(&Stack { filesystem, ..md(MdLevel::Raid0) }).unwrap();
        assert_eq!(
            of(Filesystem::Ext2(Ext2::default())),
            "mkfs.ext2 -F -q -E nodiscard,lazy_itable_init=0,stride=64,stripe-width=256 -b 4096 -U UUID"
        );
        assert_eq!(of(Filesystem::F2fs(F2fs::default())), "mkfs.f2fs -f -q -t 0 -U UUID");
    }
}
