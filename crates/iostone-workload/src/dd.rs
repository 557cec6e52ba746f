//! The `dd` workload: one stream of blocks into a file or out of it, its source measured by itself first.

mod feed;
mod source;

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use iostone_engine::Job;
use iostone_model::ceiling::NEAR_SOURCE;
use iostone_model::experiment::{DdDirection, DdWorkload};
use iostone_model::load::Rw;
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;

use crate::program::{Finished, Program};
use crate::tool::{self, in_plain_words, measurement, observe};
use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};
use feed::Feed;
use source::SourceRate;

/// The file that is written or read, in the trial's directory.
const FILE_NAME: &str = "iostone.data";

struct PreparedDd {
    spec: DdWorkload,
    copy: Copy,
    version: String,
    /// Of writes: how fast the source is by itself.
    source: Option<SourceRate>,
}

/// A dd that is started, with generated data on its standard input if it has no `if=`.
struct Copy {
    program: Program,
    generated: Option<u64>,
}

impl Copy {
    fn run(&self, stop: &AtomicBool) -> Result<Finished, WorkloadError> {
        let Some(seed) = self.generated else { return self.program.run(stop) };
        let (feed, stdin) = Feed::start(seed)
            .map_err(|error| WorkloadError::Preparation(format!("make a pipe for dd: {error}")))?;
        let finished = self.program.run_fed(stop, Stdio::from(stdin));
        feed.end();
        finished
    }
}

/// Finds out whether the source can be read without waiting.
///
/// # Errors
/// A sentence about the source.
pub(crate) fn preflight(spec: &DdWorkload) -> Result<(), WorkloadError> {
    if spec.direction == DdDirection::Read || spec.source() == "generated" {
        return Ok(());
    }
    source::check(Path::new(spec.source()), spec.size)
}

pub(crate) fn prepare(
    spec: &DdWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let version = tool::version("dd", "--version")?;
    let plain = |argv| Program::in_trial(argv, place, context, "dd").map(in_plain_words);
    let program = plain(arguments(spec, spec.size, Some(FILE_NAME)))?;
    let generated =
        (spec.direction == DdDirection::Write && spec.source() == "generated").then_some(context.seed);
    let source = match spec.direction {
        DdDirection::Read => {
            lay_out(&program.directory.join(FILE_NAME), spec.size, context.seed, stop)?;
            None
        }
        DdDirection::Write => {
            preflight(spec)?;
            let mut copy = |size: Bytes| {
                let program = plain(arguments(spec, size, None))?.unlimited();
                Copy { program, generated }.run(stop)
            };
            Some(source::measure(spec, &mut copy)?)
        }
    };
    let copy = Copy { program, generated };
    Ok(Box::new(PreparedDd { spec: spec.clone(), copy, version, source }))
}

/// dd's command line for so many bytes; without a file, what it writes goes nowhere.
fn arguments(spec: &DdWorkload, size: Bytes, file: Option<&str>) -> Vec<String> {
    let writes = spec.direction == DdDirection::Write;
    let (input, output) = match (spec.direction, spec.source()) {
        (DdDirection::Read, _) => (Some(FILE_NAME), "/dev/null"),
        (DdDirection::Write, "generated") => (None, file.unwrap_or("/dev/null")),
        (DdDirection::Write, path) => (Some(path), file.unwrap_or("/dev/null")),
    };
    let mut argv = vec!["dd".to_owned()];
    argv.extend(input.map(|input| format!("if={input}")));
    argv.push(format!("of={output}"));
    argv.push(format!("bs={}", spec.bs.0));
    argv.push(format!("count={}", size.0 / spec.bs.0.max(1)));
    let mut iflag: Vec<&str> = spec.iflag.iter().map(String::as_str).collect();
    // Pipes and random devices give less than a block at a time, and dd would count that as one.
    if writes && !iflag.contains(&"fullblock") {
        iflag.push("fullblock");
    }
    let written = |words: Vec<String>| if file.is_some() && writes { words } else { Vec::new() };
    let conv = written(spec.conversions().into_iter().map(str::to_owned).collect());
    let oflag = written(spec.oflag.clone());
    for (name, words) in [("conv", conv.join(",")), ("oflag", oflag.join(",")), ("iflag", iflag.join(","))] {
        if !words.is_empty() {
            argv.push(format!("{name}={words}"));
        }
    }
    argv
}

/// Lays a file out with incompressible data, makes it durable and drops its pages from the page cache.
pub(crate) fn lay_out(path: &Path, size: Bytes, seed: u64, stop: &AtomicBool) -> Result<(), WorkloadError> {
    let mut job = Job::new(path, Rw::Read);
    job.size = Some(size);
    // The engine takes whole blocks; which ones is of no matter to a layout.
    job.bs = Bytes(1 << size.0.trailing_zeros().min(12)).into();
    job.seed = seed;
    iostone_engine::prepare_watched(&job, stop, &mut |_| {})?;
    Ok(())
}

impl Prepared for PreparedDd {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.copy.run(stop)?;
        Ok(self.measurement(&finished))
    }
}

impl PreparedDd {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let mut measured = measurement("dd", &self.copy.program, &self.version, finished);
        if let Some(source) = &self.source {
            source.state(&mut measured, self.spec.source());
        } else {
            measured.state("source", "a file laid out with incompressible data, dropped from the page cache");
        }
        if measured.report.error.is_some() {
            return measured;
        }
        // With its command line before it, as in anybody's log, dd's output says which way the bytes went.
        let log = format!("$ {}\n{}", self.copy.program.argv.join(" "), finished.stderr);
        let observed = observe("dd", &log);
        let copied = observed.as_ref().ok().and_then(|observation| {
            let facts = &observation.facts;
            facts.claimed_written_bytes.or(facts.claimed_read_bytes)
        });
        measured.take(observed);
        if let Some(bytes) = copied.filter(|bytes| *bytes != self.spec.size.0) {
            measured.metrics.clear();
            measured.report.error =
                Some(format!("`dd` copied {} of {}: its source ended early", Bytes(bytes), self.spec.size));
        }
        let bytes = copied.unwrap_or_default();
        let (read, written) = match self.spec.direction {
            DdDirection::Read => (bytes, 0),
            DdDirection::Write => (0, bytes),
        };
        measured.report.claimed_read_bytes = read;
        measured.report.claimed_written_bytes = written;
        measured.report.must_reach_device = self.spec.must_reach_device();
        if let (Some(source), Some(throughput)) = (&self.source, measured.metrics.get("throughput").copied())
            && let Some((fact, sentence)) = compare_with_source(throughput, source.bytes_per_second)
        {
            measured.state(fact, sentence);
        }
        measured
    }
}

/// What a figure near the source's own rate says, and one above it, both in bytes a second.
fn compare_with_source(throughput: f64, source: f64) -> Option<(&'static str, String)> {
    let format = |rate| Unit::BytesPerSecond.format(rate);
    let (copied, alone) = (format(throughput), format(source));
    if throughput > source * (1.0 + NEAR_SOURCE) {
        let sentence = format!(
            "{copied} is more than 10 % above the {alone} that was measured of the source by itself, which is unsound \
             then; whether the source was the limit is not known"
        );
        return Some(("source_unsound", sentence));
    }
    let is_near = throughput >= source * (1.0 - NEAR_SOURCE);
    is_near.then(|| {
        let sentence = format!(
            "{copied} is within 10 % of the {alone} that the source gives by itself: the source was the limit, not what \
             was written to"
        );
        ("source_limited", sentence)
    })
}

#[cfg(test)]
mod tests;
