//! Finds blocks that were never written: storage answers reads of them without touching its medium.

use iostone_model::units::Bytes;

/// A LUN of which a part was never written.
#[derive(Debug, thiserror::Error)]
#[error("{unwritten} of `{name}` were never written")]
pub struct Unwritten {
    /// The LUN.
    pub name: String,
    /// How much.
    pub unwritten: Bytes,
}
