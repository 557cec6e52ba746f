//! What the installed fio is asked to do.

mod check;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkloadKind};
use super::{Ends, Preparation, parts};
use crate::experiment::Configuration;
use crate::experiment::check::Findings;
use crate::metric::{Direction, Metric, Unit, metric};
use crate::units::{Bytes, Span};

/// A job file of fio's, its figures read from JSON+. A load without one is the workload `io`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FioWorkload {
    /// The job file; either this or `job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_file: Option<PathBuf>,
    /// The job file's text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Sections to run; all when left out, `--section`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// What runs it.
    #[serde(default, skip_serializing_if = "FioProgram::is_fio")]
    pub program: FioProgram,
    /// A trial that takes longer is ended and counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

/// What runs a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FioProgram {
    /// The installed fio.
    #[default]
    Fio,
    /// iostone's own engine, `iostone io`, where fio is not installed.
    Iostone,
}

impl FioProgram {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_fio(&self) -> bool {
        *self == Self::Fio
    }

    /// What has to be installed for it.
    pub fn installed(self) -> Option<&'static str> {
        match self {
            Self::Fio => KIND.program,
            Self::Iostone => None,
        }
    }
}

pub(super) const KIND: WorkloadKind =
    WorkloadKind { program: Some("fio"), ..WorkloadKind::new("fio", FIO_METRICS) };

impl Profiled for FioWorkload {
    fn profile(&self) -> Profile {
        let program = match self.program {
            FioProgram::Fio => "fio",
            FioProgram::Iostone => "iostone io",
        };
        let job = match &self.job_file {
            Some(path) => format!("{program} {}", path.display()),
            None => format!("{program}, its job in the experiment"),
        };
        let plural = if self.sections.len() == 1 { "" } else { "s" };
        let sections =
            (!self.sections.is_empty()).then(|| format!("section{plural} {}", self.sections.join(", ")));
        let words = match self.program {
            FioProgram::Fio => {
                "fio --create_only=1 lays out the job's files; write them back, drop them from the cache"
            }
            FioProgram::Iostone => "the job's files are laid out, written back and dropped from the cache",
        };
        Profile {
            demand: Err("its job file is read by fio; `kind = \"io\"` says the same load to iostone"),
            // A job file in another place is not read here.
            ends: match &self.job {
                Some(job) if job.contains("runtime") => Ends::ByTime,
                Some(_) => Ends::ByWork,
                None => Ends::Unknown,
            },
            timeout: self.timeout.map(|timeout| timeout.0),
            may_time_out: true,
            preparation: Some(Preparation { words: words.to_owned(), bytes: Bytes(0) }),
            files: self.job_file.iter().cloned().collect(),
            ..Profile::of_program(parts([Some(job), sections]), self.program.installed())
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    fn rehearse(&mut self, _: Rehearsal) {}
}

/// What fio yields: over all directions where only one does I/O or their sum makes sense, and by direction.
pub const FIO_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_p50", Unit::Seconds, Direction::Lower, "median latency"),
    metric("latency_p90", Unit::Seconds, Direction::Lower, "p90 latency"),
    metric("latency_p99", Unit::Seconds, Direction::Lower, "p99 latency"),
    metric("latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency"),
    metric("latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("read.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of reads"),
    metric("read.iops", Unit::PerSecond, Direction::Higher, "reads per second"),
    metric("read.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of reads"),
    metric("read.latency_p50", Unit::Seconds, Direction::Lower, "median latency of reads"),
    metric("read.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of reads"),
    metric("read.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of reads"),
    metric("read.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of reads"),
    metric("read.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of reads"),
    metric("read.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of reads"),
    metric("write.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of writes"),
    metric("write.iops", Unit::PerSecond, Direction::Higher, "writes per second"),
    metric("write.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of writes"),
    metric("write.latency_p50", Unit::Seconds, Direction::Lower, "median latency of writes"),
    metric("write.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of writes"),
    metric("write.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of writes"),
    metric("write.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of writes"),
    metric("write.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of writes"),
    metric("write.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of writes"),
    metric("trim.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of trims"),
    metric("trim.iops", Unit::PerSecond, Direction::Higher, "trims per second"),
    metric("trim.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of trims"),
    metric("trim.latency_p50", Unit::Seconds, Direction::Lower, "median latency of trims"),
    metric("trim.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of trims"),
    metric("trim.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of trims"),
    metric("trim.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of trims"),
    metric("trim.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of trims"),
    metric("trim.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of trims"),
    metric("sync.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of syncs"),
    metric("sync.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of syncs"),
];
