//! Properties of the fluid: nothing is lost, nothing is negative, more is never slower, and the worked examples hold.

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{Array, Burst, Link, MdArray, MdLevel};
use iostone_model::units::{ByteRate, Bytes, Fraction, Span};
use proptest::prelude::*;

use super::*;
use crate::prediction::{Pattern, Work};
use crate::{Quantity, QuantityBurst, VolumeLimits, catalogue};

const MIB: f64 = 1_048_576.0;
/// Beyond what rounding does to sums of a few hundred terms.
const ROUNDING: f64 = 1e-7;

/// A lane whose bucket begins at a share of its capacity.
fn lane() -> impl Strategy<Value = Lane> {
    let kinds = prop::sample::select(vec![
        (CeilingKind::Volume, Counted::Ios),
        (CeilingKind::Volume, Counted::Bytes),
        (CeilingKind::Link, Counted::Bytes),
        (CeilingKind::Cpu, Counted::CpuSeconds),
    ]);
    let burst = prop::option::of((1.0f64..20.0, 0.0f64..1e5, 0.0f64..=1.0));
    let cost = prop_oneof![1 => Just(0.0), 4 => 1e-6f64..10.0];
    (kinds, 1.0f64..1e4, burst, cost, 1e-6f64..10.0).prop_map(
        |((kind, counted), base, burst, read_cost, write_cost)| Lane {
            kind,
            counted,
            base,
            burst: burst.map(|(times, capacity, share)| LaneBurst {
                rate: base * times,
                capacity,
                level: capacity * share,
            }),
            read_cost,
            write_cost,
        },
    )
}

fn path_of(lanes: &[Lane]) -> Path {
    let mut path = Path::default();
    for lane in lanes {
        assert!(path.push(*lane));
    }
    path
}

fn load() -> impl Strategy<Value = Load> {
    let part = || (0.0f64..1e7, 0.05f64..=1.0).prop_map(|(bytes, written)| LoadPart { bytes, written });
    let until = prop_oneof![3 => Just(f64::INFINITY), 1 => 1.0f64..1e5];
    ([part(), part()], until).prop_map(|(parts, until)| Load { parts, until })
}

fn close(one: f64, other: f64, scale: f64) -> bool {
    (one - other).abs() <= ROUNDING * scale.abs().max(1.0)
}

