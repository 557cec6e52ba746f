//! Typed questions to a machine: each sends one request and takes the one reply that belongs to it.

use std::path::PathBuf;

use iostone_machine::{
    Begin, Event, Machine, Measured, Prepare, Prepared, Reply, Request, RunTrial, Settle, Settled, Toolbox,
};
use iostone_model::environment::Environment;
use iostone_model::experiment::{Configuration, Experiment};
use iostone_model::sample::Sample;
use iostone_model::trial::Check;
use iostone_stack::{Applied, CleanupReport, Preflight};
use iostone_workload::RawOutput;

use crate::error::LabError;
use crate::estimate::file_size;

/// A machine that is asked in Rust's types.
pub struct Link<'a>(pub &'a mut dyn Machine);

/// Sends a request and unpacks the reply of that kind.
macro_rules! ask {
    ($link:expr, $name:literal, $request:expr, $pattern:pat => $value:expr) => {
        match $link.0.call($request, &mut |_| {})? {
            $pattern => Ok($value),
            _ => Err(LabError::Protocol { request: $name }),
        }
    };
}

impl Link<'_> {
    /// The environment snapshot; with `no_metadata`, without asking the metadata service of a cloud. Of the tools, those
    /// named are asked for their versions, or all.
    pub fn describe(
        &mut self,
        no_metadata: bool,
        tools: Option<Vec<String>>,
    ) -> Result<Environment, LabError> {
        ask!(self, "describe", Request::Describe { no_metadata, tools }, Reply::Environment(environment) => *environment)
    }

    /// The versions of the tools.
    pub fn toolbox(&mut self) -> Result<Toolbox, LabError> {
        ask!(self, "toolbox", Request::Toolbox, Reply::Toolbox(toolbox) => toolbox)
    }

    /// Whether the stacks can be built, touching nothing.
    pub fn preflight(
        &mut self,
        experiment: &Experiment,
        work_directory: PathBuf,
        destroy: Vec<String>,
    ) -> Result<Vec<Preflight>, LabError> {
        let configurations = &experiment.configurations;
        let request = Request::Preflight {
            stacks: configurations.iter().map(|configuration| configuration.stack.clone()).collect(),
            workloads: configurations.iter().map(|configuration| configuration.workload.clone()).collect(),
            machines: configurations.iter().map(|configuration| configuration.machine.clone()).collect(),
            destroy,
            flushes_matter: experiment.flushes_matter(),
            work_directory,
            file_bytes: configurations.iter().map(|c| file_size(&c.workload).0).max().unwrap_or(0),
        };
        ask!(self, "preflight", request, Reply::Preflight { stacks } => stacks)
    }

    /// Opens a session.
    pub fn begin(&mut self, begin: Begin) -> Result<(), LabError> {
        ask!(self, "begin", Request::Begin(begin), Reply::Done => ())
    }

    /// Builds a stack.
    pub fn apply(
        &mut self,
        configuration: &Configuration,
        trial: u32,
        seed: u64,
    ) -> Result<Applied, LabError> {
        let request = Request::Apply {
            stack: Box::new(configuration.stack.clone()),
            trial,
            seed,
            machine: Box::new(configuration.machine.clone()),
            workload: Some(Box::new(configuration.workload.clone())),
        };
        ask!(self, "apply", request, Reply::Applied(applied) => *applied)
    }

    /// Reads every setting back.
    pub fn verify(&mut self) -> Result<Vec<Check>, LabError> {
        ask!(self, "verify", Request::Verify, Reply::Verified { checks } => checks)
    }

    /// Lays out what the workload needs.
    pub fn prepare(&mut self, prepare: Prepare) -> Result<Prepared, LabError> {
        ask!(self, "prepare", Request::Prepare(prepare), Reply::Prepared(prepared) => prepared)
    }

    /// Waits for rest.
    pub fn settle(&mut self, settle: Settle) -> Result<Settled, LabError> {
        ask!(self, "settle", Request::Settle(settle), Reply::Settled(settled) => settled)
    }

    /// Runs the workload under the probe.
    pub fn run(&mut self, run: RunTrial) -> Result<(Measured, Vec<Sample>), LabError> {
        let mut all = Vec::new();
        let mut collect = |event: Event| match event {
            Event::Samples { samples } => all.extend(samples),
            Event::Alive => {}
        };
        match self.0.call(Request::Run(run), &mut collect)? {
            Reply::Measured(measured) => Ok((*measured, all)),
            _ => Err(LabError::Protocol { request: "run" }),
        }
    }

    /// What is kept of the trial's machine.
    pub fn evidence(&mut self) -> Result<Vec<RawOutput>, LabError> {
        ask!(self, "evidence", Request::Evidence, Reply::Evidence { raw } => raw)
    }

    /// Takes the stack down.
    pub fn undo(&mut self) -> Result<(), LabError> {
        ask!(self, "undo", Request::Undo, Reply::Done => ())
    }

    /// Ends the session.
    pub fn finish(&mut self) -> Result<(), LabError> {
        ask!(self, "finish", Request::Finish, Reply::Done => ())
    }

    /// Undoes what dead sessions left.
    pub fn cleanup(&mut self) -> Result<CleanupReport, LabError> {
        ask!(self, "cleanup", Request::Cleanup, Reply::Cleanup(report) => report)
    }
}
