//! Finds CPU time that the machine does not have: user + system above wall time times CPUs, shares above the whole.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

use super::case::{Case, concluded, of_all, percent};
use crate::Outcome;
use crate::rule::Rule;

/// Clocks of CPU time tick in hundredths of a second, and shares are rounded.
const TICKS: f64 = 0.02;
/// Where the CPUs are not known, a share above one of them is doubtful only in so few of the rows.
const FEW: f64 = 0.2;
/// Fewer rows do not tell what is usual.
const FEWEST_ROWS: usize = 5;

/// Labels that count the CPUs of a machine.
const COUNTS: &[&str] =
    &["cpus", "cores", "vcpus", "ncpu", "ncpus", "nproc", "processors", "cpu_count", "num_cpus", "cpu_cores"];
/// Words of states in which the kernel counts the time of all CPUs; with any of them, the states add up to the whole.
const OF_ALL: &[&str] = &["idle", "iowait", "steal", "softirq", "irq"];
/// Words of states that are also counted for one program, in shares of one CPU.
const OF_ONE: &[&str] = &["user", "usr", "nice", "system", "sys", "kernel"];

/// CPU time beyond the CPUs.
pub(super) struct BeyondCpus;

impl Rule for BeyondCpus {
    fn name(&self) -> &'static str {
        "beyond-cpus"
    }

    fn looks_for(&self) -> &'static str {
        "user + system time above wall time times CPUs, and shares of CPU time above the whole"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let (mut looked, mut cases, mut doubtful) = (0_usize, Vec::new(), Vec::new());
        for (index, observation) in dataset.observations.iter().enumerate() {
            let claims = [of_times(observation), of_fact(observation), of_shares(dataset, observation)];
            looked += usize::from(claims.iter().any(Option::is_some));
            for Claim { used, whole, text } in claims.into_iter().flatten() {
                let case = |severity| Case { index, severity, text: text.clone() };
                match whole {
                    Some(whole) if used > whole * (1.0 + TICKS) => cases.push(case(Severity::Serious)),
                    None if used > 1.0 + TICKS => doubtful.push(case(Severity::Warning)),
                    _ => {}
                }
            }
        }
        // Several threads of one program use more than one CPU, so that only what stands out is doubtful.
        if looked >= FEWEST_ROWS && doubtful.len() as f64 <= FEW * looked as f64 {
            cases.extend(doubtful);
        }
        let message =
            cases.first().map(|case| format!("{}, in {}", case.text, of_all(cases.len(), looked, "row")));
        let advice = "Check the columns and their units, and note how many CPUs the machine has.";
        concluded(looked > 0, self, dataset, cases, message, advice)
    }
}

/// CPUs that were kept busy, by what a row says.
struct Claim {
    used: f64,
    /// All there are, where that is known.
    whole: Option<f64>,
    text: String,
}

/// The CPUs of the machine.
fn cpus(observation: &Observation) -> Option<f64> {
    let counted = |(label, value): (&String, &String)| {
        let label = label.to_lowercase().replace([' ', '-'], "_");
        COUNTS.contains(&label.as_str()).then(|| value.parse::<f64>().ok())?
    };
    observation.facts.cpus.or_else(|| observation.labels.iter().find_map(counted)).filter(|cpus| *cpus > 0.0)
}

fn of_times(observation: &Observation) -> Option<Claim> {
    let [wall, user, system] = ["wall_time", "user_time", "system_time"].map(|name| observation.value(name));
    let (wall, time) = (wall.filter(|wall| *wall > 0.0)?, user? + system?);
    let cpus = cpus(observation)?;
    let seconds = |value| Unit::Seconds.format(value);
    let text = format!(
        "user + system is {}, more than {} of wall time on {} CPU{}",
        seconds(time),
        seconds(wall),
        three_digits(cpus),
        if cpus > 1.0 { "s" } else { "" }
    );
    Some(Claim { used: (time - TICKS).max(0.0) / wall, whole: Some(cpus), text })
}

fn of_fact(observation: &Observation) -> Option<Claim> {
    let (used, cpus) = (observation.facts.cpus_used?, observation.facts.cpus?);
    let text = format!("{} of {} CPUs were kept busy", three_digits(used), three_digits(cpus));
    Some(Claim { used, whole: Some(cpus), text })
}

