//! Whether the kernel has a filesystem, built in, loaded, or as a module that a mount loads by itself.

use std::fs;
use std::path::Path;

use crate::error::StackError;

/// Every filesystem that the kernel has now (`proc_filesystems(5)`).
const FILESYSTEMS: &str = "/proc/filesystems";

/// Reading only: no module is loaded.
///
/// # Errors
/// [`StackError::Unexpected`] with a way out if the kernel has none of that name, nor a module that it could load.
pub(super) fn check(name: &str) -> Result<(), StackError> {
    if kernel_has(name)? {
        return Ok(());
    }
    let release = kernel_release();
    // Debian's kernels for virtual machines, which are taken where no flavour is named, have no F2FS.
    let guest = if name == "f2fs" { "debian:6.1-generic" } else { "debian:6.1" };
    Err(StackError::unexpected(
        FILESYSTEMS,
        format!(
            "this kernel ({release}) has neither {name} nor a module for it; use another `filesystem.kind`, or a guest whose \
             kernel has it: `machine = {{ kind = \"guest\", kernel = \"{guest}\" }}`"
        ),
    ))
}

/// Whether the kernel has that filesystem, or a module of that name to load.
///
/// # Errors
/// [`StackError::Io`] when it does not tell.
pub(crate) fn kernel_has(name: &str) -> Result<bool, StackError> {
    let listed =
        fs::read_to_string(FILESYSTEMS).map_err(|source| StackError::io("read", FILESYSTEMS, source))?;
    // mount(2) asks for the module `fs-NAME`: an alias of the module of that name, or of another that serves it too.
    Ok(is_listed(&listed, name) || has_module(name) || has_alias(&list_of_modules("modules.alias"), name))
}

/// Whether a module of that name is there to load.
pub(crate) fn has_module(name: &str) -> bool {
    lists_module(&list_of_modules("modules.dep"), name)
}

/// What depmod(8) wrote of the running kernel's modules; nothing where there are none.
fn list_of_modules(file: &str) -> String {
    let directory = Path::new("/lib/modules").join(kernel_release());
    fs::read_to_string(directory.join(file)).unwrap_or_default()
}

/// `6.1.0-18-amd64`, uname(2).
pub(crate) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// `nodev` stands before those without a device.
fn is_listed(listed: &str, name: &str) -> bool {
    listed.lines().any(|line| line.split_whitespace().last() == Some(name))
}

/// `kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz`
fn lists_module(modules: &str, name: &str) -> bool {
    modules.lines().filter_map(|line| line.split(':').next()).any(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.strip_prefix(name).is_some_and(|rest| rest == ".ko" || rest.starts_with(".ko."))
    })
}

/// `alias fs-ext2 ext4` (depmod(8)): ext4's driver serves ext2 where the kernel was built so.
fn has_alias(aliases: &str, name: &str) -> bool {
    aliases.lines().any(|line| {
        let mut words = line.split_whitespace().skip_while(|&word| word == "alias");
        words.next().and_then(|alias| alias.strip_prefix("fs-")) == Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_is_found_built_in_or_as_a_module() {
        assert!(is_listed("nodev\tsysfs\n\text4\n", "ext4"));
        assert!(!is_listed("nodev\tsysfs\n\text4\n", "ext"));
        let modules = "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz\nkernel/fs/btrfs/btrfs.ko:\n";
        assert!(lists_module(modules, "xfs") && lists_module(modules, "btrfs"));
        assert!(!lists_module(modules, "libcrc32c") && !lists_module("", "xfs"));
        let aliases = "# Aliases\nalias fs-ext3 ext4\nalias fs-ext2 ext4\nalias ext2 ext4\n";
        assert!(has_alias(aliases, "ext2") && !has_alias(aliases, "ext4") && !has_alias("", "ext2"));
    }

    #[test]
    fn a_filesystem_that_no_kernel_has_is_said_with_a_way_out() {
        let error = check("iostone-no-such-filesystem").unwrap_err().to_string();
        assert!(
            error.contains("neither iostone-no-such-filesystem") && error.contains("kind = \"guest\""),
            "{error}"
        );
    }
}
