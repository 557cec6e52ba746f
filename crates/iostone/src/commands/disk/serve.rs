//! `iostone disk serve`: volumes in the foreground, as the command line describes them.

mod arguments;
mod link;
mod model;

use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iostone_disk::{DiskPlan, Server, Store, VolumePlan};
use iostone_engine::{Pin, Pins};
use iostone_model::units::Bytes;
use iostone_stack::refuse_file_in_use;

pub(super) use self::arguments::ServeArguments;
use super::uri::nbd_uri;
use crate::commands::target::{Found, Held, not_found, refuse_device_in_use};
use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

pub(super) fn serve(arguments: &ServeArguments, printer: &mut Printer) -> Result<ExitCode> {
    let (plan, pins) = plan_of(arguments)?;
    let stop = interrupt::stop_flag();
    let server = Server::bind_pinned(&plan, &pins)?;
    printer.note(introduce(&plan));
    server.run(&stop)?;
    Ok(ExitCode::Success)
}

/// Offsets within files are signed (`off_t`, `sys_types.h(0p)`).
const LARGEST_FILE_BYTES: u64 = i64::MAX.unsigned_abs();

/// The plan that the options mean, and what its volumes lie on. Files that are not there yet are made, as empty as they are
/// large.
fn plan_of(arguments: &ServeArguments) -> Result<(DiskPlan, Pins)> {
    if arguments.file.is_none() && !arguments.memory {
        anyhow::bail!(
            "no storage for the volume: add `--file image`, or `--memory` for one that is lost when the server ends"
        );
    }
    let size_bytes = match (arguments.size, &arguments.file) {
        (Some(size), _) => size.0,
        (None, Some(file)) => length_of(file)?,
        (None, None) => {
            anyhow::bail!("no size for the volume: add `--size 1GiB`, or `--file` with an existing file")
        }
    };
    if size_bytes > LARGEST_FILE_BYTES {
        let (size, largest) = (Bytes(size_bytes), Bytes(LARGEST_FILE_BYTES).approximate());
        anyhow::bail!("`--size {size}` exceeds the largest file size, {largest}");
    }
    let model = model::of(arguments, size_bytes)?;
    // The path of the working directory: a client may be in another.
    let socket = absolute(&arguments.socket)?;
    let mut volumes = Vec::new();
    let mut pins = Pins::default();
    for number in 0..arguments.count {
        let store = match &arguments.file {
            Some(file) => {
                let path = absolute(&numbered(file, number, arguments.count))?;
                let pin = hold(&path, size_bytes)?;
                pins.insert(path.clone(), pin);
                Store::File { path, direct: arguments.direct }
            }
            None => Store::Memory,
        };
        let socket = numbered(&socket, number, arguments.count);
        volumes.push(VolumePlan { name: format!("v{number}"), socket, store, model: model.clone() });
    }
    let control = match &arguments.control {
        Some(control) => absolute(control)?,
        None => with_end(&socket, ".control"),
    };
    Ok((DiskPlan { volumes, link: link::of(&arguments.link)?, control, seed: arguments.seed }, pins))
}

fn introduce(plan: &DiskPlan) -> String {
    let mut text = String::new();
    for volume in &plan.volumes {
        let uri = nbd_uri(&volume.socket);
        let _ = writeln!(text, "{}: {}", volume.name, uri);
        let _ = writeln!(text, "  QEMU:      -drive file='{uri}',format=raw,if=virtio");
        let _ =
            writeln!(text, "  a file:    mkdir v && nbdfuse v '{uri}'    (then `losetup` makes it a device)");
        let _ = writeln!(text, "  a device:  nbd-client -unix {} /dev/nbd0", volume.socket.display());
    }
    let _ = writeln!(text, "control it:  iostone disk control {} counters", plan.control.display());
    let _ = write!(text, "Ctrl-C stops it");
    text
}

fn length_of(file: &Path) -> Result<u64> {
    let explained = || format!("cannot open `{}`; `--size` creates a new file", file.display());
    let mut opened = match Held::find(file).map_err(not_found).with_context(explained)? {
        Found::Nothing(_) => return Err(io::Error::from(io::ErrorKind::NotFound)).with_context(explained),
        Found::Held(held) if held.metadata().file_type().is_fifo() => {
            return Err(io::Error::other("it is a FIFO, not a file")).with_context(explained);
        }
        Found::Held(held) => held.open(OpenOptions::new().read(true)).with_context(explained)?,
    };
    // The end of a block device is its size too.
    opened.seek(SeekFrom::End(0)).with_context(|| format!("cannot size `{}`", file.display()))
}

/// Finds what a volume lies on and holds it, or makes a file; what is there stays as it is. A device must not be in use;
/// what is on it is what is served.
fn hold(path: &Path, size_bytes: u64) -> Result<Pin> {
    let failed = || format!("cannot create `{}` with {}", path.display(), Bytes(size_bytes));
    let held = match Held::find(path).map_err(not_found)? {
        Found::Held(held) => held,
        Found::Nothing(entry) => {
            let made = Held::create(entry).map_err(anyhow::Error::new).with_context(failed)?;
            let made = made.with_context(failed)?;
            made.file().set_len(size_bytes).with_context(failed).inspect_err(|_| {
                // It is ours and empty; that it could not be made so large is what is said.
                let _ = made.remove();
            })?;
            made
        }
    };
    if held.is_block_device() {
        refuse_device_in_use(held.pin(), path)?;
    } else {
        refuse_file_in_use(held.file(), path).map_err(iostone_machine::Failure::from)?;
    }
    Ok(held.pin().clone())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve the path of `{}`", path.display()))
}

/// The path itself for one volume, with `-0`, `-1` and so on for several.
fn numbered(path: &Path, number: u32, count: u32) -> PathBuf {
    if count > 1 { with_end(path, &format!("-{number}")) } else { path.to_owned() }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
