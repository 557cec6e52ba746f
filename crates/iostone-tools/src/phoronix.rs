//! Reads what phoronix prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of phoronix.
pub(crate) struct Phoronix;

impl Format for Phoronix {
    fn name(&self) -> &'static str {
        "phoronix"
    }

    fn title(&self) -> &'static str {
        "phoronix"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
