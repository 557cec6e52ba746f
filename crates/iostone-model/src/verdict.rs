//! What was concluded: verdicts of comparisons, summaries of configurations, and the document that holds them.

mod condition;
mod flatness;
mod gate;
mod load_range;
mod sweep;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::audit::{AuditReport, Severity};
use crate::ceiling::HeldState;
use crate::cloud::CeilingKind;
use crate::explanation::PredictedFigure;
use crate::metric::{Direction, Unit};
use crate::omitted::is_default;

pub use condition::{Condition, NoCondition, Sides, Standing, Unanswerable};
pub use flatness::{CurveShape, FlatCause, FlatnessVerdict, LoadCurve};
pub use gate::GateState;
pub use load_range::{LoadRange, PointName, fold_loads, name_loads};
pub use sweep::{SweepFit, SweepLevel, SweepOutcome, SweepState, SweepVerdict};

/// The version of [`Verdicts`] as JSON. Fields may be added within a version, never renamed or removed.
pub const VERDICTS_SCHEMA: &str = "iostone/verdicts/1";

/// The flag of a run whose machine was too busy to discard disturbed blocks: they count, and the result is provisional.
pub const ENVIRONMENT_UNFIT: &str = "environment-unfit";

/// What a comparison with the baseline came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better than the baseline, in the metric's direction.
    Faster,
    /// Worse than the baseline.
    Slower,
    /// Within the declared margin of the baseline.
    Equivalent,
    /// Not settled by the blocks at hand.
    Undecided,
    /// The effect changed during the run, so no one ratio describes it.
    Unstable,
}

impl Verdict {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
            Self::Unstable => "unstable",
        }
    }
}

/// Something the reader must know beside a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flag {
    /// A stable name: `carry-over`, `tail`, `trend`, `drifted-levels`, `coarse-resolution`, `discard-imbalance`,
    /// `environment-unfit`, `no-flush`, `not-steady`, `page-cache`, `order-unknown`, `unblocked`, `withheld`, ...
    pub name: String,
    /// One sentence with the evidence.
    pub message: String,
    /// Of a flag that renders a finding of the audit: how grave that is. None of what the statistics say by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

impl Flag {
    /// A flag of that name and message.
    pub fn new(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), message: message.into(), severity: None }
    }
}

/// How many blocks a decision would still take: a range and its chance, from runs simulated on; never a promise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Total blocks at which half of the simulated runs that end with a difference have ended; none where less than a fifth of
    /// all runs do.
    pub difference_at: Option<u32>,
    /// The same for equivalence.
    pub equivalence_at: Option<u32>,
    /// The budget the forecast was made for, in blocks.
    pub budget: u32,
    /// The chance that it is settled within the budget, from runs simulated on from the blocks so far. Records of version
    /// 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// Where it is likely enough to say: the total blocks before which a tenth of those that are settled are, and nine tenths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[u32; 2]>,
}

/// One level held against the baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// The level compared.
    pub level: String,
    /// The level it is compared with.
    pub baseline: String,
    /// The other factors' levels within which both stand, as `factor=level, ...`; empty with one factor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// The figure that is compared, where a whole curve is judged: a trial's metric such as `iops@4,0`. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub point: String,
    /// The verdict; null where the figures were not blocked, so that none can be given.
    pub verdict: Option<Verdict>,
    /// The typical ratio to the baseline; above 1 is better whatever the metric's direction. Null without a figure.
    pub ratio: Option<f64>,
    /// Its interval at the declared confidence, simultaneous over all comparisons and looks; null where unbounded.
    pub ratio_interval: [Option<f64>; 2],
    /// The interval of the equivalence test: each bound holds at the declared confidence.
    pub equivalence_interval: [Option<f64>; 2],
    /// Mean log ratio as a ratio: differs from `ratio` when a few trials are very bad.
    pub mean_ratio: Option<f64>,
    /// Blocks that entered the comparison: ratio and intervals are those of all of them.
    pub blocks: u32,
    /// The number of blocks at whose look the verdict was found; null where nothing was decided. Records of version 0.1.0
    /// have none: theirs was found at `blocks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u32>,
    /// With `decide.claim = "not-worse"`: whether the level was proven not to be worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateState>,
    /// Where that is open: about how many blocks prove, with a chance of 80 %, that levels which are equal are within the margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_prove: Option<u32>,
    /// What else must be known.
    pub flags: Vec<Flag>,
    /// With `undecided`: what more blocks would bring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// For unblocked figures: the exact unpaired test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaired: Option<UnpairedTest>,
    /// The robust standard deviation of a block's log ratio, free of the effect of running second; null below two blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The per-block log ratios (better is positive) in block order, before the order adjustment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_ratios: Vec<f64>,
    /// What was taken from the log ratio of each block, as measured, for what others took of the machine; empty without
    /// `decide.covariates`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjustments: Vec<f64>,
}

