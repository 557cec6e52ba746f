//! Which existing files are somebody else's, and what a refusal says of them.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{fstatfs, getxattr};
use rustix::io::Errno;

use super::{Permit, Placing};
use crate::device::size_in_words;
use crate::error::{Refusal, RefusalReason, StackError};
use crate::load_file::{MARK, mark_of};
use crate::tool::quote;
use crate::trust::{Trust, user_in_words};
use iostone_engine::path_of_open;

/// Why a regular file must not be written over; none if iostone made it, or if it is empty: scripts name outputs with
/// mktemp(1), and nothing is lost.
///
/// The file may have been opened with `O_PATH`.
pub(super) fn why_foreign(file: &File, metadata: &Metadata) -> Option<String> {
    // The mark is what the owner of a file lets it say.
    if !Trust::of_this_process().includes(metadata.uid()) {
        return Some(format!("it belongs to {}", user_in_words(metadata.uid())));
    }
    if is_of_the_kernel(file) {
        return Some("it is a kernel file, and writing to it changes a setting".to_owned());
    }
    if metadata.len() == 0 {
        return None;
    }
    let mut value = [0u8; 256];
    // getxattr(2) takes no descriptor of `O_PATH`, but a path through it.
    match getxattr(path_of_open(file), MARK, &mut value) {
        Ok(length) if value.get(..length) == Some(mark_of(metadata).as_bytes()) => None,
        Ok(_) | Err(Errno::RANGE) => Some("it was changed since iostone wrote it".to_owned()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Some(
            "its filesystem keeps no user extended attributes, so iostone cannot tell whether it created the file"
                .to_owned(),
        ),
        Err(_) => Some("iostone did not create it".to_owned()),
    }
}

/// Whether it is of a filesystem whose files are settings of the kernel, and have no length (linux/magic.h).
fn is_of_the_kernel(file: &File) -> bool {
    const PROC: u64 = 0x9fa0;
    const SYSFS: u64 = 0x6265_6572;
    const CGROUP: u64 = 0x0027_e0eb;
    const CGROUP2: u64 = 0x6367_7270;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    let known = [PROC, SYSFS, CGROUP, CGROUP2, DEBUGFS, TRACEFS];
    fstatfs(file).is_ok_and(|found| known.contains(&found.f_type.cast_unsigned()))
}

pub(super) fn refusal(
    path: &Path,
    bytes: u64,
    because: String,
    placing: Placing,
    permit: &Permit,
) -> StackError {
    let size = size_in_words(bytes);
    let (loses, consent) = match placing {
        _ if bytes == 0 => (Vec::new(), "if it may be written"),
        Placing::Replace => (vec![format!("all {size} of it")], "if its content is not needed"),
        Placing::Append => (Vec::new(), "if the output may be appended to it"),
    };
    let name = quote(path.as_os_str());
    let next = if let Some(option) = permit.option {
        // What begins with a dash would be taken for an option.
        let between = if path.as_os_str().as_encoded_bytes().starts_with(b"-") { "=" } else { " " };
        let again = format!("`{option}{between}{name}` {consent}");
        vec!["name a file that does not exist yet".to_owned(), again]
    } else {
        let mut aside: OsString = path.as_os_str().to_owned();
        aside.push(".old");
        vec![format!("`mv --no-clobber {name} {}`", quote(&aside))]
    };
    StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: if bytes == 0 { "an empty file".to_owned() } else { format!("a file of {size}") },
        reason: RefusalReason::ForeignFile,
        because,
        loses,
        next,
        // The option that names it again differs from command to command and stands in `next`.
        destroy: None,
    }))
}

pub(super) fn block_device(path: &Path) -> StackError {
    StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: "a block device".to_owned(),
        reason: RefusalReason::NotAFile,
        because: "the output would overwrite the device".to_owned(),
        loses: Vec::new(),
        next: vec!["name a file".to_owned()],
        destroy: None,
    }))
}
