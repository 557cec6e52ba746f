//! The programs of this machine: where they lie, and which package brings one that is missing.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs lie that the `PATH` of a plain user leaves out: mkfs and bonnie++ are in /usr/sbin.
const SYSTEM_DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Programs whose Debian package has another name.
const PACKAGES: &[(&str, &str)] = &[
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("blkid", "util-linux"),
    ("bon_csv2html", "bonnie++"),
    ("btrfs", "btrfs-progs"),
    ("dd", "coreutils"),
    ("docker", "docker.io"),
    ("dockerd", "docker.io"),
    ("dpkg-deb", "dpkg"),
    ("env", "coreutils"),
    ("losetup", "util-linux"),
    ("lvm", "lvm2"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext2", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("mkfs.xfs", "xfsprogs"),
    ("nbdfuse", "libnbd-bin"),
    ("qemu-img", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("tune2fs", "e2fsprogs"),
    ("wipefs", "util-linux"),
    ("xfs_io", "xfsprogs"),
    ("xfs_spaceman", "xfsprogs"),
];

/// Package managers and how each is told to install something.
const MANAGERS: &[(&str, &str)] = &[
    ("apt-get", "apt-get install"),
    ("dnf", "dnf install"),
    ("yum", "yum install"),
    ("zypper", "zypper install"),
    ("pacman", "pacman -S"),
    ("apk", "apk add"),
];

/// The absolute directories of `PATH`, then the system's. Relative parts of `PATH` are passed over: what they name depends
/// on the working directory, and a trial starts its program in a directory of its own.
pub fn directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .filter(|directory| directory.is_absolute())
        .collect()
}

/// [`directories`] as the `PATH` of a program that is started.
pub fn search_path() -> OsString {
    // Each was a part of a `PATH`, so none has the colon that could not be joined.
    std::env::join_paths(directories()).unwrap_or_else(|_| SYSTEM_DIRECTORIES.join(":").into())
}

/// The path of a program, absolute where only its name was given; none if it is not installed.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    directories().into_iter().map(|directory| directory.join(name)).find(|path| is_program(path))
}

/// Whether a path names a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The package that brings a program, by Debian's name.
pub fn package_of(program: &str) -> &str {
    PACKAGES.iter().find(|(name, _)| *name == program).map_or(program, |(_, package)| package)
}

/// The command that installs a program with this machine's package manager.
pub fn install_command(program: &str) -> String {
    let package = package_of(program);
    let (manager, command) =
        MANAGERS.iter().find(|(manager, _)| find_program(manager).is_some()).unwrap_or(&MANAGERS[0]);
    // Debian had another `docker` before.
    let package = if *manager == "apt-get" { package } else { package.trim_end_matches(".io") };
    format!("{command} {package}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_it_is_and_nowhere_else() {
        assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find_program("/bin/sh").as_deref(), Some(Path::new("/bin/sh")));
        assert_eq!(find_program("no-such-program-here"), None);
        assert_eq!(find_program("/etc/passwd"), None);
        assert!(search_path().to_str().unwrap().ends_with("/usr/sbin:/usr/bin:/sbin:/bin"));
    }

    #[test]
    fn a_missing_program_comes_with_the_command_that_brings_it() {
        assert!(install_command("mkfs.xfs").ends_with(" xfsprogs"));
        assert!(install_command("docker").ends_with(if find_program("apt-get").is_some() {
            ".io"
        } else {
            "docker"
        }));
        assert_eq!(package_of("dbench"), "dbench");
        assert!(PACKAGES.is_sorted() && PACKAGES.iter().all(|(name, package)| name != package));
    }

    #[test]
    fn the_tests_install_what_the_table_names() {
        let script = include_str!("../../../tests/install-tools.sh");
        let lists =
            script.lines().filter_map(|line| line.trim().strip_prefix("wanted=\"")?.strip_suffix('"'));
        let pairs: Vec<(&str, &str)> =
            lists.flat_map(str::split_whitespace).filter_map(|word| word.split_once(':')).collect();
        assert!(pairs.len() > 20, "{pairs:?}");
        for (package, program) in pairs {
            let known = PACKAGES.iter().find(|(name, _)| *name == program);
            assert!(known.is_none_or(|(_, own)| *own == package), "{program}: {package}");
        }
    }

    #[test]
    fn the_package_suggests_what_the_table_names() {
        let control = include_str!("../../../packaging/control");
        let named = control
            .lines()
            .filter_map(|line| line.strip_prefix("Suggests: ").or_else(|| line.strip_prefix("Recommends: ")))
            .flat_map(|list| list.split(", "))
            .collect::<Vec<_>>();
        // On every Debian already.
        let essential = ["apt", "coreutils", "dpkg", "util-linux"];
        for (program, package) in PACKAGES {
            assert!(named.contains(package) || essential.contains(package), "{program}: {package}");
        }
    }
}
