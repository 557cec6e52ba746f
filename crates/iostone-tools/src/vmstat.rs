//! Reads what vmstat prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of vmstat.
pub(crate) struct Vmstat;

impl Format for Vmstat {
    fn name(&self) -> &'static str {
        "vmstat"
    }

    fn title(&self) -> &'static str {
        "vmstat"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
