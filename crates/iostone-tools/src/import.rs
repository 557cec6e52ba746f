//! Makes one dataset of several files: their tools told by content, their conditions by their names.

mod open;
mod settle;
mod vary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iostone_model::dataset::{Dataset, MetricNote, Observation, SourceFile};
use iostone_model::metric::Unit;

use crate::by::{NameError, Named, Pattern};
use crate::detect::{NotRecognised, detect};
use crate::{Format, Head, ReadError, Reading, orion};

pub use open::OpenError;
pub(crate) use open::{hexadecimal, open_regular};
pub use settle::{UnknownFactor, add_factors};
pub(crate) use vary::add_circumstances;

/// How files are to be read.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// The tool that printed all of them; otherwise each is told by its content. See [`crate::detect::tool`].
    pub tool: Option<&'static dyn Format>,
    /// What the files' names say.
    pub by: Option<Pattern>,
    /// The dataset's name.
    pub name: String,
}

/// What was made of the files.
#[derive(Debug, Default)]
pub struct Import {
    /// Everything that could be read.
    pub dataset: Dataset,
    /// The files that were read, as many as [`Dataset::files`] and in its order.
    pub kept: Vec<KeptFile>,
    /// The files of which nothing was used.
    pub failures: Vec<Failure>,
}

/// A file that was read. Some tell nothing by themselves (ORION's traces) and are kept without observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name in the dataset: its own, or with a number where two files are called the same. No folder is in it.
    pub name: String,
}

/// A file of which nothing was used.
#[derive(Debug, thiserror::Error)]
#[error("{}", told(file, error))]
pub struct Failure {
    /// The file as it was given.
    pub file: PathBuf,
    /// What was wrong.
    pub error: ImportError,
}

/// Why nothing of a file was used.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is no output that is known.
    #[error(transparent)]
    NotRecognised(#[from] NotRecognised),
    /// Its content is not as expected.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its name does not match the pattern.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its name says otherwise than its content.
    #[error(
        "by its name `{label}` is `{named}`, by {place} it is `{found}`; name that field of the pattern otherwise, or skip it with `{{_}}`"
    )]
    Label {
        /// Where in the file: `line 3`.
        place: String,
        /// The label.
        label: String,
        /// Its value by the pattern.
        named: String,
        /// Its value in the file.
        found: String,
    },
    /// It was given before.
    #[error("it was given twice")]
    Twice,
    /// A figure of it has another unit than in an earlier file.
    #[error(
        "its figure `{metric}` is counted in {unit}, but in `{earlier}` in {earlier_unit}; import the two apart"
    )]
    Units {
        /// The figure.
        metric: String,
        /// What it is counted in here.
        unit: &'static str,
        /// A file of the same dataset.
        earlier: String,
        /// What it is counted in there.
        earlier_unit: &'static str,
    },
}

/// `FILE, line 3: ...` of a line, `FILE: ...` of a file.
fn told(file: &Path, error: &ImportError) -> String {
    let file = file.display();
    match error {
        ImportError::Read(ReadError::Malformed(malformed)) => format!("`{file}`, {malformed}"),
        error => format!("`{file}`: {error}"),
    }
}

/// A file that was read, before it is part of the dataset.
struct Read {
    file: SourceFile,
    reading: Reading,
    named: Named,
}

