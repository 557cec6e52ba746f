//! Whether ramp and runtime can be left to pilots: they need trials that end by time, and find one time for all of them.

use super::Findings;
use crate::experiment::{Experiment, IoWorkload, Workload};

/// Checks a workload that leaves its ramp to a pilot.
pub(in crate::experiment) fn check_io(io: &IoWorkload, findings: &mut Findings<'_>) {
    if io.is_runtime_auto() && !io.ramp_time.is_auto() {
        let message = "pilots choose the runtime, and only `ramp_time = \"auto\"` runs pilots";
        findings.value("workload.runtime", message, "add `ramp_time = \"auto\"`, or give a time");
    }
    if !io.ramp_time.is_auto() {
        return;
    }
    if io.io_size.is_some() {
        let message = "a workload limited by bytes has no runtime for a pilot to choose a ramp from";
        findings.value("workload.ramp_time", message, "give a time, or limit the workload by `runtime` only");
    } else if io.runtime.is_none() {
        findings.value("workload.ramp_time", "pilots need a runtime", "add `runtime`");
    }
}

/// Checks that the ramp is left to pilots in every configuration or in none.
pub(super) fn check_all(experiment: &Experiment, findings: &mut Findings<'_>) {
    type IsAuto = fn(&IoWorkload) -> bool;
    let keys: [(&str, IsAuto); 2] =
        [("ramp_time", |io| io.ramp_time.is_auto()), ("runtime", IoWorkload::is_runtime_auto)];
    for (key, is_auto) in keys {
        let is_left = |workload: &Workload| matches!(workload, Workload::Io(io) if is_auto(io));
        let count = experiment.configurations.iter().filter(|c| is_left(&c.workload)).count();
        if count != 0 && count != experiment.configurations.len() {
            let message = format!("some configurations leave `{key}` to a pilot and some do not");
            let label = "pilots choose one time for all trials: use `auto` for all, or a time for each";
            findings.key(&format!("workload.{key}"), message, label);
        }
    }
    let has_auto = experiment
        .configurations
        .iter()
        .any(|c| matches!(&c.workload, Workload::Io(io) if io.is_runtime_auto()));
    if has_auto && experiment.sweep().is_some() {
        findings.value("workload.runtime", "the trials of a sweep need a fixed runtime", "give a time");
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::read;

    const BARRIER: &str = include_str!("../../../../../experiments/barrier.toml");

    fn complaints(ramp: &str, rest: &str) -> Vec<String> {
        let text = BARRIER.replace("ramp_time = \"1s\"", &format!("ramp_time = {ramp}"));
        assert_ne!(text, BARRIER);
        let text = text.replace("runtime = \"10s\"", rest);
        match read(&text, &[]) {
            Ok(_) => Vec::new(),
            Err(found) => found.into_iter().map(|diagnostic| diagnostic.message).collect(),
        }
    }

    #[test]
    fn a_ramp_is_left_to_pilots_only_where_time_ends_the_workload() {
        assert_eq!(complaints("\"auto\"", "runtime = \"10s\""), Vec::<String>::new());
        let refused = "a workload limited by bytes has no runtime for a pilot to choose a ramp from";
        assert_eq!(complaints("\"auto\"", "io_size = \"1GiB\""), [refused]);
        assert_eq!(complaints("\"auto\"", "runtime = \"10s\"\nio_size = \"1GiB\""), [refused]);
        assert_eq!(complaints("\"2s\"", "io_size = \"1GiB\""), Vec::<String>::new());
        let both = complaints("\"auto\"", "");
        assert!(both.contains(&"pilots need a runtime".to_owned()), "{both:?}");
    }

    #[test]
    fn pilots_are_for_all_configurations_or_for_none() {
        let text = BARRIER.replace(
            "off = { mount.options = [\"barrier=0\"] }",
            "off = { mount.options = [\"barrier=0\"], workload.ramp_time = \"auto\" }",
        );
        assert_ne!(text, BARRIER);
        let found = read(&text, &[]).unwrap_err();
        assert_eq!(found[0].message, "some configurations leave `ramp_time` to a pilot and some do not");
    }
}
