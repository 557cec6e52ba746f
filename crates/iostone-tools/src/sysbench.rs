//! Reads what sysbench prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of sysbench.
pub(crate) struct Sysbench;

impl Format for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn title(&self) -> &'static str {
        "sysbench"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
