//! Statistics over hosts: what figures of several machines say about others like them.
//!
//! Trials of one host are alike in what that host is, so a host counts once, however many trials it ran. Two questions differ:
//! [`between`] compares levels that run on different hosts (an instance type, a zone), and needs several hosts of each;
//! [`within`] asks what an effect measured on every host is on hosts like these. [`spread`] parts the spread of figures into
//! that between hosts and that between blocks of a host, and says what the next host will show and how many more are needed.
//! [`odd`] names hosts that are unlike the rest. On *these* hosts, without any claim about others, the blocks of all hosts in order
//! of time are judged as those of one machine are ([`crate::judge`]).

pub mod between;
pub mod odd;
pub mod spread;
pub mod within;

mod rank_law;
#[cfg(test)]
mod tests;

use iostone_model::verdict::Verdict;

use crate::boundary::alpha;
use crate::judge::CENSORED_LOG_RATIO;
use crate::walsh::Interval;

/// What is declared before hosts are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRules {
    /// The confidence of all comparisons together: 0.95 for 95 %.
    pub confidence: f64,
    /// The equivalence margin as a fraction of the baseline.
    pub margin: f64,
    /// How many comparisons are made together.
    pub comparisons: u32,
}

impl HostRules {
    /// The chance of error of each end of an interval for a difference.
    fn of_difference(&self) -> f64 {
        self.of_equivalence() / 2.0
    }

    /// The chance of error of each bound for equivalence.
    fn of_equivalence(&self) -> f64 {
        alpha(self.confidence) / f64::from(self.comparisons.max(1))
    }

    /// What intervals of log ratios bear out; equivalence before a difference, as in all verdicts.
    fn verdict(&self, difference: Interval, equivalence: Interval) -> Verdict {
        let margin = self.margin.ln_1p();
        if equivalence.lower > -margin && equivalence.upper < margin {
            Verdict::Equivalent
        } else if difference.lower > 0.0 {
            Verdict::Faster
        } else if difference.upper < 0.0 {
            Verdict::Slower
        } else {
            Verdict::Undecided
        }
    }
}

/// What a comparison over hosts came to; log ratios, above zero where the level is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostComparison {
    /// Hosts of the baseline and of the level; the same ones where each ran both.
    pub hosts: [u32; 2],
    /// The typical log ratio; none where a level has no host.
    pub estimate: Option<f64>,
    /// The interval for a difference, infinite where there are too few hosts for one.
    pub difference: Interval,
    /// The interval for equivalence.
    pub equivalence: Interval,
    /// The verdict; none where too few hosts were there for any, whatever they showed.
    pub verdict: Option<Verdict>,
}

/// A host's log figure or ratio within what ranks can tell: a run that never ended is the worst of all.
fn bounded(value: f64) -> f64 {
    value.clamp(-CENSORED_LOG_RATIO, CENSORED_LOG_RATIO)
}
