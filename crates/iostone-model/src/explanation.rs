//! What bound figures: each one held against every ceiling that is known of what it went through.

use serde::{Deserialize, Serialize};

use crate::ceiling::{Held, QueueDepth};
use crate::cloud::{CatalogueDate, CeilingKind};
use crate::metric::Unit;
use crate::omitted::is_default;

/// The version of [`Explanation`] as JSON. Fields may be added within a version, never renamed or removed.
pub const EXPLANATION_SCHEMA: &str = "iostone/explanation/1";

/// What stands for the counters of devices in place of a metric's name.
pub const SERVED: &str = "served";

/// What bound the figures of a run or of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`EXPLANATION_SCHEMA`].
    pub schema: String,
    /// The run's directory, or the dataset's name.
    pub source: String,
    /// Whether the figures are those of a rehearsal, which may be otherwise at full length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rehearsal: bool,
    /// Each configuration, or each condition of a dataset.
    pub parts: Vec<ExplainedPart>,
    /// What was predicted, beside what was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<PredictedFigure>,
    /// What must be known of the whole, a sentence each without its point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A configuration of a run, or a condition of a dataset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExplainedPart {
    /// Its name.
    pub configuration: String,
    /// The instance type whose ceilings these are: from the catalogue, or emulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// How the instance type is known: "`machine.instance`", "`machine.emulate`", "`--instance`", "the platform that the run
    /// recorded".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_from: Option<String>,
    /// The volumes whose ceilings these are: from the catalogue, or emulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
    /// The date whose limits hold; absent where neither an instance nor a volume is known by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<CatalogueDate>,
    /// Trials, or rows, that the figures are the median of.
    pub trials: u32,
    /// Each rate that was measured.
    pub figures: Vec<ExplainedFigure>,
    /// What the devices themselves say of their limits, a sentence each without its point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<String>,
    /// What the buckets held when the trials began and ended, by the model or by the emulation's own count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub balances: Vec<BucketBalance>,
    /// What is not known, or not held against, and why: a sentence each without its point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl ExplainedPart {
    /// The figures to tell, one of those that count the same bytes: what stands at a ceiling or above one before what does not, the
    /// workload's own before counters. Where one is bound, that others had room is left out: they may have been a moment's work. Of
    /// those that stand at none, the one that comes closest.
    pub fn telling(&self) -> Vec<&ExplainedFigure> {
        let mut found: Vec<&ExplainedFigure> = Vec::new();
        let known = self.figures.iter().filter(|figure| !figure.ceilings.is_empty() || figure.stands());
        for figure in known {
            match found.iter_mut().find(|other| other.is_of_the_same_bytes(figure)) {
                Some(other) if figure.tells_more_than(other) => *other = figure,
                Some(_) => {}
                None => found.push(figure),
            }
        }
        if found.iter().any(|figure| figure.stands()) {
            found.retain(|figure| figure.stands());
        } else {
            // Whole trials have phases in which nothing moves: only at a limit do counters say something.
            found.sort_by(|one, other| other.closeness().total_cmp(&one.closeness()));
            found.truncate(1);
        }
        found
    }
}

/// A rate held against every ceiling that is known for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainedFigure {
    /// A metric, or [`SERVED`] for what the devices served.
    pub figure: String,
    /// Which way its bytes moved; absent where nothing tells. Two figures named [`SERVED`] differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The unit of everything here.
    pub unit: Unit,
    /// The median.
    pub measured: f64,
    /// The ceilings, the lowest in the long run first; none where none is known.
    pub ceilings: Vec<Held>,
    /// The name of the one that binds; null where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binds: Option<String>,
    /// How much more the next ceiling lets through, as a ratio to the one that binds, or to the narrowest where none does; null
    /// where no other is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// Why more was measured than the lowest ceiling lets through in the long run; null where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess: Option<Excess>,
    /// Whether all of its bytes passed the devices while it was measured; null where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_device: Option<bool>,
    /// Whether a volume limits I/Os of which it is not known how many there were, so that what binds may be that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncounted: bool,
    /// The queue depth that held it, where no ceiling did; null where that is not known to be so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<QueueDepth>,
    /// All of it in one sentence without its point, as documents have it: made where they are written.
    #[serde(default)]
    pub sentence: String,
}

