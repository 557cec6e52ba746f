//! Reads what orion prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of orion.
pub(crate) struct Orion;

impl Format for Orion {
    fn name(&self) -> &'static str {
        "orion"
    }

    fn title(&self) -> &'static str {
        "orion"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
