//! Finds CPU time that changes for identical work: stolen or throttled time booked as the program's own.

use std::collections::BTreeMap;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

use super::case::{Case, condition, median, outcome, percent, row, told};
use crate::Outcome;
use crate::rule::Rule;

/// Caches and frequency explain less than this on one machine. A rule of thumb; the published case that it is made for, a
/// build whose CPU time held what the hypervisor stole, is at nine.
const SAME_WORK_RATIO: f64 = 1.5;
/// In shorter times starting up and ticks of the clock count.
const SHORTEST_CPU_SECONDS: f64 = 1.0;
/// A share of steal below this cannot make half as much again.
const LITTLE_STEAL: f64 = 0.1;
/// The same where nobody says that the work was the same: the condition may have been less work.
const PRESUMED: f64 = 2.0;
/// Between machines the processors differ too.
const OTHER_MACHINE: f64 = 3.0;
/// From here on the figure of time itself is of another work, or of other CPUs, than it says.
const GRAVE: f64 = 2.0;

/// Labels that tell machines apart.
const MACHINES: &[&str] =
    &["instance", "host", "hostname", "machine", "node", "server", "vm", "guest", "cpu", "cpu_model"];
/// Words in the names of labels that limit a machine without making it another.
const LIMITS: &[&str] = &["limit", "quota", "throttl", "cpu_max", "cpu.max"];

/// CPU time that differs for equal work.
pub(super) struct CpuTime;

/// The CPU time of one condition on one machine.
#[derive(Debug, Clone)]
struct Cost {
    seconds: f64,
    index: usize,
    /// "under limit=none", or "in run 4".
    place: String,
    steal: Option<f64>,
    /// That of each execution, where there are several.
    each: Vec<Cost>,
}

impl Rule for CpuTime {
    fn name(&self) -> &'static str {
        "cpu-time"
    }

    fn looks_for(&self) -> &'static str {
        "CPU time (user and system) that changes for identical work"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let works = works(dataset);
        let looked = works.values().any(|machines| machines.values().map(Vec::len).sum::<usize>() > 1);
        let findings = works
            .iter()
            .flat_map(|((_, presumed), machines)| {
                let within = machines.values().flat_map(|costs| self.within(dataset, costs, *presumed));
                within.chain(self.between(dataset, machines)).collect::<Vec<_>>()
            })
            .collect();
        outcome(looked, findings)
    }
}

impl CpuTime {
    /// Judges conditions on one machine.
    fn within(&self, dataset: &Dataset, costs: &[Cost], presumed: bool) -> Vec<Finding> {
        let threshold = if presumed { PRESUMED } else { SAME_WORK_RATIO };
        let differing = |costs: &[Cost]| {
            let (least, most) = extremes(costs)?;
            (most.seconds / least.seconds >= threshold).then(|| (least.clone(), most.clone()))
        };
        // Conditions, or else single executions of what is known to be the same work.
        let each: Vec<Cost> = costs.iter().filter(|_| !presumed).flat_map(|cost| cost.each.clone()).collect();
        let (costs, (least, most), single) = match (differing(costs), differing(&each)) {
            (Some(pair), _) => (costs, pair, false),
            (None, Some(pair)) => (each.as_slice(), pair, true),
            (None, None) => return Vec::new(),
        };
        let ratio = most.seconds / least.seconds;
        let same_machine = only_limits_differ(dataset, least.index, most.index);
        let little =
            [&least, &most].into_iter().all(|cost| cost.steal.is_some_and(|steal| steal < LITTLE_STEAL));
        let (severity, why) = if little {
            let steal = most.steal.into_iter().chain(least.steal).fold(0.0, f64::max);
            (
                Severity::Note,
                format!("; steal of {} does not explain it, so the condition does", percent(steal)),
            )
        } else if ratio >= GRAVE && !presumed && !single && same_machine {
            (Severity::Serious, ": time stolen or throttled was booked as the program's own".to_owned())
        } else {
            (
                Severity::Warning,
                ": time stolen or throttled may have been booked as the program's own".to_owned(),
            )
        };
        let same = if presumed { "what looks like the same work" } else { "the same work" };
        let place = if same_machine { " on the same machine" } else { "" };
        self.tell(dataset, costs, severity, (&least, &most), &format!("{same}{place}"), &why)
    }

