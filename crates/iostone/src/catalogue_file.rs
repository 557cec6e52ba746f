//! The user's own rows of the catalogue: where their file is, how it is read before a command asks, and how it is written.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use iostone_cloud::{Catalogue, install};
use iostone_report::clean;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::cli::Command;
use crate::exit_code::FileErrors;
use crate::interrupt;
use crate::named_file;
use crate::printer::Printer;

/// Names the file; it has to be there then.
pub(crate) const VARIABLE: &str = "IOSTONE_CATALOGUE";

/// Larger files are not rows that somebody wrote. The whole catalogue as TOML has less than 1 MB.
const LARGEST_CATALOGUE: u64 = 16 << 20;

/// The mode of a new file before the process's mask.
const NEW_FILE_MODE: u32 = 0o644;

/// Another process has written its rows long before.
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock is tried this often.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// Where the user's file is, or would be.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Whether the user named it; else it may be missing.
    is_named: bool,
}

impl Place {
    /// Whether a folder on the way keeps this user out, or is none: who named no file cannot have one there.
    fn is_out_of_reach(&self) -> bool {
        let kinds = [ErrorKind::PermissionDenied, ErrorKind::NotADirectory];
        !self.is_named && fs::metadata(&self.path).is_err_and(|error| kinds.contains(&error.kind()))
    }
}

/// Whether a command asks the catalogue. The others run whatever the user's file holds.
pub(crate) fn is_asked_by(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Compare(_)
            | Command::Catalog(_)
            | Command::Predict(_)
            | Command::Recommend(_)
            | Command::Explain(_)
            | Command::Emulate(_)
    )
}

/// `$IOSTONE_CATALOGUE`, else `$XDG_CONFIG_HOME/iostone/catalogue.toml` or `~/.config/iostone/catalogue.toml` (XDG base directory
/// specification: relative paths do not count).
pub(crate) fn place() -> Option<Place> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set(VARIABLE) {
        return Some(Place { path, is_named: true });
    }
    let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(Place { path: config.join("iostone/catalogue.toml"), is_named: false })
}

/// Puts the catalogue with the user's rows in force, before a command asks it. Errors in the file are shown at their places.
pub(crate) fn load(command: &Command, printer: &mut Printer) -> Result<()> {
    let Some(place) = place() else { return Ok(()) };
    let text = match text_at(&place) {
        // It makes the file.
        Err(error)
            if is_missing(&error) && matches!(command, Command::Catalog(asked) if asked.is_update()) =>
        {
            None
        }
        other => other?,
    };
    let Some(text) = text else {
        if place.is_out_of_reach() {
            let path = place.path.display();
            printer.note(format_args!(
                "`{path}` is not accessible to this user; using the built-in catalogue. Set `{VARIABLE}` to another file"
            ));
        }
        return Ok(());
    };
    install(with_rows(&text, &place.path, printer)?);
    Ok(())
}

/// The text of the user's file; none if there is none and nobody named it.
pub(crate) fn text_at(place: &Place) -> Result<Option<String>> {
    match read(&place.path, LARGEST_CATALOGUE) {
        Ok(text) => Ok(Some(text)),
        Err(error) if !place.is_named && (is_missing(&error) || place.is_out_of_reach()) => Ok(None),
        Err(error) if place.is_named && is_missing(&error) => Err(error.context(format!(
            "`{VARIABLE}` names a catalogue that does not exist; create it with `iostone catalog update FILE`"
        ))),
        Err(error) => Err(error),
    }
}

/// What is built in with the rows of a text laid over it.
pub(crate) fn with_rows(text: &str, path: &Path, printer: &mut Printer) -> Result<Catalogue> {
    let file = path.display().to_string();
    Catalogue::with_user_rows(text, &file).map_err(|diagnostics| {
        printer.diagnostics(&file, text, &diagnostics);
        FileErrors { file: clean(&file), count: diagnostics.len() }.into()
    })
}

pub(crate) fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Reads a file of text, at most so many bytes of it.
pub(crate) fn read(path: &Path, largest: u64) -> Result<String> {
    let reading = || format!("reading `{}`", clean(&path.display().to_string()));
    let file = named_file::open(path).with_context(reading)?;
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes).with_context(reading)?;
    if bytes.len() as u64 > largest {
        bail!(
            "`{}` is larger than {} MiB, too large for a catalogue",
            clean(&path.display().to_string()),
            largest >> 20
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|byte| **byte == b'\n');
        anyhow!("`{}` is not UTF-8 from line {} on", clean(&path.display().to_string()), line.count() + 1)
    })
}

/// Keeps others from writing the user's file from before it is read until after it is written; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Writing {
    /// The folder of the file, which is locked in its place: the file itself is replaced.
    _folder: Option<fs::File>,
}

/// Waits until no other process writes the user's file, and makes its folder.
pub(crate) fn begin_writing(path: &Path) -> Result<Writing> {
    let context = || format!("writing `{}`", clean(&path.display().to_string()));
    let target = target_of(path).with_context(context)?;
    let folder = folder_of(&target);
    fs::create_dir_all(folder).with_context(context)?;
    let folder = fs::File::open(folder).with_context(context)?;
    let stop = interrupt::stop_flag();
    let started = Instant::now();
    loop {
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Writing { _folder: Some(folder) }),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            // NFS locks no folders (flock(2)).
            Err(Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => {
                return Ok(Writing { _folder: None });
            }
            Err(error) => return Err(anyhow::Error::new(std::io::Error::from(error)).context(context())),
        }
        if stop.load(Ordering::Relaxed) {
            bail!("nothing was written: interrupted while another process was writing the catalogue");
        }
        if started.elapsed() > PATIENCE {
            bail!(
                "another process has locked the directory of `{}` for {} s; try again when it has finished",
                clean(&path.display().to_string()),
                PATIENCE.as_secs()
            );
        }
        thread::sleep(TRY_EVERY);
    }
}

/// The file itself where a link stands in its place.
fn target_of(path: &Path) -> std::io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        other => other,
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes the user's file whole or not at all; where a link stands in its place, what the link leads to.
pub(crate) fn write(path: &Path, text: &str, _lock: &Writing) -> Result<()> {
    let writing = || format!("writing `{}`", clean(&path.display().to_string()));
    let target = target_of(path).with_context(writing)?;
    named_file::refuse_fifo(&target).with_context(writing)?;
    let mode = fs::metadata(&target).map(|metadata| metadata.permissions().mode() & 0o777);
    let directory = folder_of(&target);
    let mut builder = tempfile::Builder::new();
    // The process's mask takes away what the user does not want others to read.
    builder.permissions(fs::Permissions::from_mode(mode.as_ref().copied().unwrap_or(NEW_FILE_MODE)));
    let mut file = builder.tempfile_in(directory).with_context(writing)?;
    file.write_all(text.as_bytes()).with_context(writing)?;
    if let Ok(mode) = mode {
        file.as_file().set_permissions(fs::Permissions::from_mode(mode)).with_context(writing)?;
    }
    file.as_file().sync_all().with_context(writing)?;
    file.persist(&target).map_err(|error| error.error).with_context(writing)?;
    fs::File::open(directory).and_then(|directory| directory.sync_all()).with_context(writing)
}
