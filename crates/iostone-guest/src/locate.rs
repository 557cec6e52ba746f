//! Where programs of this host lie, and which package brings a missing one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::GuestError;

/// Where administration programs lie even when the PATH of a plain user leaves these out.
const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Programs whose Debian package has another name.
const PACKAGES: &[(&str, &str)] = &[
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("blkid", "util-linux"),
    ("bonnie++", "bonnie++"),
    ("btrfs", "btrfs-progs"),
    ("dd", "coreutils"),
    ("dmsetup", "dmsetup"),
    ("dpkg-deb", "dpkg"),
    ("lvm", "lvm2"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("qemu-img", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("tune2fs", "e2fsprogs"),
    ("wipefs", "util-linux"),
    ("xfs_io", "xfsprogs"),
    ("xfs_spaceman", "xfsprogs"),
];

/// The absolute path of a program: itself if it is a path, else from PATH and the system's directories. Relative parts
/// of PATH are passed over: what they name depends on the working directory.
///
/// # Errors
/// [`GuestError::Missing`] with the command that installs it.
pub fn program(name: &str) -> Result<PathBuf, GuestError> {
    if name.contains('/') {
        let path =
            std::path::absolute(name).map_err(|error| GuestError::io("find", Path::new(name), error))?;
        return if is_program(&path) {
            Ok(path)
        } else if path.exists() {
            Err(GuestError::Unsuitable(format!(
                "`{name}` is not executable; next: `chmod +x {name}`, or name another"
            )))
        } else {
            Err(GuestError::Missing(format!("`{name}` is not on this host: no such file")))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| is_program(candidate))
        .ok_or_else(|| GuestError::Missing(missing(name)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn missing(name: &str) -> String {
    let package = PACKAGES.iter().find(|(program, _)| *program == name).map_or(name, |(_, package)| package);
    format!("`{name}` is not installed on this host; next: `apt-get install {package}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_comes_with_the_command_that_brings_it() {
        assert_eq!(
            missing("mkfs.xfs"),
            "`mkfs.xfs` is not installed on this host; next: `apt-get install xfsprogs`"
        );
        let error = program("no-such-program-anywhere").unwrap_err();
        assert!(error.to_string().ends_with("`apt-get install no-such-program-anywhere`"));
    }

    #[test]
    fn a_file_that_is_no_program_is_told_apart_from_none() {
        assert!(program("/etc/passwd").unwrap_err().to_string().contains("is not executable"));
        assert!(program("/nowhere/at/all").unwrap_err().to_string().contains("no such file"));
        assert_eq!(program("/bin/sh").unwrap(), Path::new("/bin/sh"));
    }
}
