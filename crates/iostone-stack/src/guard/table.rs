//! The guard's own table of signatures: what stands where on a device that somebody has put something on.
//!
//! Offsets and magics are those that each project's on-disk format fixes, checked against util-linux's libblkid
//! (libblkid/src/superblocks and partitions, read 2026-11-21). Checksums are not verified on purpose: what merely
//! looks like a filesystem is refused too.

/// Where a magic may stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Bytes from the beginning.
    Start(u64),
    /// So many whole sectors of 512 bytes before the end, and bytes from there.
    SectorsFromEnd(u64, u64),
    /// In bytes: the size rounded down to `block`, less `back`, and `within` from there.
    LastBlock { block: u64, back: u64, within: u64 },
    /// In each of the four labels of ZFS: `count` places, `step` apart, from `from`.
    ZfsLabels { from: u64, step: u64, count: u64 },
}

/// One kind of thing that a device may carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature {
    /// In words, with its article.
    pub(super) name: &'static str,
    pub(super) is_partition_table: bool,
    pub(super) magics: &'static [&'static [u8]],
    pub(super) places: &'static [Place],
    /// Offset and length of the label, where there is one.
    pub(super) label: Option<(u64, usize)>,
    /// Offset of the UUID's 16 bytes.
    pub(super) uuid: Option<u64>,
}

pub(super) const fn content(
    name: &'static str,
    magics: &'static [&'static [u8]],
    places: &'static [Place],
) -> Signature {
    Signature { name, is_partition_table: false, magics, places, label: None, uuid: None }
}

const fn partitions(
    name: &'static str,
    magics: &'static [&'static [u8]],
    places: &'static [Place],
) -> Signature {
    Signature { name, is_partition_table: true, magics, places, label: None, uuid: None }
}

const fn named(signature: Signature, label: Option<(u64, usize)>, uuid: Option<u64>) -> Signature {
    Signature { label, uuid, ..signature }
}

use Place::{LastBlock, SectorsFromEnd, Start, ZfsLabels};

/// The end of the first page, for pages of 4, 8, 16, 32 and 64 KiB: where swap keeps its magic.
const SWAP_PLACES: &[Place] = &[Start(0xff6), Start(0x1ff6), Start(0x3ff6), Start(0x7ff6), Start(0xfff6)];
const SUPER_MAGIC_MD: &[&[u8]] = &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"];