impl Comparison {
    /// Whether a flag forbids the verdict: then its ratio and intervals are no finding, for what forbids it may have made them.
    pub fn is_withheld(&self) -> bool {
        self.verdict == Some(Verdict::Undecided) && self.flags.iter().any(|flag| flag.name == "withheld")
    }
}

impl Verdicts {
    /// Whether the machine was too busy to discard disturbed blocks.
    pub fn is_provisional(&self) -> bool {
        self.flags.iter().any(|flag| flag.name == ENVIRONMENT_UNFIT)
    }
}

/// An exact Wilcoxon-Mann-Whitney test of two unblocked samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnpairedTest {
    /// The two-sided p value, exact by enumeration (ties included) or by the normal approximation for large samples.
    pub p_value: f64,
    /// Whether `p_value` is exact.
    pub exact: bool,
    /// Samples under the baseline and under the level.
    pub sizes: [u32; 2],
    /// Hodges-Lehmann ratio of level to baseline; above 1 is better.
    pub ratio: f64,
    /// Its interval where the sample sizes allow one.
    pub ratio_interval: [Option<f64>; 2],
}

/// The figures of one configuration, for context: comparisons are made within blocks, never from these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationSummary {
    /// The configuration's name.
    pub name: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Valid trials.
    pub trials: u32,
    /// Trials kept but not counted.
    pub invalid_trials: u32,
    /// Median of the metric over its trials.
    pub median: Option<f64>,
    /// Order-statistic interval of the median; null below six trials.
    pub median_interval: [Option<f64>; 2],
    /// Smallest figure.
    pub minimum: Option<f64>,
    /// Largest figure.
    pub maximum: Option<f64>,
    /// Robust coefficient of variation: 1.4826 MAD / median.
    pub cv: Option<f64>,
    /// Of a curve, the median at each point, by the name of a trial's metric such as `iops@4,0`; empty for one figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub points: BTreeMap<String, f64>,
}

/// Every load point of a level held against the same point of the baseline, and what that comes to.
///
/// `faster` only if no point is slower and some point is faster; `slower` likewise; `equivalent` if every point is;
/// otherwise `undecided`, with the flag `crossing` where points of both kinds were shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveVerdict {
    /// The level compared.
    pub level: String,
    /// The level it is compared with.
    pub baseline: String,
    /// The other factors' levels within which both stand; empty with one factor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// Points shown faster.
    pub faster: u32,
    /// Points shown slower.
    pub slower: u32,
    /// Points shown equivalent.
    pub equivalent: u32,
    /// All points.
    pub points: u32,
    /// What else must be known.
    pub flags: Vec<Flag>,
}

impl CurveVerdict {
    /// Whether it was shown to be faster at some loads and slower at others, which no one word of [`Verdict`] says.
    pub fn crosses(&self) -> bool {
        self.faster > 0 && self.slower > 0
    }
}

impl CurveVerdict {
    /// The comparisons that it is made of, in their order.
    pub fn points_of<'a>(&'a self, verdicts: &'a Verdicts) -> impl Iterator<Item = &'a Comparison> {
        verdicts
            .comparisons
            .iter()
            .filter(|c| !c.point.is_empty() && c.level == self.level && c.stratum == self.stratum)
    }
}

