//! What checking came to.

use std::fmt;
use std::path::PathBuf;

use iostone_model::units::{Bytes, Span};
use serde::Serialize;

use super::check::MismatchKind;

/// Mismatches beyond this many are only counted.
pub(crate) const MOST_KEPT: usize = 100;

/// What checking the units of a job came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerifyReport {
    /// Units that were compared with what they ought to be.
    pub units_checked: u64,
    /// Their bytes.
    pub bytes_checked: Bytes,
    /// Units that were read, or would have been, and of which nothing is known: this job never wrote them.
    pub units_skipped: u64,
    /// Units that are not what they ought to be.
    pub mismatch_count: u64,
    /// The first hundred of them.
    pub mismatches: Vec<Mismatch>,
    /// How long reading back took, beside the job's own reads; of several threads the longest.
    pub took: Span,
}

impl VerifyReport {
    /// Adds what another thread found.
    pub(crate) fn merge(&mut self, other: Self) {
        self.units_checked += other.units_checked;
        self.bytes_checked.0 += other.bytes_checked.0;
        self.units_skipped += other.units_skipped;
        self.mismatch_count += other.mismatch_count;
        let room = MOST_KEPT.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.into_iter().take(room));
        self.took = self.took.max(other.took);
    }
}

/// A unit that is not what it ought to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The file or device.
    pub target: PathBuf,
    /// Where the unit begins.
    pub offset: Bytes,
    /// The first byte that is wrong, from the start of the target; that of the unit where it cannot be told.
    pub at: Bytes,
    /// What is wrong, in one word.
    pub kind: MismatchKind,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, offset, at, kind, expected, found } = self;
        write!(f, "`{}` has {kind} at byte {}", target.display(), at.0)?;
        if at != offset {
            write!(f, ", in the unit at {}", offset.0)?;
        }
        write!(f, ": expected {expected}, found {found}")
    }
}
