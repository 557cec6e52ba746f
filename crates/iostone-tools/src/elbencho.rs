//! Reads what elbencho prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of elbencho.
pub(crate) struct Elbencho;

impl Format for Elbencho {
    fn name(&self) -> &'static str {
        "elbencho"
    }

    fn title(&self) -> &'static str {
        "elbencho"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
