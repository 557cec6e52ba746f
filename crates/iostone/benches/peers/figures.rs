//! What was measured, round by round, and what it comes to.

use iostone_stats::median::{Summary, summarize};

use crate::cases::Case;
use crate::tools::Tool;

/// For the interval that a summary carries, which is not used here.
const CONFIDENCE: f64 = 0.95;

/// One run of one tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial {
    pub(crate) iops: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) cpu_seconds_per_io: f64,
    pub(crate) instructions_per_io: Option<f64>,
}

/// All runs of one case: for each round a trial of each tool.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) case: Case,
    pub(crate) tools: Vec<Tool>,
    trials: Vec<Vec<Trial>>,
}

/// A median with the extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// None of no figures.
    pub(crate) fn of(figures: &[f64]) -> Option<Self> {
        let Summary { median, minimum, maximum, .. } = summarize(figures, CONFIDENCE);
        Some(Self { median: median?, least: minimum?, most: maximum? })
    }
}

impl Rounds {
    /// Of the `tools`, ours is the first.
    pub(crate) fn new(case: Case, tools: Vec<Tool>) -> Self {
        Self { case, tools, trials: Vec::new() }
    }

    /// Adds a round: a trial of each tool, in the order of `tools`.
    pub(crate) fn push(&mut self, round: Vec<Trial>) {
        self.trials.push(round);
    }

    /// Where the one of ours is that the tool at `number` is compared with.
    fn place_of_ours(&self, number: usize) -> Option<usize> {
        let ours = self.case.ours(*self.tools.get(number)?);
        self.tools.iter().position(|tool| *tool == ours)
    }

    /// The ratios of our rate to that of the tool at `number`, one of each round.
    pub(crate) fn ratios(&self, number: usize) -> Option<Spread> {
        let ours = self.place_of_ours(number)?;
        let ratio = |round: &Vec<Trial>| Some(round.get(ours)?.iops / round.get(number)?.iops);
        Spread::of(&self.trials.iter().filter_map(ratio).collect::<Vec<f64>>())
    }

    /// The ratios of its processor time per I/O to ours, likewise.
    pub(crate) fn cpu_ratios(&self, number: usize) -> Option<Spread> {
        let ours = self.place_of_ours(number)?;
        let ratio = |round: &Vec<Trial>| {
            Some(round.get(number)?.cpu_seconds_per_io / round.get(ours)?.cpu_seconds_per_io)
        };
        Spread::of(&self.trials.iter().filter_map(ratio).collect::<Vec<f64>>())
    }

    /// A figure of the tool at `number` over all rounds.
    pub(crate) fn spread(&self, number: usize, figure: impl Fn(&Trial) -> Option<f64>) -> Option<Spread> {
        let figures = self.trials.iter().filter_map(|round| figure(round.get(number)?));
        Spread::of(&figures.collect::<Vec<f64>>())
    }

    /// The latest round for whoever waits.
    pub(crate) fn last_in_a_line(&self) -> String {
        let Some(round) = self.trials.last() else { return self.case.name.to_owned() };
        let rates: Vec<String> = self
            .tools
            .iter()
            .zip(round)
            .map(|(tool, trial)| format!("{} {:.1}", tool.name(), trial.iops / 1e3))
            .collect();
        format!("{}: {} thousand I/Os per second", self.case.name, rates.join("; "))
    }
}
