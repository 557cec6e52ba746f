//! What a filesystem leaves for data on a volume: where a run ends because the disk is full, and not because it was done.

use iostone_model::cloud::CatalogueDate;
use iostone_model::units::Bytes;

/// A filesystem whose own share is known, as its mkfs makes it when nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilesystemKind {
    /// mke2fs(8).
    Ext4,
    /// mkfs.xfs(8).
    Xfs,
}

impl FilesystemKind {
    /// As mount(8) names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// The one of that name; none where nothing is known of its share.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "ext4" => Some(Self::Ext4),
            "xfs" => Some(Self::Xfs),
            _ => None,
        }
    }
}

const GIB: u64 = 1 << 30;

/// Bytes that one large file of root's may take on a filesystem that was just made.
///
/// Of ext4: all but superblocks, descriptors and the blocks kept for more of them (in group 0, 1 and the powers of 3, 5 and 7), bitmaps,
/// inode tables (256 bytes for each 16 KiB, mke2fs.conf(5)), the journal (128 MiB at most until e2fsprogs 1.43 came into use, taken as
/// 2018, up to 1 GiB since; `ext2fs_default_journal_size`) and what the kernel keeps (`ext4_calculate_resv_clusters`). The 5 % kept for
/// root count as room. Exact but for the file's own extents; checked against mke2fs 1.47 and mounted filesystems of 220 GiB.
///
/// Of XFS: all but the log (a 2048th, at least 64 MiB) and what each allocation group reserves for its trees of free inodes and, by
/// default since xfsprogs 5.1 of 2019, of shared extents; fitted to mounted filesystems of 1 GiB to 2 TiB, to 0.01 %.
pub fn filesystem_room(kind: FilesystemKind, size: Bytes, date: CatalogueDate) -> Bytes {
    match kind {
        FilesystemKind::Ext4 => ext4(size.0, date),
        FilesystemKind::Xfs => xfs(size.0, date),
    }
}

/// Bytes of inode tables that ext4 writes in the background after its first mount (`lazy_itable_init`, mke2fs(8)); none elsewhere.
pub fn inode_tables(kind: FilesystemKind, size: Bytes) -> Option<Bytes> {
    matches!(kind, FilesystemKind::Ext4).then(|| {
        let shape = Ext4Shape::of(size.0);
        Bytes(shape.groups() * shape.inode_blocks() * shape.block)
    })
}

/// What mke2fs(8) takes for a filesystem of that size (mke2fs.conf(5): `small` below 512 MiB, `big` from 4 TiB, `huge` from 16).
struct Ext4Shape {
    block: u64,
    blocks: u64,
    bytes_per_inode: u64,
}

impl Ext4Shape {
    fn of(size: u64) -> Self {
        let (block, bytes_per_inode) = match size {
            size if size < GIB / 2 => (1024, 4096),
            size if size < 4096 * GIB => (4096, 16_384),
            size if size < 16_384 * GIB => (4096, 32_768),
            _ => (4096, 65_536),
        };
        Self { block, blocks: size / block, bytes_per_inode }
    }

    /// A group has as many blocks as a block has bits.
    fn group(&self) -> u64 {
        self.block * 8
    }

    fn groups(&self) -> u64 {
        self.blocks.div_ceil(self.group()).max(1)
    }

    /// Blocks of the inode table of a group.
    fn inode_blocks(&self) -> u64 {
        const INODE: u64 = 256;
        let inodes = (self.blocks * self.block / self.bytes_per_inode).div_ceil(self.groups());
        (inodes * INODE).div_ceil(self.block)
    }

    fn copies_of_descriptors(&self) -> u64 {
        let groups = self.groups();
        let powers = |base: u64| {
            std::iter::successors(Some(base), move |power| power.checked_mul(base))
                .take_while(|power| *power < groups)
                .count() as u64
        };
        groups.min(2) + powers(3) + powers(5) + powers(7)
    }

    fn descriptors(&self) -> u64 {
        const DESCRIPTOR: u64 = 64;
        const GROWS_BY: u64 = 1024;
        let now = (self.groups() * DESCRIPTOR).div_ceil(self.block);
        let most = (self.blocks.saturating_mul(GROWS_BY)).div_ceil(self.group()) * DESCRIPTOR;
        let kept = most.div_ceil(self.block).saturating_sub(now).min(self.block / 4);
        1 + now + kept
    }

