//! `iostone catalog export` and `update`: the catalogue in a file, and rows from a file into the user's catalogue.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use iostone_cloud::{
    Change, ExchangeFormat, RowsError, catalogue, edit_user_rows, read_exchange, write_exchange,
};
use iostone_model::cloud::CatalogueDate;
use iostone_model::figures::counted;
use iostone_report::clean;
use serde_json::json;

use crate::catalogue_file;
use crate::exit_code::{ExitCode, FileErrors};
use crate::output_file::Overwrite;
use crate::printer::{Printer, bold};

/// EC2's description of all types is some 5 MB.
const LARGEST_UPDATE: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Output format; CSV holds instance types only
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// How a catalogue is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A row for each instance type
    Csv,
    /// One document
    Json,
    /// The format of your catalogue
    Toml,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    /// An export (CSV, JSON, TOML), or the output of `aws ec2 describe-instance-types`
    file: PathBuf,
    /// Source of the rows
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Date of the rows, as in `2026-11-01`, `2026-11` or `2026`
    #[arg(long, value_name = "DATE")]
    date: Option<CatalogueDate>,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn export(arguments: &ExportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let format = match arguments.format {
        Format::Csv => ExchangeFormat::Csv,
        Format::Json => ExchangeFormat::Json,
        Format::Toml => ExchangeFormat::Toml,
    };
    let text = write_exchange(&catalogue().rows(), format);
    match output {
        Some(output) => {
            let written = format!("the catalogue is `{}`", output.path().display());
            output.write(&text)?;
            printer.note(written);
        }
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}

pub(super) fn update(arguments: &UpdateArguments, printer: &mut Printer) -> Result<ExitCode> {
    let name = arguments.file.display().to_string();
    if arguments.source.as_ref().is_some_and(|source| source.trim().is_empty()) {
        bail!("`--source` is empty; name the source of the rows or omit it");
    }
    let text = catalogue_file::read(&arguments.file, LARGEST_UPDATE)?;
    let described = match read_exchange(&text) {
        Ok(described) => described,
        Err(RowsError::Rows { diagnostics }) => {
            printer.diagnostics(&name, &text, &diagnostics);
            return Err(FileErrors { file: clean(&name), count: diagnostics.len() }.into());
        }
        Err(error) => return Err(anyhow!("`{}`: {}", clean(&name), clean(&error.to_string()))),
    };
    for note in &described.notes {
        printer.warning(note);
    }
    if described.rows.is_empty() {
        bail!("`{}` has no rows; see `iostone catalog export` for the format", clean(&name));
    }
    let mut changes = catalogue().changes(&described.rows);
    let place = catalogue_file::place().ok_or_else(|| {
        anyhow!("no location for your catalogue: set `{}` or `HOME`", catalogue_file::VARIABLE)
    })?;
    let is_written = !arguments.dry_run && !changes.is_empty();
    if is_written {
        let lock = catalogue_file::begin_writing(&place.path)?;
        let old = match catalogue_file::text_at(&place) {
            Err(error) if catalogue_file::is_missing(&error) => None,
            other => other?,
        }
        .unwrap_or_default();
        // Another process may have written since this one began.
        changes = catalogue_file::with_rows(&old, &place.path, printer)?.changes(&described.rows);
        // EC2's own words do not say where they are from.
        let unsaid = described.rows.instance.values().all(|row| row.source.is_none());
        let default = format!("`{name}`");
        let source = arguments.source.as_deref().or(unsaid.then_some(default.as_str()));
        let new = edit_user_rows(&old, &described.rows, source, arguments.date)
            .map_err(|error| anyhow!("`{}`: {error}", clean(&place.path.display().to_string())))?;
        // What is written can be read again, or the next command of any kind fails.
        catalogue_file::with_rows(&new, &place.path, printer)?;
        catalogue_file::write(&place.path, &new, &lock)?;
    }
    if arguments.json {
        let document = json!({
            "schema": "iostone/catalogue-update/1",
            "file": name,
            "rows": described.rows.len(),
            "changes": changes,
            "notes": described.notes,
            "user_catalogue": place.path.display().to_string(),
            "written": is_written,
        });
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        printer.data(&told(&changes, described.rows.len()));
    }
    match (changes.is_empty(), arguments.dry_run) {
        (true, _) => {}
        (false, true) => printer.note("dry run: nothing was written"),
        (false, false) => {
            printer.note(format_args!("written to your catalogue, `{}`", place.path.display()));
        }
    }
    Ok(ExitCode::Success)
}

fn told(changes: &[Change], rows: usize) -> String {
    let mut text = String::new();
    for change in changes {
        let name = bold(&clean(&change.name));
        let _ = writeln!(text, "{name}{}", if change.is_new { " (new)" } else { "" });
        for field in &change.fields {
            let new = clean(&field.new);
            let _ = match &field.old {
                Some(old) => writeln!(text, "  {}: {} -> {new}", clean(&field.key), clean(old)),
                None if change.is_new => writeln!(text, "  {}: {new}", clean(&field.key)),
                None => writeln!(text, "  {}: unknown -> {new}", clean(&field.key)),
            };
        }
    }
    let added = changes.iter().filter(|change| change.is_new).count();
    let _ = writeln!(
        text,
        "{} read: {added} added, {} changed, {} unchanged",
        counted(rows, "row"),
        changes.len() - added,
        rows - changes.len()
    );
    text
}
