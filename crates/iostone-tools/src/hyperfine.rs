//! Reads what hyperfine prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of hyperfine.
pub(crate) struct Hyperfine;

impl Format for Hyperfine {
    fn name(&self) -> &'static str {
        "hyperfine"
    }

    fn title(&self) -> &'static str {
        "hyperfine"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
