//! The user's own rows of the catalogue: where their file is, how it is read before a command asks, and how it is written.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use iostone_cloud::{Catalogue, install};
use iostone_report::clean;

use crate::cli::Command;
use crate::exit_code::FileErrors;
use crate::named_file;
use crate::printer::Printer;

/// Names the file; it has to be there then.
pub(crate) const VARIABLE: &str = "IOSTONE_CATALOGUE";

/// Larger files are not rows that somebody wrote. The whole catalogue as TOML has less than 1 MB.
const LARGEST_CATALOGUE: u64 = 16 << 20;

/// The mode of a new file before the process's mask.
const NEW_FILE_MODE: u32 = 0o644;

/// Where the user's file is, or would be.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Whether the user named it; else it may be missing.
    is_named: bool,
}

/// Whether a command asks the catalogue. The others run whatever the user's file holds.
pub(crate) fn is_asked_by(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
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
    let Some(text) = text else { return Ok(()) };
    install(with_rows(&text, &place.path, printer)?);
    Ok(())
}

/// The text of the user's file; none if there is none and nobody named it.
pub(crate) fn text_at(place: &Place) -> Result<Option<String>> {
    match read(&place.path, LARGEST_CATALOGUE) {
        Ok(text) => Ok(Some(text)),
        Err(error) if !place.is_named && is_missing(&error) => Ok(None),
        Err(error) if place.is_named && is_missing(&error) => Err(error.context(format!(
            "`{VARIABLE}` names a catalogue that is not there; `iostone catalog update FILE` makes one"
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
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Reads a file of text, at most so many bytes of it.
pub(crate) fn read(path: &Path, largest: u64) -> Result<String> {
    let reading = || format!("reading `{}`", clean(&path.display().to_string()));
    let file = named_file::open(path).with_context(reading)?;
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes).with_context(reading)?;
    if bytes.len() as u64 > largest {
        bail!(
            "`{}` is larger than {} MiB, which no catalogue is",
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

/// Writes the user's file whole or not at all; where a link stands in its place, what the link leads to.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let writing = || format!("writing `{}`", clean(&path.display().to_string()));
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(anyhow::Error::new(error).context(writing())),
    };
    named_file::refuse_fifo(&target).with_context(writing)?;
    let mode = fs::metadata(&target).map(|metadata| metadata.permissions().mode() & 0o777);
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory).with_context(writing)?;
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
