//! `iostone export`: a run's figures for other programs.

use std::fs;

use anyhow::{Context, Result, bail};
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;

use crate::cli::{ExportArguments, ExportFormat};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::{runs, subject};

pub(crate) fn export(arguments: &ExportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let dataset = subject::of_directory(&runs::find(&arguments.runs.runs, &arguments.run, printer)?)?;
    let text = match arguments.format {
        ExportFormat::Csv => csv(&dataset)?,
        ExportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&dataset)?),
        ExportFormat::Bonnie => {
            let fitting =
                of_phases(&dataset, &["block_write", "block_read", "random_seeks", "sequential_create"]);
            if fitting.is_empty() {
                bail!(
                    "`{}` has no figures of bonnie++'s phases; `--format csv` writes what it has",
                    dataset.name
                );
            }
            iostone_tools::bonnie_csv(&fitting)
        }
        ExportFormat::Fio => {
            let fitting = of_phases(&dataset, &["iops", "read.iops", "write.iops"]);
            if fitting.is_empty() {
                bail!(
                    "`{}` has no figures that fio's JSON could hold; `--format csv` writes what it has",
                    dataset.name
                );
            }
            format!("{}\n", serde_json::to_string_pretty(&iostone_tools::fio_json(&fitting))?)
        }
    };
    match &arguments.output {
        Some(path) => fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
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
