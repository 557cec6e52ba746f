//! `iostone import`: brings what other tools printed into a run, with the files as they came.

use std::path::PathBuf;

use anyhow::{Result, bail};
use iostone_lab::write_import;
use iostone_model::figures::counted;
use iostone_report::clean;

use crate::cli::ImportArguments;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;
use crate::subject::{Reading, read_files};

pub(crate) fn import(arguments: &ImportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let (named, files) = split_tool(&arguments.files);
    if files.is_empty() {
        bail!("no file to import; give the files that the tool wrote, as in `iostone import dbench *.log`");
    }
    let reading = Reading {
        tool: arguments.tool.as_deref().or(named.as_deref()),
        by: arguments.by.as_deref(),
        name: arguments.name.as_deref(),
        factors: &arguments.factors,
    };
    let read = read_files(files, &reading, printer)?;
    let import = &read.import;
    let failed = import.failures.len();
    if import.dataset.observations.is_empty() {
        bail!("nothing was imported: none of {} could be read", counted(files.len(), "file"));
    }
    let audit = iostone_audit::audit(&import.dataset);
    let kept = import.kept.iter().map(|file| (file.path.as_path(), file.name.as_str()));
    let dataset = &import.dataset;
    let runs = &arguments.runs.runs;
    let made_runs = !runs.exists();
    let path = write_import(runs, dataset.clone(), kept, arguments.by.clone())?;
    runs::hand_over(if made_runs { runs } else { &path }, printer);
    if arguments.json {
        let mut document = serde_json::to_value(iostone_lab::read_import(&path)?)?;
        if let Some(fields) = document.as_object_mut() {
            fields.insert("directory".to_owned(), path.display().to_string().into());
            fields.insert("audit".to_owned(), serde_json::to_value(&audit)?);
        }
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::dataset_text(dataset, &audit, style));
    }
    printer.note(format_args!("\nkept in {}", clean(&path.display().to_string())));
    if failed > 0 {
        bail!("nothing was imported from {}; see the warnings above", counted(failed, "file"));
    }
    Ok(ExitCode::Success)
}

/// The first word may name the tool, as in `iostone import dbench a.log b.log`, unless a file is called so.
fn split_tool(words: &[PathBuf]) -> (Option<String>, &[PathBuf]) {
    match words.split_first() {
        Some((first, rest)) if !first.exists() => {
            match first.to_str().filter(|word| iostone_tools::find(word).is_some()) {
                Some(tool) => (Some(tool.to_owned()), rest),
                None => (None, words),
            }
        }
        _ => (None, words),
    }
}
