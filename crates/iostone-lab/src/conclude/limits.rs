//! The limits of a stack that are known from its experiment: each volume's, multiplied by what the array spreads its I/O
//! over, and that of the link over all of them.

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{
    Array, BtrfsProfile, Burst, EmulatedBy, EmulatedVolume, MdLevel, Stack, Volume,
};
use iostone_model::metric::Unit;
use iostone_model::units::ByteRate;

/// Which way bytes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Read,
    Write,
    /// Reads and writes counted together.
    Both,
}

/// A known limit on what a workload can move in a second.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    /// What limits, with its own figure: "the link of 62.5MB/s", "2 volumes of 40MB/s each".
    pub(super) name: String,
    /// Whether the name is one of several things.
    pub(super) several: bool,
    /// Bytes, or I/Os, a second of the workload that it lets through.
    pub(super) rate: f64,
    /// What it limits by itself: bytes, or I/Os.
    pub(super) unit: Unit,
    /// Whether it holds only while credits last.
    pub(super) is_burst: bool,
    /// What it is one of.
    pub(super) kind: CeilingKind,
    /// Of a burst, what its bucket holds when the trial begins, in what the workload moves; none where nothing is said of it.
    pub(super) capacity: Option<f64>,
}

/// How many volumes' worth of a workload's bytes an array moves at once, at most, and how often each byte is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    reads: f64,
    writes: f64,
    /// Bytes that go to the volumes for each byte written: mirrors and parity.
    copies: f64,
}

impl Spread {
    /// The limit of throughput that follows from md(4), mkfs.btrfs(8) and lvmraid(7): stripes read and write on all
    /// members, mirrors read on all and write each byte to two (or, md's RAID1, to all), RAID5 has one member's worth of
    /// parity in whole stripes.
    fn of(stack: &Stack) -> Self {
        let members = stack.volume.members().max(1) as f64;
        let striped = |width: f64| Self { reads: width, writes: width, copies: 1.0 };
        let halves = Self { reads: members, writes: members / 2.0, copies: 2.0 };
        match &stack.array {
            Array::None => striped(1.0),
            Array::Md(md) => match md.level {
                MdLevel::Raid0 => striped(members),
                MdLevel::Raid1 => Self { reads: members, writes: 1.0, copies: members },
                MdLevel::Raid10 => halves,
                MdLevel::Raid5 => {
                    let data = (members - 1.0).max(1.0);
                    Self { reads: members, writes: data, copies: members / data }
                }
            },
            Array::Btrfs(btrfs) => match btrfs.level {
                BtrfsProfile::Single | BtrfsProfile::Raid0 => striped(members),
                BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => halves,
            },
            Array::Lvm(lvm) => {
                striped(lvm.stripes.map_or(members, |stripes| f64::from(stripes).min(members)))
            }
        }
    }

    fn width(self, flow: Flow) -> f64 {
        match flow {
            Flow::Read => self.reads,
            Flow::Write => self.writes,
            Flow::Both => self.reads.max(self.writes),
        }
    }
}

/// Bytes that go to the volumes for each byte that a workload moves.
pub(super) fn copies(stack: &Stack, flow: Flow) -> f64 {
    match flow {
        Flow::Read => 1.0,
        Flow::Write | Flow::Both => Spread::of(stack).copies,
    }
}

