//! `iostone export --format svg`: every plot of the report as a file of its own.

use std::fs;

use anyhow::{Context, Result, bail};
use iostone_lab::{is_import, read_run};
use iostone_model::figures::counted;
use iostone_report::clean;

use crate::cli::ExportArguments;
use crate::commands::report::explained;
use crate::exit_code::ExitCode;
use crate::output_file::Overwrite;
use crate::printer::Printer;
use crate::runs;

pub(super) fn export(arguments: &ExportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let Some(into) = arguments.output.as_deref() else {
        bail!("plots are several files; name their directory with `--output`");
    };
    if arguments.overwrite.is_given() {
        bail!("`--overwrite` names one file, and the plots are several; write them to an empty directory");
    }
    let path = runs::find(&arguments.runs.runs, arguments.run.as_deref().unwrap_or("latest"), printer)?;
    let plots =
        if is_import(&path) { Vec::new() } else { iostone_report::plots(&explained(read_run(&path)?))? };
    if plots.is_empty() {
        bail!("its report has no plots; `--format csv` has its figures");
    }
    fs::create_dir_all(into).with_context(|| format!("making `{}`", into.display()))?;
    for plot in &plots {
        if let Some(output) = Overwrite::default().open(Some(&into.join(format!("{}.svg", plot.name))))? {
            output.write(&plot.svg)?;
        }
    }
    runs::hand_over(into, printer);
    printer.note(format_args!(
        "wrote {} to {}",
        counted(plots.len(), "plot"),
        clean(&into.display().to_string())
    ));
    Ok(ExitCode::Success)
}
