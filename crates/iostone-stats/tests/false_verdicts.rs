//! Identical levels under several kinds of noise: how often `judge` calls one of them faster or slower.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the message")]
#![expect(clippy::print_stdout, reason = "the measured rates are the evidence; shown with --nocapture")]

use iostone_model::metric::Direction;
use iostone_model::verdict::Verdict;
use iostone_stats::judge::{Figure, Next, Rules, judge, next_step};
use iostone_stats::schedule::{BlockOrders, SplitMix64};
use iostone_stats::sequential::{Design, Looks, RunOrder, Ssr};

const BUDGET: u32 = 40;

fn rules() -> Rules {
    Rules::new("a", Direction::Higher)
}

/// A sum of twelve uniform numbers: near enough to normal for noise.
fn normal(generator: &mut SplitMix64) -> f64 {
    (0..12).map(|_| generator.next_unit()).sum::<f64>() - 6.0
}

/// Logarithms of a series of trials in running order.
type Noise = fn(&mut SplitMix64, usize) -> Vec<f64>;

const NOISES: [(&str, Noise); 6] = [
    ("independent, 3 %", |generator, n| (0..n).map(|_| 0.03 * normal(generator)).collect()),
    ("drift and a warm first trial", |generator, n| {
        let at = |i: usize| 0.002 * i as f64 + if i == 0 { 0.1 } else { 0.0 };
        (0..n).map(|i| at(i) + 0.02 * normal(generator)).collect()
    }),
    ("autoregressive, 0.7", |generator, n| {
        let mut level = 0.0;
        let mut next = || {
            level = 0.7 * level + 0.02 * normal(generator);
            level
        };
        (0..n).map(|_| next()).collect()
    }),
    ("bursts", |generator, n| {
        let burst = |generator: &mut SplitMix64| if generator.next_unit() < 0.05 { -0.4 } else { 0.0 };
        (0..n).map(|_| burst(generator) + 0.03 * normal(generator)).collect()
    }),
    ("heavy tails", |generator, n| {
        // Student's law with two degrees of freedom: a normal over the root of an exponential.
        (0..n).map(|_| 0.02 * normal(generator) / (-(-generator.next_unit()).ln_1p()).sqrt()).collect()
    }),
    ("real: dbench throughputs of an article, drawn with replacement", |generator, n| {
        const TRACE: [f64; 10] =
            [198.832, 198.525, 197.24, 198.003, 193.24, 195.168, 196.525, 196.241, 197.79, 195.378];
        let mut draw = || TRACE[usize::try_from(generator.next_below(10)).unwrap()].ln();
        (0..n).map(|_| draw()).collect()
    }),
];

fn simulate(noise: Noise, seed: u64) -> Vec<Figure> {
    let mut generator = SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0);
    let mut series = noise(&mut generator, 2 * BUDGET as usize).into_iter();
    let mut figures = Vec::new();
    for (block, order) in BlockOrders::new(seed, 2).take(BUDGET as usize).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            figures.push(Figure {
                level: ["a", "b"][level].to_owned(),
                stratum: String::new(),
                value: 100.0 * series.next().unwrap().exp(),
                block: Some(block as u64),
                order: Some(position as f64),
                ..Figure::default()
            });
        }
    }
    figures
}

/// P(X <= k) for X binomial.
fn binomial_cdf(k: u32, n: u32, p: f64) -> f64 {
    let mut ln_term = f64::from(n) * (1.0 - p).ln();
    let mut sum = ln_term.exp();
    for i in 0..k {
        ln_term += (f64::from(n - i) / f64::from(i + 1)).ln() + (p / (1.0 - p)).ln();
        sum += ln_term.exp();
    }
    sum
}

/// The largest (or smallest) chance that the count does not contradict at 97.5 % (Clopper and Pearson 1934).
fn clopper_pearson(count: u32, n: u32) -> (f64, f64) {
    let bisect = |too_small: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if too_small(middle) { low = middle } else { high = middle }
        }
        low
    };
    let upper = bisect(&|p| binomial_cdf(count, n, p) > 0.025);
    let lower = if count == 0 { 0.0 } else { bisect(&|p| 1.0 - binomial_cdf(count - 1, n, p) < 0.025) };
    (lower, upper)
}

