//! Trials as long as pilots find best reach their verdict sooner than long ones, and are not wrong more often.

use iostone_model::metric::Direction;
use iostone_model::verdict::Verdict;
use iostone_stats::judge::{Figure, Next, Rules, judge, next_step};
use iostone_stats::schedule::{BlockOrders, SplitMix64};
use iostone_stats::trial_length::{Purpose, choose};

const BUDGET: u32 = 40;
/// Seconds that a trial costs beside its measured time.
const GAP: f64 = 3.0;
const INTERVAL: f64 = 0.1;

/// What a machine does to the rate of successive tenths of a second.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    /// 20 % of each tenth.
    White,
    /// A drift of 5 % that is forgotten in a minute.
    Drift,
    /// Two seconds a minute at a third of the rate, at random.
    Bursts,
    /// A neighbour that comes and goes every minute or so and takes 20 %.
    Neighbour,
}

struct Machine {
    noise: Noise,
    generator: SplitMix64,
    level: f64,
    left: u32,
    is_on: bool,
}

impl Machine {
    fn new(noise: Noise, seed: u64) -> Self {
        let mut machine = Self { noise, generator: SplitMix64::new(seed), level: 0.0, left: 0, is_on: false };
        // Long enough to forget its beginning.
        for _ in 0..3000 {
            machine.tenth();
        }
        machine
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (-self.generator.next_unit()).ln_1p()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.generator.next_unit()).cos()
    }

    /// The operations of the next tenth of a second.
    fn tenth(&mut self) -> f64 {
        let log = match self.noise {
            Noise::White => 0.2 * self.normal(),
            Noise::Drift => {
                let memory = (-INTERVAL / 60.0).exp();
                self.level = memory * self.level + (1.0 - memory * memory).sqrt() * 0.05 * self.normal();
                self.level + 0.05 * self.normal()
            }
            Noise::Bursts => {
                if self.left == 0 && self.generator.next_unit() < INTERVAL / 58.0 {
                    self.left = 20;
                }
                self.left = self.left.saturating_sub(1);
                if self.left > 0 { -1.0 } else { 0.02 * self.normal() }
            }
            Noise::Neighbour => {
                if self.generator.next_unit() < INTERVAL / 60.0 {
                    self.is_on = !self.is_on;
                }
                let taken = if self.is_on { 0.8f64.ln() } else { 0.0 };
                taken + 0.02 * self.normal()
            }
        };
        100.0 * log.exp()
    }

    fn run(&mut self, seconds: f64) -> Vec<f64> {
        let tenths =
            (0_u32..10_000).take_while(|tenth| f64::from(*tenth) * INTERVAL < seconds - 1e-9).count();
        (0..tenths).map(|_| self.tenth()).collect()
    }
}

fn rules(seed: u64) -> Rules {
    Rules { budget: BUDGET, randomised: true, seed, ..Rules::new("0", Direction::Higher) }
}

/// Seconds to the verdict of two levels of that true ratio, and the verdict; a length that is not given is found by pilots.
fn time_to_verdict(noise: Noise, length: Option<f64>, ratio: f64, seed: u64) -> (f64, Option<Verdict>) {
    let mut machine = Machine::new(noise, seed);
    let mut spent = 0.0;
    let length = length.unwrap_or_else(|| {
        let mut seconds = 30.0;
        loop {
            let pilots = [machine.run(seconds), machine.run(seconds)];
            spent += 2.0 * (seconds + GAP);
            let purpose = Purpose {
                gap: GAP,
                margin: 0.03,
                confidence: 0.95,
                comparisons: 1,
                budget: BUDGET,
                minimum: 6,
            };
            if let Some(found) = choose(&pilots, purpose, seconds >= 120.0) {
                return found.seconds;
            }
            seconds *= 2.0;
        }
    });
    let mut figures = Vec::new();
    for (block, order) in (1..).zip(BlockOrders::new(seed, 2).take(BUDGET as usize)) {
        for (place, level) in order.into_iter().enumerate() {
            machine.run(GAP);
            let value =
                machine.run(length).iter().sum::<f64>() / length * if level > 0 { ratio } else { 1.0 };
            spent += length + GAP;
            let order = Some(place as f64);
            figures.push(Figure {
                level: level.to_string(),
                value,
                block: Some(block),
                order,
                ..Figure::default()
            });
        }
        let is_look = iostone_stats::looks(BUDGET).iter().any(|look| u64::from(*look) == block);
        if is_look && !matches!(next_step(&figures, &rules(seed), false), Ok(Next::Continue { .. })) {
            break;
        }
    }
    let judged = judge(&figures, &rules(seed)).expect("simulated figures can be judged");
    (spent, judged.comparisons[0].verdict)
}

#[test]
fn trials_as_long_as_pilots_find_best_reach_their_verdict_sooner() {
    const RUNS: u64 = 12;
    let mut sums = [0.0; 2];
    for noise in [Noise::White, Noise::Drift, Noise::Bursts, Noise::Neighbour] {
        let mean = |length: Option<f64>| {
            let times = (1..=RUNS).map(|seed| time_to_verdict(noise, length, 1.05, seed).0);
            times.sum::<f64>() / RUNS as f64
        };
        let (found, long) = (mean(None), mean(Some(30.0)));
        println!("{noise:?}: {found:.0} s with pilots, {long:.0} s with trials of 30 s");
        sums = [sums[0] + found, sums[1] + long];
    }
    assert!(2.0 * sums[0] < sums[1], "{sums:?}");
}

#[test]
fn a_length_that_pilots_found_makes_no_verdict_wrong() {
    const RUNS: u64 = 60;
    let wrong = |noise: Noise| {
        let verdicts = (1..=RUNS).map(|seed| time_to_verdict(noise, None, 1.0, 1000 + seed).1);
        verdicts.filter(|verdict| matches!(verdict, Some(Verdict::Faster | Verdict::Slower))).count()
    };
    let all: usize = [Noise::White, Noise::Drift, Noise::Bursts, Noise::Neighbour].map(wrong).iter().sum();
    // Of 240 runs 12 are expected at most; 22 or more have a chance of one in two hundred then.
    assert!(all < 22, "{all} of {} runs claim a difference", 4 * RUNS);
}
