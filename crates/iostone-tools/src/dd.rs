//! Reads what dd prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of dd.
pub(crate) struct Dd;

impl Format for Dd {
    fn name(&self) -> &'static str {
        "dd"
    }

    fn title(&self) -> &'static str {
        "dd"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
