//! What a conversion is given: a directory that the undo journal knows, the names of what lies on disks, a progress bar.

use std::fs;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostone_guest::image::{Host, ImageError, Progress};
use iostone_stack::{Registry, Session, SessionOptions, StackError};

use crate::printer::Printer;

/// A word in the name of the directory: [`Host::make_private_directory`] asks for it.
const RUN_TOKEN: &str = "image";

/// The place that a conversion works in; what it made there goes with [`Workshop::close`].
pub(super) struct Workshop {
    bar: Option<ProgressBar>,
    /// None until something is made.
    session: Option<Session>,
}

impl Workshop {
    pub(super) fn new(printer: &Printer) -> Self {
        Self { bar: printer.shows_bars().then(bar), session: None }
    }

    /// Takes away all that was made.
    ///
    /// # Errors
    /// [`StackError::UndoFailed`] with what is left.
    pub(super) fn close(self) -> Result<(), StackError> {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.session.map_or(Ok(()), Session::finish)
    }
}

impl Host for Workshop {
    fn make_private_directory(&mut self, parent: &Path) -> Result<PathBuf, ImageError> {
        let options = SessionOptions {
            run_token: RUN_TOKEN.to_owned(),
            run_directory: parent.to_owned(),
            work_directory: parent.to_owned(),
            ..SessionOptions::default()
        };
        let session = Registry::open().and_then(|registry| Session::begin(&registry, options));
        let session = self.session.insert(session.map_err(unwritten)?);
        session.private_directory(parent).map_err(|error| refused(parent, error))
    }

    fn recognise(&self, head: &[u8]) -> Option<String> {
        iostone_stack::name_content(head)
    }

    fn progress(&mut self, progress: Progress) {
        match (&self.bar, progress) {
            (None, _) => {}
            (Some(bar), Progress::Phase(phase)) => bar.set_message(phase),
            // Hundredths of a percent, which qemu-img tells.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of 10 000, clamped"
            )]
            (Some(bar), Progress::Percent(percent)) => {
                bar.set_position((percent * 100.0).clamp(0.0, 10_000.0) as u64);
            }
        }
    }
}

/// Why there is no directory in `parent`: nothing can be made there, or else the journal cannot be kept.
fn refused(parent: &Path, error: StackError) -> ImageError {
    match error {
        StackError::Io { object, source, .. } if is_place(parent, Path::new(&object)) => {
            ImageError::no_place(parent, &source)
        }
        other => unwritten(other),
    }
}

/// Whether a call failed at that directory or at a name right within: the journal may lie anywhere below.
fn is_place(parent: &Path, object: &Path) -> bool {
    // The stack resolves links before it makes anything.
    let resolved = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
    // Objects are as they are shown.
    [parent, &resolved].map(|place| place.display().to_string()).iter().any(|place| {
        let place = Path::new(place);
        object == place || object.parent() == Some(place)
    })
}

/// The journal cannot be kept, so nothing is made.
fn unwritten(error: StackError) -> ImageError {
    match error {
        StackError::Usage { .. } => ImageError::Usage(error.to_string()),
        StackError::Refused(_) => ImageError::Refused(error.to_string()),
        other => ImageError::Failed(other.to_string()),
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(10_000), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg:10} {bar:24} {percent} %  {eta} left") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::fs::symlink;

    use super::*;

    fn full(object: &Path) -> StackError {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        StackError::Io { action: "write", object: object.display().to_string(), source }
    }

    #[test]
    fn a_full_disk_below_the_journal_is_not_put_down_to_the_target() {
        let place = tempfile::tempdir().unwrap();
        let target = fs::canonicalize(place.path()).unwrap();
        let journal = target.join("state/journals/a.jsonl");
        let ImageError::Failed(reason) = refused(&target, full(&journal)) else { panic!("it failed") };
        assert!(reason.contains("a.jsonl") && !reason.contains("choose a target"), "{reason}");

        let link = target.join("link");
        symlink(&target, &link).unwrap();
        for parent in [&target, &link] {
            for object in [target.clone(), target.join(".iostone-image-1")] {
                let ImageError::Usage(reason) = refused(parent, full(&object)) else { panic!("no place") };
                assert!(reason.contains("choose another target"), "{reason}");
            }
        }
    }
}
