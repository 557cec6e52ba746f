//! The path of some work: the ceilings of volumes, link, processors, source and queue, each with what a byte costs there.

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{AllowanceStart, Burst, Governor, Law, Link};
use iostone_model::units::{Fraction, Span};

use super::{Accounting, Counted, Io, Joined, Lane, LaneBurst, Path};
use crate::allowance::{CREDIT_SECONDS, LawState};
use crate::prediction::{Pattern, Work};
use crate::volume::{Quantity, VolumeLimits};

/// What a path is made of. What is absent holds nothing.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// What one volume may do.
    pub volume: Option<&'a VolumeLimits>,
    /// How several are joined.
    pub joined: Joined,
    /// What all of them share.
    pub link: Option<&'a Link>,
    /// The processors.
    pub cpu: Option<Cpu<'a>>,
    /// What volumes' buckets hold at the start; full if absent.
    pub volume_start: Option<Fraction>,
    /// What the link's buckets hold at the start, where it does not say so itself; full if absent.
    pub link_start: Option<Fraction>,
    /// What CPU credits, or whatever an allowance has, are at the start, as a share of the most; as the governor says if absent.
    pub cpu_start: Option<Fraction>,
    /// The time of an I/O, and of a write where that is another; the volume's if absent.
    pub latency: Option<(Span, Option<Span>)>,
}

impl Parts<'_> {
    /// Nothing yet.
    pub fn none() -> Self {
        Self {
            volume: None,
            joined: Joined::single(),
            link: None,
            cpu: None,
            volume_start: None,
            link_start: None,
            cpu_start: None,
            latency: None,
        }
    }
}

/// Processors that work may use.
#[derive(Debug, Clone, Copy)]
pub enum Cpu<'a> {
    /// So many, all the time.
    Processors(f64),
    /// As many as an allowance gives, and at most so many.
    Governed(&'a Governor, Option<f64>),
}

const SECONDS_AN_HOUR: f64 = 3600.0;

/// The path of some work. Allocates nothing unless an allowance goes by a law that is no bucket.
///
/// I/Os of the link are counted as the volumes count them: "at 16 KiB" says how an instance's figure was measured, not what
/// an I/O is.
pub fn path(parts: &Parts, work: &Work) -> Path {
    let mut path = Path::default();
    let [size, request] = [work.io_size, work.request].map(|size| size.map(|size| size.0.max(1) as f64));
    let io = Io { size, pattern: work.pattern, request };
    let beside = 1.0 + work.overhead.map_or(0.0, |share| share.0.max(0.0));
    let joined = parts.joined;
    let accounting = parts.volume.map_or(Accounting::SSD, Accounting::of);
    let chunk = joined.chunk.filter(|_| joined.members > 1.0);
    let ios = accounting.ios_per_byte(io, chunk).map(|ios| ios * beside);
    // Bytes of volumes, and of the link, for each byte written.
    let partial = if io.pattern == Pattern::Random { joined.random_writes(io.size) } else { None };
    let copies = partial.unwrap_or(joined.copies);
    let weight = partial.unwrap_or_else(|| joined.write_weight());
    if let Some(volume) = parts.volume {
        let kind = if joined.members > 1.0 { CeilingKind::Array } else { CeilingKind::Volume };
        let bytes = accounting.bytes_per_byte(io, chunk) * beside;
        let mut add = |counted, both: Option<Quantity>, writes: Option<Quantity>, cost: f64| {
            let mut lane = |quantity: Quantity, read_cost: f64, write_cost: f64| {
                path.push(Lane {
                    kind,
                    counted,
                    base: quantity.base * joined.reads,
                    burst: quantity.burst.map(|burst| {
                        bucket(burst.rate * joined.reads, burst.capacity * joined.reads, parts.volume_start)
                    }),
                    read_cost,
                    write_cost,
                });
            };
            let write_cost = cost * weight;
            match (both, writes) {
                (Some(reads), Some(writes)) => {
                    lane(reads, cost, 0.0);
                    lane(writes, 0.0, write_cost);
                }
                (Some(both), None) => lane(both, cost, write_cost),
                (None, Some(writes)) => lane(writes, 0.0, write_cost),
                (None, None) => {}
            }
        };
        if let Some(ios) = ios {
            add(Counted::Ios, volume.iops, volume.write_iops, ios);
        }
        add(Counted::Bytes, volume.throughput, volume.write_throughput, bytes);
    }
    if let Some(link) = parts.link {
        push_link(
            &mut path,
            link,
            parts.link_start,
            [beside, beside * copies],
            ios.map(|ios| [ios, ios * copies]),
        );
    }
    if let (Some(cpu), Some(cost)) = (&parts.cpu, work.cpu_seconds_per_byte) {
        push_cpu(&mut path, cpu, cost, work.processors, parts.cpu_start);
    }
    if let Some(source) = work.source {
        let base = source.0 as f64;
        path.push(lane_of(CeilingKind::Source, Counted::Bytes, base, None, [1.0, 1.0]));
    }
    push_queue(&mut path, parts, work, io);
    path
}

