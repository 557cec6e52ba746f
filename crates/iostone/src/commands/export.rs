//! `iostone export`: a run's figures for other programs.

use std::path::Path;

use anyhow::{Result, bail};
use iostone_lab::{is_import, read_run};
use iostone_model::dataset::{Dataset, MetricNote, Observation};
use iostone_model::experiment::{Configuration, Workload};
use iostone_model::metric::{BONNIE_METRICS, Unit};

use crate::cli::{ExportArguments, ExportFormat};
use crate::exit_code::ExitCode;
use crate::output_file::write_out;
use crate::printer::Printer;
use crate::runs;
use crate::subject::Found;

pub(crate) fn export(arguments: &ExportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let path = runs::find(&arguments.runs.runs, &arguments.run, printer)?;
    let mut dataset = Found::in_directory(&path)?.dataset;
    let format = if arguments.json { ExportFormat::Json } else { arguments.format };
    let text = match format {
        ExportFormat::Csv => {
            add_cpu_times(&mut dataset, &path)?;
            csv(&dataset)?
        }
        ExportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&dataset)?),
        ExportFormat::Bonnie => {
            let fitting: Vec<&Observation> =
                dataset.observations.iter().filter(|o| is_of_bonnie(o)).collect();
            if fitting.is_empty() {
                bail!("`{}` has no results of bonnie++ phases; use `--format csv`", dataset.name);
            }
            iostone_tools::bonnie_csv(&fitting)
        }
        ExportFormat::Fio => {
            let dataset = with_jobs(dataset, &path)?;
            let fitting = of_phases(&dataset, &["iops", "read.iops", "write.iops"]);
            if fitting.is_empty() {
                bail!("`{}` has no results that fit fio's JSON; use `--format csv`", dataset.name);
            }
            format!("{}\n", serde_json::to_string_pretty(&iostone_tools::fio_json(&fitting))?)
        }
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}

/// Whether an observation has figures of bonnie++'s phases, or phases that were too fast to have any.
fn is_of_bonnie(observation: &Observation) -> bool {
    let phase =
        |name: &String| !name.contains('.') && BONNIE_METRICS.iter().any(|metric| metric.name == name);
    observation.tool == "bonnie" || observation.figures.keys().any(phase)
}

/// With the load of each trial of iostone's own in fio's words, where it is the engine's.
fn with_jobs(mut dataset: Dataset, path: &Path) -> Result<Dataset> {
    if is_import(path) {
        return Ok(dataset);
    }
    let configurations = read_run(path)?.plan.experiment.configurations;
    for observation in &mut dataset.observations {
        let is_of = |configuration: &&Configuration| {
            configuration.levels.iter().all(|(factor, level)| observation.labels.get(factor) == Some(level))
        };
        let Some(configuration) = configurations.iter().find(is_of) else { continue };
        let Workload::Io(io) = &configuration.workload else { continue };
        for (name, value) in [
            ("job", configuration.name.clone()),
            ("rw", io.rw.word().to_owned()),
            ("bs", io.block_sizes().to_string()),
            ("iodepth", io.iodepth.to_string()),
            ("numjobs", io.numjobs.to_string()),
        ] {
            observation.labels.insert(name.to_owned(), value);
        }
    }
    Ok(dataset)
}

/// Adds where the CPU time of each trial went, for those trials that have an account of it. What is not observable, or not
/// limited, has no row.
fn add_cpu_times(dataset: &mut Dataset, path: &Path) -> Result<()> {
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

/// The observations that have one of these figures.
fn of_phases<'a>(dataset: &'a Dataset, names: &[&str]) -> Vec<&'a Observation> {
    let has = |observation: &&Observation| names.iter().any(|name| observation.figures.contains_key(*name));
    dataset.observations.iter().filter(has).collect()
}

/// A row for each figure: labels first, then which figure, its value in the base unit, and that unit.
fn csv(dataset: &Dataset) -> Result<String> {
    let mut labels: Vec<&String> = dataset.observations.iter().flat_map(|o| o.labels.keys()).collect();
    labels.sort_unstable();
    labels.dedup();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let own = ["table", "run", "block", "order"];
    let header = own.into_iter().chain(labels.iter().map(|label| label.as_str()));
    writer.write_record(header.chain(["metric", "value", "unit"]))?;
    for observation in &dataset.observations {
        let number = |number: Option<String>| number.unwrap_or_default();
        let mut row = vec![
            observation.table.clone(),
            number(observation.run.clone()),
            number(observation.block.map(|block| block.to_string())),
            number(observation.order.map(|order| order.to_string())),
        ];
        row.extend(labels.iter().map(|label| observation.labels.get(*label).cloned().unwrap_or_default()));
        for (metric, figure) in &observation.figures {
            let unit = unit_name(dataset.unit_of(metric));
            let cells =
                row.iter().cloned().chain([metric.clone(), figure.value.to_string(), unit.to_owned()]);
            writer.write_record(cells)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)?)
}

/// A base unit in writing.
fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "B/s",
        Unit::PerSecond => "/s",
        Unit::Seconds => "s",
        Unit::Bytes => "B",
        Unit::Share => "1",
        Unit::Plain => "",
    }
}
