//! What a module says of itself: the section `.modinfo`, strings of the form `key=value` with a zero behind each.

use std::path::Path;

use object::{File, Object, ObjectSection};

use super::plain;
use crate::error::GuestError;

/// What a module needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Information {
    /// The release of the kernel that it was built for, the first word of `vermagic` (include/linux/vermagic.h).
    pub(super) release: Option<String>,
    /// Modules that must be there before.
    pub(super) depends: Vec<String>,
    /// Modules, or what they do, that should be there before (`softdep` in `modprobe.d(5)`).
    pub(super) soft_depends: Vec<String>,
}

impl Information {
    /// What the module in these bytes says.
    ///
    /// # Errors
    /// [`GuestError::Unsuitable`] when it is no module.
    pub(super) fn of(content: &[u8], path: &Path) -> Result<Self, GuestError> {
        let no_module = |reason: String| {
            GuestError::Unsuitable(format!("`{}` is not a kernel module: {reason}", path.display()))
        };
        let file = File::parse(content).map_err(|error| no_module(error.to_string()))?;
        let section =
            file.section_by_name(".modinfo").ok_or_else(|| no_module("it has no `.modinfo`".to_owned()))?;
        let data = section.data().map_err(|error| no_module(error.to_string()))?;
        Ok(Self::parse(data))
    }

    /// Reads the strings.
    pub(super) fn parse(section: &[u8]) -> Self {
        let mut information = Self::default();
        for entry in section.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            match entry.split_once('=') {
                Some(("depends", names)) => {
                    let names = names.split(',').map(plain).filter(|name| !name.is_empty());
                    information.depends.extend(names);
                }
                Some(("vermagic", magic)) => {
                    information.release = magic.split_whitespace().next().map(str::to_owned);
                }
                Some(("softdep", line)) => information.soft_depends.extend(before(line)),
                _ => {}
            }
        }
        information
    }
}

/// What stands after `pre:`; what is to come after the module (`post:`) is no condition.
fn before(line: &str) -> Vec<String> {
    let mut counts = false;
    let mut names = Vec::new();
    for word in line.split_whitespace() {
        match word {
            "pre:" => counts = true,
            "post:" => counts = false,
            name if counts => names.push(plain(name)),
            _ => {}
        }
    }
    names
}
