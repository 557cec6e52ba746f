//! Trials that others disturb, judged as measured and freed of it by a slope from pilots.

use iostone_model::covariate::log_left;
use iostone_model::verdict::Verdict;
use iostone_stats::covariate::{Fit, Second, fit};
use iostone_stats::judge::{Figure, Rules};
use iostone_stats::schedule::{BlockOrders, SplitMix64};

use crate::design::{BEYOND, BUDGET, MARGIN, live, same};
use crate::models::Noise;
use crate::rates::Rate;

/// The share of trials that others disturb.
const BURSTS: f64 = 0.3;

/// How the machine is disturbed: in bursts, of an exponential share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disturbance {
    /// The standard deviation of a trial by itself.
    pub(crate) noise: f64,
    /// The mean share of a burst.
    pub(crate) burst: f64,
    /// How much more of it the level draws than the baseline; 0 for a level that does not act on it.
    pub(crate) moved: f64,
}

/// How it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As measured.
    Measured,
    /// By a slope that is a fifth too large, from shares that were measured to a tenth.
    FixedSlope,
    /// By the slope that two pilots of 30 s show, from shares that were measured to a tenth.
    Pilots,
}

/// Many runs of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Adjusted {
    pub(crate) different: Rate,
    pub(crate) equivalent: Rate,
    pub(crate) missed: Rate,
    pub(crate) withheld: Rate,
    blocks: f64,
}

impl Adjusted {
    pub(crate) fn mean_blocks(&self) -> f64 {
        self.blocks / f64::from(self.different.of.max(1))
    }
}

/// A disturbance, a way, and what that came to at each ratio.
pub(crate) type Row = (Disturbance, Way, Vec<Adjusted>);

/// The ratios that are compared.
pub(crate) const COMPARED: [f64; 4] = [1.0, BEYOND, 1.05, 1.10];

/// All ways under some disturbances, one of which a level causes itself.
pub(crate) fn compare(runs: u32) -> Vec<Row> {
    let disturbances = [(0.02, 0.05, 0.0), (0.02, 0.15, 0.0), (0.03, 0.05, 0.0), (0.02, 0.05, 0.05)];
    let ways = [Way::Measured, Way::FixedSlope, Way::Pilots];
    disturbances
        .into_iter()
        .flat_map(|(noise, burst, moved)| ways.map(|way| (Disturbance { noise, burst, moved }, way)))
        .map(|(disturbance, way)| {
            (disturbance, way, COMPARED.map(|ratio| simulate(disturbance, way, ratio, runs)).to_vec())
        })
        .collect()
}

/// What is promised where no level acts on what others take, and was not kept.
pub(crate) fn check(rows: &[Row]) -> Vec<String> {
    const SURPRISING: f64 = 1e-3;
    let mut failures = Vec::new();
    for (disturbance, way, cells) in rows.iter().filter(|(disturbance, ..)| disturbance.moved == 0.0) {
        for (ratio, cell) in COMPARED.into_iter().zip(cells) {
            let mut promise = |what: &str, rate: Rate| {
                if rate.share() > 0.05 && rate.upper_p(0.05) < SURPRISING {
                    failures.push(format!("{disturbance:?}, {way:?}, ratio {ratio}: {what} in {rate:?}"));
                }
            };
            promise("an interval that misses the truth", cell.missed);
            if same(ratio, 1.0) {
                promise("a false difference", cell.different);
            }
            if ratio >= BEYOND {
                promise("a false equivalence", cell.equivalent);
            }
        }
    }
    let usual = |row: &&Row| same(row.0.noise, 0.02) && same(row.0.burst, 0.05) && row.1 == Way::FixedSlope;
    if let Some((.., cells)) = rows.iter().find(usual)
        && cells.first().is_some_and(|cell| cell.mean_blocks() > 16.0)
    {
        failures.push(format!(
            "with a slope of pilots {:.1} blocks at ratio 1, more than 16",
            cells[0].mean_blocks()
        ));
    }
    failures
}

/// Simulates runs of a true ratio.
fn simulate(disturbance: Disturbance, way: Way, ratio: f64, runs: u32) -> Adjusted {
    let mut sum = Adjusted::default();
    for run in 1..=runs {
        let seed = 77_000 + u64::from(run);
        let mut noise = Noise(SplitMix64::new(seed ^ 0x0F0F_5A5A));
        let slope = match way {
            Way::Measured => 0.0,
            Way::FixedSlope => 1.2,
            Way::Pilots => slope_of_pilots(&mut noise, disturbance),
        };
        let figures = figures(&mut noise, disturbance, ratio, seed);
        let rules = Rules {
            margin: MARGIN,
            budget: BUDGET,
            randomised: true,
            slopes: [slope, 0.0],
            ..Rules::new("0", iostone_model::metric::Direction::Higher)
        };
        let comparisons = live(&figures, &rules);
        let Some(comparison) = comparisons.first() else { continue };
        let verdict = comparison.verdict;
        sum.different.add(matches!(verdict, Some(Verdict::Faster | Verdict::Slower)));
        sum.equivalent.add(verdict == Some(Verdict::Equivalent));
        let [low, high] = comparison.ratio_interval;
        let beyond =
            low.is_some_and(|low| low > ratio + 1e-9) || high.is_some_and(|high| high < ratio - 1e-9);
        sum.missed.add(beyond);
        sum.withheld.add(comparison.flags.iter().any(|flag| flag.name == "covariate-moved"));
        sum.blocks += comparison.decided_at.map_or(f64::from(BUDGET), f64::from);
    }
    sum
}

fn share(noise: &mut Noise, disturbance: Disturbance, is_level: bool) -> f64 {
    let own = if is_level { disturbance.moved } else { 0.0 };
    let burst = if noise.happens(BURSTS) { disturbance.burst * noise.exponential() } else { 0.0 };
    (burst + own).min(0.9)
}

fn figures(noise: &mut Noise, disturbance: Disturbance, ratio: f64, seed: u64) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (block, order) in BlockOrders::new(seed, 2).take(BUDGET as usize).enumerate() {
        for (place, level) in order.into_iter().enumerate() {
            let share = share(noise, disturbance, level > 0);
            let own = disturbance.noise * noise.normal();
            let reading = share * (1.0 + 0.1 * noise.normal());
            figures.push(Figure {
                level: level.to_string(),
                value: 100.0 * (1.0 - share) * own.exp() * if level > 0 { ratio } else { 1.0 },
                block: Some(block as u64),
                order: Some(place as f64),
                exposure: [Some(log_left(reading)), None],
                ..Figure::default()
            });
        }
    }
    figures
}

/// What two pilots of 30 s show, whose seconds spread five times as much as trials and are stolen from in bursts of 4 s.
fn slope_of_pilots(noise: &mut Noise, disturbance: Disturbance) -> f64 {
    let mut pilot = || {
        let mut stolen = 0.0;
        let mut second = |at: u32| {
            if at.is_multiple_of(4) {
                stolen = share(noise, disturbance, false);
            }
            let log_rate = log_left(stolen) + 5.0 * disturbance.noise * noise.normal();
            Second { log_rate, exposure: log_left(stolen * (1.0 + 0.1 * noise.normal())) }
        };
        (0..30).map(&mut second).collect::<Vec<Second>>()
    };
    match fit(&[pilot(), pilot()], 2.0) {
        Fit::Slope(slope) => slope,
        Fit::Rare(_) | Fit::Unrelated => 0.0,
    }
}
