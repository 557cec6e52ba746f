//! A host whose CPU allowance is emulated: the law by which an instance's processor is given and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Link;
use crate::units::Fraction;

/// Beyond, the window of an allowance is shorter than a few periods of the quota that enforces it.
pub const FASTEST_SPEED: f64 = 100.0;

/// This host with the CPU allowance of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Governed {
    /// The instance type whose allowance holds: `t1.micro`, `t2.micro`, `m3.medium`; `iostone credits --list` has them.
    pub cpu: String,
    /// How many times faster allowances are spent and earned, so that an hour of the instance fits minutes: windows,
    /// capacities and credits are divided by it, rates stay.
    #[serde(default = "real_time")]
    pub speed: f64,
    /// Which of the known laws of that type holds, by name; the one that fits its measurements best if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<String>,
    /// What the allowance holds when the workload begins.
    #[serde(default)]
    pub start: AllowanceStart,
    /// Bytes a second of all emulated volumes together, as an instance's link to its storage has: `500Mbps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The price of an hour in US dollars, in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
}

/// What an allowance holds at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllowanceStart {
    /// What an instance has that was just started: launch credits where its type has them, else a full bucket.
    #[default]
    Launch,
    /// As much as it can hold.
    Full,
    /// Nothing: what an instance has that was busy for long.
    Empty,
}

/// An allowance with the speed at which it is emulated; stands in a [`Stack`](super::super::Stack) once the plan is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Governor {
    /// The law with its figures, in real time.
    pub allowance: Allowance,
    /// How many times faster it is spent and earned.
    pub speed: f64,
    /// What it holds when the workload begins.
    pub start: AllowanceStart,
}

/// The CPU allowance of an instance type: a law with its figures, and who says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    /// The instance type.
    pub instance: String,
    /// The law's name among those of its type: `penalty`, `bucket`, `window`, `credits`, `unlimited`, `share`.
    pub name: String,
    /// Processors that it has.
    pub vcpus: u32,
    /// The law.
    pub law: Law,
    /// What the figures rest on.
    pub basis: Basis,
    /// Where they are from, in a sentence.
    pub source: String,
}

impl Governor {
    /// "t1.micro, law `penalty` (measured), 20 times faster".
    pub fn in_words(&self) -> String {
        let Allowance { instance, name, basis, .. } = &self.allowance;
        let pace =
            if self.speed > 1.0 { format!("{} times faster", self.speed) } else { "in real time".to_owned() };
        let start = match self.start {
            AllowanceStart::Launch => "",
            AllowanceStart::Full => ", full at the start",
            AllowanceStart::Empty => ", empty at the start",
        };
        format!("{instance}, law `{name}` ({}), {pace}{start}", basis.word())
    }
}

impl Basis {
    /// The word of it: "measured".
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured => "measured",
            Self::Assumed => "assumed",
        }
    }
}

impl Law {
    /// The law with its figures, in real time, as it goes into a sentence.
    pub fn in_words(&self) -> String {
        match self {
            // A ratio of two figures of a report has as many digits as they had.
            Self::Share { share } => {
                let rounded = Fraction((share.0 * 1e3).round() / 1e3);
                format!("{rounded} of each processor, constantly")
            }
            Self::Bucket { capacity_seconds, refill, throttled_refill, slow, resume } => {
                let while_slow = if throttled_refill == refill {
                    String::new()
                } else {
                    format!(", {throttled_refill} while it is throttled")
                };
                let until = if resume.0 >= 1.0 {
                    "it is full again".to_owned()
                } else {
                    format!("it holds {resume} again")
                };
                format!(
                    "a bucket of {capacity_seconds} CPU seconds that earns {refill} of a processor{while_slow}; full speed \
                     until it is empty, then {slow} until {until}"
                )
            }
            Self::Window { window_seconds, threshold, slow } => format!(
                "full speed while at most {threshold} of each processor was used over the last {window_seconds} seconds, else \
                 {slow}"
            ),
            Self::Credits { baseline, earned_per_hour, maximum, launch, unlimited } => {
                let launch = if *launch > 0.0 { format!(" and {launch} at launch") } else { String::new() };
                let after = if *unlimited {
                    "then full speed at extra charge".to_owned()
                } else {
                    format!("then {baseline} of each processor")
                };
                format!(
                    "{earned_per_hour} CPU credits per hour, at most {maximum}{launch}, each one processor-minute; full speed \
                     while credits last, {after}"
                )
            }
        }
    }
}

/// What figures rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The provider says so.
    Published,
    /// Somebody measured it.
    Measured,
    /// Nobody says or measured exactly this.
    Assumed,
}

/// How a processor is given and taken. Shares are of one processor unless said; CPU time is in seconds of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Law {
    /// A constant share of each processor: the speed of the instance's processor against this one's, or what steal leaves.
    Share {
        /// Of each processor.
        share: Fraction,
    },
    /// A bucket of CPU time: full speed while it holds something; once it is empty, `slow` until it has `resume` again.
    Bucket {
        /// What it holds, CPU seconds.
        capacity_seconds: f64,
        /// Earned all the time, CPU seconds a second.
        refill: Fraction,
        /// Earned instead while slow; a lower one than `refill` is what makes being throttled cost something.
        throttled_refill: Fraction,
        /// The share that is left once it is empty.
        slow: Fraction,
        /// What it must hold again before full speed, as a share of the capacity.
        resume: Fraction,
    },
    /// A sliding window: full speed as long as the use over the window is not above the threshold, else `slow`.
    Window {
        /// How far back use counts.
        window_seconds: f64,
        /// Of each processor, on average over the window.
        threshold: Fraction,
        /// The share that is left above it.
        slow: Fraction,
    },
    /// CPU credits of the T family: one is a processor for a minute.
    Credits {
        /// Of each processor, always given.
        baseline: Fraction,
        /// Earned in an hour, by the instance.
        earned_per_hour: f64,
        /// The most that is kept of what was earned.
        maximum: f64,
        /// Given at the start, beside that maximum.
        launch: f64,
        /// Whether surplus credits may be spent without end, for money.
        unlimited: bool,
    },
}

fn real_time() -> f64 {
    1.0
}
