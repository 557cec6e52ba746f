//! Reads what fio prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of fio.
pub(crate) struct Fio;

impl Format for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn title(&self) -> &'static str {
        "fio"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
