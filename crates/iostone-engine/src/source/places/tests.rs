//! Places follow their distributions.

use super::*;
use iostone_model::units::Bytes;
use proptest::prelude::*;
use rand_xoshiro::rand_core::SeedableRng;

const DRAWS: usize = 100_000;

fn draw(distribution: &RandomDistribution, places: u64, step_bytes: u64) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(31);
    let mut drawn = Places::of_blocks(distribution, places, step_bytes, &mut rng);
    (0..DRAWS).map(|_| drawn.draw(&mut rng).unwrap()).collect()
}

fn share(drawn: &[u64], wanted: impl Fn(u64) -> bool) -> f64 {
    drawn.iter().filter(|place| wanted(**place)).count() as f64 / drawn.len() as f64
}

/// Draws per place, the most first.
fn hottest(drawn: &[u64], places: usize) -> Vec<u64> {
    let mut counts = vec![0; places];
    for place in drawn {
        counts[usize::try_from(*place).unwrap()] += 1;
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn pareto_is_the_rule_of_eighty_to_twenty_within_itself() {
    let places = 1 << 20;
    let drawn = draw(&RandomDistribution::Pareto { h: 0.2, center: Some(0.0) }, places, 4096);
    for (depth, expected) in [(1, 0.8), (2, 0.64), (3, 0.512)] {
        let hot = whole(places as f64 * 0.2f64.powi(depth));
        let found = share(&drawn, |place| place < hot);
        assert!((found - expected).abs() < 0.006, "the first 0.2^{depth}: {found}");
    }
}

#[test]
fn hot_blocks_are_scattered_unless_a_centre_is_given() {
    let places = 10_000u64;
    for (scattered, centred) in [
        (
            RandomDistribution::Zipf { theta: 1.2, center: None },
            RandomDistribution::Zipf { theta: 1.2, center: Some(0.75) },
        ),
        (
            RandomDistribution::Pareto { h: 0.1, center: None },
            RandomDistribution::Pareto { h: 0.1, center: Some(0.75) },
        ),
    ] {
        // The middle of what is drawn lies anywhere, and the tenths of the span get a part each.
        let drawn = draw(&scattered, places, 4096);
        for tenth in 0..10 {
            assert!(share(&drawn, |place| place / 1000 == tenth) > 0.004, "{scattered:?}: tenth {tenth}");
        }
        let around = draw(&centred, places, 4096);
        assert!(share(&around, |place| (7500..8500).contains(&place)) > 0.7, "{centred:?}");
        // The same ranks are as hot as before.
        let (here, there) = (hottest(&drawn, 10_000), hottest(&around, 10_000));
        assert!(here.iter().zip(&there).take(5).all(|(a, b)| a.abs_diff(*b) < 1000), "{here:?} {there:?}");
    }
}

#[test]
fn the_hottest_blocks_of_a_scattered_zipf_have_zipfs_shares() {
    let counts = hottest(&draw(&RandomDistribution::Zipf { theta: 1.2, center: None }, 10_000, 4096), 10_000);
    let all: f64 = (1..=10_000).map(|rank| f64::from(rank).powf(-1.2)).sum();
    for (rank, count) in (1..=10).zip(counts) {
        let expected = f64::from(rank).powf(-1.2) / all * DRAWS as f64;
        assert!(
            (count as f64 - expected).abs() < 4.5 * expected.sqrt(),
            "rank {rank}: {count} for {expected}"
        );
    }
}

#[test]
fn zones_get_their_shares_and_are_even_within() {
    let zone = |access_percent, extent| Zone { access_percent, extent };
    let percent = [(60.0, 10.0), (30.0, 20.0), (8.0, 30.0), (2.0, 40.0)];
    let by_percent = percent.map(|(access, extent)| zone(access, Extent::Percent(extent))).to_vec();
    let by_bytes = percent
        .map(|(access, extent)| zone(access, Extent::Bytes(Bytes(whole(extent) * 10 * 4096))))
        .to_vec();
    for zones in [by_percent, by_bytes] {
        let drawn = draw(&RandomDistribution::Zoned(zones), 1000, 4096);
        let found =
            [0..100, 100..300, 300..600, 600..1000].map(|range| share(&drawn, |at| range.contains(&at)));
        for (found, expected) in found.into_iter().zip([0.6, 0.3, 0.08, 0.02]) {
            assert!((found - expected).abs() < 0.006, "{found} for {expected}");
        }
        let quarter = share(&drawn, |place| place < 25);
        assert!((quarter - 0.15).abs() < 0.005, "{quarter}");
    }
}

#[test]
fn a_zone_that_is_cold_or_beyond_the_end_is_not_left_to_chance() {
    let zone = |access_percent, bytes| Zone { access_percent, extent: Extent::Bytes(Bytes(bytes)) };
    let drawn =
        draw(&RandomDistribution::Zoned(vec![zone(0.0, 50), zone(50.0, 25), zone(50.0, 1000)]), 100, 1);
    assert!(drawn.iter().all(|place| (50..100).contains(place)));
    assert!((share(&drawn, |place| place < 75) - 0.5).abs() < 0.006);
    let drawn = draw(&RandomDistribution::Zoned(vec![zone(0.0, 500), zone(100.0, 25)]), 100, 1);
    assert!(drawn.iter().all(|place| *place == 99));
}

#[test]
fn targets_are_drawn_by_rank() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(33);
    let distribution = RandomDistribution::Zipf { theta: 1.2, center: None };
    let mut places = Places::of_targets(&distribution, 8, 10, &mut rng);
    let mut counts = [0u32; 8];
    for _ in 0..DRAWS {
        counts[usize::try_from(places.draw(&mut rng).unwrap() >> 10).unwrap()] += 1;
    }
    let all: f64 = (1..=8192).map(|rank| f64::from(rank).powf(-1.2)).sum();
    let first: f64 = (1..=1024).map(|rank| f64::from(rank).powf(-1.2)).sum();
    let most = f64::from(*counts.iter().max().unwrap()) / DRAWS as f64;
    assert!((most - first / all).abs() < 0.006, "{counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

fn any_distribution() -> impl Strategy<Value = RandomDistribution> {
    let center = prop::option::of(0.0f64..=1.0);
    prop_oneof![
        Just(RandomDistribution::Random),
        (0.01f64..5.0, center.clone()).prop_map(|(theta, center)| RandomDistribution::Zipf { theta, center }),
        (0.001f64..0.999, center.clone()).prop_map(|(h, center)| RandomDistribution::Pareto { h, center }),
        (0.01f64..100.0, center)
            .prop_map(|(deviation_percent, center)| RandomDistribution::Normal { deviation_percent, center }),
        prop::collection::vec((0.0f64..100.0, 0.0f64..100.0), 1..5).prop_map(|zones| {
            RandomDistribution::Zoned(
                zones
                    .into_iter()
                    .map(|(access_percent, extent)| Zone { access_percent, extent: Extent::Percent(extent) })
                    .collect(),
            )
        }),
    ]
}

proptest! {
    #[test]
    fn a_place_is_always_one_of_the_places(
        distribution in any_distribution(),
        places in 0u64..1 << 40,
        few in 0u64..4,
        seed in any::<u64>(),
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for places in [places, few] {
            let mut drawn = Places::of_blocks(&distribution, places, 512, &mut rng);
            for _ in 0..20 {
                let place = drawn.draw(&mut rng);
                prop_assert_eq!(place.is_none(), places == 0);
                prop_assert!(place.is_none_or(|place| place < places));
            }
        }
    }
}