/// More telling ones first: a filesystem before the boot sector that it may carry too.
pub(super) const SIGNATURES: &[Signature] = &[
    // Volume managers, arrays and encryption: what they hold is not visible from outside.
    named(
        content(
            "a LUKS volume",
            &[b"LUKS\xba\xbe", b"SKUL\xba\xbe"],
            &[
                Start(0),
                Start(0x4000),
                Start(0x8000),
                Start(0x10000),
                Start(0x20000),
                Start(0x40000),
                Start(0x80000),
                Start(0x10_0000),
                Start(0x20_0000),
                Start(0x40_0000),
            ],
        ),
        None,
        None,
    ),
    content("an LVM2 physical volume", &[b"LABELONE"], &[Start(0), Start(512), Start(1024), Start(1536)]),
    content("an LVM1 physical volume", &[b"HM\x01\x00", b"HM\x02\x00"], &[Start(0)]),
    content(
        "a member of an md array",
        SUPER_MAGIC_MD,
        &[
            LastBlock { block: 65536, back: 65536, within: 0 },
            LastBlock { block: 4096, back: 8192, within: 0 },
            Start(0),
            Start(4096),
        ],
    ),
    content(
        "a member of a ZFS pool",
        &[b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c"],
        &[ZfsLabels { from: 128 << 10, step: 1024, count: 128 }],
    ),
    content(
        "a member of a ZFS pool",
        &[b"version\0"],
        &[ZfsLabels { from: (16 << 10) + 24, step: 0, count: 1 }],
    ),
    content(
        "a bcache device",
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
        &[Start(4096 + 24)],
    ),
    content(
        "a bcachefs filesystem",
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
        &[Start(4096 + 24), Start((2 << 20) + 24)],
    ),
    content(
        "a DRBD volume",
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
        &[LastBlock { block: 4096, back: 4096, within: 60 }],
    ),
    content("a DRBD proxy or manager volume", &[b"DRBDdlh*", b"$DRBDmgr=q"], &[Start(0)]),
    content("a Ceph BlueStore device", &[b"bluestore block device"], &[Start(0)]),
    content("an Oracle ASM disk", &[b"ORCLDISK"], &[Start(32)]),
    content("a VMware VMFS filesystem", &[b"\x5e\xf1\xab\x2f"], &[Start(2 << 20)]),
    content("a VMware VMFS volume", &[b"\x0d\xd0\x01\xc0"], &[Start(1 << 20)]),
    content(
        "a Stratis pool member",
        &[b"!Stra0tis\x86\xff\x02^\x41rh"],
        &[Start(512 + 4), Start(9 * 512 + 4)],
    ),
    content("a VDO volume", &[b"dmvdo001"], &[Start(0)]),
    content("a device mapper snapshot", &[b"SnAp"], &[Start(0)]),
    content("a dm-verity hash device", &[b"verity\0\0"], &[Start(0)]),
    content("a dm-integrity device", &[b"integrt\0"], &[Start(0)]),
    content("a BitLocker volume", &[b"-FVE-FS-", b"MSWIN4.1"], &[Start(3)]),
    content("a FileVault volume", &[b"CS\x01\x00"], &[Start(88)]),
    content("an mpool device", &[b"mpoolDev"], &[Start(0)]),
    content(
        "a member of a DDF array",
        &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
        &[SectorsFromEnd(1, 0), SectorsFromEnd(257, 0)],
    ),
    content(
        "a member of an Intel array",
        &[b"Intel Raid ISM Cfg Sig. "],
        &[SectorsFromEnd(2, 0), SectorsFromEnd(16, 0)],
    ),
    content("a member of an LSI array", &[b"$XIDE$"], &[SectorsFromEnd(1, 0)]),
    content("a member of an NVIDIA array", &[b"NVIDIA  "], &[SectorsFromEnd(2, 0)]),
    content(
        "a member of a Promise array",
        &[b"Promise Technology, Inc."],
        &[
            SectorsFromEnd(63, 0),
            SectorsFromEnd(255, 0),
            SectorsFromEnd(256, 0),
            SectorsFromEnd(16, 0),
            SectorsFromEnd(399, 0),
            SectorsFromEnd(591, 0),
            SectorsFromEnd(675, 0),
            SectorsFromEnd(735, 0),
            SectorsFromEnd(911, 0),
            SectorsFromEnd(974, 0),
            SectorsFromEnd(991, 0),
            SectorsFromEnd(951, 0),
        ],
    ),
    content("a member of an Adaptec array", &[b"\x37\xfc\x4d\x1e"], &[SectorsFromEnd(1, 0)]),
    content(
        "a member of a HighPoint array",
        &[b"\xf3\x16\x78\x5a", b"\xfd\x16\x78\x5a", b"\xf0\x16\x78\x5a"],
        &[SectorsFromEnd(11, 0), Start(9 * 512 + 32)],
    ),
    content("a member of a JMicron array", &[b"JM\x01\x00", b"JM\x02\x00"], &[SectorsFromEnd(1, 0)]),
    // Swap, and memory that a hibernating machine wants back.
    content("a hibernation image", &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"], SWAP_PLACES),
    content("a hibernation image", &[b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"], &[Start(0)]),
    named(
        content("a swap area", &[b"SWAPSPACE2", b"SWAP-SPACE"], SWAP_PLACES),
        Some((0x41c, 16)),
        Some(0x40c),
    ),
    // Filesystems.
    named(
        content("an ext2, ext3 or ext4 filesystem, or its journal", &[b"\x53\xef"], &[Start(0x438)]),
        Some((0x478, 16)),
        Some(0x468),
    ),
    named(content("an XFS filesystem", &[b"XFSB"], &[Start(0)]), Some((108, 12)), Some(32)),
    content("an XFS log", &[b"\xfe\xed\xba\xbe"], &[Start(0), Start(512)]),
    named(
        content("a btrfs filesystem", &[b"_BHRfS_M"], &[Start(0x10040)]),
        Some((0x1012b, 256)),
        Some(0x10020),
    ),
    named(
        content("an F2FS filesystem", &[b"\x10\x20\xf5\xf2"], &[Start(1024), Start(4096 + 1024)]),
        None,
        Some(1024 + 108),
    ),
    content("an NTFS filesystem", &[b"NTFS    "], &[Start(3)]),
    content("an exFAT filesystem", &[b"EXFAT   "], &[Start(3)]),
    content("a ReFS filesystem", &[b"\0\0\0ReFS\0"], &[Start(0)]),
    content("a FAT filesystem", &[b"FAT32   ", b"MSWIN"], &[Start(0x52)]),
    content("a FAT filesystem", &[b"FAT12   ", b"FAT16   ", b"FAT     ", b"MSDOS"], &[Start(0x36)]),
    content("an ISO 9660 filesystem", &[b"CD001"], &[Start(32769)]),
    content("a High Sierra filesystem", &[b"CDROM"], &[Start(32777)]),
    content(
        "a UDF filesystem",
        &[b"BEA01", b"BOOT2", b"CDW02", b"NSR02", b"NSR03", b"TEA01"],
        &[Start(32769), Start(34817), Start(36865), Start(40961)],
    ),
    content("a squashfs filesystem", &[b"hsqs", b"sqsh", b"shsq", b"qshs"], &[Start(0)]),
    content("an EROFS filesystem", &[b"\xe2\xe1\xf5\xe0"], &[Start(1024)]),
    content("a cramfs filesystem", &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"], &[Start(0), Start(512)]),
    content("a romfs filesystem", &[b"-rom1fs-"], &[Start(0)]),
    content("a JFS filesystem", &[b"JFS1"], &[Start(32768)]),
    content(
        "a ReiserFS filesystem",
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"],
        &[Start(65536 + 0x34), Start(8192 + 0x34), Start(8192 + 20)],
    ),
    content("a Reiser4 filesystem", &[b"ReIsEr4"], &[Start(65536)]),
    content(
        "a NILFS2 filesystem",
        &[b"\x34\x34"],
        &[Start(1024 + 6), SectorsFromEnd(8, 6), LastBlock { block: 4096, back: 4096, within: 6 }],
    ),
    content("an OCFS2 filesystem", &[b"OCFSV2"], &[Start(1024), Start(2048), Start(4096), Start(8192)]),
    content("an OCFS filesystem", &[b"OracleCFS"], &[Start(8), Start(8192)]),
    content("a GFS or GFS2 filesystem", &[b"\x01\x16\x19\x70"], &[Start(65536)]),
    content("an HFS or HFS+ filesystem", &[b"H+", b"HX", b"BD"], &[Start(1024)]),
    content("an APFS container", &[b"NXSB"], &[Start(32)]),
    content("a VxFS filesystem", &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"], &[Start(1024), Start(8192)]),
    content("an HPFS filesystem", &[b"\x49\xe8\x95\xf9"], &[Start(8192)]),
    content("a BeFS filesystem", &[b"BFS1", b"1SFB"], &[Start(32), Start(544)]),
    content("an SCO BFS filesystem", &[b"\xce\xfa\xad\x1b"], &[Start(0)]),
    content("an EXFS filesystem", &[b"EXFS"], &[Start(0)]),
    content("a NetWare filesystem", &[b"SPB5"], &[Start(4096)]),
    content("a UBI volume", &[b"UBI#"], &[Start(0)]),
    content("a UBIFS filesystem", &[b"\x31\x18\x10\x06"], &[Start(0)]),
    content("a zonefs filesystem", &[b"SFOZ"], &[Start(0)]),
    content(
        "a UFS filesystem",
        &[b"\x54\x19\x01\x00", b"\x00\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
        &[Start(1372), Start(8192 + 1372), Start(65536 + 1372), Start(262_144 + 1372)],
    ),
    content(
        "a Minix filesystem",
        &[
            b"\x7f\x13",
            b"\x8f\x13",
            b"\x13\x7f",
            b"\x13\x8f",
            b"\x68\x24",
            b"\x78\x24",
            b"\x24\x68",
            b"\x24\x78",
        ],
        &[Start(1024 + 0x10)],
    ),
    content("a Minix 3 filesystem", &[b"\x5a\x4d", b"\x4d\x5a"], &[Start(1024 + 0x18)]),
    content("a SquashFS or VDFS image", &[b"\x2b\x55\x44", b"\x44\x55\x2b"], &[Start(2048)]),
    // Partition tables: the boot sector's mark last, as filesystems carry it too.
    partitions(
        "a GPT partition table",
        &[b"EFI PART"],
        &[Start(512), Start(4096), SectorsFromEnd(1, 0), SectorsFromEnd(8, 0)],
    ),
    partitions("an Apple partition map", &[b"PM\0\0"], &[Start(512), Start(1024), Start(2048)]),
    partitions("an Apple driver map", &[b"ER\x02\x00", b"ER\x08\x00", b"ER\x10\x00"], &[Start(0)]),
    partitions(
        "a BSD disklabel",
        &[b"\x57\x45\x56\x82", b"\x82\x56\x45\x57"],
        &[Start(512), Start(64), Start(128), Start(0)],
    ),
    partitions("an SGI disklabel", &[b"\x0b\xe5\xa9\x41"], &[Start(0)]),
    partitions("a Sun disklabel", &[b"\xda\xbe"], &[Start(508)]),
    partitions("a Solaris disklabel", &[b"\xee\xde\x0d\x60"], &[Start(512 + 12)]),
    partitions("an AIX label", &[b"\xc9\xc2\xd4\xc1"], &[Start(0)]),
    partitions("a DOS partition table or a boot sector", &[b"\x55\xaa"], &[Start(510)]),
];
