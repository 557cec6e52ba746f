//! What a program needs beside itself: its interpreter, its libraries; and what of it a guest does not need.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::LittleEndian;
use object::elf::{ET_DYN, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::error::GuestError;

mod cut;
#[cfg(test)]
mod tests;

pub(crate) use cut::without_sections;

/// As much of a file is read to tell what it is; the interpreter's name stands near its beginning.
const HEAD_BYTES: usize = 64 * 1024;

/// What a program is, and what starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It runs by itself.
    Static,
    /// It is loaded by this interpreter, with libraries.
    Dynamic(PathBuf),
    /// It is read by this program; the second word of the line, for `#!/usr/bin/env python3`, is the one meant.
    Script(Vec<String>),
}

/// What a program of this host is.
///
/// # Errors
/// [`GuestError::Unsuitable`] for a file that the kernel could not start.
pub(crate) fn kind_of(program: &Path) -> Result<Kind, GuestError> {
    let data = read_head(program)?;
    if let Some(line) = data.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let words: Vec<String> =
            String::from_utf8_lossy(line).split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(unsuitable(program, "its first line names no interpreter"));
        }
        return Ok(Kind::Script(words));
    }
    let header = FileHeader64::<LittleEndian>::parse(data.as_slice())
        .map_err(|_| unsuitable(program, "it is neither a 64-bit ELF file nor a script"))?;
    let endian = LittleEndian;
    if !matches!(header.e_type(endian), ET_EXEC | ET_DYN) {
        return Err(unsuitable(program, "it is an ELF file, but no executable"));
    }
    let segments = header
        .program_headers(endian, data.as_slice())
        .map_err(|_| unsuitable(program, "its program headers are not at its beginning"))?;
    for segment in segments {
        if segment.p_type(endian) == PT_INTERP {
            let name = segment
                .data(endian, data.as_slice())
                .ok()
                .and_then(|name| name.split(|byte| *byte == 0).next())
                .and_then(|name| std::str::from_utf8(name).ok())
                .ok_or_else(|| unsuitable(program, "the name of its interpreter cannot be read"))?;
            return Ok(Kind::Dynamic(PathBuf::from(name)));
        }
    }
    Ok(Kind::Static)
}

fn unsuitable(program: &Path, reason: &str) -> GuestError {
    GuestError::Unsuitable(format!("`{}` cannot be copied into the guest: {reason}", program.display()))
}

fn read_head(path: &Path) -> Result<Vec<u8>, GuestError> {
    use std::io::Read;
    let failed = |error| GuestError::io("read", path, error);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let file = crate::open::open_file(path).map_err(failed)?;
    file.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
    Ok(head)
}

/// The libraries that a program loads, by the names under which its interpreter finds them. The interpreter is asked
/// (`ld.so --list`, which glibc has since 2.0 as `ldd` uses it, and musl too): only it knows its caches and paths. It
/// maps the program and does not start it.
///
/// # Errors
/// [`GuestError::Missing`] with the library that is not there.
pub(crate) fn libraries(interpreter: &Path, program: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let output = Command::new(interpreter)
        .arg("--list")
        .arg(program)
        .env("LC_ALL", "C")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| GuestError::io("start the interpreter", interpreter, error))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let libraries = parse_list(&listed).map_err(|library| {
        GuestError::Missing(format!(
            "`{}` needs the library `{library}`, which is not on this host",
            program.display()
        ))
    })?;
    if !output.status.success() {
        let reason = complained.lines().next().unwrap_or("no reason given");
        return Err(GuestError::Missing(format!(
            "cannot list the libraries of `{}`: {reason}",
            program.display()
        )));
    }
    Ok(libraries)
}

/// The paths of `ld.so --list`, as it prints them: `\tlibc.so.6 => /lib/libc.so.6 (0x...)`; or the library that it
/// did not find.
fn parse_list(listed: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for line in listed.lines() {
        let line = line.trim();
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.trim() == "not found" {
            return Err(name.to_owned());
        }
        // The kernel's own (`linux-vdso.so.1`) has no path.
        let path = place.rsplit_once(" (0x").map_or(place, |(path, _)| path);
        if path.starts_with('/') {
            found.push(PathBuf::from(path));
        }
    }
    Ok(found)
}
