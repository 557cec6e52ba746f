//! Whether this kernel's filesystem takes mount options, asked without mounting anything (`fsopen(2)`, `fsconfig(2)`).

use std::fs;
use std::os::fd::OwnedFd;

use iostone_model::experiment::Stack;
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsconfig_set_flag, fsconfig_set_string, fsopen};

use super::options::{MountOption, MountOptions};
use crate::error::StackError;

/// The longest message of a filesystem that is read.
const LONGEST_MESSAGE: usize = 4096;

/// Refuses the first option that the filesystem's own reader of options does not take. Silent where that cannot be asked:
/// without root, before the driver is loaded, of a driver that reads its options only when it mounts.
///
/// # Errors
/// [`StackError::Usage`] with the option and the kernel's reason.
pub(crate) fn examine(stack: &Stack) -> Result<(), StackError> {
    let options = MountOptions::parse(&stack.mount.options)?;
    let Some(filesystem) = stack.filesystem.name() else { return Ok(()) };
    let mut texts = options.options().iter().filter(|option| option.flag().is_none()).peekable();
    // Opening a filesystem whose driver is not there would load it, and looking changes nothing.
    if texts.peek().is_none() || !is_loaded(filesystem) {
        return Ok(());
    }
    let Ok(context) = fsopen(filesystem, FsOpenFlags::FSOPEN_CLOEXEC) else { return Ok(()) };
    for option in texts {
        if set(&context, option) == Err(Errno::INVAL) {
            let because = message(&context).map(|said| format!(": {said}")).unwrap_or_default();
            let reason =
                format!("the {filesystem} of this kernel does not accept `{}`{because}", option.word);
            return Err(StackError::usage("mount.options", reason));
        }
    }
    Ok(())
}

fn is_loaded(filesystem: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().next_back() == Some(filesystem))
}

/// As mount(2) does with each word of its text.
fn set(context: &OwnedFd, option: &MountOption) -> Result<(), Errno> {
    match option.word.split_once('=') {
        Some((key, value)) => fsconfig_set_string(context, key, value),
        None => fsconfig_set_flag(context, option.word.as_str()),
    }
}

/// The last error that the filesystem has written into its log: `e ext4: Unknown parameter 'x'`.
fn message(context: &OwnedFd) -> Option<String> {
    let mut last = None;
    let mut buffer = vec![0; LONGEST_MESSAGE];
    while let Ok(length @ 1..) = rustix::io::read(context, &mut buffer) {
        let said = String::from_utf8_lossy(buffer.get(..length)?).trim().to_owned();
        if let Some(error) = said.strip_prefix("e ") {
            last = Some(error.to_owned());
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{DirectoryVolume, Ext4, Filesystem, Volume};

    use super::*;

    fn stack(options: &[&str]) -> Stack {
        let mut stack = Stack::of(Volume::Directory(DirectoryVolume { path: None }));
        stack.filesystem = Filesystem::Ext4(Ext4::default());
        stack.mount.options = options.iter().map(|option| (*option).to_owned()).collect();
        stack
    }

    #[test]
    fn the_kernel_tells_an_option_that_it_does_not_know() {
        if !rustix::process::geteuid().is_root() || !is_loaded("ext4") {
            return;
        }
        examine(&stack(&["noatime", "barrier=0", "commit=7", "data=writeback"])).unwrap();
        for wrong in ["commi=5", "x'", "data=sideways"] {
            let error = examine(&stack(&["noatime", wrong])).unwrap_err().to_string();
            assert!(error.contains(&format!("does not accept `{wrong}`")), "{error}");
        }
    }
}