    /// Judges machines against each other, by the least CPU time on each.
    fn between(&self, dataset: &Dataset, machines: &BTreeMap<String, Vec<Cost>>) -> Vec<Finding> {
        let costs: Vec<Cost> =
            machines.values().filter_map(|costs| extremes(costs).map(|(least, _)| least.clone())).collect();
        let Some((least, most)) = extremes(&costs) else { return Vec::new() };
        if costs.len() < 2 || most.seconds / least.seconds < OTHER_MACHINE {
            return Vec::new();
        }
        let why = ", more than processors of one time usually differ by; steal may be part of it";
        self.tell(dataset, &costs, Severity::Note, (least, most), "the same work on different machines", why)
    }

    fn tell(
        &self,
        dataset: &Dataset,
        costs: &[Cost],
        severity: Severity,
        (least, most): (&Cost, &Cost),
        what: &str,
        why: &str,
    ) -> Vec<Finding> {
        let seconds = |cost: &Cost| Unit::Seconds.format(cost.seconds);
        let named = |cost: &Cost| format!("{} {}", seconds(cost), cost.place).trim_end().to_owned();
        let user_only = costs.iter().all(|cost| {
            let facts = dataset.observations.get(cost.index).map(|observation| &observation.facts);
            facts.is_some_and(|facts| facts.cpu_user_seconds.is_some() && facts.cpu_system_seconds.is_none())
        });
        let (mode, sum) = if user_only { (" in user mode", "user") } else { ("", "user + system") };
        let message = format!(
            "{what} took {} times the CPU time{mode}: {}, {}{why}",
            three_digits(most.seconds / least.seconds),
            named(most),
            named(least),
        );
        let mut ordered: Vec<&Cost> = costs.iter().collect();
        ordered.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        let cases = ordered.iter().map(|cost| {
            let steal = cost.steal.map(|steal| format!(", steal {}", percent(steal))).unwrap_or_default();
            let text = format!("{sum} {}{steal}", seconds(cost));
            Case { index: cost.index, severity, text }
        });
        told(
            self,
            dataset,
            cases.collect(),
            message,
            "Record steal and throttling beside the times and compare elapsed time only where neither occurred.",
        )
    }
}

/// The conditions' CPU times by work (and whether its sameness is presumed) and by machine.
fn works(dataset: &Dataset) -> BTreeMap<(String, bool), BTreeMap<String, Vec<Cost>>> {
    type Times = BTreeMap<String, Vec<(usize, f64)>>;
    let mut works: BTreeMap<(String, bool), BTreeMap<String, Times>> = BTreeMap::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        let Some(seconds) = cpu_seconds(observation).filter(|seconds| *seconds >= SHORTEST_CPU_SECONDS)
        else {
            continue;
        };
        let work = match &observation.facts.work {
            Some(work) => (work.clone(), false),
            None => (observation.table.clone(), true),
        };
        let conditions = works.entry(work).or_default().entry(machine(observation)).or_default();
        conditions.entry(condition(dataset, observation)).or_default().push((index, seconds));
    }
    let cost = |(condition, times): (String, Vec<(usize, f64)>)| {
        let index = times.first()?.0;
        let seconds = median(times.iter().map(|(_, seconds)| *seconds))?;
        let steal_of = |index: usize| dataset.observations.get(index)?.facts.steal;
        let steal = median(times.iter().filter_map(|(index, _)| steal_of(*index)));
        let one = |(index, seconds): &(usize, f64)| Cost {
            seconds: *seconds,
            index: *index,
            place: place("in", &row(dataset, *index)),
            steal: steal_of(*index),
            each: Vec::new(),
        };
        let each = times.iter().filter(|_| times.len() > 1).map(one).collect();
        Some(Cost { seconds, index, place: place("under", &condition), steal, each })
    };
    let machines = |machines: BTreeMap<String, Times>| {
        let costs = |times: Times| times.into_iter().filter_map(cost).collect();
        machines.into_iter().map(|(name, times)| (name, costs(times))).collect()
    };
    works.into_iter().map(|(work, by_machine)| (work, machines(by_machine))).collect()
}

fn place(preposition: &str, name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{preposition} {name}") }
}

fn cpu_seconds(observation: &Observation) -> Option<f64> {
    let facts = &observation.facts;
    if let Some(user) = facts.cpu_user_seconds {
        return Some(user + facts.cpu_system_seconds.unwrap_or_default());
    }
    Some(observation.value("user_time")? + observation.value("system_time")?)
}

/// What tells machines apart.
fn machine(observation: &Observation) -> String {
    MACHINES.iter().filter_map(|name| observation.labels.get(*name)).cloned().collect::<Vec<_>>().join(" ")
}

