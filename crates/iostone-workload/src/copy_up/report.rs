//! First touches in the words of a trial.

use std::collections::BTreeMap;
use std::time::Duration;

use iostone_model::experiment::CopyUpWorkload;
use iostone_model::trial::WorkloadReport;
use iostone_model::units::Bytes;

use super::layout::Origin;
use super::{Moved, Touches};
use crate::Measurement;

/// What a trial yields; without figures where something went wrong.
pub(super) fn measurement(
    spec: &CopyUpWorkload,
    origin: Origin,
    touches: &Touches,
    error: Option<String>,
) -> Measurement {
    let mut metrics = BTreeMap::new();
    let mut absent = BTreeMap::new();
    if error.is_none() && !touches.interrupted {
        let each = |together: Option<Duration>| Some(together?.as_secs_f64() / f64::from(spec.files));
        let figures = [
            ("copy_up_time", touches.first_write.map(|time| time.as_secs_f64())),
            ("rewrite_time", touches.second_write.map(|time| time.as_secs_f64())),
            ("create_time", touches.created.map(|time| time.as_secs_f64())),
            ("open_time", each(touches.opened)),
            ("stat_time", each(touches.looked_up)),
        ];
        for (name, figure) in figures {
            match figure {
                Some(seconds) => drop(metrics.insert(name.to_owned(), seconds)),
                None => drop(absent.insert(name.to_owned(), "`workload.files` is 0".to_owned())),
            }
        }
    }
    let midpoints = touches.open_latency.occupied().map(|(first, width, count)| (first + width / 2, count));
    let report = WorkloadReport {
        kind: "copy-up".to_owned(),
        claimed_written_bytes: touches.written_bytes,
        must_reach_device: spec.sync,
        error,
        facts: facts(spec, origin, touches),
        latency_histogram: midpoints.collect(),
        absent,
        ..WorkloadReport::default()
    };
    Measurement { metrics, report, raw: Vec::new(), interrupted: touches.interrupted, cpu: None }
}

fn facts(spec: &CopyUpWorkload, origin: Origin, touches: &Touches) -> BTreeMap<String, String> {
    let files = match origin {
        Origin::Image => "of the image; their first look-up is the one that is measured",
        Origin::LaidOut => "laid out in this place beforehand, so that the kernel knows their names already",
    };
    let times = if spec.sync {
        "each of a write from opening to the end of its fdatasync"
    } else {
        "each of a write from opening to its end in the page cache"
    };
    let mut facts = BTreeMap::from([
        ("files".to_owned(), files.to_owned()),
        ("times".to_owned(), times.to_owned()),
        ("latency".to_owned(), "of opening each small file".to_owned()),
    ]);
    if let Some(moved) = &touches.moved {
        let words = match moved {
            Ok(moved) => moved.in_words(),
            Err(reason) => format!("not known: the place of the large file cannot be read: {reason}"),
        };
        facts.insert("copied_up".to_owned(), words);
    }
    facts
}

impl Moved {
    /// What the first write did to the file.
    fn in_words(self) -> String {
        let bytes = |bytes: u64| Bytes(bytes).approximate();
        let all = bytes(self.bytes);
        if self.elsewhere_bytes > self.bytes / 2 {
            format!("yes: {} of {all} lie elsewhere since the first write", bytes(self.elsewhere_bytes))
        } else if self.shared_bytes > self.bytes / 2 {
            format!("by reference: {} of {all} are shared since the first write", bytes(self.shared_bytes))
        } else {
            format!("no: {} of {all} lie elsewhere since the first write", bytes(self.elsewhere_bytes))
        }
    }
}
