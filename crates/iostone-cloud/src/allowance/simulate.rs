//! How long work takes under an allowance, and what it spends: the law followed from change to change, not in steps.

#[cfg(test)]
mod tests;

use iostone_model::experiment::Governor;

use super::{LawState, allowances};

/// Points kept of a course; a law that goes slow and fast more often is told by its sums.
const POINTS_KEPT: usize = 4096;
/// After this many phase changes a steady cycle is assumed: the rest of the work is extrapolated from the last half.
const CHANGES_FOLLOWED: u64 = 20_000;

/// Work, and how much of a machine it could use if it were let.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// CPU seconds that it takes in all, on a processor of the instance.
    pub cpu_seconds: f64,
    /// Processors that it uses where nothing holds it: 1 for one busy thread, 0.63 for a build that waits a third of the time.
    pub processors: f64,
    /// Its own limit, in processors: 0.3 for a CPU quota of 30 %.
    pub limit: Option<f64>,
}

impl Demand {
    /// One busy thread without a limit of its own.
    pub fn busy(cpu_seconds: f64) -> Self {
        Self { cpu_seconds, processors: 1.0, limit: None }
    }

    /// Processors that it uses under its own limit alone.
    pub fn wanted(&self) -> f64 {
        self.limit.map_or(self.processors, |limit| self.processors.min(limit)).max(0.0)
    }
}

/// Where the course of an allowance changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Seconds since the start.
    pub at_seconds: f64,
    /// CPU seconds at hand, as [`LawState::balance_seconds`].
    pub balance_seconds: f64,
    /// Processors that the work uses from here on.
    pub processors: f64,
    /// Whether the law gives less than the work could use from here on.
    pub slow: bool,
}

/// What becomes of work under an allowance. Times and CPU times in seconds of the emulation, as in [`LawState`].
///
/// `begin + earned + surplus = spent + left + lost`, for every law that keeps a balance.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// From start to end; infinite for work that gets nothing.
    pub wall_seconds: f64,
    /// CPU seconds used.
    pub cpu_seconds: f64,
    /// Seconds in which the law gave less than the work could use.
    pub slow_seconds: f64,
    /// How often such a time began.
    pub slow_times: u64,
    /// When the first began: when the credits ran out; none if never.
    pub slow_from_seconds: Option<f64>,
    /// CPU seconds at hand at the start, launch credits included.
    pub begin_seconds: f64,
    /// CPU seconds at hand at the end.
    pub left_seconds: f64,
    /// CPU seconds earned in between.
    pub earned_seconds: f64,
    /// CPU seconds of them that a full allowance had no room for.
    pub lost_seconds: f64,
    /// CPU seconds of launch credits spent.
    pub launch_spent_seconds: f64,
    /// CPU seconds spent on credit, with an unlimited allowance, and not earned back.
    pub surplus_seconds: f64,
    /// Where the course changes, the start and the end included; the first 4096 of them.
    pub course: Vec<Point>,
}

/// Simulates work under a governor from its start.
pub fn simulate(governor: &Governor, demand: &Demand) -> Simulation {
    simulate_from(LawState::begin(governor), demand)
}

