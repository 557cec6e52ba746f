//! Reads what sar prints of CPUs, devices and I/O: as text of any locale, and as `sadf -d` and `sadf -j` print it.

mod sadf;
mod text;

use iostone_model::dataset::{Observation, Order};

use crate::samples::notes;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of sar (`-u`, `-u ALL`, `-P`, `-d`, `-b`) and of sadf; mpstat's table of CPUs is the same as sar's.
pub(crate) struct Sar;

impl Format for Sar {
    fn name(&self) -> &'static str {
        "sar"
    }

    fn title(&self) -> &'static str {
        "sar text, sadf -d and -j"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let text = head.text.trim_start();
        let own = if text.starts_with('{') {
            text.contains("\"sysstat\"") && (text.contains("\"cpu-load") || text.contains("\"disk-device\""))
        } else {
            text.lines().any(|line| text::header(line).is_some() || sadf::header(line).is_some())
        };
        if own { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let first = input.reader().fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        let observations = match first {
            Some(b'{') => sadf::read_json(input)?,
            Some(b'#') => sadf::read_table(input)?,
            _ => text::read(input)?,
        };
        Ok(reading(observations))
    }
}

fn reading(observations: Vec<Observation>) -> Reading {
    let factors = crate::samples::things_that_differ(&observations);
    Reading { metrics: notes(&observations), observations, factors, order: Order::Unknown }
}

/// The label of a CPU's row; none for all of them together.
fn cpu(name: &str) -> Option<(&'static str, &str)> {
    (!matches!(name, "all" | "-1")).then_some(("cpu", name))
}