proptest! {
    #[test]
    fn nothing_is_lost_and_no_bucket_is_beyond_its_ends(
        lanes in prop::collection::vec(lane(), 1..6),
        load in load(),
    ) {
        let path = path_of(&lanes);
        let mut steps: Vec<Stretch> = Vec::new();
        let outcome = simulate_with(&path, &load, |step| steps.push(*step));
        prop_assert!(outcome.seconds <= load.until * (1.0 + ROUNDING));
        // Phases follow each other and add up.
        let moved: f64 = steps.iter().map(|step| step.rate * (step.to - step.from)).sum();
        prop_assert!(close(moved, outcome.bytes, outcome.bytes), "{moved} {}", outcome.bytes);
        for pair in steps.windows(2) {
            prop_assert!(close(pair[0].to, pair[1].from, pair[0].to));
            prop_assert!(pair[0].levels_to.iter().zip(pair[1].levels_from).all(|(end, begin)| end.total_cmp(&begin).is_eq()));
        }
        let bound: f64 = outcome.bound_seconds.iter().sum();
        prop_assert!(close(bound, outcome.seconds, outcome.seconds));
        if load.until.is_infinite() {
            prop_assert!(close(outcome.bytes, load.bytes(), load.bytes()));
        }
        for (index, lane) in path.iter().enumerate() {
            // What was used came from the base or out of the bucket; what a full bucket had no room for is lost.
            if let Some(burst) = lane.burst {
                let used = outcome.written_bytes * lane.write_cost
                    + (outcome.bytes - outcome.written_bytes) * lane.read_cost;
                let earned = lane.base * outcome.seconds;
                let left = burst.level + earned - used - outcome.spilled[index];
                prop_assert!(close(left, outcome.levels[index], earned + used + burst.capacity), "{left} {:?}", outcome);
            }
            for step in &steps {
                let cost = lane.cost(step.written);
                let (from, capacity) = (step.levels_from[index], lane.burst.map_or(0.0, |burst| burst.capacity));
                prop_assert!((0.0..=capacity).contains(&from), "{from} of {capacity}");
                prop_assert!((0.0..=capacity).contains(&step.levels_to[index]));
                // Nobody passes more than it may, and what binds passes just that.
                let most = lane.burst.filter(|_| from > 0.0).map_or(lane.base, |burst| burst.rate.max(lane.base));
                prop_assert!(step.rate * cost <= most * (1.0 + ROUNDING), "{step:?}");
                if step.binds == index {
                    prop_assert!(step.rate * cost >= most * (1.0 - ROUNDING), "{step:?}");
                }
            }
        }
    }

    #[test]
    fn more_of_anything_is_never_slower(
        lanes in prop::collection::vec(lane(), 1..6),
        load in load(),
        which in any::<prop::sample::Index>(),
        times in 1.0f64..4.0,
        what in 0..4,
    ) {
        let mut more = lanes.clone();
        let lane = &mut more[which.index(lanes.len())];
        match (what, &mut lane.burst) {
            (0, Some(burst)) => burst.capacity *= times,
            (1, Some(burst)) => burst.rate *= times,
            (2, Some(burst)) => burst.level = (burst.level * times).min(burst.capacity),
            _ => lane.base *= times,
        }
        let (own, wider) = (simulate(&path_of(&lanes), &load), simulate(&path_of(&more), &load));
        if load.until.is_infinite() {
            prop_assert!(wider.seconds <= own.seconds * (1.0 + ROUNDING), "{} {}", wider.seconds, own.seconds);
        } else {
            prop_assert!(wider.bytes >= own.bytes * (1.0 - ROUNDING), "{} {}", wider.bytes, own.bytes);
        }
    }

    #[test]
    fn an_emulation_is_the_same_in_less_time(
        lanes in prop::collection::vec(lane(), 1..6),
        load in load(),
        speed in 1.0f64..500.0,
    ) {
        // Processors have the speed of their governor, which is not part of this.
        let lanes: Vec<Lane> =
            lanes.into_iter().map(|lane| Lane { kind: CeilingKind::Volume, ..lane }).collect();
        let fast = Load {
            parts: load.parts.map(|part| LoadPart { bytes: part.bytes / speed, ..part }),
            until: load.until / speed,
        };
        let (own, fast) = (simulate(&path_of(&lanes), &load), simulate(&path_of(&lanes).faster(speed), &fast));
        prop_assert!(close(own.seconds, fast.seconds * speed, own.seconds));
        prop_assert!(close(own.bytes, fast.bytes * speed, own.bytes));
    }

    #[test]
    fn a_larger_volume_more_volumes_a_wider_link_and_a_deeper_queue_are_never_slower(
        gib in 1u32..8000,
        more_gib in 0u32..8000,
        count in 1u32..8,
        mbps in 100u64..10_000,
        depth in 1u32..64,
        size in prop::sample::select(vec![4096u64, 16_384, 65_536, 262_144, 1 << 20]),
        random in any::<bool>(),
    ) {
        let catalogue = catalogue();
        let limits = |gib: u32| {
            let spec = format!("gp2:{gib}GiB").parse().expect("a volume");
            catalogue.volumes().limits(&spec, "2019".parse().expect("a date")).expect("limits")
        };
        let seconds = |gib: u32, count: u32, mbps: u64, depth: u32| {
            let (limits, link) = (limits(gib), Link::of(ByteRate(mbps * 125_000)));
            let parts = Parts {
                volume: Some(&limits),
                joined: Joined::raid0(count),
                link: Some(&link),
                latency: Some((Span(std::time::Duration::from_millis(1)), None)),
                ..Parts::none()
            };
            let work = Work {
                io_size: Some(Bytes(size)),
                pattern: if random { Pattern::Random } else { Pattern::Sequential },
                depth: Some(depth),
                ..Work::sequential(Bytes(1 << 36), Bytes(1 << 36))
            };
            simulate(&path(&parts, &work), &Load::of(&work)).seconds
        };
        let own = seconds(gib, count, mbps, depth) * (1.0 + ROUNDING);
        prop_assert!(seconds(gib + more_gib, count, mbps, depth) <= own);
        prop_assert!(seconds(gib, count + 1, mbps, depth) <= own);
        prop_assert!(seconds(gib, count, mbps * 2, depth) <= own);
        prop_assert!(seconds(gib, count, mbps, depth + 1) <= own);
    }
}

fn volume(base: f64, burst: Option<(f64, f64)>) -> VolumeLimits {
    let spec = "gp2:100GiB".parse().expect("a volume");
    let date = "2019".parse().expect("a date");
    let limits = catalogue().volumes().limits(&spec, date).expect("limits");
    let burst = burst.map(|(rate, capacity)| QuantityBurst { rate, capacity });
    VolumeLimits { iops: None, throughput: Some(Quantity { base, burst }), ..limits }
}

