//! The `.lun` file: one file or block device a line, and the classic mistakes in it.

use std::path::PathBuf;

use iostone_model::orion::LunKind;

/// A file or device under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// As it was written in the `.lun` file.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// A file or a device.
    pub kind: LunKind,
    /// Its size.
    pub bytes: u64,
}

/// What is wrong with a `.lun` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LunError {
    /// There is none.
    #[error("there is no `{file}`; write one file or device a line into it")]
    Missing {
        /// The file looked for.
        file: String,
    },
}

/// Reads `NAME.lun`.
///
/// # Errors
/// See [`LunError`].
pub fn read_lun_file(test_name: &str) -> Result<Vec<Lun>, LunError> {
    Err(LunError::Missing { file: format!("{test_name}.lun") })
}
