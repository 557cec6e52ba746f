//! Copies of superblocks further inside a device, which tell of a filesystem whose first superblock is gone.

use std::fs::File;

use super::survey::read_span;

/// Superblock copies are read in units of this many bytes.
const READ_BYTES: u64 = 4096;

/// A kind of copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of ext2, ext3 or ext4, with the number of its block group.
    Ext {
        group: u64,
    },
    Btrfs,
    Xfs,
}

/// Where a copy would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Backup {
    kind: Kind,
    offset: u64,
}

/// The offsets of all copies that a device of that size may have.
pub(super) fn offsets(size_bytes: u64) -> impl Iterator<Item = u64> {
    backups(size_bytes).into_iter().map(|backup| backup.offset)
}

/// The first copy that the device carries, in words: "a backup superblock of btrfs at 64.00 MiB".
pub(super) fn find(file: &File, size_bytes: u64) -> Option<(&'static str, u64)> {
    backups(size_bytes).into_iter().find_map(|backup| {
        let bytes = read_span(file, &(backup.offset..backup.offset + READ_BYTES)).ok()?;
        name(backup.kind, &bytes).map(|name| (name, backup.offset))
    })
}

fn name(kind: Kind, bytes: &[u8]) -> Option<&'static str> {
    let is_at = |offset: usize, magic: &[u8]| bytes.get(offset..offset + magic.len()) == Some(magic);
    match kind {
        // `s_magic` and `s_block_group_nr` (Documentation/filesystems/ext4/super.rst).
        Kind::Ext { group } => {
            let number = u16::try_from(group).ok()?.to_le_bytes();
            (is_at(0x38, b"\x53\xef") && is_at(0x5a, &number))
                .then_some("a backup superblock of ext2, ext3 or ext4")
        }
        Kind::Btrfs => is_at(0x40, b"_BHRfS_M").then_some("a mirror of the superblock of btrfs"),
        Kind::Xfs => is_at(0, b"XFSB").then_some("a backup superblock of XFS"),
    }
}

fn backups(size_bytes: u64) -> Vec<Backup> {
    let mut found = Vec::new();
    // `btrfs_sb_offset`: 64 MiB, 256 GiB, 1 PiB (fs/btrfs/disk-io.h).
    found.extend([1 << 26, 1 << 38, 1 << 50].map(|offset| Backup { kind: Kind::Btrfs, offset }));
    // `sparse_super`: groups 1 and the powers of 3, 5 and 7 (Documentation/filesystems/ext4/blockgroup.rst); as many blocks
    // in a group as a block of bitmap has bits.
    let powers = [3u64, 5, 7].into_iter().flat_map(|base| {
        std::iter::successors(Some(base), move |power| power.checked_mul(base))
            .take_while(|power| *power < 1 << 16)
    });
    let groups: Vec<u64> = std::iter::once(1).chain(powers).collect();
    for block_bytes in [1024u64, 2048, 4096, 65536] {
        // With blocks of 1 KiB the first one is the boot sector's.
        let first = u64::from(block_bytes == 1024);
        found.extend(groups.iter().filter_map(|&group| {
            let offset = group.checked_mul(8 * block_bytes)?.checked_add(first)?.checked_mul(block_bytes)?;
            Some(Backup { kind: Kind::Ext { group }, offset })
        }));
    }
    // mkfs.xfs makes 4, 8, 16 or 32 allocation groups of equal size, each with a superblock at its beginning, and of 1 TiB
    // on more than that times 4 (`calc_default_ag_geometry`, xfsprogs).
    for count in [4u64, 8, 16, 32] {
        let blocks = (size_bytes / 4096).div_ceil(count);
        found.extend((1..count).map(|group| Backup { kind: Kind::Xfs, offset: group * blocks * 4096 }));
    }
    found.extend((1..64).map(|group| Backup { kind: Kind::Xfs, offset: group << 40 }));
    found.retain(|backup| backup.offset.checked_add(READ_BYTES).is_some_and(|end| end <= size_bytes));
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_each_mkfs_leaves_further_inside_is_known() {
        let directory = tempfile::tempdir().unwrap();
        for (mkfs, options, size, wiped, name) in [
            ("mkfs.ext4", &["-F", "-q"][..], 300u64 << 20, 1u64 << 16, "ext4"),
            ("mkfs.ext4", &["-F", "-q", "-b", "1024"], 64 << 20, 1 << 16, "ext4"),
            ("mkfs.btrfs", &["-q"], 300 << 20, 2 << 20, "btrfs"),
            ("mkfs.xfs", &["-q"], 400 << 20, 1 << 20, "XFS"),
        ] {
            if iostone_probe::programs::find_program(mkfs).is_none() {
                eprintln!("{mkfs} skipped: it is not installed");
                continue;
            }
            let path = directory.path().join(name);
            let file =
                File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
            file.set_len(size).unwrap();
            let made = Command::new(mkfs).args(options).arg(&path).output().unwrap();
            assert!(made.status.success(), "{made:?}");
            file.write_all_at(&vec![0; usize::try_from(wiped).unwrap()], 0).unwrap();
            let (found, offset) = find(&file, size).unwrap_or_else(|| panic!("{mkfs} {options:?}"));
            assert!(found.contains(name) && offset >= wiped, "{found} at {offset}");
        }
    }

    #[test]
    fn copies_lie_within_the_device() {
        for size in [0, 4096, 1 << 26, (1 << 26) + 4096, 1 << 41, u64::MAX] {
            assert!(backups(size).iter().all(|backup| backup.offset + READ_BYTES <= size), "{size}");
        }
        assert!(backups(1 << 26).iter().all(|backup| backup.kind != Kind::Btrfs));
    }
}
