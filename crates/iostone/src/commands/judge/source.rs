//! Where figures come from: a plain table, an import, an export, or what other tools printed.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use iostone_lab::is_import;
use iostone_model::dataset::Dataset;
use iostone_model::figures::counted;
use iostone_report::clean;
use iostone_tools::by::Pattern;
use iostone_tools::{Head, LARGEST_TABLE_BYTES, Table};

use crate::cli::JudgeArguments;
use crate::printer::Printer;
use crate::runs;
use crate::subject::{self, Reading, read_files};

/// As much of a file tells its format.
const HEAD_BYTES: usize = 64 << 10;

/// Figures as they were found.
pub(super) struct Source {
    /// What they are called in messages and reports.
    pub(super) name: String,
    pub(super) content: Content,
}

/// What holds the figures.
pub(super) enum Content {
    /// A table whose columns are known by their names.
    Table(Table),
    /// Figures and labels that a reader knows.
    Dataset {
        dataset: Box<Dataset>,
        /// Whether they are trials of a run of iostone's own: then what repeats in their first block is a superblock.
        own: bool,
    },
}

/// What a verdict says of the source.
pub(super) struct Origin {
    pub(super) name: String,
    /// What it covers.
    pub(super) scope: &'static str,
}

impl Source {
    pub(super) fn origin(&self) -> Origin {
        let scope = match &self.content {
            Content::Table(_) => "judged from a table; the measurement conditions are unknown",
            Content::Dataset { .. } => "judged from imported figures; the measurement conditions are unknown",
        };
        Origin { name: self.name.clone(), scope }
    }
}

/// The pattern that `--by` is, where it is one, or else the names' own.
pub(super) fn pattern(arguments: &JudgeArguments, guessed: Option<&str>) -> Result<Option<Pattern>> {
    let text = arguments.by.as_deref().or(guessed).filter(|by| by.contains('{'));
    let parsed = text.map(str::parse::<Pattern>).transpose();
    parsed.map_err(|error| anyhow!("`--by`: {}", clean(&error.to_string())))
}

/// Opens what is to be judged; `by` is a pattern of file names.
pub(super) fn open(
    arguments: &JudgeArguments,
    by: Option<&Pattern>,
    printer: &mut Printer,
) -> Result<Source> {
    let by = by.map(Pattern::to_string);
    let reading = Reading { tool: arguments.tool.as_deref(), by: by.as_deref(), name: None, factors: &[] };
    match arguments.files.as_slice() {
        [one] => open_one(one, arguments, &reading, printer),
        files => of_tools(files, &reading, printer),
    }
}

