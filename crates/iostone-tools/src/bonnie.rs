//! Reads what bonnie prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of bonnie.
pub(crate) struct Bonnie;

impl Format for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie"
    }

    fn title(&self) -> &'static str {
        "bonnie"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
