//! Where the CPU time of each trial went, as figures of its observation.

use std::path::Path;

use anyhow::Result;
use iostone_lab::{is_import, read_run};
use iostone_model::dataset::{Dataset, MetricNote};
use iostone_model::metric::Unit;

/// Adds where the CPU time of each trial went, for those trials that have an account of it. What is not observable, or not
/// limited, has no row.
pub(super) fn add_cpu_times(dataset: &mut Dataset, path: &Path) -> Result<()> {
    if is_import(path) {
        return Ok(());
    }
    let trials = read_run(path)?.trials;
    for observation in &mut dataset.observations {
        let number = observation.run.as_deref().and_then(|number| number.parse::<u32>().ok());
        let Some(trial) = trials.iter().find(|trial| Some(trial.number) == number) else { continue };
        if let Some(governor) = &trial.governor {
            let allowance = &governor.governor.allowance;
            observation.labels.insert("cpu.allowance".to_owned(), allowance.instance.clone());
            observation.labels.insert("cpu.law".to_owned(), allowance.name.clone());
            let figures = [
                (
                    "governor.allowed_time",
                    "CPU time that the law allowed",
                    governor.allowed_cpu_seconds,
                    Unit::Seconds,
                ),
                (
                    "governor.used_time",
                    "CPU time used under the law",
                    governor.used_cpu_seconds,
                    Unit::Seconds,
                ),
                (
                    "governor.excess",
                    "CPU time beyond the law, of all used",
                    governor.excess_share,
                    Unit::Share,
                ),
                ("governor.slow_time", "time that the law was slow", governor.slow_seconds, Unit::Seconds),
                (
                    "governor.throttled_times",
                    "times that the law went slow",
                    f64::from(governor.throttled_times),
                    Unit::Plain,
                ),
            ];
            for (name, title, value, unit) in figures.into_iter().filter(|figure| figure.2.is_finite()) {
                observation.figures.insert(name.to_owned(), value.into());
                let title = title.to_owned();
                dataset.metrics.entry(name.to_owned()).or_insert(MetricNote { unit, better: None, title });
            }
        }
        let Some(account) = &trial.signals.cpu else { continue };
        let times = [
            ("cpu.wall_time", "wall time of the account", Some(account.wall_seconds)),
            ("cpu.user_time", "user time of the workload", account.user_seconds),
            ("cpu.system_time", "system time of the workload", account.system_seconds),
            ("cpu.throttled_time", "throttled by its own limit", account.throttled_seconds),
            ("cpu.governed_time", "withheld by the emulated allowance", account.governed_seconds),
            ("cpu.io_wait_time", "waiting for I/O of the workload", account.io_wait_seconds),
            (
                "cpu.machine_io_pressure_time",
                "some task of the machine waited for I/O",
                account.machine_io_pressure_seconds,
            ),
            ("cpu.host_steal_time", "steal of a guest as seen from its host", account.host_steal_seconds),
            ("cpu.machine_steal_time", "steal of the machine", account.machine_steal_seconds),
            ("cpu.machine_idle_time", "idle time of the machine", Some(account.machine_idle_seconds)),
        ];
        for (name, title, seconds) in times {
            let Some(seconds) = seconds.filter(|seconds| seconds.is_finite()) else { continue };
            observation.figures.insert(name.to_owned(), seconds.into());
            dataset.metrics.entry(name.to_owned()).or_insert_with(|| MetricNote {
                unit: Unit::Seconds,
                better: None,
                title: title.to_owned(),
            });
        }
    }
    Ok(())
}
