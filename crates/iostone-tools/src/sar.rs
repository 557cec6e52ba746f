//! Reads what sar prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of sar.
pub(crate) struct Sar;

impl Format for Sar {
    fn name(&self) -> &'static str {
        "sar"
    }

    fn title(&self) -> &'static str {
        "sar"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
