//! What is true of every job.

use super::*;
use crate::job::Walk;
use iostone_model::load::{BlockSplit, Extent, PerDirection, Zone};
use proptest::prelude::*;

fn any_size() -> impl Strategy<Value = BlockSizes> {
    let unit = prop::sample::select(vec![512u64, 1000, 4096]);
    prop_oneof![
        unit.clone().prop_map(|bytes| BlockSizes::Fixed(Bytes(bytes))),
        (unit.clone(), 1u64..9).prop_map(|(min, times)| range(min, min * times)),
        (unit, 1u64..9, 1u32..100).prop_map(|(min, times, percent)| {
            let shares = vec![(Bytes(min * times), percent), (Bytes(min), 100 - percent)];
            BlockSizes::Split(BlockSplit::new(shares).unwrap())
        }),
    ]
}

fn any_distribution() -> impl Strategy<Value = RandomDistribution> {
    let zone = |access_percent, percent| Zone { access_percent, extent: Extent::Percent(percent) };
    prop_oneof![
        3 => Just(RandomDistribution::Random),
        1 => Just(RandomDistribution::Zipf { theta: 1.2, center: None }),
        1 => Just(RandomDistribution::Pareto { h: 0.2, center: Some(0.9) }),
        1 => Just(RandomDistribution::Normal { deviation_percent: 20.0, center: None }),
        1 => Just(RandomDistribution::Zoned(vec![zone(90.0, 10.0), zone(10.0, 90.0)])),
    ]
}

fn any_walk() -> impl Strategy<Value = Walk> {
    let strides = (1u64..20, 1u64..40, 0u64..40).prop_map(|(range, io, skip)| Strides {
        range: Bytes(range * 40_000),
        io: Bytes(io * 4096),
        skip: Bytes(skip * 4096),
    });
    let order = (1u32..5, any::<bool>(), -40_000i64..40_000, prop::sample::select(vec![0, 50, 100]));
    let align = prop::option::of(prop::sample::select(vec![512, 4096, 10_000]));
    (order, any_distribution(), any::<bool>(), align, prop::option::of(strides)).prop_map(
        |((run_length, repeat_place, skip_bytes, percent), distribution, revisits, align, strides)| Walk {
            run_length,
            repeat_place,
            skip_bytes,
            percentage_random: PerDirection::all(percent),
            distribution,
            revisits,
            align: align.map(Bytes),
            strides,
            start: Bytes(0),
        },
    )
}

fn any_job() -> impl Strategy<Value = Job> {
    let rw = prop::sample::select(vec![
        Rw::Read,
        Rw::Trim,
        Rw::RandWrite,
        Rw::RandTrim,
        Rw::ReadWrite,
        Rw::RandRw,
        Rw::TrimWrite,
        Rw::RandTrimWrite,
    ]);
    let order = prop_oneof![
        Just(ServiceOrder::RoundRobin),
        Just(ServiceOrder::Sequential),
        any_distribution().prop_map(ServiceOrder::Random),
    ];
    let sizes = (any_size(), any_size(), any_size());
    let sizes = sizes.prop_map(|(read, write, trim)| PerDirection { read, write, trim });
    (rw, sizes, any_walk(), order, 1u32..4, 0u32..=100, any::<bool>()).prop_map(
        |(rw, bs, walk, order, every, rwmixread, timed)| {
            job(rw, |job| {
                job.bs = bs;
                job.walk = walk;
                job.service = Service { order, every };
                job.rwmixread = rwmixread;
                job.runtime = timed.then(|| "1s".parse().ok()).flatten();
            })
        },
    )
}

fn any_parts() -> impl Strategy<Value = Vec<Part>> {
    let part = (0u64..100, 65_536u64..1_000_000);
    let part = part.prop_map(|(block, length_bytes)| Part { offset_bytes: block * 4096, length_bytes });
    prop::collection::vec(part, 1..4)
}

