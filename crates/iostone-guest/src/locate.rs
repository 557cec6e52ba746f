//! Finds programs of this host for guests, with what to do where one is missing.

use std::path::{Path, PathBuf};

use iostone_probe::programs::{find_program, install_command};

use crate::error::GuestError;

/// The absolute path of a program: itself if it is a path, else from PATH and the system's directories.
///
/// # Errors
/// [`GuestError::Missing`] with the command that installs it.
pub fn program(name: &str) -> Result<PathBuf, GuestError> {
    if !name.contains('/') {
        return find_program(name).ok_or_else(|| {
            let install = install_command(name);
            GuestError::Missing(format!("`{name}` is not installed on this host; next: `{install}`"))
        });
    }
    let path = std::path::absolute(name).map_err(|error| GuestError::io("find", Path::new(name), error))?;
    if find_program(name).is_some() {
        Ok(path)
    } else if path.exists() {
        Err(GuestError::Unsuitable(format!(
            "`{name}` is not executable; next: `chmod +x {name}`, or name another"
        )))
    } else {
        Err(GuestError::Missing(format!("`{name}` is not on this host: no such file")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_comes_with_the_command_that_brings_it() {
        let error = program("no-such-program-anywhere").unwrap_err();
        assert!(error.to_string().ends_with(" no-such-program-anywhere`"));
    }

    #[test]
    fn a_file_that_is_no_program_is_told_apart_from_none() {
        assert!(program("/etc/passwd").unwrap_err().to_string().contains("is not executable"));
        assert!(program("/nowhere/at/all").unwrap_err().to_string().contains("no such file"));
        assert_eq!(program("/bin/sh").unwrap(), Path::new("/bin/sh"));
    }
}
