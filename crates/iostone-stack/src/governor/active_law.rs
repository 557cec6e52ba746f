//! A law on its way: what it gives now, when it may change its mind, and the record of what it gave. Pure; time and use
//! are told.

use std::time::Duration;

use iostone_cloud::LawState;
use iostone_model::experiment::{Allowance, Governor, Law};
use iostone_model::trial::GovernorRecord;

use super::series::{Series, Steps};

/// Between two looks at the group: short where the law may change its mind soon, but never so short that looking costs
/// more than a percent of a processor.
const SHORTEST_STEP: Duration = Duration::from_millis(2);
const LONGEST_STEP: Duration = Duration::from_millis(10);
/// Once used up, credits have to reach what so long at full speed spends before there is full speed again: the kernel
/// hands a quota out at the beginning of each period, so that a balance about 0 would go up and down with every one.
const LEAST_RETURN_SECONDS: f64 = 0.02;
/// A longer step than this was no step of the governor's own choice: something held it up.
const HELD_UP: Duration = Duration::from_millis(20);

/// The processors that a law gives at its full speed, and once it is used up.
pub(super) fn speeds(allowance: &Allowance) -> (f64, f64) {
    let all = f64::from(allowance.vcpus);
    match allowance.law {
        Law::Share { share } => (all * share.0, all * share.0),
        Law::Bucket { slow, .. } | Law::Window { slow, .. } => (all, all * slow.0),
        Law::Credits { unlimited: true, .. } => (all, all),
        Law::Credits { baseline, .. } => (all, all * baseline.0),
    }
}

/// A law at work with its record.
#[derive(Debug)]
pub(super) struct ActiveLaw {
    governor: Governor,
    state: LawState,
    full: f64,
    slow: f64,
    /// What the group gets without a quota, processors.
    ceiling: f64,
    is_slow: bool,
    seconds: f64,
    used: f64,
    allowed: f64,
    excess: f64,
    slow_seconds: f64,
    throttled_times: u32,
    /// Since the law last changed its mind: seconds, CPU seconds used.
    stretch: (f64, f64),
    series: Series,
    steps: Steps,
    /// How much later than the law had it the quota was moved, seconds.
    late: f64,
}

impl ActiveLaw {
    /// A law at its beginning, in a group that gets at most so many processors.
    pub(super) fn begin(governor: Governor, ceiling: f64) -> Self {
        let state = LawState::begin(&governor);
        let (full, slow) = speeds(&governor.allowance);
        Self {
            is_slow: state.is_slow(),
            series: Series::begin(state.balance_seconds()),
            governor,
            state,
            full,
            slow,
            ceiling,
            seconds: 0.0,
            used: 0.0,
            allowed: 0.0,
            excess: 0.0,
            slow_seconds: 0.0,
            throttled_times: 0,
            stretch: (0.0, 0.0),
            steps: Steps::default(),
            late: 0.0,
        }
    }

    /// Whether the allowance is used up.
    pub(super) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// What may be used now, in processors.
    fn processors(&self) -> f64 {
        if self.is_slow { self.slow } else { self.full }
    }

    /// Lets time pass, in which so much CPU time was used.
    ///
    /// Nobody knows when in a step it was used. In a short one that makes no difference; in the step of a governor that was
    /// held up it is taken to have been used as fast as the quota in force let it, and the law goes on in parts of it: a
    /// workload that spent its bucket and then waited is not given what the law would have kept.
    pub(super) fn advance(&mut self, elapsed: Duration, used: Duration) {
        self.steps.count(elapsed);
        let (mut elapsed, mut used) = (elapsed.as_secs_f64(), used.as_secs_f64());
        if elapsed <= HELD_UP.as_secs_f64() {
            self.pass(elapsed, used);
            return;
        }
        let evenly = used / elapsed;
        let pace = if self.is_slow { evenly } else { evenly.max(self.full.min(self.ceiling)) };
        let mut missed: f64 = 0.0;
        while elapsed > 0.0 {
            let part = elapsed.min(LONGEST_STEP.as_secs_f64());
            elapsed -= part;
            let by_pace = used.min(pace * part);
            let of_part = if elapsed > 0.0 { by_pace } else { used };
            used -= of_part;
            if self.pass(part, of_part) {
                missed = missed.max(elapsed);
            }
        }
        self.late = self.late.max(missed);
    }

    /// Lets a short time pass; whether the law changed its mind in it.
    fn pass(&mut self, elapsed: f64, used: f64) -> bool {
        self.state.advance(elapsed, used);
        self.seconds += elapsed;
        self.used += used;
        self.stretch.0 += elapsed;
        self.stretch.1 += used;
        if self.is_slow {
            self.slow_seconds += elapsed;
        }
        let slow = self.state.is_slow() || (self.is_slow && !self.has_returned());
        let changed = slow != self.is_slow;
        if changed {
            self.close_stretch();
            self.throttled_times += u32::from(slow);
            self.is_slow = slow;
        }
        self.series.push(self.seconds, self.state.balance_seconds(), changed);
        changed
    }

    fn has_returned(&self) -> bool {
        self.state.balance_seconds() >= self.full * LEAST_RETURN_SECONDS
    }

    /// What the law allowed since it last changed its mind is its speed for so long, but at full speed no more than what
    /// it held and earned: that is what was used and what is left of it, or what was used without the debt.
    fn close_stretch(&mut self) {
        let (seconds, used) = std::mem::take(&mut self.stretch);
        let by_speed = self.processors() * seconds;
        let spends = match self.governor.allowance.law {
            Law::Share { .. } => false,
            Law::Bucket { .. } | Law::Window { .. } => !self.is_slow,
            Law::Credits { unlimited, .. } => !self.is_slow && !unlimited,
        };
        let allowed =
            if spends { by_speed.min((used + self.state.balance_seconds()).max(0.0)) } else { by_speed };
        self.allowed += allowed;
        self.excess += (used - allowed).max(0.0);
    }

    /// How long nothing can change, and so how long the governor may look away: at full speed nobody spends faster, and once
    /// it is used up nobody spends less than nothing.
    pub(super) fn next_look(&self) -> Duration {
        let seconds = self.state.lasts(if self.is_slow { 0.0 } else { self.full });
        Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_STEP).clamp(SHORTEST_STEP, LONGEST_STEP)
    }

    /// Ends it. What other laws would have given is for whoever knows the user's limit.
    pub(super) fn end(mut self) -> GovernorRecord {
        self.close_stretch();
        self.series.push(self.seconds, self.state.balance_seconds(), true);
        GovernorRecord {
            allowed_cpu_seconds: self.allowed,
            used_cpu_seconds: self.used,
            excess_share: if self.used > 0.0 { self.excess / self.used } else { 0.0 },
            throttled_times: self.throttled_times,
            slow_seconds: self.slow_seconds,
            balance: self.series.into_points(),
            step_seconds: self.steps.median_and_longest(),
            late_seconds: self.late,
            other_laws: Vec::new(),
            governor: self.governor,
        }
    }
}
