//! The runs of a directory in memory, for a server that answers for hours and writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use iostone_model::summary::{RunListing, RunState};

use super::stamp::Stamp;
use super::{is_at_work, read};
use crate::error::LabError;
use crate::history::NamedSummary;
use crate::imported::is_import;

/// Requests closer together than this see the same runs.
const FRESH: Duration = Duration::from_millis(500);
/// A run in progress has no summary yet: making one reads its trials, which is not to disturb them.
const OPEN_FRESH: Duration = Duration::from_secs(10);

/// Runs that were read, each until a file of its changes.
pub struct Shelf {
    parent: PathBuf,
    known: BTreeMap<String, Kept>,
    shown: Option<(Instant, Arc<ShownRuns>)>,
}

/// What a directory of runs holds at a moment.
#[derive(Debug, Default)]
pub struct ShownRuns {
    /// The lines of the runs that can be read, the oldest first.
    pub listings: Vec<RunListing>,
    /// Their summaries, in the same order.
    pub summaries: Vec<Arc<NamedSummary>>,
    /// What is wrong with the others: the directory's name and a sentence.
    pub damaged: Vec<(String, String)>,
}

struct Kept {
    stamp: String,
    read_at: Instant,
    summary: Result<Arc<NamedSummary>, String>,
}

impl Kept {
    /// Whether the run has not ended: it may live or die without a trace in its files.
    fn is_open(&self) -> bool {
        let ended = [RunState::Finished, RunState::Imported];
        self.summary.as_ref().is_ok_and(|run| !ended.contains(&run.summary.state))
    }

    fn holds(&self, stamp: &str) -> bool {
        self.stamp == stamp || (self.is_open() && self.read_at.elapsed() < OPEN_FRESH)
    }
}

impl Shelf {
    /// The runs below a directory, none of which is read yet.
    pub fn of(parent: &Path) -> Self {
        Self { parent: parent.to_owned(), known: BTreeMap::new(), shown: None }
    }

    /// The runs as they are. Those that changed are read again; one that cannot be read hides no other.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub fn runs(&mut self) -> Result<Arc<ShownRuns>, LabError> {
        if let Some((at, shown)) = &self.shown
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(shown));
        }
        let changed = self.read_again()?;
        let shown = match self.shown.take() {
            Some((_, shown)) if !changed => shown,
            _ => Arc::new(self.show()),
        };
        self.shown = Some((Instant::now(), Arc::clone(&shown)));
        Ok(shown)
    }

    /// Whether anything is otherwise than before.
    fn read_again(&mut self) -> Result<bool, LabError> {
        let entries = match fs::read_dir(&self.parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let had_some = !self.known.is_empty();
                self.known.clear();
                return Ok(had_some);
            }
            Err(error) => return Err(LabError::file("reading", &self.parent, error)),
        };
        let mut before = std::mem::take(&mut self.known);
        let mut changed = false;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            // What begins with a point is an import that was cut short.
            if name.starts_with('.') {
                continue;
            }
            let is_run = match path.join("plan.json").try_exists() {
                Ok(found) => found || is_import(&path),
                Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => false,
                // Somebody else's, which may be a run: said rather than passed over.
                Err(_) => true,
            };
            if !is_run {
                continue;
            }
            let stamp = Stamp::of(&path);
            let kept = match before.remove(&name) {
                Some(kept) if kept.holds(stamp.text()) => {
                    changed |= kept.is_open();
                    kept
                }
                _ => {
                    changed = true;
                    let summary = read(&path)
                        .map(|summary| Arc::new(NamedSummary { directory: name.clone(), summary }))
                        .map_err(|error| error.to_string());
                    Kept { stamp: stamp.text().to_owned(), read_at: Instant::now(), summary }
                }
            };
            self.known.insert(name, kept);
        }
        Ok(changed || !before.is_empty())
    }

    fn show(&self) -> ShownRuns {
        let mut shown = ShownRuns::default();
        for (name, kept) in &self.known {
            match &kept.summary {
                Ok(run) => shown.summaries.push(Arc::clone(run)),
                Err(reason) => shown.damaged.push((name.clone(), reason.clone())),
            }
        }
        shown.summaries.sort_by(|left, right| left.summary.started_at.cmp(&right.summary.started_at));
        for run in &shown.summaries {
            let mut listing = RunListing::of(&run.directory, &run.summary);
            listing.live = !listing.finished && is_at_work(&self.parent.join(&run.directory));
            shown.listings.push(listing);
        }
        shown
    }
}