/// The shares of CPU time that a row gives, added up where they are states.
fn of_shares(dataset: &Dataset, observation: &Observation) -> Option<Claim> {
    let (mut sum, mut total, mut of_all, mut names) = (0.0, None::<(&str, f64)>, false, Vec::new());
    for (metric, figure) in &observation.figures {
        let in_percent = metric.starts_with('%') || metric.ends_with('%');
        let share = match dataset.unit_of(metric) {
            Unit::Share => figure.value,
            Unit::Plain if in_percent => figure.value / 100.0,
            _ => continue,
        };
        let lower = metric.to_lowercase();
        let has = |some: &[&str]| {
            lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| some.contains(&word))
        };
        if has(OF_ALL) || has(OF_ONE) {
            of_all |= has(OF_ALL);
            sum += share;
            names.push(metric.as_str());
        } else if has(&["cpu"]) && total.is_none_or(|(_, most)| share > most) {
            total = Some((metric, share));
        }
    }
    let (used, text) = match (names.as_slice(), total) {
        ([], None) => return None,
        ([], Some((name, share))) => (share, format!("{name} is {}", percent(share))),
        ([name], _) => (sum, format!("{name} is {}", percent(sum))),
        (names, _) => (sum, format!("{} add up to {}", names.join(" + "), percent(sum))),
    };
    let whole = if of_all { Some(1.0) } else { cpus(observation) };
    let of = match whole {
        Some(whole) if !of_all => format!(" on {} CPUs", three_digits(whole)),
        Some(_) => " of all CPU time".to_owned(),
        None => " where other rows stay below 100 %".to_owned(),
    };
    Some(Claim { used, whole, text: format!("{text}{of}") })
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;
    use iostone_model::dataset::MetricNote;

    fn shares(rows: &[&[(&str, f64)]]) -> Dataset {
        let mut set = dataset(rows.iter().map(|row| observation(&[], row)).collect());
        for (name, _) in rows.iter().flat_map(|row| row.iter()) {
            let note = MetricNote { unit: Unit::Share, better: None, title: String::new() };
            set.metrics.insert((*name).to_owned(), note);
        }
        set
    }

    #[test]
    fn more_time_than_cpus_can_give_is_serious() {
        let row = |cores: &str| {
            observation(
                &[("cores", cores)],
                &[("wall_time", 10.0), ("user_time", 35.0), ("system_time", 8.0)],
            )
        };
        let found = only(&BeyondCpus, &dataset(vec![row("4"), row("8")]));
        assert_eq!((found.severity, found.observations.as_slice()), (Severity::Serious, &[0][..]));
        assert!(found.message.contains("user + system is 43.0 s"), "{}", found.message);
        let unknown = observation(&[], &[("wall_time", 10.0), ("user_time", 35.0), ("system_time", 8.0)]);
        assert!(silent(&BeyondCpus, &dataset(vec![unknown])));
    }

    #[test]
    fn states_of_all_cpus_add_up_to_the_whole() {
        let good: &[(&str, f64)] = &[("user", 0.5), ("system", 0.2), ("idle", 0.3)];
        let bad: &[(&str, f64)] = &[("user", 0.5), ("system", 0.2), ("idle", 0.9)];
        assert_eq!(only(&BeyondCpus, &shares(&[good, bad])).severity, Severity::Serious);
        assert!(findings(&BeyondCpus, &shares(&[good])).is_empty());
    }

    #[test]
    fn a_share_above_one_cpu_is_doubtful_only_where_it_stands_out() {
        let of = |share: f64| [("cpu", share)];
        let rows: Vec<[(&str, f64); 1]> = [0.9, 0.95, 0.8, 0.85, 1.4].map(of).to_vec();
        let rows: Vec<&[(&str, f64)]> = rows.iter().map(<[_; 1]>::as_slice).collect();
        assert_eq!(only(&BeyondCpus, &shares(&rows)).severity, Severity::Warning);
        let threads: Vec<[(&str, f64); 1]> = [1.9, 2.95, 3.8, 1.85, 1.4].map(of).to_vec();
        let threads: Vec<&[(&str, f64)]> = threads.iter().map(<[_; 1]>::as_slice).collect();
        assert!(findings(&BeyondCpus, &shares(&threads)).is_empty());
    }
}
