//! How often the steady-state rule passes a drift or a left-in warm-up, and how much bias a common cut leaves.

use iostone_stats::schedule::SplitMix64;
use iostone_stats::steady::windows;
use iostone_stats::warmup::{common_cut, mser5};

const REPLICATES: u32 = 2000;
/// Experiments of four pilots each.
const EXPERIMENTS: u32 = 50;
/// Samples of a series; one a second in the transients below.
const LENGTH: usize = 300;

/// A sum of twelve uniform numbers: near enough to normal for noise.
fn normal(generator: &mut SplitMix64) -> f64 {
    (0..12).map(|_| generator.next_unit()).sum::<f64>() - 6.0
}

/// A series of mean 1 under autoregressive noise of order one: correlation 0.7 from sample to sample and a standard
/// deviation of 6 % of a sample, with which a window of 60 samples spreads by 1.8 %.
fn series(generator: &mut SplitMix64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    const CORRELATION: f64 = 0.7;
    const SPREAD: f64 = 0.06;
    let innovation = SPREAD * (1.0 - CORRELATION * CORRELATION).sqrt();
    let mut level = SPREAD * normal(generator);
    (0..LENGTH)
        .map(|second| {
            level = CORRELATION * level + innovation * normal(generator);
            shape(second as f64) + level
        })
        .collect()
}

fn passes(shape: impl Fn(f64) -> f64 + Copy) -> f64 {
    let mut generator = SplitMix64::new(11);
    let passed = (0..REPLICATES)
        .filter(|_| windows(&series(&mut generator, shape)).is_some_and(|windows| windows.is_steady()))
        .count();
    passed as f64 / f64::from(REPLICATES)
}

#[test]
fn a_drift_of_a_tenth_passes_and_one_of_a_fifth_seldom() {
    let drift = |share: f64| passes(move |second| 1.0 + share * (second / LENGTH as f64 - 0.5));
    let [none, tenth, fifth] = [0.0, 0.1, 0.2].map(drift);
    println!("passed: no drift {none:.3}, 10 % {tenth:.3}, 20 % {fifth:.3}");
    // With the bare limits of SNIA 81 and 0.3 % passed, and of steady series of seconds up to nine in ten did not.
    assert!(none > 0.99);
    assert!(tenth > 0.95);
    assert!(fifth < 0.15);
}

#[test]
fn a_transient_that_was_left_in_hardly_ever_passes() {
    for (height, seconds) in [(0.5, 30.0), (-0.5, 30.0), (0.5, 60.0), (-0.5, 60.0)] {
        let passed = passes(move |second| 1.0 + height * (-second / seconds).exp());
        println!("{height:+} over {seconds} s: {passed:.3}");
        assert!(passed < 0.02, "{passed}");
    }
}

/// The mean behind a fixed cut, as a share above 1, over many series.
fn bias(shape: impl Fn(f64) -> f64 + Copy, cut: usize) -> f64 {
    let mut generator = SplitMix64::new(12);
    let means = (0..200).map(|_| {
        let kept = series(&mut generator, shape).split_off(cut);
        kept.iter().sum::<f64>() / kept.len() as f64
    });
    means.sum::<f64>() / 200.0 - 1.0
}

#[test]
fn a_common_cut_leaves_less_bias_than_a_guess_and_much_less_than_none() {
    let transient = |second: f64| 1.0 + 0.5 * (-second / 60.0).exp();
    let mut generator = SplitMix64::new(13);
    let mut left = 0.0;
    for _ in 0..EXPERIMENTS {
        let cuts: Vec<usize> =
            (0..4).filter_map(|_| Some(mser5(&series(&mut generator, transient))?.samples)).collect();
        let (cut, _) = common_cut(&cuts).unwrap_or_else(|| panic!("four series have a cut"));
        left += bias(transient, cut) / f64::from(EXPERIMENTS);
    }
    let (guessed, none) = (bias(transient, 60), bias(transient, 0));
    println!("bias: common cut {left:.4}, 60 s {guessed:.4}, none {none:.4}");
    // The reference's: 1.8 %, 4.6 %, 10 %.
    assert!((0.09..0.11).contains(&none));
    assert!((0.04..0.05).contains(&guessed));
    assert!(left < 0.03);
}

#[test]
fn without_a_warm_up_a_cut_rarely_stands_at_its_limit() {
    let mut generator = SplitMix64::new(15);
    for length in [50, 100, 200, LENGTH] {
        let cuts = (0..REPLICATES).filter_map(|_| mser5(&series(&mut generator, |_| 1.0)[..length]));
        let at_limit = cuts.filter(|cut| cut.at_limit).count() as f64 / f64::from(REPLICATES);
        println!("{length} samples: {at_limit:.3} at the limit");
        // Three in a row, each twice as long as the one before, would end a run.
        assert!(at_limit < 0.2, "{at_limit}");
    }
}

#[test]
fn a_cut_of_its_own_makes_the_figure_of_a_trial_noisier() {
    let transient = |second: f64| 1.0 + 0.5 * (-second / 30.0).exp();
    let mut generator = SplitMix64::new(14);
    let trials: Vec<Vec<f64>> = (0..400).map(|_| series(&mut generator, transient)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread = |figures: &[f64]| {
        let centre = mean(figures);
        (figures.iter().map(|figure| (figure - centre).powi(2)).sum::<f64>() / figures.len() as f64).sqrt()
    };
    let cuts: Vec<usize> = trials.iter().filter_map(|trial| Some(mser5(trial)?.samples)).collect();
    let own: Vec<f64> = trials.iter().zip(&cuts).map(|(trial, cut)| mean(&trial[*cut..])).collect();
    let (common, _) = common_cut(&cuts[..2]).unwrap_or_else(|| panic!("two series have a cut"));
    let fixed: Vec<f64> = trials.iter().map(|trial| mean(&trial[common..])).collect();
    println!("spread: own cuts {:.5}, common cut of {common} {:.5}", spread(&own), spread(&fixed));
    assert!(spread(&own) > spread(&fixed));
}
