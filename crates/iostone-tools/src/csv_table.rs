//! Reads what csv prints.

use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of csv.
pub(crate) struct CsvTable;

impl Format for CsvTable {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn title(&self) -> &'static str {
        "csv"
    }

    fn recognise(&self, _: &Head<'_>) -> Likeness {
        Likeness::No
    }

    fn read(&self, _: &mut Input<'_>) -> Result<Reading, ReadError> {
        Ok(Reading::default())
    }
}