/// Runs each noise `runs` times; the share of false differences is at most 5 % over all, and no noise shows more.
fn assert_few_false_differences(runs: u32, stop: impl Fn(&[Figure]) -> Verdict) {
    let mut total = 0;
    for (name, noise) in NOISES {
        let verdicts: Vec<Verdict> =
            (0..runs).map(|run| stop(&simulate(noise, 1 + u64::from(run)))).collect();
        let count = |wanted: &[Verdict]| verdicts.iter().filter(|v| wanted.contains(v)).count();
        let wrong = u32::try_from(count(&[Verdict::Faster, Verdict::Slower])).unwrap();
        let (lower, upper) = clopper_pearson(wrong, runs);
        println!(
            "{name}: {wrong} of {runs} false ({:.1} %, at most {:.1} %), {} equivalent, {} unstable",
            100.0 * f64::from(wrong) / f64::from(runs),
            100.0 * upper,
            count(&[Verdict::Equivalent]),
            count(&[Verdict::Unstable]),
        );
        assert!(lower <= 0.05, "{name}: {wrong} of {runs}");
        total += wrong;
    }
    let all = runs * u32::try_from(NOISES.len()).unwrap();
    let (_, upper) = clopper_pearson(total, all);
    println!("all: {total} of {all} false, at most {:.1} %", 100.0 * upper);
    assert!(f64::from(total) <= 0.05 * f64::from(all), "{total} of {all}");
}

#[test]
fn identical_levels_in_live_runs_of_200_are_rarely_told_apart() {
    // As a live run does: ask after every block, stop when told to.
    assert_few_false_differences(200, |figures| {
        let stop = (6..=BUDGET).find(|blocks| {
            let seen = &figures[..2 * *blocks as usize];
            // Between looks nothing can change; skipping them spares time.
            iostone_stats::looks(BUDGET).contains(blocks)
                && !matches!(next_step(seen, &rules(), true).unwrap(), Next::Continue { .. })
        });
        let seen = &figures[..2 * stop.unwrap_or(BUDGET) as usize];
        judge(seen, &rules()).unwrap().comparisons[0].verdict.unwrap()
    });
}

#[test]
fn identical_levels_in_2000_runs_stopped_at_the_first_verdict_are_rarely_told_apart() {
    // Where a run stops is found by the procedure itself, which is quick; the verdict there is that of the door.
    assert_few_false_differences(2000, |figures| {
        let mut ssr = Ssr::new(Design {
            alpha: 0.05,
            margin: 0.03,
            budget: BUDGET,
            minimum: 6,
            rounding: 0.0,
            adjust_order: true,
            family: 1,
            looks: Looks::Sequential,
        });
        let stop = figures.chunks(2).find_map(|block| {
            let (a, b, order) = if block[0].level == "a" {
                (&block[0], &block[1], RunOrder::BaselineFirst)
            } else {
                (&block[1], &block[0], RunOrder::LevelFirst)
            };
            ssr.push((b.value / a.value).ln(), order).filter(|look| look.verdict.is_some())
        });
        let blocks = stop.map_or(BUDGET, |look| look.blocks);
        judge(&figures[..2 * blocks as usize], &rules()).unwrap().comparisons[0].verdict.unwrap()
    });
}

#[test]
fn three_identical_levels_are_rarely_told_apart() {
    let mut false_runs = 0;
    let runs = 300;
    for run in 0..runs {
        let mut generator = SplitMix64::new(1000 + run);
        let mut figures = Vec::new();
        for (block, order) in BlockOrders::new(run, 4).take(24).enumerate() {
            for (position, level) in order.into_iter().enumerate() {
                figures.push(Figure {
                    level: ["a", "b", "c", "d"][level].to_owned(),
                    stratum: String::new(),
                    value: 100.0 * (0.03 * normal(&mut generator)).exp(),
                    block: Some(block as u64),
                    order: Some(position as f64),
                    ..Figure::default()
                });
            }
        }
        let judgement = judge(&figures, &Rules { budget: 24, ..rules() }).unwrap();
        let wrong = |v| matches!(v, Some(Verdict::Faster | Verdict::Slower));
        false_runs += u32::from(judgement.comparisons.iter().any(|c| wrong(c.verdict)));
    }
    let runs = u32::try_from(runs).unwrap();
    println!(
        "{false_runs} of {runs} runs with a false difference, at most {:?}",
        clopper_pearson(false_runs, runs).1
    );
    assert!(clopper_pearson(false_runs, runs).0 <= 0.05 && false_runs * 20 <= runs);
}
