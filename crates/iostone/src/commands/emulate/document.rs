//! What `iostone emulate` says of a command, as one document.

use iostone_cloud::{Pattern, Question, Work, catalogue, predict};
use iostone_machine::EmulatedRun;
use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{AllowanceStart, Array};
use iostone_model::trial::GovernorRecord;
use iostone_model::units::{Bytes, Fraction};
use iostone_workload::foreground::{Ending, Ran};
use serde::Serialize;

use super::request::EmulationRequest;
use super::served::Served;

/// The version of [`EmulateDocument`] as JSON.
const EMULATE_SCHEMA: &str = "iostone/emulate/1";

/// What was emulated, what passed, and what bound. What is not known is null, never 0.
#[derive(Debug, Clone, Serialize)]
pub(super) struct EmulateDocument {
    pub(super) schema: &'static str,
    /// The command and its arguments.
    pub(super) command: Vec<String>,
    /// Its status as a shell tells it: 128 and the number of a signal.
    pub(super) exit_code: u8,
    /// The number of the signal that ended it.
    pub(super) signal: Option<u8>,
    /// The instance type.
    pub(super) instance: String,
    /// The volumes at their real size.
    pub(super) volumes: String,
    /// Whose limits held.
    pub(super) date: String,
    /// How many times faster time went by.
    pub(super) speed: f64,
    /// From the command's start to its end.
    pub(super) wall_seconds: f64,
    /// The same in the time of the instance: times the speed.
    pub(super) real_seconds: f64,
    /// Bytes that the volumes read for it.
    pub(super) read_bytes: Option<u64>,
    /// Bytes that they wrote for it.
    pub(super) written_bytes: Option<u64>,
    /// I/Os as the volumes counted them, split and merged.
    pub(super) ios: Option<u64>,
    /// Bytes a second of both together, over the whole time.
    pub(super) bytes_per_second: Option<f64>,
    /// What the ceilings allow; null where nothing passed.
    pub(super) predicted: Option<Predicted>,
    /// What buckets held at the beginning and at the end.
    pub(super) buckets: Vec<Bucket>,
    /// What the emulated CPU allowance gave.
    pub(super) governor: Option<Box<GovernorRecord>>,
    /// What of the instance was not emulated.
    pub(super) notes: Vec<String>,
}

/// How long the same bytes take at least.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Predicted {
    /// Here, at the speed of the emulation.
    pub(super) seconds: f64,
    /// What binds for the largest part of it.
    pub(super) binds: CeilingKind,
    /// The same by its name.
    pub(super) binding: String,
    /// Of the command's time, at most all of it, what the volumes needed at least for it; the rest it spent on something else.
    pub(super) share_of_time: f64,
}

/// A bucket of the emulation.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Bucket {
    /// Whose: "I/O credits of v0".
    pub(super) name: String,
    /// At the beginning.
    pub(super) from: f64,
    /// At the end.
    pub(super) to: f64,
}

/// The document of a command that ran.
pub(super) fn document(
    asked: &EmulationRequest,
    ran: &Ran,
    run: &EmulatedRun,
    served: &Served,
) -> EmulateDocument {
    let wall_seconds = ran.wall.as_secs_f64();
    let speed = asked.instance.speed;
    let bytes = served.bytes();
    let total = bytes.map(|(reads, writes)| reads.saturating_add(writes) as f64);
    EmulateDocument {
        schema: EMULATE_SCHEMA,
        command: asked.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit_code: ran.ending.exit_code(),
        signal: match ran.ending {
            Ending::Status(_) => None,
            Ending::Signal(signal) => Some(signal),
        },
        instance: asked.instance.emulate.clone(),
        volumes: asked.volumes.to_string(),
        date: asked.date.to_string(),
        speed,
        wall_seconds,
        real_seconds: wall_seconds * speed,
        read_bytes: bytes.map(|(reads, _)| reads),
        written_bytes: bytes.map(|(_, writes)| writes),
        ios: served.ios(),
        bytes_per_second: total.filter(|_| wall_seconds > 0.0).map(|total| total / wall_seconds),
        predicted: predicted(asked, served, wall_seconds),
        buckets: buckets(served),
        governor: run.governor.clone(),
        notes: asked.notes.clone(),
    }
}

/// How long the bytes that passed take at least, in I/Os of the size in which the volumes counted them.
fn predicted(asked: &EmulationRequest, served: &Served, wall_seconds: f64) -> Option<Predicted> {
    let ((reads, writes), ios) = served.bytes().zip(served.ios())?;
    let total = reads.saturating_add(writes);
    if total == 0 || wall_seconds <= 0.0 {
        return None;
    }
    // Each of these is one I/O to the volume, wherever it lies: they are counted as the volume counted them.
    let work = Work {
        io_size: Some(Bytes((total / ios.max(1)).max(1))),
        pattern: Pattern::Random,
        ..Work::sequential(Bytes(reads), Bytes(writes))
    };
    let question = Question {
        instance: Some(asked.instance.emulate.clone()),
        volumes: Some(asked.volumes.clone()),
        // Copies and parity are among the bytes that passed: to the volumes these are bytes as any, spread over all of them.
        array: Array::None,
        link: asked.instance.link,
        start: (asked.instance.start == AllowanceStart::Empty).then_some(Fraction(0.0)),
        speed: asked.instance.speed,
        ..Question::new(work, asked.date)
    };
    let prediction = predict(catalogue(), &question).ok()?;
    let seconds = prediction.seconds;
    Some(Predicted {
        seconds,
        binds: prediction.binds,
        binding: prediction.binding,
        // The prediction has no digit that would tell a little more from all of it.
        share_of_time: (seconds / wall_seconds).min(1.0),
    })
}

fn buckets(served: &Served) -> Vec<Bucket> {
    let (Some(before), Some(after)) = (&served.before, &served.after) else { return Vec::new() };
    let of_volume = before.volumes.iter().zip(&after.volumes).flat_map(|(before, after)| {
        let bucket = |what: &str, from: Option<f64>, to: Option<f64>| {
            let (from, to) = from.zip(to)?;
            Some(Bucket { name: format!("{what} of volume {}", before.name), from, to })
        };
        [
            bucket("I/O credits", before.counters.credits, after.counters.credits),
            bucket("byte credits", before.counters.credit_bytes, after.counters.credit_bytes),
        ]
    });
    let of_link = |what: &str, from: Option<f64>, to: Option<f64>| {
        let (from, to) = from.zip(to)?;
        Some(Bucket { name: format!("{what} of the link"), from, to })
    };
    let link = [
        of_link("byte credits", before.link_credit_bytes, after.link_credit_bytes),
        of_link("I/O credits", before.link_credits, after.link_credits),
    ];
    of_volume.chain(link).flatten().collect()
}
