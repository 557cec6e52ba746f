//! How an experiment decides: the metric, the margin, the blocks, the gates, and the pace of trials.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::covariate::Covariate;
use crate::omitted::is_default;
use crate::units::{BytesPerSecond, Fraction, Span};

/// What is decided, and when it is certain enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// The figure; its direction comes with it.
    pub metric: String,
    /// The level that the others are held against; `factor=level` where a level's name occurs in two factors. A sweep has
    /// none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline: String,
    /// Differences within it do not matter.
    #[serde(default = "default_margin")]
    pub margin: Fraction,
    /// Of every verdict and interval, over all comparisons and looks together.
    #[serde(default = "default_confidence")]
    pub confidence: Fraction,
    /// What ends the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub claim: Claim,
    /// How many blocks.
    #[serde(default)]
    pub blocks: BlockBudget,
    /// No new block is begun once the run, resumed sessions included, has taken this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Whether an unrecorded trial of the same level runs before each trial, so that what runs before both trials of a pair
    /// is alike and no carry-over can favour one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conditioning: bool,
    /// What verdicts are adjusted for: what others took of the machine during a trial, by slopes that the pilots show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covariates: Vec<Covariate>,
}

/// What is to be shown of each level before a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// That it is faster, slower or equivalent.
    #[default]
    Difference,
    /// That it is not worse by more than the margin, or that it is worse: what a gate asks.
    NotWorse,
}

/// The number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "DeclaredBlocks")]
pub struct BlockBudget {
    /// What the run begins with.
    #[serde(skip_serializing_if = "is_default")]
    pub start: BlockStart,
    /// No verdict before so many. A superblock counts as its trials of each level.
    pub min: u32,
    /// Undecided after so many.
    pub max: u32,
}

/// The number of blocks, as a file has it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeclaredBlocks {
    /// What the run begins with.
    #[serde(default)]
    start: BlockStart,
    /// No verdict before so many; by default 6, and none before the end of a superblock, which counts as its trials of each level.
    min: Option<u32>,
    /// Undecided after so many.
    #[serde(default = "default_maximum")]
    max: u32,
}

impl From<DeclaredBlocks> for BlockBudget {
    fn from(declared: DeclaredBlocks) -> Self {
        let DeclaredBlocks { start, min, max } = declared;
        let usual = match start {
            BlockStart::Pairs => default_minimum(),
            // How many trials a superblock has hangs on the comparisons; the plan has the number.
            BlockStart::Superblock => 1,
        };
        Self { start, min: min.unwrap_or(usual), max }
    }
}

/// What a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockStart {
    /// Blocks throughout: every configuration once, in random order.
    #[default]
    Pairs,
    /// First several trials of every configuration in one random order, then blocks: clear differences take fewer trials.
    Superblock,
}

impl Default for BlockBudget {
    fn default() -> Self {
        Self { start: BlockStart::default(), min: default_minimum(), max: default_maximum() }
    }
}

/// The pace of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trials {
    /// Rest between the building of the stack and the workload; prolonged up to tenfold while the device is busy.
    #[serde(default = "default_settle")]
    pub settle: Span,
    /// Unrecorded trials of each configuration at the start of a session.
    #[serde(default = "default_warmups")]
    pub warmups: u32,
    /// The seed of the order of trials and of the data written; drawn and recorded if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Default for Trials {
    fn default() -> Self {
        Self { settle: default_settle(), warmups: default_warmups(), seed: None }
    }
}

/// The pre-declared checks of a trial's validity. None looks at the metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// Share of CPU time stolen by the hypervisor.
    #[serde(default = "default_steal")]
    pub steal: Gate<Fraction>,
    /// Share of the control group's periods that its CPU quota cut short.
    #[serde(default = "default_throttling")]
    pub throttling: Gate<Fraction>,
    /// By how much the bytes claimed may exceed those that the device served, where the workload does not use the
    /// page cache.
    #[serde(default = "default_served")]
    pub served: Gate<Fraction>,
    /// Traffic on the devices just before the workload starts.
    #[serde(default = "default_idle")]
    pub idle: Gate<BytesPerSecond>,
    /// How far the wall clock may be moved during a trial.
    #[serde(default = "default_clock")]
    pub clock: Gate<Span>,
    /// Share of the CPU time of an emulated allowance that was used beyond what its law allowed. A governor that was late by
    /// more than a few of its steps fails it too.
    #[serde(default = "default_governor")]
    pub governor: Gate<Fraction>,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            steal: default_steal(),
            throttling: default_throttling(),
            served: default_served(),
            idle: default_idle(),
            clock: default_clock(),
            governor: default_governor(),
        }
    }
}

/// A limit, or `"off"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate<T> {
    /// Not looked at.
    Off,
    /// A trial above it does not count.
    Limit(T),
}

impl<T: fmt::Display> fmt::Display for Gate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl<T: fmt::Display> Serialize for Gate<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T> Deserialize<'de> for Gate<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse()
            .map(Self::Limit)
            .map_err(|error: T::Err| serde::de::Error::custom(format!("{error}, or \"off\"")))
    }
}

impl<T: JsonSchema> JsonSchema for Gate<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("GateOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let limit = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [{ "const": "off" }, limit] })
    }
}

fn default_margin() -> Fraction {
    Fraction(0.03)
}
fn default_confidence() -> Fraction {
    Fraction(0.95)
}
fn default_minimum() -> u32 {
    6
}
fn default_maximum() -> u32 {
    40
}
fn default_settle() -> Span {
    Span(std::time::Duration::from_millis(500))
}
fn default_warmups() -> u32 {
    1
}
fn default_steal() -> Gate<Fraction> {
    Gate::Limit(Fraction(0.05))
}
fn default_throttling() -> Gate<Fraction> {
    Gate::Limit(Fraction(0.05))
}
fn default_governor() -> Gate<Fraction> {
    Gate::Limit(Fraction(0.05))
}

fn default_served() -> Gate<Fraction> {
    Gate::Limit(Fraction(0.10))
}
fn default_idle() -> Gate<BytesPerSecond> {
    Gate::Limit(BytesPerSecond(8e6))
}
fn default_clock() -> Gate<Span> {
    Gate::Limit(Span(std::time::Duration::from_millis(100)))
}
