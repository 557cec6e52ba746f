//! How often a gate is wrong where nothing changed, and how soon it finds what did, beside a rank test on 20 runs of the old and
//! then 20 of the new: `make gates` prints the table of `docs/guide/gate.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may end with a panic")]
#![allow(clippy::print_stdout, reason = "its output is its result")]

#[allow(dead_code, reason = "the other benchmark counts more")]
#[path = "truth/rates.rs"]
mod rates;

use iostone_model::experiment::Claim;
use iostone_model::metric::Direction;
use iostone_model::verdict::GateState;
use iostone_stats::judge::{Figure, Next, Rules, judge, next_step};
use iostone_stats::schedule::{BlockOrders, SplitMix64};
use rates::Rate;

/// Of each of two levels before the unblocked ways decide.
const RUNS: usize = 20;

const BUDGET: u32 = 40;

/// Noise of a trial, and of the machine's drift from trial to trial, as standard deviations of the logarithm.
const MACHINES: [(&str, f64, f64); 4] = [
    ("1 %, no drift", 0.01, 0.0),
    ("3 %, no drift", 0.03, 0.0),
    ("3 %, drift 5 %", 0.03, 0.05),
    ("5 %, drift 10 %", 0.05, 0.10),
];

/// How much of the drift of one trial is left in the next.
const PERSISTENCE: f64 = 0.9;

/// A machine whose speed drifts.
struct Machine {
    generator: SplitMix64,
    noise: f64,
    drift: f64,
    state: f64,
}

impl Machine {
    fn new(seed: u64, noise: f64, drift: f64) -> Self {
        let mut machine = Self { generator: SplitMix64::new(seed), noise, drift, state: 0.0 };
        machine.state = drift * machine.normal();
        machine
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (-self.generator.next_unit()).ln_1p()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.generator.next_unit()).cos()
    }

    /// The figure of the next trial of a level that delivers `ratio` of the usual.
    fn trial(&mut self, ratio: f64) -> f64 {
        let fresh = (1.0 - PERSISTENCE * PERSISTENCE).sqrt() * self.drift * self.normal();
        self.state = PERSISTENCE * self.state + fresh;
        100.0 * ratio * (self.state + self.noise * self.normal()).exp()
    }
}

/// What the unblocked ways say of the new one.
struct Unblocked {
    /// The rank test at 5 %, either way.
    differs: bool,
    /// Its median is more than 10 % lower.
    ten_percent: bool,
}

fn unblocked(mut machine: Machine, ratio: f64) -> Unblocked {
    let old: Vec<f64> = (0..RUNS).map(|_| machine.trial(1.0)).collect();
    let new: Vec<f64> = (0..RUNS).map(|_| machine.trial(ratio)).collect();
    let wins: usize = new.iter().map(|n| old.iter().filter(|o| n > *o).count()).sum();
    // The law of U for 20 + 20 without ties: 127 and below has 2.5 % (Mann and Whitney 1947).
    let differs = wins <= 127 || wins >= RUNS * RUNS - 127;
    let median = |figures: &[f64]| iostone_stats::median::median(figures).unwrap();
    Unblocked { differs, ten_percent: median(&new) < 0.9 * median(&old) }
}

/// The answer of a gate and its blocks.
fn gate(mut machine: Machine, ratio: f64, seed: u64) -> (GateState, u32) {
    let rules = Rules {
        budget: BUDGET,
        randomised: true,
        claim: Claim::NotWorse,
        seed,
        ..Rules::new("old", Direction::Higher)
    };
    let mut figures = Vec::new();
    let mut look = 6;
    for (block, order) in (1..=BUDGET).zip(BlockOrders::new(seed, 2)) {
        for (place, level) in order.into_iter().enumerate() {
            let value = machine.trial([1.0, ratio][level]);
            figures.push(Figure {
                level: ["old", "new"][level].to_owned(),
                value,
                block: Some(u64::from(block)),
                order: Some(place as f64),
                ..Figure::default()
            });
        }
        if block < look {
            continue;
        }
        match next_step(&figures, &rules, true).unwrap() {
            Next::Continue { next_look_at, .. } => look = next_look_at,
            _ => break,
        }
    }
    let comparison = judge(&figures, &rules).unwrap().comparisons.remove(0);
    (comparison.gate.unwrap(), comparison.blocks)
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let gates = if quick { 100 } else { 1000 };
    println!(
        "| noise, drift | change | rank test: differs | median 10 % lower | gate: worse | not worse | cannot tell | blocks (median) | within 20 |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut alarms = Rate::default();
    for (name, noise, drift) in MACHINES {
        for ratio in [1.0, 0.95, 0.90, 0.80] {
            let mut rates = [Rate::default(); 6];
            let mut blocks = Vec::new();
            for seed in 1..=gates {
                let others = unblocked(Machine::new(seed, noise, drift), ratio);
                let (state, took) = gate(Machine::new(seed ^ 0x5eed, noise, drift), ratio, seed);
                let worse = state == GateState::Worse;
                let happened = [
                    others.differs,
                    others.ten_percent,
                    worse,
                    state == GateState::NotWorse,
                    state == GateState::Unsettled,
                    worse && took <= 20,
                ];
                rates.iter_mut().zip(happened).for_each(|(rate, happened)| rate.add(happened));
                blocks.push(f64::from(took));
            }
            let [differs, ten, worse, not_worse, open, soon] = rates.map(|rate| 100.0 * rate.share());
            let median = iostone_stats::median::median(&blocks).unwrap();
            let change =
                if ratio < 1.0 { format!("-{:.0} %", 100.0 * (1.0 - ratio)) } else { "none".to_owned() };
            println!(
                "| {name} | {change} | {differs:.1} % | {ten:.1} % | {worse:.1} % | {not_worse:.1} % | {open:.1} % | {median:.0} | {soon:.1} % |"
            );
            if ratio >= 1.0 {
                alarms = alarms.and(rates[2]);
            }
        }
    }
    let (low, high) = alarms.bounds();
    println!(
        "\n{} of {} gates without a change said worse: {:.1} % ({:.1} to {:.1} %)",
        alarms.count,
        alarms.of,
        100.0 * alarms.share(),
        100.0 * low,
        100.0 * high
    );
    assert!(alarms.upper_p(0.05) > 1e-3, "more false alarms than are promised");
}