/// The limits on a workload's bytes a second, the tightest first; none where nothing is known.
pub(super) fn of_throughput(stack: &Stack, flow: Flow) -> Vec<Limit> {
    let Some(volume) = emulated(stack, flow) else { return Vec::new() };
    let spread = Spread::of(stack);
    let width = spread.width(flow);
    let of_volumes = |rate: ByteRate, is_burst: bool| Limit {
        name: name_volumes(volume, width, &rate.to_string(), is_burst),
        several: width > 1.0,
        rate: rate.0 as f64 * width,
        unit: Unit::BytesPerSecond,
        is_burst,
        kind: kind_of(width),
        capacity: filled(volume.burst.as_ref(), |burst| burst.credit_bytes.map(|bytes| bytes.0), width)
            .filter(|_| is_burst),
    };
    let burst = volume.burst.as_ref().and_then(|burst| burst.throughput);
    let link = stack.link.map(|link| Limit {
        name: format!("the link of {link}"),
        several: false,
        rate: link.throughput.0 as f64 / copies(stack, flow),
        unit: Unit::BytesPerSecond,
        is_burst: false,
        kind: CeilingKind::Link,
        capacity: None,
    });
    let link_burst = stack.link.and_then(|link| Some((link, link.burst?))).and_then(|(link, burst)| {
        let copies = copies(stack, flow);
        Some(Limit {
            name: format!("the burst to {} of the link of {link}", burst.throughput?),
            several: false,
            rate: burst.throughput?.0 as f64 / copies,
            unit: Unit::BytesPerSecond,
            is_burst: true,
            kind: CeilingKind::Link,
            capacity: filled(Some(&burst), |burst| burst.credit_bytes.map(|bytes| bytes.0), copies.recip()),
        })
    });
    let own = volume.throughput.map(|rate| of_volumes(rate, false));
    let of_volume = own.into_iter().chain(burst.map(|rate| of_volumes(rate, true)));
    sorted(of_volume.chain(link).chain(link_burst))
}

/// One volume, or several joined.
fn kind_of(width: f64) -> CeilingKind {
    if width > 1.0 { CeilingKind::Array } else { CeilingKind::Volume }
}

/// What a bucket holds when a trial begins, on every volume's worth of bytes; full where nothing is said.
fn filled(burst: Option<&Burst>, credits: impl Fn(&Burst) -> Option<u64>, width: f64) -> Option<f64> {
    let burst = burst?;
    Some(credits(burst)? as f64 * burst.start.map_or(1.0, |start| start.0) * width)
}

/// I/Os of a workload, all of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FixedIo {
    pub(super) bytes: u64,
    /// Whether they follow each other.
    pub(super) sequential: bool,
    /// What a request to the device held on average; none where no device told.
    pub(super) request_bytes: Option<f64>,
}

/// Whether a volume, or the link, has a limit of I/Os a second.
pub(super) fn limits_ios(stack: &Stack) -> bool {
    let Volume::Emulated(volume) = &stack.volume else { return false };
    volume.iops.is_some() || stack.link.is_some_and(|link| link.iops.is_some())
}

/// The limits on I/Os a second, the tightest first, for I/Os of that many bytes.
///
/// None where what counts as an I/O is not known: the kernel splits what is larger than a queue takes at once
/// (`max_sectors_kb`, Documentation/ABI/stable/sysfs-block), and how it did is told by the device's own counters alone.
pub(super) fn of_ios(stack: &Stack, flow: Flow, io: FixedIo) -> Vec<Limit> {
    let Some(volume) = emulated(stack, flow) else { return Vec::new() };
    let Some(cost) = cost(volume, io) else { return Vec::new() };
    let width = Spread::of(stack).width(flow);
    let limit = |iops: u32, is_burst: bool| Limit {
        name: name_volumes(volume, width, &format!("{iops} IOPS"), is_burst),
        several: width > 1.0,
        rate: f64::from(iops) * width / cost.max(f64::MIN_POSITIVE),
        unit: Unit::PerSecond,
        is_burst,
        kind: kind_of(width),
        capacity: filled(volume.burst.as_ref(), |burst| burst.credits, width / cost.max(f64::MIN_POSITIVE))
            .filter(|_| is_burst),
    };
    let burst = volume.burst.as_ref().and_then(|burst| burst.iops);
    let own =
        volume.iops.map(|iops| limit(iops, false)).into_iter().chain(burst.map(|iops| limit(iops, true)));
    // The link counts what its volumes count, and each copy of a byte by itself.
    let passed = cost.max(f64::MIN_POSITIVE) * copies(stack, flow);
    let over_link = |iops: u32, burst: Option<&Burst>| Limit {
        name: format!("{}{iops} IOPS of the link", if burst.is_some() { "the burst to " } else { "" }),
        several: false,
        rate: f64::from(iops) / passed,
        unit: Unit::PerSecond,
        is_burst: burst.is_some(),
        kind: CeilingKind::Link,
        capacity: filled(burst, |burst| burst.credits, passed.recip()),
    };
    let link = stack.link.and_then(|link| Some(over_link(link.iops?, None)));
    let link_burst = stack.link.and_then(|link| link.burst);
    let link_burst = link_burst.as_ref().and_then(|burst| Some(over_link(burst.iops?, Some(burst))));
    sorted(own.chain(link).chain(link_burst))
}

