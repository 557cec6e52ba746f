//! Reads what dbench prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of dbench.
pub(crate) struct Dbench;

impl Format for Dbench {
    fn name(&self) -> &'static str {
        "dbench"
    }

    fn title(&self) -> &'static str {
        "dbench"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
