//! Reads what iostat prints: basic and extended reports of sysstat 7 to 12, as text of any locale and as JSON.

mod json;
mod text;

use iostone_model::dataset::{Observation, Order};

use crate::samples::{Sample, Samples, notes};
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The output of iostat.
pub(crate) struct Iostat;

impl Format for Iostat {
    fn name(&self) -> &'static str {
        "iostat"
    }

    fn title(&self) -> &'static str {
        "iostat text and JSON"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let text = head.text.trim_start();
        if text.starts_with('{') {
            let own = text.contains("\"sysstat\"")
                && (text.contains("\"avg-cpu\"") || text.contains("\"disk_device\""));
            return if own { Likeness::Certain } else { Likeness::No };
        }
        if text.lines().any(text::is_header) { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let is_json =
            input.reader().fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        if is_json { json::read(input) } else { text::read(input) }
    }
}

/// What one report says of one thing: a device, or the machine.
type Row = (Option<String>, Vec<Sample>);

/// The reports of one run of iostat. Its first is the mean since boot, and dropped unless it is the only one.
#[derive(Default)]
struct Reports {
    first: Vec<Row>,
    count: u64,
    /// `-y`: there is no report since boot.
    first_is_a_sample: bool,
    samples: Samples,
}

impl Reports {
    /// A new report begins.
    fn begin(&mut self) {
        self.count += 1;
    }

    fn add(&mut self, at_seconds: f64, device: Option<&str>, row: Vec<Sample>) {
        if row.is_empty() {
            return;
        }
        if self.count <= 1 && !self.first_is_a_sample {
            self.first.push((device.map(str::to_owned), row));
        } else {
            self.samples.add(device.map(|device| ("device", device)), at_seconds, row);
        }
    }

    /// The observations: of the machine and of each device.
    fn finish(mut self, mut template: Observation, timed: bool) -> Vec<Observation> {
        if self.samples.is_empty() {
            for (device, row) in self.first {
                self.samples.add(device.as_deref().map(|device| ("device", device)), 0.0, row);
            }
            template.facts.remarks.push("the only report is iostat's mean since boot".to_owned());
        } else if !timed {
            let remark =
                "iostat does not print its interval without `-t`; one second between reports is assumed";
            template.facts.remarks.push(remark.to_owned());
        }
        self.samples.into_observations(&template)
    }
}

/// The reading of all its observations.
fn reading(observations: Vec<Observation>) -> Reading {
    let factors = crate::samples::things_that_differ(&observations);
    Reading { metrics: notes(&observations), observations, factors, order: Order::Unknown }
}