/// The sizes that `direction` may have: those of the discards for the writes that follow them.
fn sizes(job: &Job, direction: Direction) -> &BlockSizes {
    let pairs = matches!(job.rw, Rw::TrimWrite | Rw::RandTrimWrite);
    job.bs.of(if pairs { Direction::Trim } else { direction })
}

/// Whether a size can be drawn. Blocks that are cut short are still multiples of the smallest.
fn is_possible(size: &BlockSizes, bytes: u64) -> bool {
    match size {
        BlockSizes::Fixed(only) => bytes == only.0,
        _ => {
            bytes >= size.smallest().0 && bytes <= size.largest().0 && bytes.is_multiple_of(size.smallest().0)
        }
    }
}

proptest! {
    #[test]
    fn requests_lie_in_their_parts_and_have_possible_sizes(
        job in any_job(),
        parts in any_parts(),
        seed in any::<u64>(),
    ) {
        let mut source = Shaped::new(&job, parts.clone(), rng(seed));
        for _ in 0..300 {
            let Some(request) = source.next(None) else { return Err(TestCaseError::fail("it ended")) };
            let part = parts[request.target as usize];
            let end = request.offset_bytes + u64::from(request.length_bytes);
            prop_assert!(request.offset_bytes >= part.offset_bytes, "{request:?}");
            prop_assert!(end <= part.offset_bytes + part.length_bytes, "{request:?}");
            prop_assert!(is_possible(sizes(&job, request.direction), request.length_bytes.into()), "{request:?}");
            prop_assert!(job.directions().any(|direction| direction == request.direction));
        }
    }

    #[test]
    fn random_places_are_aligned(
        mut job in any_job(),
        rw in prop::sample::select(vec![Rw::RandRead, Rw::RandTrim, Rw::RandRw, Rw::RandTrimWrite]),
        parts in any_parts(),
        seed in any::<u64>(),
    ) {
        job.rw = rw;
        job.walk.run_length = 1;
        job.walk.percentage_random = PerDirection::all(100);
        job.walk.strides = None;
        let mut source = Shaped::new(&job, parts.clone(), rng(seed));
        for _ in 0..100 {
            let request = source.next(None).unwrap();
            let step = job.walk.align.unwrap_or_else(|| sizes(&job, request.direction).smallest());
            let place = request.offset_bytes - parts[request.target as usize].offset_bytes;
            prop_assert!(place.is_multiple_of(step.0), "{request:?}");
        }
    }

    #[test]
    fn the_seed_decides_everything(job in any_job(), parts in any_parts(), seed in any::<u64>()) {
        let requests = || take(&mut Shaped::new(&job, parts.clone(), rng(seed)), 200);
        prop_assert_eq!(requests(), requests());
    }

    #[test]
    fn a_random_pass_over_any_targets_covers_every_unit_once(
        size in any_size(),
        blocks in prop::collection::vec(1u64..200, 1..4),
        order in prop::sample::select(vec![ServiceOrder::RoundRobin, ServiceOrder::Sequential]),
        seed in any::<u64>(),
    ) {
        let unit = size.smallest().0;
        let job = job(Rw::RandRw, |job| {
            job.bs = PerDirection::all(size);
            job.service.order = order;
        });
        let parts = blocks.iter().map(|blocks| Part { offset_bytes: 512, length_bytes: blocks * unit + unit / 2 });
        let mut source = Shaped::new(&job, parts.collect(), rng(seed));
        for _ in 0..2 {
            let all: Vec<(u32, u64)> =
                (0..).zip(&blocks).flat_map(|(target, blocks)| (0..*blocks).map(move |unit| (target, unit))).collect();
            let mut seen = vec![];
            while seen.len() < all.len() {
                let request = source.next(None).unwrap();
                let first = (request.offset_bytes - 512) / unit;
                seen.extend((0..u64::from(request.length_bytes) / unit).map(|next| (request.target, first + next)));
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, all);
        }
    }
}
