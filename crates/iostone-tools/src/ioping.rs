//! Reads what ioping prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of ioping.
pub(crate) struct Ioping;

impl Format for Ioping {
    fn name(&self) -> &'static str {
        "ioping"
    }

    fn title(&self) -> &'static str {
        "ioping"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
