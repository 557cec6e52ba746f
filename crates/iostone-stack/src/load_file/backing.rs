//! Files in use: below loop devices, and open for writing elsewhere; found by what they are, not by what they are called.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::device::extent::files_under;
use crate::device::{BlockDevice, FileNumber, file_numbers, number_of};
use crate::error::{Refusal, RefusalReason, StackError};
use crate::occupants::{self, Sought};
use crate::volume::attached_loops;

/// A file below a loop device is a device in use, whoever made it: no word overrides that.
///
/// # Errors
/// [`StackError::Refused`] with the loop device.
pub(crate) fn refuse_backing_file(file: &File, path: &Path) -> Result<(), StackError> {
    let numbers = numbers_of(file, path)?;
    // A file has as many names as it has links and mounts, and none once it was removed: the kernel knows which one it is.
    let stands_on_it = |device: &BlockDevice| {
        files_under(device).is_ok_and(|under| under.iter().any(|number| numbers.contains(number)))
    };
    // Where sysfs cannot be listed there are no loop devices to be seen.
    let attached = attached_loops().unwrap_or_default();
    let devices = attached.iter().filter_map(|attached| BlockDevice::at(&attached.path).ok().flatten());
    let Some(above) = devices.into_iter().find(stands_on_it) else { return Ok(()) };
    let device = above.path.display();
    Err(refused(
        path,
        RefusalReason::Held,
        format!("it backs the loop device `{device}`"),
        vec![format!("whatever is on `{device}`")],
        format!("`losetup -d {device}` if nothing needs it"),
    ))
}

/// A file that another process may write to, as a virtual machine does to its disk, is in use likewise.
///
/// # Errors
/// [`StackError::Refused`] with the processes.
pub(super) fn refuse_written_file(file: &File, path: &Path) -> Result<(), StackError> {
    let sought = Sought { devices: Vec::new(), files: numbers_of(file, path)? };
    let mut writers = occupants::users_of(&sought);
    writers.retain(|user| user.writes);
    let Some(first) = writers.first() else { return Ok(()) };
    Err(refused(
        path,
        RefusalReason::Open,
        format!("it is in use by {}", occupants::in_words(&writers)),
        Vec::new(),
        format!("wait for process {} to end", first.pid),
    ))
}

fn numbers_of(file: &File, path: &Path) -> Result<Vec<FileNumber>, StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", path, error))?;
    if !metadata.is_file() {
        return Ok(Vec::new());
    }
    // The kernel's name of what is open, whatever was typed.
    let name = std::fs::read_link(iostone_engine::path_of_open(file)).unwrap_or_else(|_| path.to_owned());
    Ok(file_numbers(&name, (number_of(metadata.dev()), metadata.ino())))
}

fn refused(
    path: &Path,
    reason: RefusalReason,
    because: String,
    loses: Vec<String>,
    next: String,
) -> StackError {
    StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: "a file".to_owned(),
        reason,
        because,
        loses,
        next: vec![next, format!("another file than `{}`", path.display())],
        destroy: None,
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// A loop device, detached again.
    struct Loop(String);

    impl Loop {
        fn over(image: &Path) -> Self {
            let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["--detach", &self.0]).status();
        }
    }

    fn refuse(path: &Path) -> Result<(), StackError> {
        refuse_backing_file(&File::open(path).unwrap(), path)
    }

    #[test]
    fn a_file_below_a_loop_device_is_refused_under_each_of_its_names() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("skipped: needs root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [image, link, renamed, other] =
            ["image", "link", "renamed", "other"].map(|name| folder.path().join(name));
        for file in [&image, &other] {
            File::create(file).unwrap().set_len(1 << 20).unwrap();
        }
        fs::hard_link(&image, &link).unwrap();
        let _loop = Loop::over(&image);
        for name in [&image, &link] {
            assert!(refuse(name).unwrap_err().to_string().contains("it backs the loop device"), "{name:?}");
        }
        assert!(refuse(&other).is_ok());
        // The name that sysfs tells leads to another file now, or to none.
        fs::rename(&image, &renamed).unwrap();
        fs::copy(&other, &image).unwrap();
        assert!(refuse(&renamed).is_err());
        fs::remove_file(&renamed).unwrap();
        assert!(refuse(&link).is_err());
    }
}