/// What an I/O of the workload counts as on the volume; none where that is not known.
pub(super) fn cost(volume: &EmulatedVolume, io: FixedIo) -> Option<f64> {
    const NEVER_SPLIT: u64 = 64 << 10;
    let FixedIo { bytes, sequential, request_bytes } = io;
    match (volume.io_size, request_bytes) {
        (Some(size), _) if volume.merge && sequential => Some(bytes as f64 / size.0.max(1) as f64),
        (Some(size), _) => Some(bytes.div_ceil(size.0.max(1)).max(1) as f64),
        (None, _) if bytes <= NEVER_SPLIT => Some(1.0),
        // Some metadata among the requests makes their average smaller, and no part of an I/O.
        (None, Some(request)) => Some((bytes as f64 / request).round().max(1.0)),
        (None, None) => None,
    }
}

/// The emulated volume, where reads and writes together have a limit or only one of them is asked for: control groups
/// limit each apart and have none for the sum.
fn emulated(stack: &Stack, flow: Flow) -> Option<&EmulatedVolume> {
    match &stack.volume {
        Volume::Emulated(volume) => {
            (flow != Flow::Both || volume.effective_by(stack.link) == EmulatedBy::Server).then_some(volume)
        }
        Volume::Loop(_) | Volume::Block(_) | Volume::Directory(_) => None,
    }
}

fn sorted(limits: impl Iterator<Item = Limit>) -> Vec<Limit> {
    let mut limits: Vec<Limit> = limits.collect();
    limits.sort_by(|left, right| left.rate.total_cmp(&right.rate));
    limits
}

