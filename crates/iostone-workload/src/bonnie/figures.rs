//! The figures of a trial from those of its runs: medians, and why one is absent.

use std::collections::BTreeMap;

use iostone_model::dataset::Observation;
use iostone_model::experiment::BonnieWorkload;
use iostone_model::median::median;
use iostone_model::metric::BONNIE_METRICS;

/// What the runs of a trial say together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figures {
    /// The medians, by the names of metrics.
    pub(super) values: BTreeMap<String, f64>,
    /// Why a figure is not among them, and what helps.
    pub(super) absent: BTreeMap<String, String>,
    /// The phases that were too fast to time in one run at least.
    pub(super) too_fast: Vec<String>,
    /// The values of single runs, in words; empty for a single one.
    pub(super) single_runs: Vec<String>,
}

impl Figures {
    /// Of the runs of a trial. A rate that was too fast to time counts as higher than every other, so that a median
    /// does not fall for it.
    pub(super) fn of(runs: &[Observation], spec: &BonnieWorkload) -> Self {
        let mut figures = Self::default();
        for metric in BONNIE_METRICS {
            let name = metric.name;
            let too_fast = |run: &&Observation| run.facts.too_fast.iter().any(|phase| phase == name);
            if runs.iter().any(|run| too_fast(&run)) {
                figures.too_fast.push(name.to_owned());
            }
            let all: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.value(name).or_else(|| too_fast(&run).then_some(f64::INFINITY)))
                .collect();
            match median(&all).filter(|_| all.len() == runs.len()) {
                Some(value) if value.is_finite() => {
                    figures.values.insert(name.to_owned(), value);
                }
                Some(_) => {
                    figures.absent.insert(name.to_owned(), too_fast_to_time(name));
                }
                None => {
                    figures.absent.insert(name.to_owned(), left_out(name, spec));
                }
            }
            if runs.len() > 1 && !name.contains('.') && !all.is_empty() {
                let values: Vec<String> = all.iter().map(|value| in_words(*value, metric)).collect();
                figures.single_runs.push(format!("{name} {}", values.join(", ")));
            }
        }
        figures
    }
}

fn in_words(value: f64, metric: &iostone_model::metric::Metric) -> String {
    if value.is_finite() { metric.unit.format(value) } else { "too fast".to_owned() }
}

/// The phase that a figure is of: `block_read` of `block_read.cpu`.
fn phase(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn too_fast_to_time(name: &str) -> String {
    let help = match phase(name) {
        "char_write" | "char_read" => "it does so with 3 MiB, which cannot be changed",
        "random_seeks" => "raise `workload.seeks`, and `workload.size` if the file fits into memory",
        "block_write" | "rewrite" | "block_read" => "raise `workload.size`",
        _ => "raise `workload.files`",
    };
    format!("bonnie++ was through with that phase in less than half a second, too fast to time; {help}")
}

fn left_out(name: &str, spec: &BonnieWorkload) -> String {
    let phase = phase(name);
    let by_the_byte = phase.starts_with("char_");
    let of_the_file =
        by_the_byte || matches!(phase, "block_write" | "rewrite" | "block_read" | "random_seeks");
    if spec.fast && by_the_byte {
        "`workload.fast` leaves that phase out".to_owned()
    } else if of_the_file && spec.size.is_some_and(|size| size.0 == 0) {
        "`workload.size = \"0B\"` leaves that phase out".to_owned()
    } else if !of_the_file && spec.files == Some(0) {
        "`workload.files = 0` leaves that phase out".to_owned()
    } else {
        "bonnie++ printed nothing for it".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::*;

    fn run(block_read: Option<f64>) -> Observation {
        let mut run = Observation::default();
        match block_read {
            Some(value) => {
                run.figures.insert("block_read".to_owned(), value.into());
            }
            None => run.facts.too_fast.push("block_read".to_owned()),
        }
        run
    }

    fn of(values: &[Option<f64>]) -> Figures {
        let runs: Vec<Observation> = values.iter().map(|value| run(*value)).collect();
        Figures::of(&runs, &spec("fast = true"))
    }

    #[test]
    fn a_run_that_was_too_fast_pulls_the_median_up_not_down() {
        assert_eq!(of(&[Some(100.0), None, Some(300.0)]).values["block_read"].to_bits(), 300f64.to_bits());
        let lost = of(&[Some(100.0), None]);
        assert!(!lost.values.contains_key("block_read"));
        assert!(lost.absent["block_read"].contains("raise `workload.size`"), "{:?}", lost.absent);
        assert_eq!(lost.too_fast, ["block_read"]);
        assert_eq!(lost.single_runs, ["block_read 100 B/s, too fast"]);
    }

    #[test]
    fn a_phase_that_was_left_out_is_absent_for_another_reason() {
        let figures = of(&[Some(100.0)]);
        assert_eq!(figures.values["block_read"].to_bits(), 100f64.to_bits());
        assert!(figures.absent["char_read"].contains("`workload.fast` leaves"));
        assert!(figures.single_runs.is_empty());
    }
}
