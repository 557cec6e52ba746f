//! `iostone export`: figures for other programs, of a run or of all that are meant.

mod cpu_times;
mod many;
mod plots;

use std::path::Path;

use anyhow::{Result, bail};
use iostone_lab::{RunFilter, is_import, read_run};
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::experiment::{Configuration, Workload};
use iostone_model::metric::BONNIE_METRICS;
use iostone_model::summary::RunSummary;
use iostone_report::export::{self, Exported};

use crate::cli::{ExportArguments, ExportFormat};
use crate::exit_code::ExitCode;
use crate::output_file::write_out;
use crate::printer::Printer;
use crate::runs;
use crate::subject::Found;
use cpu_times::add_cpu_times;

pub(crate) fn export(arguments: &ExportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let format = if arguments.json { ExportFormat::Json } else { arguments.format };
    if arguments.all {
        return many::export(arguments, format, printer);
    }
    if arguments.filter.filter() != RunFilter::default() {
        bail!("what is exported is one run; the options that choose runs need `--all`");
    }
    if format == ExportFormat::Svg {
        return plots::export(arguments, printer);
    }
    if format == ExportFormat::Parquet && arguments.output.is_none() {
        bail!("Parquet is no text; name a file with `--output`");
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let path = runs::find(&arguments.runs.runs, arguments.run.as_deref().unwrap_or("latest"), printer)?;
    let content = Subject::read(&path)?.write(format, &path, false)?;
    match output {
        Some(output) => write_out(output, content, printer)?,
        None => printer.data(&String::from_utf8_lossy(&content)),
    }
    Ok(ExitCode::Success)
}

/// A run or an import with what is told of it.
struct Subject {
    directory: String,
    summary: RunSummary,
    dataset: Dataset,
}

impl Subject {
    fn read(path: &Path) -> Result<Self> {
        // Told first where it cannot be read: the summary may be there when a trial is not.
        let dataset = Found::in_directory(path)?.dataset;
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { directory, summary: runs::index().summary(path)?, dataset })
    }

    fn exported(&self) -> Exported<'_> {
        Exported {
            directory: &self.directory,
            experiment: &self.summary.experiment,
            host: &self.summary.machine.host,
            started_at: &self.summary.started_at,
            dataset: &self.dataset,
        }
    }

    /// The content of a file; `partitioned` where its folders tell experiment and host.
    fn write(mut self, format: ExportFormat, path: &Path, partitioned: bool) -> Result<Vec<u8>> {
        let text = match format {
            ExportFormat::Csv | ExportFormat::CsvWide | ExportFormat::Parquet => {
                add_cpu_times(&mut self.dataset, path)?;
                match format {
                    ExportFormat::Csv => export::csv_long(&self.exported()),
                    ExportFormat::CsvWide => export::csv_wide(&self.exported()),
                    _ => return Ok(export::parquet_rows(&self.exported(), partitioned)),
                }
            }
            ExportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&self.dataset)?),
            ExportFormat::Openmetrics => export::open_metrics(&self.exported()),
            ExportFormat::Bencher => export::bencher(&self.exported())?,
            ExportFormat::Go => export::go_benchmark(&self.exported()),
            ExportFormat::Otava => export::otava(&[self.exported()]),
            ExportFormat::Bonnie => bonnie(&self.dataset)?,
            ExportFormat::Fio => fio(self.dataset, path)?,
            ExportFormat::Svg => bail!("plots are several files; name their directory with `--output`"),
        };
        Ok(text.into_bytes())
    }
}

fn bonnie(dataset: &Dataset) -> Result<String> {
    let fitting: Vec<&Observation> = dataset.observations.iter().filter(|o| is_of_bonnie(o)).collect();
    if fitting.is_empty() {
        bail!("`{}` has no results of bonnie++ phases; use `--format csv`", dataset.name);
    }
    Ok(iostone_tools::bonnie_csv(&fitting))
}

fn fio(dataset: Dataset, path: &Path) -> Result<String> {
    let dataset = with_jobs(dataset, path)?;
    let fitting = of_phases(&dataset, &["iops", "read.iops", "write.iops"]);
    if fitting.is_empty() {
        bail!("`{}` has no results that fit fio's JSON; use `--format csv`", dataset.name);
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&iostone_tools::fio_json(&fitting))?))
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

/// The observations that have one of these figures.
fn of_phases<'a>(dataset: &'a Dataset, names: &[&str]) -> Vec<&'a Observation> {
    let has = |observation: &&Observation| names.iter().any(|name| observation.figures.contains_key(*name));
    dataset.observations.iter().filter(has).collect()
}
