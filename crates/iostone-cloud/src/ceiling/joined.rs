//! How an array joins volumes: how many of them work at once, and how often a byte is stored.

use iostone_model::experiment::{Array, BtrfsProfile, MdLevel};

/// What an array makes of its members, at most.
///
/// From md(4), mkfs.btrfs(8) and lvmraid(7): stripes read and write on all members, mirrors read on all and write each byte to
/// two (or, md's RAID1, to all), RAID5 has one member's worth of parity in whole stripes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joined {
    /// Members.
    pub members: f64,
    /// Members' worth of bytes that reads move at once.
    pub reads: f64,
    /// Members' worth of bytes that writes move at once.
    pub writes: f64,
    /// Bytes that go to the members for each byte written: mirrors and parity.
    pub copies: f64,
    /// Members' worth of data that fit.
    pub room: f64,
    /// I/Os of members for each random write that is less than a stripe, where parity has to be brought up to date.
    pub partial_writes: Option<f64>,
    /// Bytes on one member before the next follows, where it is known; a larger I/O is cut there.
    pub chunk: Option<u64>,
}

impl Joined {
    /// One volume.
    pub fn single() -> Self {
        Self::striped(1.0, 1.0)
    }

    /// RAID0 over so many.
    pub fn raid0(members: u32) -> Self {
        let members = f64::from(members.max(1));
        Self::striped(members, members)
    }

    fn striped(members: f64, width: f64) -> Self {
        Self {
            members,
            reads: width,
            writes: width,
            copies: 1.0,
            room: members,
            partial_writes: None,
            chunk: None,
        }
    }

    fn halves(members: f64) -> Self {
        let half = members / 2.0;
        Self { writes: half, copies: 2.0, room: half, ..Self::striped(members, members) }
    }

    /// The array over so many volumes; several volumes without one are taken for RAID0.
    pub fn of(array: &Array, members: u32) -> Self {
        let count = f64::from(members.max(1));
        let joined = match array {
            Array::None => Self::raid0(members),
            Array::Md(md) => match md.level {
                MdLevel::Raid0 => Self::raid0(members),
                MdLevel::Raid1 => {
                    Self { writes: 1.0, copies: count, room: 1.0, ..Self::striped(count, count) }
                }
                MdLevel::Raid10 => Self::halves(count),
                MdLevel::Raid5 => Self::parity(count),
            },
            Array::Btrfs(btrfs) => match btrfs.level {
                BtrfsProfile::Single | BtrfsProfile::Raid0 => Self::raid0(members),
                BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => Self::halves(count),
            },
            Array::Lvm(lvm) => {
                Self::striped(count, lvm.stripes.map_or(count, |stripes| f64::from(stripes).min(count)))
            }
        };
        let chunk = match array {
            Array::Md(md) if md.level != MdLevel::Raid1 => md.chunk,
            Array::Lvm(lvm) => lvm.stripe_size,
            _ => None,
        };
        Self { chunk: chunk.map(|chunk| chunk.0), ..joined }
    }

    /// A write that is less than a stripe reads the old data and parity, or the rest of the stripe where that is less, and
    /// writes both anew (`handle_stripe_dirtying`, drivers/md/raid5.c).
    fn parity(members: f64) -> Self {
        let data = (members - 1.0).max(1.0);
        Self {
            writes: data,
            copies: members / data,
            room: data,
            partial_writes: Some(2.0 + (members - 2.0).clamp(0.0, 2.0)),
            ..Self::striped(members, members)
        }
    }

    /// Bytes of members, as if all that read at once had done it, for each byte written.
    pub(super) fn write_weight(&self) -> f64 {
        self.reads / self.writes
    }
}
