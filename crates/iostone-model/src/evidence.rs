//! What rules look at: figures with what is known of them and, of a run, its plan and the trials that count.

use std::borrow::Cow;
use std::ops::Deref;

use crate::dataset::Dataset;
use crate::experiment::Configuration;
use crate::run::{BlockRecord, Plan, PlannedComparison};
use crate::trial::TrialRecord;

/// Figures from anywhere, and the run that they are of.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// The figures; of a run an observation for each trial that counts.
    pub dataset: Cow<'a, Dataset>,
    /// The run; none of figures from elsewhere.
    pub run: Option<RunEvidence<'a>>,
}

/// A run's plan and its trials, grouped once.
#[derive(Debug, Clone)]
pub struct RunEvidence<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// Every block begun.
    pub blocks: &'a [BlockRecord],
    /// A group for each configuration of the plan, in its order.
    pub groups: Vec<Group<'a>>,
}

/// The trials of a configuration that count.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The configuration.
    pub configuration: &'a Configuration,
    /// Its trials that count, in order.
    pub trials: Vec<&'a TrialRecord>,
}

impl<'a> From<&'a Dataset> for Evidence<'a> {
    fn from(dataset: &'a Dataset) -> Self {
        Self { dataset: Cow::Borrowed(dataset), run: None }
    }
}

impl Deref for Evidence<'_> {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}

impl<'a> RunEvidence<'a> {
    /// Groups the trials of counted blocks.
    pub fn of(plan: &'a Plan, trials: &'a [TrialRecord], blocks: &'a [BlockRecord]) -> Self {
        let counts = |trial: &&TrialRecord| blocks.iter().any(|one| one.counted && one.number == trial.block);
        let group = |configuration: &'a Configuration| Group {
            configuration,
            trials: trials
                .iter()
                .filter(|trial| trial.configuration == configuration.name)
                .filter(counts)
                .collect(),
        };
        Self { plan, blocks, groups: plan.experiment.configurations.iter().map(group).collect() }
    }

    /// The trials of a configuration that count.
    pub fn trials_of(&self, configuration: &str) -> &[&'a TrialRecord] {
        let group = self.groups.iter().find(|group| group.configuration.name == configuration);
        group.map_or(&[], |group| &group.trials)
    }

    /// The groups that have a trial.
    pub fn measured(&self) -> impl Iterator<Item = &Group<'a>> {
        self.groups.iter().filter(|group| !group.trials.is_empty())
    }

    /// Every comparison of the plan, with the groups of the level and of the baseline.
    pub fn pairs(&self) -> impl Iterator<Item = (PlannedComparison, [&Group<'a>; 2])> {
        self.plan.comparisons().into_iter().filter_map(|pair| {
            let sides = [self.groups.get(pair.configuration)?, self.groups.get(pair.baseline)?];
            Some((pair, sides))
        })
    }
}
