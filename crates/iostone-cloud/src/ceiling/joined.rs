//! How an array joins volumes: how many of them work at once, and how often a byte is stored.

use iostone_model::experiment::{Array, BtrfsProfile, MdLevel};

use super::accounting::RANDOM_SIZE;

/// Bytes of a chunk where nothing is said (mdadm(8), `--chunk`).
const MD_CHUNK: u64 = 512 << 10;
/// What raid5.c works by.
const PAGE: u64 = 4096;
/// A mean over more places in a stripe tells nothing more.
const MOST_PLACES: u64 = 4096;

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
    /// Whether members have parity, which a write that is less than a stripe has to bring up to date.
    pub has_parity: bool,
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
            has_parity: false,
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

    fn parity(members: f64) -> Self {
        let data = (members - 1.0).max(1.0);
        Self {
            writes: data,
            copies: members / data,
            room: data,
            has_parity: true,
            ..Self::striped(members, members)
        }
    }

    /// Bytes that go to and come from the members for each byte of random writes of a size, where parity makes them more; 4 KiB each
    /// where it is not known.
    ///
    /// What is less than a stripe reads the old data and parity, or the rest of the stripe where that is less, and writes both anew
    /// (`handle_stripe_dirtying`, drivers/md/raid5.c), a page of each member at a time. What is more has whole stripes in it, as many
    /// as its place allows: writes lie at multiples of their size, and the mean over all these places is taken.
    pub(super) fn random_writes(&self, size: Option<f64>) -> Option<f64> {
        if !self.has_parity {
            return None;
        }
        let data = (self.members - 1.0).max(1.0);
        let chunk = self.chunk.unwrap_or(MD_CHUNK).max(PAGE);
        let stripe = chunk * whole(data);
        let size = whole(size.unwrap_or(RANDOM_SIZE)).max(1);
        // Of a row through all members, so many data pages are written anew.
        let row = |pages: f64| match pages {
            pages if pages <= 0.0 => 0.0,
            pages if pages >= data => data + 1.0,
            pages => pages + 1.0 + (pages + 1.0).min(data - pages),
        };
        if size <= chunk {
            return Some(row(1.0));
        }
        let part = |bytes: u64| {
            let (pages, rest) = ((bytes / chunk) as f64, (bytes % chunk) as f64);
            rest * row(pages + 1.0) + (chunk as f64 - rest) * row(pages)
        };
        let step = greatest_common_divisor(size, stripe).max(PAGE).max(stripe / MOST_PLACES);
        let places = (stripe / step).max(1);
        let bytes = (0..places).map(|place| {
            let first = ((stripe - place * step) % stripe).min(size);
            let rest = size - first;
            part(first) + (rest / stripe) as f64 * part(stripe) + part(rest % stripe)
        });
        Some(bytes.sum::<f64>() / places as f64 / size as f64)
    }

    /// Bytes of members, as if all that read at once had done it, for each byte written.
    pub(super) fn write_weight(&self) -> f64 {
        self.reads / self.writes
    }
}

fn whole(units: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let whole = units as u64;
    whole
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_costs_what_md_reads_and_writes_for_it() {
        let of = |members: f64, size: u64| {
            Joined::parity(members).random_writes(Some(size as f64)).expect("parity")
        };
        let near =
            |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} for {expected}");
        // Two of three members: the rest of the stripe is read, one page, and data and parity are written.
        near(of(3.0, 4096), 3.0);
        near(of(4.0, 4096), 4.0);
        near(of(8.0, 512 << 10), 4.0);
        // Always whole stripes of 3 x 512 KiB.
        near(of(4.0, 1536 << 10), 4.0 / 3.0);
        near(of(4.0, 3 << 20), 4.0 / 3.0);
        // 2 MiB begin at 0, 0.5 or 1 MiB of a stripe: a whole one and a chunk twice, two chunks of two stripes once; 4 MiB each.
        near(of(4.0, 2 << 20), 2.0);
        assert!(Joined::raid0(4).random_writes(Some(4096.0)).is_none());
    }
}
