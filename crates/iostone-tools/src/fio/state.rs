//! Documents that fio printed one after another: states of one execution, or several executions.

use std::collections::BTreeMap;

use iostone_model::dataset::Observation;

/// What one document holds, and what tells whether another goes on with it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) observations: Vec<Observation>,
    pub(super) jobs: Vec<Progress>,
    /// When fio was started, and how long it had run when this was printed, in seconds.
    pub(super) begun: Option<f64>,
    pub(super) elapsed: Option<f64>,
}

/// How far a job had come.
#[derive(Debug, PartialEq)]
pub(super) struct Progress {
    pub(super) name: String,
    pub(super) group: i64,
    pub(super) options: BTreeMap<String, String>,
    /// Operations, or, in old versions, KiB.
    pub(super) done: f64,
    pub(super) milliseconds: u64,
}

impl Progress {
    fn goes_on_from(&self, earlier: &Self) -> bool {
        let same =
            (&self.name, self.group, &self.options) == (&earlier.name, earlier.group, &earlier.options);
        same && self.done >= earlier.done && self.milliseconds >= earlier.milliseconds
    }
}

impl State {
    /// The same, with the line where the document begins noted.
    pub(super) fn at_line(mut self, line: u64) -> Self {
        for observation in &mut self.observations {
            observation.line = Some(line);
        }
        self
    }

    /// Whether this is a later state of the same execution: the same jobs, begun at the same time, further on. Of a
    /// job that only stops at the end of its work, another execution has done no more than this one, but taken a time
    /// of its own.
    pub(super) fn goes_on_from(&self, earlier: &Self) -> bool {
        let further = self.elapsed.zip(earlier.elapsed).is_some_and(|(later, earlier)| {
            // Two executions of at least three seconds cannot have begun within one.
            later > earlier || (later >= 3.0 && later >= earlier)
        });
        // Both times are cut to whole seconds.
        let together = self.begun.zip(earlier.begun).is_some_and(|(one, other)| (one - other).abs() <= 1.0);
        let jobs = || self.jobs.iter().zip(&earlier.jobs);
        let grown = jobs().any(|(later, earlier)| later.done > earlier.done) || self.jobs == earlier.jobs;
        let same = self.jobs.len() == earlier.jobs.len();
        further && together && same && grown && jobs().all(|(later, earlier)| later.goes_on_from(earlier))
    }
}
