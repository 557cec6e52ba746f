//! Finds installed programs, also those of the administrator, which the search path of other users leaves out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are beside the folders of `PATH`: bonnie++ is in /usr/sbin.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The absolute path of a program, by `PATH` and the system's folders; none if it is not installed. Relative parts of
/// `PATH` are passed over, because a trial starts its program in a folder of its own.
pub fn installed(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .chain(SYSTEM_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_it_is_and_nowhere_else() {
        assert!(installed("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(installed("no-such-program-here"), None);
        assert_eq!(installed("/etc/passwd"), None);
    }
}