fn open_one(
    path: &Path,
    arguments: &JudgeArguments,
    reading: &Reading<'_>,
    printer: &mut Printer,
) -> Result<Source> {
    let standard_input = path == Path::new("-");
    let text = path.display().to_string();
    if !standard_input && !path.is_file() {
        match runs::find(&arguments.runs.runs, &text, printer) {
            Ok(found) => return of_run(&found),
            // What is no run but can be opened is what a shell hands over. A mistyped file is told as such below.
            Err(error) if path.is_dir() => return Err(error),
            Err(_) => {}
        }
    }
    if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
        let found = subject::find(std::slice::from_ref(&text), reading, &arguments.runs.runs, printer)?;
        return Ok(dataset(text, found.dataset, false));
    }
    if reading.tool.is_some() && path.is_file() {
        return of_tools(std::slice::from_ref(&path.to_path_buf()), reading, printer);
    }
    let bytes = read_bytes(path, &clean(&text))?;
    let too_large = bytes.len() as u64 > LARGEST_TABLE_BYTES;
    let head = String::from_utf8_lossy(bytes.get(..HEAD_BYTES).unwrap_or(&bytes));
    let own_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let format = iostone_tools::detect::detect(&Head { name: &own_name, text: &head });
    let table = Table::of(&bytes);
    let plain = format.as_ref().is_ok_and(|format| format.name() == "csv");
    let named = || {
        let columns = [&arguments.metric, &arguments.by, &arguments.block, &arguments.order];
        columns.into_iter().flatten().chain(&arguments.within)
    };
    let as_table = reading.by.is_none() && reading.tool.is_none() && !too_large;
    let table = match table {
        Ok(table) if table.is_export() => None,
        // Also of another tool, where the columns are called by their names.
        Ok(table) if as_table => {
            let fits =
                named().next().is_some() && named().all(|name| table.names().any(|known| known == name));
            (fits || plain || format.is_err()).then_some(table)
        }
        // The form of a table is wrong, and it is nothing else.
        Err(error)
            if as_table && (plain || bytes.is_empty() || is_named_table(path, standard_input, &format)) =>
        {
            bail!("`{}`, {}", clean(&text), clean(&error.to_string()))
        }
        Ok(_) | Err(_) => None,
    };
    if let Some(table) = table {
        return Ok(Source { name: text, content: Content::Table(table) });
    }
    if path.is_file() {
        return of_tools(std::slice::from_ref(&path.to_path_buf()), reading, printer);
    }
    if too_large {
        bail!("`{}` is larger than 256 MiB; keep it in a file", clean(&text));
    }
    // Readers look at a file's beginning before they read it.
    let directory = tempfile::tempdir().context("keeping standard input")?;
    let kept = directory.path().join("standard-input");
    let mut file = std::fs::File::create(&kept).context("keeping standard input")?;
    file.write_all(&bytes).context("keeping standard input")?;
    let source = of_tools(&[kept], reading, printer)?;
    Ok(Source { name: text, ..source })
}

/// Whether a file that no reader knows was meant to be a table.
fn is_named_table(
    path: &Path,
    standard_input: bool,
    format: &Result<&dyn iostone_tools::Format, iostone_tools::detect::NotRecognised>,
) -> bool {
    let table = path.extension().is_some_and(|ending| ending == "csv" || ending == "tsv");
    format.is_err() && (table || standard_input)
}

fn of_run(path: &Path) -> Result<Source> {
    let shown = clean(&path.display().to_string());
    if !is_import(path) {
        bail!("`{shown}` is a run with its own verdicts: `iostone report {shown}`");
    }
    let imported = iostone_lab::read_import(path)?.dataset;
    let name = imported.name.clone();
    Ok(dataset(name, imported, false))
}

/// What other tools printed. One file that cannot be read would change the answer, so that none is given.
fn of_tools(files: &[PathBuf], reading: &Reading<'_>, printer: &mut Printer) -> Result<Source> {
    let read = read_files(files, reading, printer)?;
    let failed = read.import.failures.len();
    if failed > 0 || read.import.dataset.observations.is_empty() {
        let unread = match files.len() {
            1 => "the file could not be read".to_owned(),
            files => {
                format!("{} of {files} files could not be read, so that nothing is judged", failed.max(1))
            }
        };
        bail!(
            "{unread}; see the warnings above. `iostone import --help` lists the tools whose output is read"
        );
    }
    let name = match files {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, rest @ ..] => {
            format!("{} and {}", first.display(), counted(rest.len(), "more file"))
        }
    };
    // A table comes here alone and unasked only if `iostone export` wrote it.
    let unasked = files.len() == 1 && reading.tool.is_none() && reading.by.is_none();
    let exported = |tool: &str| tool == "iostone" || (tool == "csv" && unasked);
    let own = read.import.dataset.files.iter().all(|file| exported(&file.tool));
    Ok(dataset(name, read.import.dataset, own))
}

fn dataset(name: String, dataset: Dataset, own: bool) -> Source {
    Source { name, content: Content::Dataset { dataset: Box::new(dataset), own } }
}

/// The beginning of a file or of standard input: all of a table, and one byte more than that of what is larger.
fn read_bytes(path: &Path, name: &str) -> Result<Vec<u8>> {
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(crate::named_file::open(path).with_context(|| format!("reading `{name}`"))?)
    };
    let mut bytes = Vec::new();
    reader
        .take(LARGEST_TABLE_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading `{name}`"))?;
    Ok(bytes)
}