/// Whether two observations have the same labels but for limits: then nothing speaks against one machine.
fn only_limits_differ(dataset: &Dataset, one: usize, other: usize) -> bool {
    let labels = |index: usize| dataset.observations.get(index).map(|observation| &observation.labels);
    let (Some(one), Some(other)) = (labels(one), labels(other)) else { return false };
    let is_limit = |label: &str| LIMITS.iter().any(|word| label.to_lowercase().contains(word));
    one.keys().chain(other.keys()).all(|label| is_limit(label) || one.get(label) == other.get(label))
}

fn extremes(costs: &[Cost]) -> Option<(&Cost, &Cost)> {
    let least = costs.iter().min_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    let most = costs.iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn build(instance: &str, limit: &str, user: f64, system: f64) -> Observation {
        let figures = [("wall_time", user * 2.0), ("user_time", user), ("system_time", system)];
        let mut made = observation(&[("instance", instance), ("limit", limit)], &figures);
        made.facts.work = Some("perlbrew install perl-5.18.2".to_owned());
        made
    }

    fn limited(observations: Vec<Observation>) -> Dataset {
        Dataset { factors: vec!["limit".to_owned()], ..dataset(observations) }
    }

    #[test]
    fn ninefold_cpu_time_for_the_same_build_is_serious() {
        let set = limited(vec![
            build("t1.micro", "none", 7674.352, 3112.487),
            build("t1.micro", "30 %", 901.468, 324.844),
        ]);
        let found = only(&CpuTime, &set);
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "the same work on the same machine took 8.80 times the CPU time: 10\u{202f}787 s under limit=none, 1\u{202f}226 s under \
             limit=30 %: time stolen or throttled was booked as the program's own"
        );
    }

    #[test]
    fn other_machines_and_other_conditions_are_not_called_the_same_machine() {
        for label in ["vm", "machine", "node", "server", "host"] {
            let mut set = limited(vec![build("a", "none", 9000.0, 1000.0), build("a", "30 %", 900.0, 100.0)]);
            for (observation, name) in set.observations.iter_mut().zip(["one", "two"]) {
                observation.labels.insert(label.to_owned(), name.to_owned());
            }
            let found = only(&CpuTime, &set);
            assert!(found.message.contains("on different machines took 10.0 times"), "{}", found.message);
        }
        let mut set = limited(vec![build("a", "x", 9000.0, 1000.0), build("a", "x", 900.0, 100.0)]);
        set.factors = vec!["compiler".to_owned()];
        for (observation, name) in set.observations.iter_mut().zip(["gcc", "clang"]) {
            observation.labels.insert("compiler".to_owned(), name.to_owned());
        }
        let found = only(&CpuTime, &set);
        assert_eq!(found.severity, Severity::Warning);
        let start = "the same work took 10.0 times the CPU time: 10\u{202f}000 s under compiler=gcc, 1\u{202f}000 s under compiler=clang";
        assert!(found.message.starts_with(start), "{}", found.message);
    }

    #[test]
    fn where_nobody_says_that_the_work_was_the_same_it_is_a_warning() {
        let mut set = limited(vec![build("a", "none", 900.0, 100.0), build("a", "40 %", 300.0, 100.0)]);
        for observation in &mut set.observations {
            observation.facts.work = None;
        }
        assert_eq!(only(&CpuTime, &set).severity, Severity::Warning);
        for observation in &mut set.observations {
            observation.facts.steal = Some(0.01);
        }
        assert_eq!(only(&CpuTime, &set).severity, Severity::Note);
    }

    #[test]
    fn other_machines_may_differ_and_only_much_is_noted() {
        let two = |seconds| {
            limited(vec![build("m1.small", "none", seconds, 0.0), build("t2.micro", "none", 560.0, 0.0)])
        };
        assert!(findings(&CpuTime, &two(1400.0)).is_empty());
        assert_eq!(only(&CpuTime, &two(2449.0)).severity, Severity::Note);
    }

    #[test]
    fn equal_times_other_work_and_ticks_are_clear() {
        let set = limited(vec![build("a", "25 %", 904.3, 331.5), build("a", "30 %", 901.5, 324.8)]);
        assert!(findings(&CpuTime, &set).is_empty());
        let mut other = limited(vec![build("a", "x", 100.0, 0.0), build("a", "y", 1000.0, 0.0)]);
        other.observations[0].facts.work = Some("make -j8".to_owned());
        assert!(silent(&CpuTime, &other));
        assert!(silent(&CpuTime, &limited(vec![build("a", "x", 0.1, 0.0), build("a", "y", 0.5, 0.0)])));
    }
}
