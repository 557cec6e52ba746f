//! `iostone export --all`: a file for each run that is meant, below folders that tell experiment and host.
//!
//! The folders are those of Hive (`experiment=NAME/host=NAME/`), by which `DuckDB`, Polars, pyarrow and Spark read a thousand
//! runs as one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use iostone_model::figures::counted;
use iostone_model::summary::RunListing;
use iostone_report::{clean, export};

use super::Subject;
use crate::cli::{ExportArguments, ExportFormat};
use crate::exit_code::ExitCode;
use crate::output_file::Overwrite;
use crate::printer::Printer;
use crate::runs;

pub(super) fn export(
    arguments: &ExportArguments,
    format: ExportFormat,
    printer: &mut Printer,
) -> Result<ExitCode> {
    let Some(into) = arguments.output.as_deref() else {
        bail!("`--all` writes a file for each run; name their directory with `--output`");
    };
    if format == ExportFormat::Svg {
        bail!("plots are of one run; leave out `--all`");
    }
    let parent = &arguments.runs.runs;
    let filter = arguments.filter.filter();
    let (mut meant, _) = runs::all(parent, printer)?;
    meant.retain(|run| filter.admits(run));
    let (mut files, mut failed) = (0, 0);
    let mut histories: BTreeMap<PathBuf, Vec<Subject>> = BTreeMap::new();
    for run in &meant {
        let path = parent.join(&run.directory);
        let folder = into.join(folder("experiment", &run.experiment)).join(folder("host", &run.host));
        // One that cannot be read, or does not fit the format, is told; the others are exported all the same.
        let exported = Subject::read(&path).and_then(|subject| {
            if format == ExportFormat::Otava {
                histories.entry(folder.join("history.csv")).or_default().push(subject);
                return Ok(());
            }
            let content = subject.write(format, &path, true)?;
            write_file(&folder.join(file_name(run, format)), &content)?;
            files += 1;
            Ok(())
        });
        if let Err(error) = exported {
            printer.warning(format_args!("{}: {error:#}", clean(&run.directory)));
            failed += 1;
        }
    }
    for (file, subjects) in &histories {
        let exported: Vec<_> = subjects.iter().map(Subject::exported).collect();
        write_file(file, export::otava(&exported).as_bytes())?;
        files += 1;
    }
    if files > 0 {
        runs::hand_over(into, printer);
    }
    printer.note(format_args!(
        "wrote {} below {}",
        counted(files, "file"),
        clean(&into.display().to_string())
    ));
    if failed > 0 {
        bail!("{} of {} could not be exported; see the warnings above", failed, counted(meant.len(), "run"));
    }
    Ok(ExitCode::Success)
}

/// Writes a file of a run. One of an earlier export is replaced, anything else is refused, as with any output file.
fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making `{}`", folder.display()))?;
    }
    if let Some(output) = Overwrite::default().open(Some(path))? {
        output.write(content)?;
    }
    Ok(())
}

fn file_name(run: &RunListing, format: ExportFormat) -> String {
    let ending = match format {
        ExportFormat::Csv | ExportFormat::CsvWide | ExportFormat::Bonnie | ExportFormat::Otava => "csv",
        ExportFormat::Json | ExportFormat::Bencher | ExportFormat::Fio => "json",
        ExportFormat::Parquet => "parquet",
        ExportFormat::Openmetrics | ExportFormat::Go => "txt",
        ExportFormat::Svg => "svg",
    };
    format!("{}.{ending}", run.directory)
}

/// `host=NAME`, what a path or Hive would take otherwise written as `%` and its bytes. An empty one is Hive's name for nothing.
fn folder(key: &str, value: &str) -> String {
    if value.is_empty() {
        return format!("{key}=__HIVE_DEFAULT_PARTITION__");
    }
    let mut name = format!("{key}=");
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        assert_eq!(folder("host", "h-1.example"), "host=h-1.example");
        assert_eq!(folder("host", "../é=x"), "host=..%2F%C3%A9%3Dx");
        assert_eq!(folder("host", ""), "host=__HIVE_DEFAULT_PARTITION__");
    }
}
