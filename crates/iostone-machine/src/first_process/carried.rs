//! Starting the carried iostone from within a root filesystem that may have other libraries, or none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::wrong;
use crate::failure::Failure;

/// Where the archive has this program.
const PROGRAM: &str = "/iostone/bin/iostone";

/// A path of the archive's, seen from where it is bound to.
pub(super) fn below(prefix: &Path, path: &Path) -> PathBuf {
    prefix.join(path.strip_prefix("/").unwrap_or(path))
}

/// The program to start and what comes before its own arguments: where the archive is the root itself, iostone; else, if
/// iostone loads libraries, its loader (ld.so(8)), told where they are.
///
/// # Errors
/// The kernel does not tell what this process has loaded.
pub(super) fn program(prefix: &Path) -> Result<(PathBuf, Vec<OsString>), Failure> {
    let program = below(prefix, Path::new(PROGRAM));
    if prefix == Path::new("/") {
        return Ok((program, Vec::new()));
    }
    let maps = fs::read_to_string("/proc/self/maps").map_err(|error| wrong("`/proc/self/maps`", &error))?;
    let Some((loader, directories)) = loaded(&maps) else { return Ok((program, Vec::new())) };
    let mut path = OsString::new();
    for directory in directories {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(below(prefix, &directory));
    }
    Ok((below(prefix, &loader), vec!["--library-path".into(), path, program.into()]))
}

/// The loader and the directories of the libraries that are mapped; none for a static program.
fn loaded(maps: &str) -> Option<(PathBuf, BTreeSet<PathBuf>)> {
    let files: BTreeSet<PathBuf> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.starts_with('/') && path.contains(".so"))
        .map(PathBuf::from)
        .collect();
    let loader = files.iter().find(|path| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("ld64")
        })
    })?;
    let directories = files.iter().filter_map(|path| path.parent().map(Path::to_owned)).collect();
    Some((loader.clone(), directories))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_and_the_libraries_of_a_process_are_found_in_its_maps() {
        let maps = "55d0-55d1 r-xp 0 00:02 3 /iostone/bin/iostone\n\
                    7f01-7f02 r-xp 0 00:02 4 /lib/x86_64-linux-gnu/libc.so.6\n\
                    7f03-7f04 r-xp 0 00:02 5 /lib64/ld-linux-x86-64.so.2\n\
                    7ffd-7ffe rw-p 0 00:00 0 [stack]\n";
        let (loader, directories) = loaded(maps).unwrap();
        assert_eq!(loader, Path::new("/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(directories.len(), 2);
        assert_eq!(loaded("55d0-55d1 r-xp 0 00:02 3 /iostone/bin/iostone\n"), None);
    }

    #[test]
    fn where_the_archive_is_the_root_the_program_starts_by_itself() {
        assert_eq!(program(Path::new("/")).unwrap(), (PathBuf::from("/iostone/bin/iostone"), Vec::new()));
    }
}