/// How the blocks went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlockCount {
    /// Blocks whose every trial counted. A superblock counts as its trials of each level.
    pub complete: u32,
    /// Trials of each level in the superblock that the run begins with; 0 without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superblock: u32,
    /// Blocks repeated because a trial failed a gate or was interrupted.
    pub discarded: u32,
    /// The budget.
    pub maximum: u32,
}

/// What was asked of the kernel for a configuration and what the trials saw of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// The configuration.
    pub configuration: String,
    /// One sentence: "barrier=0: read back as nobarrier, 0 flushes against 18 342".
    pub sentence: String,
}

/// What a configuration moved in a second, held against the tightest limit that is known of its stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownCeiling {
    /// The configuration.
    pub configuration: String,
    /// What was held against the limit: a metric, or `served` for what the devices served.
    pub figure: String,
    /// The limit with its own figure: `the link of 62.5MB/s`, `40MB/s of each of 2 volumes`.
    pub limit: String,
    /// What the limit lets the workload move, in `unit`.
    pub at_most: f64,
    /// What was measured, the median over the trials that count, in `unit`.
    pub measured: f64,
    /// The unit of both.
    pub unit: Unit,
    /// `measured` as a share of `at_most`.
    pub share: f64,
    /// `binds` from 95 % on, `exceeded` beyond 103 % (credits, or a cache), `free` below,
    /// `unknown` where another limit may bind that cannot be reckoned.
    pub state: CeilingState,
    /// What the limit is one of; null where only its name is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CeilingKind>,
    /// How it stands in full; null in records of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldState>,
}

/// How a limit stands to what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CeilingState {
    /// At least 95 % of it was used: it is what held the rate.
    Binds,
    /// More was measured than it lets through.
    Exceeded,
    /// Less than 95 % of it was used.
    Free,
    /// Less than 95 % of it was used, but of another limit it is not known what it lets through: how many I/Os the
    /// kernel makes of one, say.
    Unknown,
}

/// Noise of the machine, from a run of identical levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Spread of the block log ratios as a share (robust standard deviation).
    pub sigma: f64,
    /// The smallest difference that `budget` blocks would show with 80 % power, as a ratio minus one.
    pub detectable: f64,
    /// The same for the blocks measured in this run.
    pub detectable_at_run: f64,
    /// The budget in blocks that `detectable` speaks of.
    pub budget: u32,
}

/// Everything concluded from a run or a table of figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// [`VERDICTS_SCHEMA`].
    pub schema: String,
    /// The run's name and id, or the file judged.
    pub source: String,
    /// The experiment's question, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The answer in one or two sentences.
    pub headline: String,
    /// The metric judged.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Direction,
    /// The equivalence margin as a fraction.
    pub margin: f64,
    /// The confidence as a fraction.
    pub confidence: f64,
    /// The baseline level.
    pub baseline: String,
    /// Each level against the baseline.
    pub comparisons: Vec<Comparison>,
    /// Where whole curves are judged: the verdict on each, made of the comparisons of its points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurveVerdict>,
    /// Where write curves were measured with and without barriers: whether they are flat, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flatness: Vec<FlatnessVerdict>,
    /// Of a sweep: the best level, and those that were not shown to be worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepVerdict>,
    /// Each configuration by itself.
    pub configurations: Vec<ConfigurationSummary>,
    /// How the blocks went.
    pub blocks: BlockCount,
    /// Flags on the run as a whole.
    pub flags: Vec<Flag>,
    /// What was verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Verified>,
    /// What was moved, held against the limits that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<KnownCeiling>,
    /// What was predicted of the configurations, beside what was measured, where a prediction can be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<PredictedFigure>,
    /// The lines that would make the winner permanent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent: Vec<String>,
    /// With `run --aa`: the machine's noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseFloor>,
    /// What an audit of the figures found; with `iostone judge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditReport>,
    /// "measured on 1 host": what the figures may be said of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
}