/// Reads files one after another. A file that cannot be read contributes nothing, and the others go on.
///
/// Each file is opened once; what is no regular file (a pipe, a device) is refused rather than waited for.
pub fn import(files: &[PathBuf], options: &ImportOptions) -> Import {
    let mut import = Import { dataset: Dataset::new(options.name.clone()), ..Import::default() };
    let mut metrics = Metrics::default();
    let mut orders = Vec::new();
    let mut given = BTreeSet::new();
    let mut factors: Vec<String> =
        options.by.iter().flat_map(|pattern| pattern.labels().map(str::to_owned)).collect();
    let unsaid = factors.is_empty();
    for path in files {
        let name = settle::free_name(path, &import.kept);
        let twice = !given.insert(path.canonicalize().unwrap_or_else(|_| path.clone()));
        let read = if twice { Err(ImportError::Twice) } else { read_file(path, &name, options) };
        let read = read.and_then(|read| metrics.add(&read).map(|()| read));
        match read {
            Err(error) => import.failures.push(Failure { file: path.clone(), error }),
            Ok(read) => {
                orders.push(read.reading.order);
                factors.extend(read.reading.factors.iter().cloned());
                import.dataset.observations.extend(settle::place(
                    read.reading.observations,
                    &read.named,
                    &name,
                ));
                import.kept.push(KeptFile { path: path.clone(), name });
                import.dataset.files.push(read.file);
            }
        }
    }
    // What ORION measured at one point stands in several files, and only together do they tell the unit of latencies.
    import.dataset.observations = orion::join(std::mem::take(&mut import.dataset.observations));
    import.dataset.metrics = metrics.of(&import.dataset.observations);
    import.dataset.order = settle::order(&import.dataset.observations, &orders);
    import.dataset.factors = settle::factors(&import.dataset, factors);
    if unsaid {
        add_circumstances(&import.dataset.observations, &mut import.dataset.factors);
    }
    import
}

fn read_file(path: &Path, name: &str, options: &ImportOptions) -> Result<Read, ImportError> {
    let named = options.by.as_ref().map(|pattern| pattern.read(path)).transpose()?.unwrap_or_default();
    let own_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut opened = open::open(path)?;
    let format = match options.tool {
        Some(format) => format,
        None => detect(&Head { name: &own_name, text: opened.head() })?,
    };
    let reading = opened.read(&own_name, format)?;
    let (bytes, sha256) = opened.finish().map_err(ReadError::Io)?;
    settle::check_labels(&reading.observations, &named)?;
    let file = SourceFile { name: name.to_owned(), tool: format.name().to_owned(), bytes, sha256 };
    Ok(Read { file, reading, named })
}

/// The notes of all figures so far, with the file that brought each.
#[derive(Default)]
struct Metrics {
    notes: BTreeMap<String, (MetricNote, String)>,
}

impl Metrics {
    /// Adds those of a file; one that counts a figure otherwise is refused whole.
    fn add(&mut self, read: &Read) -> Result<(), ImportError> {
        let mut added = BTreeMap::new();
        for metric in read.reading.observations.iter().flat_map(|observation| observation.figures.keys()) {
            if added.contains_key(metric) {
                continue;
            }
            let note = settle::note(metric, &read.reading.metrics);
            if let Some((earlier, file)) = self.notes.get(metric)
                && earlier.unit != note.unit
            {
                return Err(ImportError::Units {
                    metric: metric.clone(),
                    unit: words(note.unit),
                    earlier: file.clone(),
                    earlier_unit: words(earlier.unit),
                });
            }
            added.insert(metric.clone(), (note, read.file.name.clone()));
        }
        for (metric, note) in added {
            self.notes.entry(metric).or_insert(note);
        }
        Ok(())
    }

    /// The notes of the figures that there are in the end.
    fn of(mut self, observations: &[Observation]) -> BTreeMap<String, MetricNote> {
        let names: BTreeSet<&String> =
            observations.iter().flat_map(|observation| observation.figures.keys()).collect();
        let noted = names.into_iter().map(|name| {
            let note = self.notes.remove(name).map(|(note, _)| note);
            (name.clone(), note.unwrap_or_else(|| settle::note(name, &BTreeMap::new())))
        });
        noted.collect()
    }
}

/// What a unit is called in a sentence.
pub(crate) fn words(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes a second",
        Unit::PerSecond => "operations a second",
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Share => "shares of a whole",
        Unit::Plain => "no known unit",
    }
}