impl ExplainedFigure {
    /// The ceiling that lets through least at its best.
    pub fn narrowest(&self) -> Option<&Held> {
        self.ceilings.iter().min_by(|one, other| one.at_best.total_cmp(&other.at_best))
    }

    /// The ceiling that binds.
    pub fn binding(&self) -> Option<&Held> {
        let name = self.binds.as_deref()?;
        self.ceilings.iter().find(|held| held.ceiling.name == name)
    }

    /// Whether it stands at a limit, or above one.
    pub fn stands(&self) -> bool {
        self.binds.is_some() || self.excess.is_some()
    }

    /// Its share of the lowest ceiling.
    fn closeness(&self) -> f64 {
        self.ceilings.first().map_or(0.0, |held| held.share)
    }

    /// Whether both count the same bytes: as bytes and as I/Os, as the workload says and as the devices do.
    fn is_of_the_same_bytes(&self, other: &Self) -> bool {
        let counters = self.figure == SERVED || other.figure == SERVED;
        let bytes = |figure: &Self| figure.figure.replace("iops", "throughput");
        self.flow == other.flow && (counters || bytes(self) == bytes(other))
    }

    /// Whether it is the one to tell of two that hold the same bytes against ceilings.
    fn tells_more_than(&self, other: &Self) -> bool {
        let rank = |figure: &Self| (figure.excess.is_some(), figure.binds.is_some(), figure.figure != SERVED);
        // A rate of bytes and one of I/Os are the same share of a ceiling, but for rounding: the first stays.
        rank(self) > rank(other)
            || rank(self) == rank(other) && self.closeness() > other.closeness() * (1.0 + 1e-3)
    }
}

/// Which way bytes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// From the volumes.
    Read,
    /// To the volumes.
    Write,
    /// Reads and writes counted together.
    Both,
}

/// The next ceiling above the one that binds, or above the narrowest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// Its name.
    pub next: String,
    /// How much more it lets through at its best, as a ratio to that one.
    pub times: f64,
}

/// Why more was measured than the lowest ceiling lets through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// The kind of explanation.
    pub because: ExcessCause,
    /// Bytes, or I/Os, beyond what the ceiling lets through in the time measured; null where the time is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<f64>,
    /// What the explanation allows beyond it; null where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// Whether it is that devices served less than was claimed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unserved: bool,
    /// The explanation with its figures, half a sentence.
    pub words: String,
}

/// A kind of explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExcessCause {
    /// Memory took writes in, or answered reads, and has room for as much.
    PageCache,
    /// A bucket of credits holds as much.
    BurstCredits,
    /// Nothing that is known.
    AboveEveryCeiling,
}

/// What a bucket held when a trial began and when it ended: medians over the trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BucketBalance {
    /// Whose: "the byte credits of the link".
    pub bucket: String,
    /// What it is counted in: bytes, or a plain number of I/Os.
    pub unit: Unit,
    /// The most that it holds.
    pub capacity: f64,
    /// At the beginning.
    pub start: f64,
    /// At the end.
    pub end: f64,
    /// Where both are known from.
    pub source: String,
}

/// What was predicted of a configuration, beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedFigure {
    /// The configuration, or the condition.
    pub configuration: String,
    /// The metric.
    pub metric: String,
    /// Its unit, of all figures here.
    pub unit: Unit,
    /// What was predicted.
    pub predicted: f64,
    /// Between these it was expected to lie.
    pub predicted_interval: [f64; 2],
    /// What was measured: the median.
    pub measured: f64,
    /// `measured` over `predicted`.
    pub ratio: f64,
    /// What binds for the largest part of the time, as predicted.
    pub binds: CeilingKind,
    /// The same by its name.
    pub binding: String,
    /// What explains the difference, where something known does: half a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<String>,
    /// All of it in one sentence without its point: documents have it, records of figures do not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
}