/// Simulates work under an allowance as it stands.
pub fn simulate_from(mut state: LawState, demand: &Demand) -> Simulation {
    let wanted = demand.wanted();
    let mut result = Simulation {
        wall_seconds: 0.0,
        cpu_seconds: 0.0,
        slow_seconds: 0.0,
        slow_times: 0,
        slow_from_seconds: None,
        begin_seconds: state.balance_seconds(),
        left_seconds: 0.0,
        earned_seconds: 0.0,
        lost_seconds: 0.0,
        launch_spent_seconds: 0.0,
        surplus_seconds: 0.0,
        course: Vec::new(),
    };
    let (earned, lost, launch) = (state.earned_seconds(), state.lost_seconds(), state.launch_seconds());
    let mut was_slow = false;
    let mut changes = 0;
    let (mut half_way, mut extrapolated) = (Sums::default(), None);
    let mut remaining = demand.cpu_seconds.max(0.0);
    while remaining > 0.0 {
        let rate = state.rate(demand.processors).min(wanted);
        let slow = state.withholds(rate, wanted);
        if slow && !was_slow {
            result.slow_times += 1;
            result.slow_from_seconds.get_or_insert(result.wall_seconds);
        }
        was_slow = slow;
        note(
            &mut result.course,
            Point {
                at_seconds: result.wall_seconds,
                balance_seconds: state.balance_seconds(),
                processors: rate,
                slow,
            },
        );
        let lasts = state.lasts(rate);
        let needed = remaining / rate;
        changes += 1;
        if changes == CHANGES_FOLLOWED / 2 {
            half_way = Sums::of(&result, &state);
        } else if changes > CHANGES_FOLLOWED && needed > lasts {
            extrapolated = Some(Sums::of(&result, &state).since(half_way));
            break;
        }
        if !needed.is_finite() && !lasts.is_finite() {
            result.wall_seconds = f64::INFINITY;
            break;
        }
        let elapsed = lasts.min(needed);
        let used = if needed <= lasts { remaining } else { rate * elapsed };
        state.advance(elapsed, used);
        result.wall_seconds += elapsed;
        result.cpu_seconds += used;
        result.slow_seconds += if slow { elapsed } else { 0.0 };
        remaining = if needed <= lasts { 0.0 } else { remaining - used };
    }
    result.left_seconds = state.balance_seconds();
    result.earned_seconds = state.earned_seconds() - earned;
    result.lost_seconds = state.lost_seconds() - lost;
    result.launch_spent_seconds = launch - state.launch_seconds();
    result.surplus_seconds = state.surplus_seconds();
    if let Some(round) = extrapolated {
        round.go_on(&mut result, remaining);
    }
    note(
        &mut result.course,
        Point {
            at_seconds: result.wall_seconds,
            balance_seconds: result.left_seconds,
            processors: 0.0,
            slow: false,
        },
    );
    result
}

/// What adds up in a simulation.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    wall_seconds: f64,
    cpu_seconds: f64,
    slow_seconds: f64,
    slow_times: u64,
    lost_seconds: f64,
}

impl Sums {
    fn of(result: &Simulation, state: &LawState) -> Self {
        Self {
            wall_seconds: result.wall_seconds,
            cpu_seconds: result.cpu_seconds,
            slow_seconds: result.slow_seconds,
            slow_times: result.slow_times,
            lost_seconds: state.lost_seconds(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            wall_seconds: self.wall_seconds - before.wall_seconds,
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            slow_seconds: self.slow_seconds - before.slow_seconds,
            slow_times: self.slow_times - before.slow_times,
            lost_seconds: self.lost_seconds - before.lost_seconds,
        }
    }

    /// Adds these sums as many times as the rest of the work takes: thousands of rounds are in them, so that the part of a
    /// round at either end is nothing. What was earned is what the balance says.
    fn go_on(self, result: &mut Simulation, remaining_cpu_seconds: f64) {
        let times = remaining_cpu_seconds / self.cpu_seconds;
        if !times.is_finite() {
            result.wall_seconds = f64::INFINITY;
            return;
        }
        result.wall_seconds += self.wall_seconds * times;
        result.cpu_seconds += remaining_cpu_seconds;
        result.slow_seconds += self.slow_seconds * times;
        result.lost_seconds += self.lost_seconds * times;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casting saturates, and sums do not shrink"
        )]
        let slow_times = (self.slow_times as f64 * times).round() as u64;
        result.slow_times = result.slow_times.saturating_add(slow_times);
        result.earned_seconds = result.cpu_seconds + result.left_seconds + result.lost_seconds
            - result.begin_seconds
            - result.surplus_seconds;
    }
}

/// Keeps a point unless the course goes on as before.
fn note(course: &mut Vec<Point>, point: Point) {
    if course.len() < POINTS_KEPT && point.at_seconds.is_finite() {
        course.push(point);
    }
}

/// Wall seconds of the emulation for the same work under every known law of the governor's type, by name: the law in force first, then
/// the others in the table's order, at the same speed and start. Work that never ends is left out.
pub fn simulate_others(governor: &Governor, demand: &Demand) -> Vec<(String, f64)> {
    let in_force = std::iter::once(governor.clone());
    let known = allowances(&governor.allowance.instance).unwrap_or_default();
    let others = known.into_iter().filter(|allowance| allowance.name != governor.allowance.name);
    let others = others.map(|allowance| Governor { allowance, ..governor.clone() });
    in_force
        .chain(others)
        .map(|governor| (governor.allowance.name.clone(), simulate(&governor, demand).wall_seconds))
        .filter(|(_, seconds)| seconds.is_finite())
        .collect()
}