fn lane_of(
    kind: CeilingKind,
    counted: Counted,
    base: f64,
    burst: Option<LaneBurst>,
    [read_cost, write_cost]: [f64; 2],
) -> Lane {
    Lane { kind, counted, base, burst, read_cost, write_cost }
}

fn bucket(rate: f64, capacity: f64, start: Option<Fraction>) -> LaneBurst {
    let share = start.map_or(1.0, |share| share.0.clamp(0.0, 1.0));
    LaneBurst { rate, capacity, level: capacity * share }
}

fn push_link(path: &mut Path, link: &Link, start: Option<Fraction>, bytes: [f64; 2], ios: Option<[f64; 2]>) {
    let start = link.burst.and_then(|burst| burst.start).or(start);
    let of = |burst: Option<Burst>, pick: fn(&Burst) -> Option<(f64, f64)>| {
        burst.as_ref().and_then(pick).map(|(rate, capacity)| bucket(rate, capacity, start))
    };
    let of_bytes = of(link.burst, |burst| Some((burst.throughput?.0 as f64, burst.credit_bytes?.0 as f64)));
    let of_ios = of(link.burst, |burst| Some((f64::from(burst.iops?), burst.credits? as f64)));
    path.push(lane_of(CeilingKind::Link, Counted::Bytes, link.throughput.0 as f64, of_bytes, bytes));
    if let (Some(iops), Some(ios)) = (link.iops, ios) {
        path.push(lane_of(CeilingKind::Link, Counted::Ios, f64::from(iops), of_ios, ios));
    }
}

/// Credits are a bucket: earned all the time, spent while work uses more, the baseline when there are none. Launch credits are
/// spent first and stand in it as well, so that it may for once hold more than can be earned.
fn push_cpu(path: &mut Path, cpu: &Cpu, cost: f64, processors: Option<f64>, start: Option<Fraction>) {
    let lane = |base: f64, burst| lane_of(CeilingKind::Cpu, Counted::CpuSeconds, base, burst, [cost, cost]);
    let (governor, limit) = match cpu {
        Cpu::Processors(count) => {
            path.push(lane(processors.map_or(*count, |most| most.min(*count)), None));
            return;
        }
        Cpu::Governed(governor, limit) => (governor, *limit),
    };
    let all = f64::from(governor.allowance.vcpus);
    let wanted = [processors, limit].into_iter().flatten().fold(all, f64::min);
    match &governor.allowance.law {
        Law::Share { share } => {
            path.push(lane((all * share.0).min(wanted), None));
        }
        Law::Credits { unlimited: true, .. } => {
            path.push(lane(wanted, None));
        }
        Law::Credits { baseline, earned_per_hour, maximum, launch, unlimited: false } => {
            let given = all * baseline.0;
            if wanted <= given {
                path.push(lane(wanted, None));
                return;
            }
            let seconds = |credits: f64| credits * CREDIT_SECONDS / governor.speed;
            let level = match (start, governor.start) {
                (Some(share), _) => (maximum + launch) * share.0.clamp(0.0, 1.0),
                (None, AllowanceStart::Launch) => *launch,
                (None, AllowanceStart::Full) => maximum + launch,
                (None, AllowanceStart::Empty) => 0.0,
            };
            let burst =
                LaneBurst { rate: wanted, capacity: seconds(maximum + launch), level: seconds(level) };
            // What is earned is the baseline, but for rounding in the provider's table.
            path.push(lane(earned_per_hour * CREDIT_SECONDS / SECONDS_AN_HOUR, Some(burst)));
        }
        Law::Bucket { slow, .. } | Law::Window { slow, .. } => {
            let state = LawState::begin(governor);
            let capacity = state.most_seconds();
            let state = match start {
                Some(share) => LawState::holding(governor, capacity * share.0.clamp(0.0, 1.0), 0.0),
                None => state,
            };
            let level = state.balance_seconds();
            let burst = Some(LaneBurst { rate: wanted, capacity, level });
            path.push_law(lane((all * slow.0).min(wanted), burst), state);
        }
    }
}

/// Little's law: so many I/Os under way, each for so long, are at most their quotient a second.
fn push_queue(path: &mut Path, parts: &Parts, work: &Work, io: Io) {
    let own = parts.volume.and_then(|volume| volume.latency).map(|latency| (latency, None));
    let (Some(depth), Some((latency, writes)), Some(size)) = (work.depth, parts.latency.or(own), io.size)
    else {
        return;
    };
    let cost = |latency: Span| latency.0.as_secs_f64() / size;
    let costs = [cost(latency), cost(writes.unwrap_or(latency))];
    if costs.iter().any(|cost| *cost > 0.0) {
        path.push(lane_of(CeilingKind::QueueDepth, Counted::IoSeconds, f64::from(depth), None, costs));
    }
}
