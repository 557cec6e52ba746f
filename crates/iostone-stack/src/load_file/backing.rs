//! Files below loop devices: found by what they are, not by what they are called.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::entry::identity_of;
use crate::error::{Refusal, RefusalReason, StackError};
use crate::step::FileIdentity;
use crate::volume::{AttachedLoop, attached_loops, is_of_file, open_attached};

/// A file below a loop device is a device in use, whoever made it: no word overrides that.
pub(super) fn refuse_backing_file(file: &File, path: &Path) -> Result<(), StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", path, error))?;
    let identity = identity_of(&metadata);
    // Where sysfs cannot be listed there are no loop devices to be seen.
    let attached = attached_loops().unwrap_or_default();
    let Some(above) = attached.into_iter().find(|attached| stands_on(attached, identity)) else {
        return Ok(());
    };
    let (name, device) = (path.display(), above.path.display());
    Err(StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: "a file".to_owned(),
        reason: RefusalReason::Held,
        because: format!("the loop device `{device}` stands on it"),
        loses: vec![format!("whatever is on `{device}`")],
        next: vec![
            format!("`losetup -d {device}` if nothing needs it"),
            format!("another file than `{name}`"),
        ],
        destroy: None,
    })))
}

/// A file has as many names as it has links and mounts, and none once it was removed: the kernel knows which one it is
/// (`LOOP_GET_STATUS64`, loop(4)). Who may not ask it goes by the name that sysfs tells.
fn stands_on(attached: &AttachedLoop, identity: FileIdentity) -> bool {
    let named = fs::metadata(&attached.backing_file);
    if named.is_ok_and(|named| (named.dev(), named.ino()) == (identity.dev, identity.ino)) {
        return true;
    }
    let status = open_attached(&attached.path).ok().flatten();
    status.is_some_and(|(_, status)| is_of_file(&status, identity))
}

#[cfg(test)]
mod tests {
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
            assert!(refuse(name).unwrap_err().to_string().contains("stands on it"), "{name:?}");
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
