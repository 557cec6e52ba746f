//! What a command is about: a run, an import, files that other tools wrote, or a described dataset, as one dataset.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use iostone_lab::{is_import, read_import, read_run};
use iostone_model::case::{Case, StatedComparison};
use iostone_model::dataset::Dataset;
use iostone_model::evidence::{Evidence, RunEvidence};
use iostone_model::run::RunRecord;
use iostone_report::clean;
use iostone_tools::described::{Described, open_described};
use iostone_tools::import::{Import, ImportOptions, add_factors, import};
use tempfile::TempDir;

use crate::printer::Printer;
use crate::runs;

/// The margin of a comparison whose author named none.
const USUAL_MARGIN: f64 = 0.03;

/// What standard input is called among files.
const STANDARD_INPUT: &str = "standard-input";

/// Files that were read.
pub(crate) struct Files {
    /// What they hold.
    pub(crate) import: Import,
    /// Where standard input lies until it is copied or no longer needed.
    #[expect(dead_code, reason = "its end removes the directory")]
    spool: Option<TempDir>,
}

/// How files are to be read.
#[derive(Default)]
pub(crate) struct Reading<'a> {
    /// The tool that wrote them.
    pub(crate) tool: Option<&'a str>,
    /// What their names say.
    pub(crate) by: Option<&'a str>,
    /// What the dataset is called.
    pub(crate) name: Option<&'a str>,
    /// Labels that were varied on purpose.
    pub(crate) factors: &'a [String],
}

/// Reads files of other tools. What cannot be read is told, and the rest goes on.
pub(crate) fn read_files(files: &[PathBuf], reading: &Reading<'_>, printer: &mut Printer) -> Result<Files> {
    let tool = match reading.tool {
        None => None,
        Some(name) => Some(
            iostone_tools::detect::tool(name).map_err(|error| anyhow!("{}", clean(&error.to_string())))?,
        ),
    };
    let by = reading.by.map(str::parse).transpose().map_err(|error| anyhow!("`--by`: {error}"))?;
    let first =
        files.first().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let options = ImportOptions {
        tool,
        by,
        name: reading.name.map(str::to_owned).or(first).unwrap_or_else(|| "import".to_owned()),
    };
    let spool = if files.iter().any(|file| file == Path::new("-")) { Some(spool()?) } else { None };
    let read: Vec<PathBuf> = files
        .iter()
        .map(|file| match &spool {
            Some(spool) if file == Path::new("-") => spool.path().join(STANDARD_INPUT),
            _ => file.clone(),
        })
        .collect();
    let mut import = import(&read, &options);
    for failure in &import.failures {
        printer.warning(format_args!("{}", clean(&failure.to_string())));
    }
    if !import.dataset.observations.is_empty() {
        add_named_factors(&mut import.dataset, reading.factors)?;
    }
    Ok(Files { import, spool })
}

/// Standard input as a file of its own: a reader looks at the beginning before it reads.
fn spool() -> Result<TempDir> {
    let directory = tempfile::tempdir().context("keeping standard input")?;
    let path = directory.path().join(STANDARD_INPUT);
    let mut file = File::create(&path).context("keeping standard input")?;
    std::io::copy(&mut std::io::stdin(), &mut file).context("reading standard input")?;
    Ok(directory)
}

/// Adds what the user says was varied on purpose.
fn add_named_factors(dataset: &mut Dataset, factors: &[String]) -> Result<()> {
    add_factors(dataset, factors).map_err(|error| anyhow!("`--factor`: {}", clean(&error.to_string())))
}

/// Figures that somebody means.
pub(crate) struct Found {
    /// The figures.
    pub(crate) dataset: Dataset,
    /// The run that they are of, if it is one of iostone's own.
    pub(crate) run: Option<RunRecord>,
    /// How many files gave nothing.
    pub(crate) unread: usize,
}

impl Found {
    /// Those of a run directory, of iostone's own trials or imported.
    pub(crate) fn in_directory(path: &Path) -> Result<Self> {
        if is_import(path) {
            return Ok(Self { dataset: read_import(path)?.dataset, run: None, unread: 0 });
        }
        let run = read_run(path)?;
        let dataset = iostone_audit::evidence_of_run(&run).dataset.into_owned();
        Ok(Self { dataset, run: Some(run), unread: 0 })
    }

    /// What rules look at.
    pub(crate) fn evidence(&self) -> Evidence<'_> {
        let run = self.run.as_ref().map(|run| RunEvidence::of(&run.plan, &run.trials, &run.blocks));
        Evidence { dataset: Cow::Borrowed(&self.dataset), run }
    }
}

/// The figures that somebody means, described in a TOML file, in files, or a run.
pub(crate) fn find(
    subjects: &[String],
    reading: &Reading<'_>,
    runs_directory: &Path,
    printer: &mut Printer,
) -> Result<Found> {
    let is_file = |subject: &String| Path::new(subject).is_file();
    if let [one] = subjects
        && one != "-"
    {
        let path = Path::new(one);
        let mut found = None;
        if is_file(one) && path.extension().is_some_and(|extension| extension == "toml") {
            let described = open_described(path).map_err(|error| anyhow!("{}", clean(&error.to_string())))?;
            found = Some(Found { dataset: described.dataset, run: None, unread: 0 });
        } else if !is_file(one) {
            found = Some(Found::in_directory(&runs::find(runs_directory, one, printer)?)?);
        }
        if let Some(mut found) = found {
            add_named_factors(&mut found.dataset, reading.factors)?;
            return Ok(found);
        }
    }
    let files: Vec<PathBuf> = subjects.iter().map(PathBuf::from).collect();
    let Files { import, .. } = read_files(&files, reading, printer)?;
    if import.dataset.observations.is_empty() {
        bail!("none of the files could be read");
    }
    Ok(Found { dataset: import.dataset, run: None, unread: import.failures.len() })
}

/// A described dataset as a case to be reconsidered.
pub(crate) fn as_case(described: Described) -> Case {
    let comparisons = described.comparisons.into_iter();
    Case {
        dataset: described.dataset,
        question: described.question,
        conclusion: described.conclusion,
        source: described.source,
        comparisons: comparisons
            .map(|comparison| StatedComparison {
                table: comparison.table,
                metric: comparison.metric,
                by: comparison.by,
                baseline: comparison.baseline,
                within: comparison.within,
                block: comparison.block,
                margin: comparison.margin.unwrap_or(USUAL_MARGIN),
                better: comparison.better,
                claim: comparison.claim,
            })
            .collect(),
    }
}
