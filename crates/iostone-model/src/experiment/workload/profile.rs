//! What a workload is: what the rest of iostone asks of one. Each kind answers in its own file.

use std::path::PathBuf;
use std::time::Duration;

use super::{DeclaredMetric, LowerFiles};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::Metric;
use crate::units::{ByteRate, Bytes, Fraction, Span};

/// A kind of workload, whatever its settings are.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadKind {
    /// The word used in the experiment file.
    pub word: &'static str,
    /// The program that must be installed; none for iostone's own engine, and for what the file itself names.
    pub program: Option<&'static str>,
    /// The figures that it yields.
    pub metrics: &'static [Metric],
    /// Further figures, which settings ask for.
    pub on_request: &'static [Metric],
}

impl WorkloadKind {
    /// A kind without a program of its own or figures on request.
    pub(crate) const fn new(word: &'static str, metrics: &'static [Metric]) -> Self {
        Self { word, program: None, metrics, on_request: &[] }
    }
}

/// What a workload does with its settings.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent answers, of which no two make a state")]
pub struct Profile {
    /// What it is asked to do, for people, in parts: `dbench`, `5 clients`, `20 s`.
    pub summary: Vec<String>,
    /// The command line that it is, as a shell would take it.
    pub command: Option<String>,
    /// Whether its I/O on the file goes past the page cache; none where only the program knows, or some does.
    pub direct: Option<bool>,
    /// Whether it asks for durability itself, so that flushes are part of what is measured; none where only the program
    /// knows.
    pub syncs: Option<bool>,
    /// Whether all that it writes is durable when its figures are taken; none where it writes nothing, or nobody knows.
    pub flushed: Option<bool>,
    /// Whether it can claim to have read anything; of some, that depends on what they find.
    pub reads: bool,
    /// Whether it can claim to have written anything; of some, that depends on what they find.
    pub writes: bool,
    /// Whether all that it claims must reach the device while it runs; none where only its report tells.
    pub must_reach_device: Option<bool>,
    /// What it writes, or finds in its files.
    pub data: Option<DataKind>,
    /// Where what it writes comes from: `/dev/zero`.
    pub source: Option<String>,
    /// What it works on.
    pub working_set: WorkingSet,
    /// What it asks of its volume, or why that cannot be told: a sentence without its point.
    pub demand: Result<Demand, &'static str>,
    /// What ends it.
    pub ends: Ends,
    /// How long it works at the least and at the most, with its ramp, where its settings tell.
    pub takes: Option<[Duration; 2]>,
    /// How long it may work before it is ended; none where no such bound is given.
    pub timeout: Option<Duration>,
    /// Whether such a bound can be given.
    pub may_time_out: bool,
    /// Load before the measured time; none where only the program knows whether it has any. Each point of a curve has one
    /// of its own, of which the record tells.
    pub ramp: Option<Timing>,
    /// Whether it pauses between requests, so that its rate of requests is not one of the whole time.
    pub pauses: bool,
    /// Whether I/O is done by iostone's own process rather than by programs that it starts, at least in part.
    pub runs_here: bool,
    /// Whether it needs a filesystem or a directory.
    pub needs_directory: bool,
    /// Whether its default size depends on the memory of the machine.
    pub needs_memory: bool,
    /// The room that its files take, as far as that is known beforehand; none where they may take all there is.
    pub room: Option<Bytes>,
    /// Files that must lie in the lowest layer of a container, or in the workload's directory without one, before it
    /// begins.
    pub lower_files: Option<LowerFiles>,
    /// What is done before the clock runs.
    pub preparation: Option<Preparation>,
    /// Programs without which it cannot be.
    pub programs: Vec<String>,
    /// Files of the host that it reads.
    pub files: Vec<PathBuf>,
    /// Files of which it reads the first that the host has.
    pub first_of: &'static [&'static str],
}

impl Profile {
    /// A program in a directory of which nothing else is known.
    pub(crate) fn of_program(summary: Vec<String>, program: Option<&str>) -> Self {
        Self {
            summary,
            command: None,
            direct: None,
            syncs: None,
            flushed: None,
            reads: true,
            writes: true,
            must_reach_device: None,
            data: None,
            source: None,
            working_set: WorkingSet::Unknown,
            demand: Err("it is a program that nothing is known of"),
            ends: Ends::Unknown,
            takes: None,
            timeout: None,
            may_time_out: false,
            ramp: None,
            pauses: false,
            runs_here: false,
            needs_directory: true,
            needs_memory: false,
            room: None,
            lower_files: None,
            preparation: None,
            programs: program.map(str::to_owned).into_iter().collect(),
            files: Vec::new(),
            first_of: &[],
        }
    }
}

/// What ends a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// A time: a slower machine makes it do less, not take longer.
    ByTime,
    /// An amount of work, the same in every trial.
    ByWork,
    /// Only the program knows.
    Unknown,
}

/// What a workload works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingSet {
    /// Only the program knows.
    Unknown,
    /// So many bytes.
    Bytes(Bytes),
    /// The whole device, where there is no filesystem.
    Device,
    /// Twice this memory, or that of the machine.
    TwiceMemory(Option<Bytes>),
}

/// What is done before the clock runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// In words.
    pub words: String,
    /// What it writes, where that is known.
    pub bytes: Bytes,
}

/// I/O that a workload asks of its volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Bytes read and bytes written, if they end it.
    pub amount: Option<[Bytes; 2]>,
    /// The time that ends it, if one does.
    pub time: Option<Span>,
    /// The share of bytes that is written.
    pub written: Fraction,
    /// The bytes of each I/O; none where the page cache decides.
    pub io_size: Option<Bytes>,
    /// Whether each lies anywhere, else behind the one before.
    pub random: bool,
    /// I/Os in flight; none where the page cache decides.
    pub depth: Option<u32>,
    /// Bytes a second that an open loop asks for.
    pub rate: Option<ByteRate>,
    /// Whether writes may still be in memory at its end.
    pub leaves_dirty: bool,
    /// Whether it moves the same bytes again and again, in files laid out before.
    pub goes_around: bool,
}

/// How a rehearsal makes a workload small.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsal {
    /// Whether it works on a device of the user's as it is.
    pub bare: bool,
    /// Configurations that are rehearsed in all.
    pub configurations: u32,
}

impl Rehearsal {
    /// What files are cut to.
    pub(crate) const FILE: Bytes = Bytes(16 << 20);

    /// The size to which a file of whole blocks is cut.
    pub(crate) fn file_of(block: u64) -> Bytes {
        Bytes(Self::FILE.0.next_multiple_of(block.max(1)))
    }
}

/// What each type of workload answers.
pub(crate) trait Profiled {
    /// What it is with its settings.
    fn profile(&self) -> Profile;

    /// Refuses settings that do not fit each other or the stack.
    fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>);

    /// Makes sizes and times smaller, never larger; what is not known, a program's or a job file's, stays as it is.
    fn rehearse(&mut self, rehearsal: Rehearsal);

    /// Adds figures to those of its kind, or takes some out.
    fn settle_metrics<'a>(&'a self, _metrics: &mut Vec<DeclaredMetric<'a>>) {}

    /// Itself as one of them all.
    fn as_profiled(&self) -> &dyn Profiled
    where
        Self: Sized,
    {
        self
    }
}