#[test]
fn an_st1_volume_of_2_tib_is_scanned_once_within_its_credits() {
    // EBS User Guide, throughput optimized HDD: 2 TiB burst to 500 MiB/s, 80 in the long run, a bucket of 2 TiB.
    let spec = "st1:2TiB".parse().expect("a volume");
    let limits = catalogue().volumes().limits(&spec, "2021".parse().expect("a date")).expect("limits");
    let parts = Parts { volume: Some(&limits), ..Parts::none() };
    let work = Work::sequential(Bytes(2 << 40), Bytes(0));
    let outcome = simulate(&path(&parts, &work), &Load::of(&work));
    // "The full volume scan time is 1.17 hours".
    assert!((outcome.seconds / 3600.0 - 1.165).abs() < 0.01, "{}", outcome.seconds);
    // A scan twice as long drains what is left: 2 TiB / (500 - 80) MiB/s of burst, the rest at 80.
    let twice = Work::sequential(Bytes(4 << 40), Bytes(0));
    let outcome = simulate(&path(&parts, &twice), &Load::of(&twice));
    let (all, bucket) = (4.0 * MIB, 2.0 * MIB);
    let burst = bucket / 420.0;
    let expected = burst + (all - burst * 500.0) / 80.0;
    assert!((outcome.seconds / expected - 1.0).abs() < 1e-9, "{} for {expected}", outcome.seconds);
    // A small random read costs a whole MiB.
    let random = Work::sequential(Bytes(1 << 30), Bytes(0)).at_random(Bytes(4096), None);
    let path = path(&parts, &random);
    let lane = path.iter().find(|lane| lane.counted == Counted::Bytes).expect("bytes");
    assert!((lane.read_cost - 256.0).abs() < 1e-9, "{lane:?}");
}

#[test]
fn mirrors_and_parity_send_more_than_was_written() {
    let limits = volume(40e6, None);
    let link = Link::of(ByteRate(62_500_000));
    let rate = |level: MdLevel, members: u32, with_link: bool, written: f64, random: bool| {
        let array = Array::Md(MdArray { level, chunk: None, metadata: None });
        let parts = Parts {
            volume: Some(&limits),
            joined: Joined::of(&array, members),
            link: with_link.then_some(&link),
            ..Parts::none()
        };
        let work = Work::timed(Span(std::time::Duration::from_secs(10)), Fraction(written));
        let work = if random { work.at_random(Bytes(4096), None) } else { work };
        simulate(&path(&parts, &work), &Load::of(&work)).bytes / 10.0 / 1e6
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value} for {expected}");
    near(rate(MdLevel::Raid1, 2, true, 1.0, false), 31.25);
    near(rate(MdLevel::Raid1, 2, false, 1.0, false), 40.0);
    near(rate(MdLevel::Raid1, 2, false, 0.0, false), 80.0);
    near(rate(MdLevel::Raid10, 4, false, 1.0, false), 80.0);
    near(rate(MdLevel::Raid5, 4, false, 1.0, false), 120.0);
    // Old data and parity are read, and both are written: four I/Os for one.
    near(rate(MdLevel::Raid5, 4, false, 1.0, true), 40.0);
    near(rate(MdLevel::Raid0, 4, true, 0.5, false), 62.5);
}

#[test]
fn a_link_counts_ios_as_volumes_do_and_starts_as_it_says() {
    let burst = Burst {
        throughput: Some(ByteRate(200_000_000)),
        credit_bytes: Some(Bytes(1_000_000_000)),
        iops: Some(2000),
        credits: Some(10_000),
        start: Some(Fraction(0.5)),
    };
    let link = Link { throughput: ByteRate(100_000_000), iops: Some(1000), burst: Some(burst) };
    let parts = Parts { link: Some(&link), ..Parts::none() };
    let small = Work::sequential(Bytes(1 << 40), Bytes(0)).at_random(Bytes(4096), None);
    let path_of_small = path(&parts, &small);
    let mut ends = Vec::new();
    simulate_with(&path_of_small, &Load { until: 10.0, ..Load::of(&small) }, |step| {
        ends.push((step.to, step.rate / 4096.0));
    });
    // Half of 10,000 credits at a net 1,000 a second.
    assert!((ends[0].0 - 5.0).abs() < 1e-9 && (ends[0].1 - 2000.0).abs() < 1e-6, "{ends:?}");
    assert!((ends.last().expect("a phase").1 - 1000.0).abs() < 1e-6, "{ends:?}");
    // 64 KiB each are still one: 1,000 of them a second are less than 100 MB/s.
    let large = Work::sequential(Bytes(1 << 40), Bytes(0)).at_random(Bytes(65_536), None);
    let empty = Link { burst: None, ..link };
    let outcome = simulate(
        &path(&Parts { link: Some(&empty), ..Parts::none() }, &large),
        &Load { until: 1.0, ..Load::of(&large) },
    );
    assert!((outcome.bytes - 65_536_000.0).abs() < 1.0, "{}", outcome.bytes);
}

#[test]
fn reads_and_writes_apart_do_not_hold_each_other() {
    let apart = VolumeLimits { write_throughput: Some(Quantity::of(20e6)), ..volume(40e6, None) };
    let parts = Parts { volume: Some(&apart), ..Parts::none() };
    let seconds = |work: &Work| simulate(&path(&parts, work), &Load::of(work)).seconds;
    let both = Work::sequential(Bytes(40_000_000), Bytes(40_000_000));
    assert!((seconds(&both) - 2.0).abs() < 1e-9);
    let first = Work { order: crate::Order::ReadFirst, ..both };
    assert!((seconds(&first) - 3.0).abs() < 1e-9);
}
