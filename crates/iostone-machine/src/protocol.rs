//! What can be asked of an agent and what it answers; docs/reference/agent-protocol.md shows it on the wire.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iostone_model::environment::Environment;
use iostone_model::experiment::{MachineSpec, Stack, Workload};
use iostone_model::sample::Sample;
use iostone_model::trial::{
    Check, ContainerFacts, GovernorRecord, SignalSummary, SpaceRecord, WorkloadReport,
};
use iostone_model::units::Span;
use iostone_stack::{Applied, CleanupReport, InsideView, Preflight};
use iostone_workload::{Measurement, RawOutput};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Raised with every change that an older end could misunderstand; both ends must have the same.
pub const PROTOCOL_VERSION: u32 = 4;

/// Something asked of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Always the first: agrees on the version.
    Hello {
        /// The asker's [`PROTOCOL_VERSION`].
        version: u32,
    },
    /// Describe the machine; answered by [`Reply::Environment`].
    Describe {
        /// Whether the metadata service of a cloud must not be asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_metadata: bool,
        /// The tools that are asked for their versions; left out, all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
    },
    /// Say which tools are there; answered by [`Reply::Toolbox`].
    Toolbox,
    /// Find out, touching nothing, whether stacks can be built; answered by [`Reply::Preflight`].
    Preflight {
        /// The stacks of all configurations.
        stacks: Vec<Stack>,
        /// Their workloads, in the same order: whether their programs are there, and can do what is asked.
        #[serde(default)]
        workloads: Vec<Workload>,
        /// Their machines, in the same order: whether guests can be booted.
        #[serde(default)]
        machines: Vec<MachineSpec>,
        /// Devices whose content may be destroyed, as the user typed them in full.
        #[serde(default)]
        destroy: Vec<String>,
        /// Whether the experiment's question depends on flushes.
        flushes_matter: bool,
        /// Where images go if the stack does not say.
        work_directory: PathBuf,
        /// What the workload lays out in a directory, at most.
        #[serde(default)]
        file_bytes: u64,
    },
    /// Open a session: from here on every change is journalled. Answered by [`Reply::Done`].
    Begin(Begin),
    /// Build a stack for a trial; answered by [`Reply::Applied`].
    Apply {
        /// What to build.
        stack: Box<Stack>,
        /// The trial's number.
        trial: u32,
        /// The seed of the data that fills the volume.
        seed: u64,
        /// Where: a guest is booted for it. An agent that stands in the place already passes this over.
        #[serde(default)]
        machine: Box<MachineSpec>,
        /// What will run there, so that its programs are carried into a guest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workload: Option<Box<Workload>>,
    },
    /// Read every setting back from the kernel; answered by [`Reply::Verified`].
    Verify,
    /// Lay out what the workload needs; answered by [`Reply::Prepared`].
    Prepare(Prepare),
    /// Wait until the devices are at rest; answered by [`Reply::Settled`].
    Settle(Settle),
    /// Run the prepared workload under the probe; [`Event::Samples`] come before [`Reply::Measured`].
    Run(RunTrial),
    /// Of the agent in a container: this is the directory to work in, which somebody else has built; answered by
    /// [`Reply::Entered`].
    Enter {
        /// The directory, as it is seen from there.
        directory: PathBuf,
        /// The environment variable, name and value, of every process that is started.
        marker: (String, String),
    },
    /// Run the prepared workload without a probe: whoever asks watches the machine; answered by [`Reply::Worked`].
    Work,
    /// Take the stack down again; answered by [`Reply::Done`].
    Undo,
    /// Give what is kept of the trial's machine, a guest's console for one; answered by [`Reply::Evidence`].
    Evidence,
    /// Run one program to its end, for trying something in a guest; answered by [`Reply::Executed`].
    Execute(Execute),
    /// End the session: nothing of it is left. Answered by [`Reply::Done`].
    Finish,
    /// Undo what dead sessions left on this machine; answered by [`Reply::Cleanup`].
    Cleanup,
    /// Stop what is going on, as soon as possible. The only request that may be sent while another is being
    /// answered; it has no reply of its own.
    Interrupt,
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Begin {
    /// The run's id: part of every name that is made on the machine.
    pub run_token: String,
    /// The run directory, for the journal's reader.
    pub run_directory: PathBuf,
    /// Where images and mount points go.
    pub work_directory: PathBuf,
    /// Devices whose content may be destroyed, as the user typed them in full.
    #[serde(default)]
    pub destroy: Vec<String>,
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Execute {
    /// The program, as a path or a name in `PATH`, and its arguments.
    pub argv: Vec<String>,
    /// Variables added to its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// What to lay out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepare {
    /// The workload.
    pub workload: Workload,
    /// The trial's number, 0 for a warm-up.
    pub trial: u32,
    /// The configuration's name.
    pub configuration: String,
    /// The seed of offsets and data.
    pub seed: u64,
}

/// How long to wait for rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// The time that is looked at: the devices are at rest when they were, over this long.
    pub window: Span,
    /// Waiting goes on for at most this long.
    pub patience: Span,
    /// Traffic that counts as rest, in bytes a second; none if rest is not asked for.
    pub limit_bytes_per_second: Option<f64>,
}

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTrial {
    /// Time between samples.
    pub sample_every: Span,
}

