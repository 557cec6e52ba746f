//! Whether verdicts can be adjusted for what others take: that needs pilots, a rate, and settings that do not act on it.

use super::Findings;
use crate::covariate::Covariate;
use crate::experiment::{Experiment, Timing, Workload};
use crate::metric::{Unit, find};

const KEY: &str = "decide.covariates";

/// Checks `decide.covariates`.
pub(super) fn check(experiment: &Experiment, findings: &mut Findings<'_>) {
    let wanted = &experiment.decide.covariates;
    if wanted.is_empty() {
        return;
    }
    for (index, covariate) in wanted.iter().enumerate() {
        if wanted.iter().take(index).any(|earlier| earlier == covariate) {
            findings.value(
                &format!("{KEY}[{index}]"),
                format!("`{}` is listed twice", covariate.key()),
                "list it once",
            );
        }
    }
    let has_pilot = |workload: &Workload| workload.profile().ramp == Some(Timing::Auto);
    if !experiment.configurations.iter().all(|one| has_pilot(&one.workload)) {
        let message = "the slopes of covariates are fitted to pilots, and this workload runs none";
        findings.value(KEY, message, "an `io` workload with `workload.ramp_time = \"auto\"` runs pilots");
    }
    let metric = &experiment.decide.metric;
    if find(metric).is_some_and(|metric| !matches!(metric.unit, Unit::PerSecond | Unit::BytesPerSecond)) {
        let message = format!("covariates adjust rates, and `{metric}` is not a rate");
        findings.value(KEY, message, "decide by a throughput, or leave this out");
    }
    if experiment.sweep().is_some() {
        findings.value(KEY, "sweeps cannot be adjusted for covariates", "leave this out");
    }
    if wanted.contains(&Covariate::Steal) && experiment.limits_cpu() {
        let message = "the experiment limits CPU time, which the kernel may count as steal";
        findings.value(KEY, message, "leave `steal` out");
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::read;

    const BARRIER: &str = include_str!("../../../../../experiments/barrier.toml");

    fn complaints(covariates: &str, ramp: &str, metric: &str) -> Vec<String> {
        let text = BARRIER
            .replace("ramp_time = \"1s\"", &format!("ramp_time = \"{ramp}\""))
            .replace("metric = \"iops\"", &format!("metric = \"{metric}\""))
            .replace("[decide]", &format!("[decide]\ncovariates = {covariates}"));
        match read(&text, &[]) {
            Ok(_) => Vec::new(),
            Err(found) => found.into_iter().map(|diagnostic| diagnostic.message).collect(),
        }
    }

    #[test]
    fn verdicts_are_adjusted_by_pilots_and_for_rates_only() {
        assert_eq!(complaints("[\"steal\", \"foreign-io\"]", "auto", "iops"), Vec::<String>::new());
        let refused = |found: Vec<String>, words: &str| {
            assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:?}");
        };
        refused(complaints("[\"steal\"]", "1s", "iops"), "fitted to pilots");
        refused(complaints("[\"steal\"]", "auto", "latency_p99"), "is not a rate");
        refused(complaints("[\"steal\", \"steal\"]", "auto", "iops"), "is listed twice");
        refused(complaints("[\"weather\"]", "auto", "iops"), "weather");
    }
}