/// "40MB/s of the volume", "40MB/s of each of 2 volumes", "the burst to 80MB/s of the volume".
fn name_volumes(volume: &EmulatedVolume, width: f64, figure: &str, is_burst: bool) -> String {
    let burst = if is_burst { "the burst to " } else { "" };
    let whose = match volume.count {
        0 | 1 => "the volume".to_owned(),
        count if width > 1.0 => format!("each of {count} volumes"),
        _ => "a volume".to_owned(),
    };
    format!("{burst}{figure} of {whose}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::experiment::{BtrfsArray, Link, LvmArray, MdArray};
    use iostone_model::units::Bytes;

    fn stack(count: u32, array: Array, link: Option<u64>) -> Stack {
        let mut volume = EmulatedVolume::new(Bytes(1 << 30));
        volume.count = count;
        volume.throughput = Some(ByteRate(40_000_000));
        volume.iops = Some(1000);
        let mut stack = Stack::of(Volume::Emulated(volume));
        stack.array = array;
        stack.link = link.map(|rate| Link::of(ByteRate(rate)));
        stack
    }

    fn md(level: MdLevel) -> Array {
        Array::Md(MdArray { level, chunk: None, metadata: None })
    }

    /// With its rate in words.
    fn tightest(stack: &Stack, flow: Flow) -> (String, String) {
        let limit = of_throughput(stack, flow).remove(0);
        (limit.name, format!("{:.2}MB/s", limit.rate / 1e6))
    }

    #[test]
    fn one_volume_binds_before_the_link_and_two_after_it() {
        let link = Some(62_500_000);
        let one = stack(1, md(MdLevel::Raid0), link);
        assert_eq!(tightest(&one, Flow::Read), ("40MB/s of the volume".to_owned(), "40.00MB/s".to_owned()));
        for count in [2, 4] {
            let several = stack(count, md(MdLevel::Raid0), link);
            assert_eq!(
                tightest(&several, Flow::Read),
                ("the link of 62.5MB/s".to_owned(), "62.50MB/s".to_owned())
            );
        }
        let free = stack(4, md(MdLevel::Raid0), None);
        assert_eq!(
            tightest(&free, Flow::Write),
            ("40MB/s of each of 4 volumes".to_owned(), "160.00MB/s".to_owned())
        );
    }

    #[test]
    fn mirrors_write_every_byte_more_than_once() {
        let link = Some(62_500_000);
        assert_eq!(tightest(&stack(2, md(MdLevel::Raid1), link), Flow::Write).1, "31.25MB/s");
        assert_eq!(tightest(&stack(2, md(MdLevel::Raid1), None), Flow::Write).1, "40.00MB/s");
        assert_eq!(tightest(&stack(4, md(MdLevel::Raid10), None), Flow::Write).1, "80.00MB/s");
        assert_eq!(tightest(&stack(4, md(MdLevel::Raid5), None), Flow::Write).1, "120.00MB/s");
        let btrfs = |level| Array::Btrfs(BtrfsArray { level, metadata: None });
        assert_eq!(tightest(&stack(2, btrfs(BtrfsProfile::Raid1), None), Flow::Write).1, "40.00MB/s");
        let stripes = Array::Lvm(LvmArray { stripes: Some(2), stripe_size: None });
        assert_eq!(tightest(&stack(4, stripes, None), Flow::Read).1, "80.00MB/s");
    }

    #[test]
    fn a_large_io_counts_as_several_and_small_ones_merge() {
        let mut stack = stack(1, Array::None, None);
        let rate = |stack: &Stack, bytes, sequential| {
            let io = FixedIo { bytes, sequential, request_bytes: None };
            of_ios(stack, Flow::Read, io).first().map(|limit| limit.rate)
        };
        assert_eq!(rate(&stack, 4096, false), Some(1000.0));
        assert_eq!(rate(&stack, 1 << 20, false), None);
        let split = FixedIo { bytes: 1 << 20, sequential: false, request_bytes: Some(510e3) };
        assert_eq!(of_ios(&stack, Flow::Read, split).first().map(|limit| limit.rate), Some(500.0));
        let Volume::Emulated(volume) = &mut stack.volume else { panic!("an emulated volume") };
        volume.io_size = Some(Bytes(16 << 10));
        volume.merge = true;
        assert_eq!(rate(&stack, 64 << 10, false), Some(250.0));
        assert_eq!(rate(&stack, 4 << 10, true), Some(4000.0));
        let Volume::Emulated(volume) = &mut stack.volume else { panic!("an emulated volume") };
        volume.burst = Some(Burst {
            iops: Some(3000),
            credits: Some(1),
            throughput: None,
            credit_bytes: None,
            start: None,
        });
        let small = FixedIo { bytes: 4096, sequential: false, request_bytes: None };
        let names: Vec<String> =
            of_ios(&stack, Flow::Read, small).into_iter().map(|limit| limit.name).collect();
        assert_eq!(names, ["1000 IOPS of the volume", "the burst to 3000 IOPS of the volume"]);
    }

    #[test]
    fn reads_and_writes_together_have_a_limit_only_where_a_server_counts_them() {
        let mut stack = stack(1, Array::None, None);
        assert_eq!(of_throughput(&stack, Flow::Both), Vec::new());
        let Volume::Emulated(volume) = &mut stack.volume else { panic!("an emulated volume") };
        volume.by = Some(EmulatedBy::Server);
        assert_eq!(tightest(&stack, Flow::Both).1, "40.00MB/s");
    }
}