/// Answers to requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::Hello`].
    Hello {
        /// The agent's [`PROTOCOL_VERSION`].
        version: u32,
        /// The agent's iostone version.
        iostone_version: String,
    },
    /// To [`Request::Describe`].
    Environment(Box<Environment>),
    /// To [`Request::Toolbox`].
    Toolbox(Toolbox),
    /// To [`Request::Preflight`].
    Preflight {
        /// What is worth saying of each stack, in the order in which they were given.
        stacks: Vec<Preflight>,
    },
    /// To [`Request::Apply`].
    Applied(Box<Applied>),
    /// To [`Request::Verify`].
    Verified {
        /// What each layer's settings read back as.
        checks: Vec<Check>,
    },
    /// To [`Request::Prepare`].
    Prepared(Prepared),
    /// To [`Request::Settle`].
    Settled(Settled),
    /// To [`Request::Run`].
    Measured(Box<Measured>),
    /// To [`Request::Enter`].
    Entered(InsideView),
    /// To [`Request::Work`].
    Worked(Box<Measurement>),
    /// To [`Request::Evidence`].
    Evidence {
        /// Raw output, as of a tool.
        raw: Vec<RawOutput>,
    },
    /// To [`Request::Execute`].
    Executed(Executed),
    /// To [`Request::Cleanup`].
    Cleanup(CleanupReport),
    /// It is done.
    Done,
    /// It failed; what the request had begun was undone unless the message says otherwise.
    Failed(Failure),
}

/// What an agent has to say while a request is being answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Samples of the probe, in order. They are sent after the workload has ended, so that sending them does not
    /// disturb it.
    Samples {
        /// The samples.
        samples: Vec<Sample>,
    },
    /// The agent of a guest is alive; sent every few seconds, so that a guest that hangs is noticed.
    Alive,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Executed {
    /// Its status; none if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed, at most 16 MiB, with replacement characters where it is not UTF-8.
    pub stdout: String,
    /// What it printed as errors, likewise.
    pub stderr: String,
}

/// What laying out came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// How long it took.
    pub seconds: f64,
}

/// What the devices did before the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Whether they came to rest within the patience.
    pub at_rest: bool,
    /// How long was waited.
    pub waited_seconds: f64,
    /// Traffic in the last window of the busiest device, bytes a second.
    pub bytes_per_second: f64,
    /// That device.
    pub busiest: Option<String>,
}

/// What a trial's run yielded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// When the workload started, RFC 3339 in UTC.
    pub started_at: String,
    /// The figures.
    pub metrics: BTreeMap<String, f64>,
    /// What the workload reported.
    pub report: WorkloadReport,
    /// Its raw output.
    pub raw: Vec<RawOutput>,
    /// The emulated CPU allowance and how well it was kept; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<Box<GovernorRecord>>,
    /// The container, as it was seen from inside; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Box<ContainerFacts>>,
    /// What the workload took up on the stack's own filesystem; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Box<SpaceRecord>>,
    /// What the machine did meanwhile.
    pub signals: SignalSummary,
    /// What the probe could not see, in sentences.
    pub losses: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// The tools of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolbox {
    /// Version by tool name; null where the tool is missing.
    pub versions: BTreeMap<String, Option<String>>,
}
