//! Tests of latencies against what their distributions are known for.

use std::time::Duration;

use iostone_model::units::Bytes;
use proptest::prelude::*;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const NOMINAL_NS: u64 = 2_000_000;
const DRAWS: usize = 100_000;

fn latencies(spread: Option<LatencySpread>) -> Latencies {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.latency = Some(Span(Duration::from_nanos(NOMINAL_NS)));
    volume.latency_spread = spread;
    Latencies::new(&volume)
}

/// Draws in ascending order, in units of the nominal latency.
fn sorted_draws(spread: LatencySpread, seed: u64) -> Vec<f64> {
    let latencies = latencies(Some(spread));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draw = |_| latencies.draw(Operation::Read, &mut random) as f64 / NOMINAL_NS as f64;
    let mut draws: Vec<f64> = (0..DRAWS).map(draw).collect();
    draws.sort_by(f64::total_cmp);
    draws
}

fn mean(draws: &[f64]) -> f64 {
    draws.iter().sum::<f64>() / draws.len() as f64
}

fn percentile(draws: &[f64], percent: usize) -> f64 {
    draws[draws.len() * percent / 100]
}

#[test]
fn a_constant_latency_is_exact() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    assert_eq!(latencies(None).draw(Operation::Read, &mut random), NOMINAL_NS);
    assert_eq!(latencies(None).draw(Operation::Flush, &mut random), 0, "a flush has its own");
}

#[test]
fn writes_take_as_long_as_reads_unless_told_otherwise() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut latencies = latencies(None);
    assert_eq!(latencies.draw(Operation::Write, &mut random), NOMINAL_NS);
    latencies.write_ns = Some(7);
    assert_eq!(latencies.draw(Operation::Write, &mut random), 7);
    assert_eq!(latencies.draw(Operation::Discard, &mut random), 7);
}

#[test]
fn no_latency_scatters_not() {
    let mut latencies = latencies(Some(LatencySpread::Exponential));
    latencies.read_ns = 0;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    assert_eq!(latencies.draw(Operation::Read, &mut random), 0);
}

// The standard error of a mean of 100,000 draws is 0.3 % (exponential); 2 % is six of them.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_exponential_has_its_mean_median_and_tail(seed: u64) {
        let draws = sorted_draws(LatencySpread::Exponential, seed);
        prop_assert!((mean(&draws) - 1.0).abs() < 0.02);
        prop_assert!((percentile(&draws, 50) - 2_f64.ln()).abs() < 0.02);
        prop_assert!((percentile(&draws, 99) - 100_f64.ln()).abs() < 0.25);
    }

    #[test]
    fn the_lognormal_has_its_median_and_tail(seed: u64) {
        let draws = sorted_draws(LatencySpread::Lognormal, seed);
        prop_assert!((percentile(&draws, 50) - 1.0).abs() < 0.02);
        prop_assert!((percentile(&draws, 99) - 3.2).abs() < 0.16);
        prop_assert!((mean(&draws) - 0.125_f64.exp()).abs() < 0.02);
    }

    #[test]
    fn the_uniform_stays_between_half_and_one_and_a_half(seed: u64) {
        let draws = sorted_draws(LatencySpread::Uniform, seed);
        prop_assert!(percentile(&draws, 0) >= 0.5 && draws[DRAWS - 1] <= 1.5);
        prop_assert!((mean(&draws) - 1.0).abs() < 0.01);
        prop_assert!((percentile(&draws, 25) - 0.75).abs() < 0.02);
    }

    #[test]
    fn equal_seeds_draw_equal_latencies(seed: u64) {
        prop_assert_eq!(sorted_draws(LatencySpread::Lognormal, seed), sorted_draws(LatencySpread::Lognormal, seed));
    }
}