    fn journal(&self, date: CatalogueDate) -> u64 {
        const K: u64 = 1024;
        let most = if date.day().year() < 2018 { 32 * K } else { 256 * K };
        let journal = match self.blocks {
            blocks if blocks < 2 * K => 0,
            blocks if blocks < 32 * K => K,
            blocks if blocks < 256 * K => 4 * K,
            blocks if blocks < 512 * K => 8 * K,
            blocks if blocks < 4096 * K => 16 * K,
            blocks if blocks < 8192 * K => 32 * K,
            blocks if blocks < 16_384 * K => 64 * K,
            blocks if blocks < 32_768 * K => 128 * K,
            _ => 256 * K,
        };
        journal.min(most)
    }
}

fn ext4(size: u64, date: CatalogueDate) -> Bytes {
    /// Root directory, lost+found and the inode by which a filesystem grows.
    const DIRECTORIES: u64 = 7;
    const MOST_RESERVED: u64 = 4096;
    let shape = Ext4Shape::of(size);
    let groups = shape.groups() * (2 + shape.inode_blocks());
    let copies = shape.copies_of_descriptors() * shape.descriptors();
    let own = groups + copies + shape.journal(date) + DIRECTORIES + (shape.blocks / 50).min(MOST_RESERVED);
    Bytes(shape.blocks.saturating_sub(own) * shape.block)
}

fn xfs(size: u64, date: CatalogueDate) -> Bytes {
    const BLOCK: u64 = 4096;
    const LEAST_LOG: u64 = (64 << 20) / BLOCK;
    const MOST_LOG: u64 = (2 * GIB) / BLOCK;
    /// The pool from which metadata is served when nothing is left (`xfs_default_resblks`), and what groups set aside.
    const POOL: u64 = 8150;
    /// Leaves half full and their nodes, of 4040 bytes: a record of 12 bytes a block; one of 16 for each 64 inodes, 8 to a block.
    const SHARED_EXTENTS: f64 = 1.0 / 168.0 * (1.0 + 1.0 / 252.0);
    const FREE_INODES: f64 = 8.0 / 64.0 / 126.0 * (1.0 + 1.0 / 252.0);
    let blocks = size / BLOCK;
    let log = (blocks / 2048).clamp(LEAST_LOG, MOST_LOG);
    let shared = if date.day().year() < 2019 { 0.0 } else { SHARED_EXTENTS };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of blocks"
    )]
    let trees = (blocks as f64 * (shared + FREE_INODES)) as u64;
    let pool = POOL.min(blocks / 20);
    Bytes(blocks.saturating_sub(log + trees + pool) * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(kind: FilesystemKind, size: u64, date: &str) -> f64 {
        filesystem_room(kind, Bytes(size), date.parse().expect("a date")).0 as f64
    }

    #[test]
    fn the_fourth_report_filled_its_disk_to_within_a_five_thousandth() {
        let room = room(FilesystemKind::Ext4, 220 * GIB, "2017-07");
        assert!((room / 232_303_771_648.0 - 1.0).abs() < 2e-4, "{room}");
    }

    #[test]
    fn ext4_keeps_what_mke2fs_1_47_says() {
        // "Free blocks" of dumpe2fs, less the 4096 that the kernel keeps.
        for (gib, free) in [(220, 56_489_094), (100, 25_656_552), (3, 755_396), (500, 128_734_265)] {
            let expected = f64::from(free - 4096) * 4096.0;
            let room = room(FilesystemKind::Ext4, gib * GIB, "2023");
            assert!((room / expected - 1.0).abs() < 2e-6, "{gib} GiB: {room} for {expected}");
        }
        let small = room(FilesystemKind::Ext4, 300 << 20, "2023");
        assert!((small / ((277_609.0 - 4096.0) * 1024.0) - 1.0).abs() < 1e-4, "{small}");
    }

    #[test]
    fn xfs_keeps_what_a_mounted_one_says() {
        // Free blocks by statfs(2), xfsprogs 6.1.
        let measured =
            [(1, 235_783), (20, 5_181_793), (220, 57_233_360), (1000, 260_180_928), (2000, 520_370_125)];
        for (gib, free) in measured {
            let room = room(FilesystemKind::Xfs, gib * GIB, "2023") / 4096.0;
            assert!((room / f64::from(free) - 1.0).abs() < 1e-4, "{gib} GiB: {room} for {free}");
        }
    }

    #[test]
    fn inode_tables_are_a_sixty_fourth() {
        assert_eq!(inode_tables(FilesystemKind::Ext4, Bytes(220 * GIB)), Some(Bytes(220 * GIB / 64)));
        assert_eq!(inode_tables(FilesystemKind::Xfs, Bytes(220 * GIB)), None);
    }
}
