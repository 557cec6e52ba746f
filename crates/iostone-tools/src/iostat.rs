//! Reads what iostat prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of iostat.
pub(crate) struct Iostat;

impl Format for Iostat {
    fn name(&self) -> &'static str {
        "iostat"
    }

    fn title(&self) -> &'static str {
        "iostat"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
