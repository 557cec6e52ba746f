//! `iostone explain`: what bound a run: every ceiling held against what was measured.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use iostone_audit::explain_dataset;
use iostone_cloud::catalogue;
use iostone_cloud::explain::{Overrides, latest};
use iostone_lab::conclude::explain_run;
use iostone_lab::{is_import, read_import, read_run};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::explanation::Explanation;
use iostone_report::clean;
use iostone_tools::described::open_described;
use std::path::Path;

use super::casebook::{dataset_of_case, names_of_cases};
use crate::cli::RunsDirectory;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;

/// The word before a case's name.
const CASEBOOK: &str = "casebook";

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The run: its directory, its id, or `latest`; a described dataset (TOML); or `casebook` and the name of a case
    #[arg(value_name = "RUN|FILE.toml|casebook CASE", num_args = 1..=2, default_value = "latest")]
    subject: Vec<String>,
    /// The instance type instead of the recorded one, as in `c4.large`
    #[arg(long, value_name = "TYPE")]
    instance: Option<String>,
    /// The volumes instead of the recorded ones, as in `gp2:220GiB` or `4xgp3:500GiB:6000iops:250MiB/s`
    #[arg(long, value_name = "SPEC")]
    volume: Option<VolumeSpec>,
    /// Use the limits of this date, as in `2017-07`; by default that of the run
    #[arg(long, value_name = "DATE")]
    date: Option<CatalogueDate>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    runs: RunsDirectory,
}

pub(crate) fn explain(arguments: &ExplainArguments, printer: &mut Printer) -> Result<ExitCode> {
    let overrides = overrides(arguments)?;
    let explanation = match arguments.subject.as_slice() {
        [word, case] if word == CASEBOOK => explain_dataset(&dataset_of_case(case)?, &overrides),
        [word] if word == CASEBOOK && !Path::new(word).exists() => {
            bail!("`casebook` needs the name of a case: {}", names_of_cases().join(", "))
        }
        [subject] => of_subject(subject, &overrides, arguments, printer)?,
        _ => bail!("`iostone explain` takes one run or file, or `casebook` and the name of a case"),
    };
    if arguments.date.is_some() {
        refuse_other_times(&explanation)?;
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&iostone_report::worded(explanation))?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::explanation_text(&explanation, style));
    }
    Ok(ExitCode::Success)
}

/// What the user says, refused where the catalogue knows nothing of it.
fn overrides(arguments: &ExplainArguments) -> Result<Overrides> {
    if let Some(instance) = &arguments.instance {
        catalogue().instance(instance).map_err(|error| anyhow!("{}", clean(&error.to_string())))?;
    }
    if let Some(spec) = &arguments.volume {
        let limits = catalogue().volumes().limits(spec, arguments.date.unwrap_or_else(latest));
        limits.map_err(|error| anyhow!("{}", clean(&error.to_string())))?;
    }
    Ok(Overrides {
        instance: arguments.instance.clone(),
        volumes: arguments.volume.clone(),
        date: arguments.date,
    })
}

/// Refuses a date at which the volumes that are explained had no limits, or none that are known.
fn refuse_other_times(explanation: &Explanation) -> Result<()> {
    for part in &explanation.parts {
        let spec = part.volumes.as_deref().and_then(|volumes| volumes.parse::<VolumeSpec>().ok());
        let (Some(spec), Some(date)) = (spec, part.date) else { continue };
        if let Err(error) = catalogue().volumes().limits(&spec, date) {
            bail!("`--date` does not fit `{}`: {}", clean(&part.configuration), clean(&error.to_string()));
        }
    }
    Ok(())
}

fn of_subject(
    subject: &str,
    overrides: &Overrides,
    arguments: &ExplainArguments,
    printer: &mut Printer,
) -> Result<Explanation> {
    let path = Path::new(subject);
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if is_toml && !path.exists() {
        bail!("there is no file `{}`; for built-in data sets see `iostone casebook`", clean(subject));
    }
    if is_toml && path.is_file() {
        let described = open_described(path).map_err(|error| anyhow!("{}", clean(&error.to_string())))?;
        return Ok(explain_dataset(&described.dataset, overrides));
    }
    let path = runs::find(&arguments.runs.runs, subject, printer)?;
    if is_import(&path) {
        return Ok(explain_dataset(&read_import(&path)?.dataset, overrides));
    }
    Ok(explain_run(&read_run(&path)?, overrides))
}
