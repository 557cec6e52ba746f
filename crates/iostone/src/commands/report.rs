//! `iostone report`: shows what a run found.

use std::path::Path;

use anyhow::{Result, bail};
use iostone_cloud::explain::Overrides;
use iostone_fleet::is_fleet;
use iostone_lab::conclude::explain_run;
use iostone_lab::{LabError, is_import, read_import, read_run, read_run_against};
use iostone_model::run::RunRecord;
use iostone_report::TextStyle;

use crate::cli::{ReportArguments, ReportFormat};
use crate::commands::run::shorten;
use crate::exit_code::{ExitCode, FileErrors};
use crate::output_file::write_out;
use crate::printer::Printer;
use crate::runs;

pub(crate) fn report(arguments: &ReportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let path = runs::find_any(&arguments.runs.runs, &arguments.run, printer)?;
    if is_fleet(&path) {
        return super::fleet::report(&path, arguments, printer);
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let mut style = printer.text_style();
    // A file is read without a terminal.
    style.colour &= arguments.output.is_none();
    let format = if arguments.json { ReportFormat::Json } else { arguments.format };
    if arguments.full && format != ReportFormat::Text {
        bail!("`--full` is of the text; HTML and JSON hold everything");
    }
    let mut code = ExitCode::Success;
    let text = if is_import(&path) {
        if arguments.baseline.is_some() {
            bail!(
                "`{}` is an import without a baseline; compare its levels with `iostone judge FILE.csv --baseline LEVEL`",
                path.display()
            );
        }
        if arguments.full || arguments.fail_if.is_given() {
            let option = if arguments.full { "--full" } else { "--fail-if" };
            bail!("`{}` is an import, which has no verdicts; `{option}` is for runs", path.display());
        }
        import(&path, format, style)?
    } else {
        let record = explained(match &arguments.baseline {
            Some(baseline) => against(&path, baseline, printer)?,
            None => read_run(&path)?,
        });
        code = arguments.fail_if.judge_run(&record, printer)?;
        match format {
            ReportFormat::Text => iostone_report::text(&record, printer.extent(arguments.full), style),
            ReportFormat::Html => iostone_report::html(&record)?,
            ReportFormat::Json => iostone_report::json(&record)?,
        }
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    let page = path.join("report.html");
    if format == ReportFormat::Text && arguments.output.is_none() && page.is_file() {
        printer.note(format_args!("\nreport: {}", shorten(&page).display()));
    }
    Ok(code)
}

/// A run concluded anew with another baseline; its own files stay as they are.
fn against(path: &Path, baseline: &str, printer: &mut Printer) -> Result<RunRecord> {
    read_run_against(path, baseline).map_err(|error| match error {
        LabError::Baseline(diagnostic) => {
            let option = format!("--baseline {baseline}");
            printer.diagnostics(&option, "", &[*diagnostic]);
            FileErrors { file: option, count: 1 }.into()
        }
        other => other.into(),
    })
}

/// A run with what bound its figures.
pub(crate) fn explained(mut record: RunRecord) -> RunRecord {
    record.explanation = Some(explain_run(&record, &Overrides::default()));
    record
}

/// Figures that were measured elsewhere.
fn import(path: &Path, format: ReportFormat, style: TextStyle) -> Result<String> {
    let record = read_import(path)?;
    let audit = iostone_audit::audit(&record.dataset);
    Ok(match format {
        ReportFormat::Text => iostone_report::dataset_text(&record.dataset, &audit, style),
        ReportFormat::Html => iostone_report::dataset_html(&record.dataset, &audit)?,
        ReportFormat::Json => {
            let document =
                serde_json::json!({ "schema": "iostone/import-report/1", "import": record, "audit": audit });
            format!("{}\n", serde_json::to_string_pretty(&document)?)
        }
    })
}
