//! The agent: builds stacks, runs workloads and samples signals on the host that it stands on.

mod bounded;
mod rest;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use iostone_model::environment::Environment;
use iostone_model::experiment::{Ends, Filesystem, Stack, Volume, Workload};
use iostone_model::trial::{Check, ContainerFacts};
use iostone_model::units::Bytes;
use iostone_probe::nvme::NvmeWatch;
use iostone_probe::platform::Metadata;
use iostone_probe::{Probe, ProbePlan, Root, WatchedDevice};
use iostone_stack::{
    Applied, Bounds, CgroupVersion, InsideView, Permission, Preflight, Registry, Session, SessionOptions,
    SpaceWatch, StackError, TrialGroups, check_room, refuse_exposed_runs,
};
use iostone_workload::{Measurement, Place, TrialContext};

use self::bounded::{run_within, tell_kill, tell_kills};
pub(crate) use self::rest::{await_rest, probe_failure, watch};
use crate::StopFlag;
use crate::contained::{ContainerAgent, Entered, Images, check_carriage, check_room_for_image};
use crate::cpu;
use crate::execute::execute;
use crate::failure::{Failure, FailureKind};
use crate::protocol::{
    Begin, Event, Measured, PROTOCOL_VERSION, Prepare, Prepared, Reply, Request, RunTrial, Settle, Toolbox,
};
use crate::strange::say_strange_words;
use crate::toolbox::queries;

/// So many samples travel in one event: a frame stays small, and a long trial still takes few of them.
const SAMPLES_AN_EVENT: usize = 600;

/// Carries out requests on this host.
pub struct Agent {
    stop: StopFlag,
    /// Before the session, because fields are dropped in this order: its open file would keep the filesystem mounted.
    workload: Option<Ready>,
    /// The agent in the trial's container; before the session likewise.
    contained: Option<ContainerAgent>,
    /// Where this agent works that has no session, being such a one itself.
    entered: Option<Entered>,
    /// What containers are made of.
    images: Images,
    /// Whether that is an engine of this process.
    works_here: bool,
    /// Whether it works for a fixed time.
    is_timed: bool,
    applied: Option<Applied>,
    /// What the applied stack leaves the workload of memory.
    memory_limit: Option<Bytes>,
    /// What the workload takes up; none where the stack has no filesystem of its own.
    space: Option<SpaceWatch>,
    session: Option<Session>,
}

/// A workload that is laid out.
enum Ready {
    /// By this process.
    Here(Box<dyn iostone_workload::Prepared>),
    /// By the agent in the container.
    Inside,
}

impl Agent {
    /// An agent without a session; `stop` ends what it is doing, but never an undo.
    pub fn new(stop: StopFlag) -> Self {
        Self {
            stop,
            session: None,
            applied: None,
            memory_limit: None,
            space: None,
            workload: None,
            contained: None,
            entered: None,
            images: Images::default(),
            works_here: false,
            is_timed: false,
        }
    }

    /// Carries out one request. Whatever fails comes back as [`Reply::Failed`].
    pub fn handle(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Reply {
        self.try_handle(request, events).unwrap_or_else(Reply::Failed)
    }

    fn try_handle(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        match request {
            Request::Hello { version } => greet(version),
            Request::Describe { no_metadata, tools } => {
                Ok(Reply::Environment(Box::new(describe(no_metadata, tools.as_deref()))))
            }
            Request::Toolbox => {
                Ok(Reply::Toolbox(Toolbox { versions: iostone_probe::tool_versions(&queries(None)) }))
            }
            Request::Preflight {
                stacks,
                workloads,
                flushes_matter,
                work_directory,
                file_bytes,
                destroy,
                ..
            } => {
                for (index, stack) in stacks.iter().enumerate() {
                    check_carriage(stack, workloads.get(index))?;
                }
                // One that is not to be believed tells nothing here, and is refused when it is opened.
                let state = Registry::look().ok();
                let permission = Permission { destroy: &destroy, state: state.as_deref() };
                let files = needed_room(&stacks, &workloads)?.unwrap_or_default().0.max(file_bytes);
                let checked: Result<Vec<Preflight>, StackError> = stacks
                    .iter()
                    .enumerate()
                    .map(|(index, stack)| {
                        if let Volume::Directory(volume) = &stack.volume {
                            check_room(volume.path.as_deref().unwrap_or(&work_directory), files)?;
                        }
                        let found = Session::preflight_permitting(
                            stack,
                            flushes_matter,
                            &work_directory,
                            &permission,
                        )?;
                        check_room_for_image(stack, workloads.get(index), &work_directory)?;
                        Ok(found)
                    })
                    .collect();
                let checked = checked.map_err(Failure::from);
                Ok(Reply::Preflight { stacks: say_strange_words(checked, &stacks, &destroy)? })
            }
            Request::Begin(begin) => self.begin(begin),
            Request::Apply { stack, trial, seed, workload, .. } => {
                self.apply(&stack, workload.as_deref(), trial, seed)
            }
            Request::Verify => {
                let checks = self.verify().map_err(|failure| self.unless_stopping(failure))?;
                Ok(Reply::Verified { checks })
            }
            Request::Prepare(prepare) => {
                let prepared = self.prepare(&prepare).map_err(|failure| self.blame(failure))?;
                if let Some(space) = &mut self.space {
                    space.prepared();
                }
                Ok(Reply::Prepared(prepared))
            }
            Request::Settle(settle) => self.settle(&settle),
            Request::Run(run) => self.run(run, events).map_err(|failure| self.blame(failure)),
            Request::Enter { directory, marker } => self.enter(Entered { directory, marker }),
            Request::Work => self.work(),
            Request::Undo => {
                self.leave_stack();
                self.open_session()?.undo()?;
                Ok(Reply::Done)
            }
            Request::Evidence => Ok(Reply::Evidence { raw: Vec::new() }),
            Request::Execute(what) => {
                let marker = self.session.as_ref().map(Session::processes_marker);
                Ok(Reply::Executed(execute(&what, marker, &self.stop)?))
            }
            Request::Finish => {
                self.leave_stack();
                self.images.forget();
                if let Some(session) = self.session.take() {
                    session.finish()?;
                }
                Ok(Reply::Done)
            }
            Request::Cleanup => Ok(Reply::Cleanup(Registry::open()?.cleanup()?)),
            Request::Interrupt => {
                self.stop.store(true, Ordering::Relaxed);
                Ok(Reply::Done)
            }
        }
    }

    /// The session, if one was begun.
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// # Errors
    /// No session was begun.
    pub(crate) fn open_session(&mut self) -> Result<&mut Session, Failure> {
        self.session.as_mut().ok_or_else(|| Failure::new(FailureKind::Usage, "no session was started"))
    }

    fn begin(&mut self, begin: Begin) -> Result<Reply, Failure> {
        if self.session.is_some() {
            return Err(Failure::new(FailureKind::Usage, "a session is already open"));
        }
        refuse_exposed_runs(&begin.work_directory)?;
        let options = SessionOptions {
            run_token: begin.run_token,
            run_directory: begin.run_directory,
            work_directory: begin.work_directory,
            destroy: begin.destroy,
            interrupt: Some(StopFlag::clone(&self.stop)),
            server_program: None,
        };
        self.session = Some(Session::begin(&Registry::open()?, options)?);
        Ok(Reply::Done)
    }

    /// Ends what works on the stack, before it is taken down.
    fn leave_stack(&mut self) {
        self.workload = None;
        self.contained = None;
        self.applied = None;
        self.space = None;
    }

    fn apply(
        &mut self,
        stack: &Stack,
        workload: Option<&Workload>,
        trial: u32,
        seed: u64,
    ) -> Result<Reply, Failure> {
        self.leave_stack();
        if !stack.container.is_none() {
            let provision = self.images.provision(stack, workload)?;
            self.open_session()?.provision(provision)?;
        }
        let mut applied = self.open_session()?.apply(stack, trial, seed)?;
        if let Err(failure) = self.move_in(&mut applied) {
            self.contained = None;
            let failure = self.unless_stopping(failure);
            return Err(match self.open_session()?.undo() {
                Ok(()) => failure,
                Err(left) => Failure::new(failure.kind, format!("{failure}; then {left}")),
            });
        }
        self.applied = Some(applied.clone());
        self.space = SpaceWatch::made(&applied);
        self.memory_limit = stack.limit.memory;
        Ok(Reply::Applied(Box::new(applied)))
    }

    /// Starts the agent of a container that stands, and holds what is seen from inside against what was asked for.
    fn move_in(&mut self, applied: &mut Applied) -> Result<(), Failure> {
        let Some(standing) = &mut applied.container else { return Ok(()) };
        let marker = self.open_session()?.processes_marker();
        let mut started_seconds = None;
        if !standing.agent.is_empty() {
            let container_agent = ContainerAgent::start(standing, &marker, StopFlag::clone(&self.stop))?;
            started_seconds = Some(container_agent.started_seconds);
            self.contained = Some(container_agent);
        }
        let (mut facts, checks) = self.recognise(&standing.directory)?;
        if let Some(seconds) = started_seconds {
            facts.start_seconds = Some(facts.start_seconds.unwrap_or_default() + seconds);
        }
        standing.facts = facts;
        add_new(&mut applied.checks, checks);
        Ok(())
    }

    /// Looks at the directory from where the workload sees it.
    fn recognise(&mut self, directory: &Path) -> Result<(ContainerFacts, Vec<Check>), Failure> {
        let marker = self.open_session()?.processes_marker();
        let view = match &mut self.contained {
            Some(container_agent) => container_agent.enter(directory, &marker)?,
            None => InsideView::of(directory)?,
        };
        Ok(self.open_session()?.recognise(&view)?)
    }

    fn verify(&mut self) -> Result<Vec<Check>, Failure> {
        let mut checks = self.open_session()?.verify()?;
        let standing = self.applied.as_ref().and_then(|applied| applied.container.as_ref());
        if let Some(directory) = standing.map(|standing| standing.directory.clone()) {
            add_new(&mut checks, self.recognise(&directory)?.1);
        }
        Ok(checks)
    }

    /// What failed of a container once the user asked to stop is no failure: a signal to a whole control group ends the
    /// engine as well.
    fn unless_stopping(&self, failure: Failure) -> Failure {
        if failure.kind == FailureKind::Container && self.stop.load(Ordering::Relaxed) {
            return Failure::new(FailureKind::Interrupted, "interrupted");
        }
        failure
    }

    /// Of a container that failed its trial: what the machine says of it, beside what its agent's end says.
    fn blame(&mut self, failure: Failure) -> Failure {
        if failure.kind != FailureKind::Container {
            return failure;
        }
        let found = self.session.as_ref().and_then(|session| session.verify().err());
        self.unless_stopping(match found {
            Some(found) => Failure::new(failure.kind, format!("{failure}; now {found}")),
            None => failure,
        })
    }

    /// Takes up a place that somebody else has built.
    fn enter(&mut self, entered: Entered) -> Result<Reply, Failure> {
        if self.session.is_some() {
            return Err(Failure::new(
                FailureKind::Usage,
                "this agent has a session and sets up its own container",
            ));
        }
        let view = InsideView::of(&entered.directory)?;
        self.entered = Some(entered);
        Ok(Reply::Entered(view))
    }

    /// Runs the workload, watched by whoever asks.
    fn work(&mut self) -> Result<Reply, Failure> {
        let Some(Ready::Here(workload)) = self.workload.take().filter(|_| self.entered.is_some()) else {
            return Err(Failure::new(FailureKind::Usage, "no workload was prepared in a container"));
        };
        Ok(Reply::Worked(Box::new(workload.run(&self.stop)?)))
    }

    fn built(&self) -> Result<&Applied, Failure> {
        self.applied.as_ref().ok_or_else(|| Failure::new(FailureKind::Usage, "no stack was applied"))
    }

    /// Processes in the trial's groups that the kernel killed for want of memory.
    fn memory_kills(&self) -> u64 {
        self.groups().and_then(TrialGroups::memory_kills).unwrap_or_default()
    }

    fn prepare(&mut self, prepare: &Prepare) -> Result<Prepared, Failure> {
        let started = Instant::now();
        let profile = prepare.workload.profile();
        self.is_timed = profile.ends != Ends::ByWork;
        if let Some(container_agent) = &mut self.contained {
            self.works_here = false;
            let prepared = container_agent.prepare(prepare)?;
            self.workload = Some(Ready::Inside);
            return Ok(prepared);
        }
        let place = self.place()?;
        let context = TrialContext {
            number: prepare.trial,
            configuration: prepare.configuration.clone(),
            seed: prepare.seed,
            marker: match &self.entered {
                Some(entered) => entered.marker.clone(),
                None => self.open_session()?.processes_marker(),
            },
            groups: self.groups().map(|groups| groups.enter.clone()).unwrap_or_default(),
        };
        self.works_here = profile.runs_here;
        let workload = iostone_workload::prepare(&prepare.workload, &place, &context, &self.stop)?;
        self.workload = Some(Ready::Here(workload));
        Ok(Prepared { seconds: started.elapsed().as_secs_f64() })
    }

    /// Where the workload works: in the overlay or beside it, where there is one.
    fn place(&self) -> Result<Place, Failure> {
        if let Some(entered) = &self.entered {
            return Ok(entered.place());
        }
        let applied = self.built()?;
        Ok(match &applied.container {
            Some(standing) => Place { directory: Some(standing.directory.clone()), device: None },
            None => {
                Place { directory: applied.target.directory.clone(), device: applied.target.device.clone() }
            }
        })
    }

    /// The control groups of the trial.
    fn groups(&self) -> Option<&TrialGroups> {
        self.applied.as_ref()?.groups.as_ref()
    }

    /// The groups that whoever works for the workload has to enter.
    fn bounds(&mut self) -> Result<Option<Bounds>, Failure> {
        let works_here = self.works_here;
        let bounds = self.open_session()?.bounds(works_here)?;
        match (&self.contained, bounds) {
            (Some(container_agent), Some(_)) => {
                let process = container_agent.process()?;
                Ok(self.open_session()?.bounds_of(process)?)
            }
            (_, bounds) => Ok(bounds),
        }
    }

    fn watched(&self) -> Result<Vec<WatchedDevice>, Failure> {
        Ok(self.built()?.devices.iter().map(watch).collect())
    }

    /// Waits until the devices were at rest for a whole window, or patience is at its end.
    fn settle(&mut self, settle: &Settle) -> Result<Reply, Failure> {
        await_rest(&self.watched()?, settle, &self.stop, &|| true).map(Reply::Settled)
    }

    fn run(&mut self, run: RunTrial, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        let workload = self
            .workload
            .take()
            .ok_or_else(|| Failure::new(FailureKind::Usage, "no workload was prepared"))?;
        let every =
            if run.sample_every.0.is_zero() { Duration::from_millis(100) } else { run.sample_every.0 };
        let groups = cpu::watched(self.built()?.groups.as_ref());
        let kills_before = self.memory_kills();
        let plan = ProbePlan { devices: self.watched()?, interval: every, groups, root: Root::live() };
        let probe = Probe::start_with(&plan).map_err(|error| probe_failure(&error))?;
        let (stop, works_here) = (StopFlag::clone(&self.stop), self.works_here);
        let bounds = self.bounds()?;
        let mut container_agent = self.contained.take();
        let session = self.open_session()?;
        let started_at = jiff::Timestamp::now().to_string();
        let mut nvme = (Vec::new(), Vec::new());
        let result = run_within(bounds.as_ref(), &stop, || {
            session.begin_workload()?;
            let watch = NvmeWatch::begin(&plan.root, &plan.devices);
            probe.mark_start();
            let result = workload.run(container_agent.as_mut(), &stop);
            probe.mark_end();
            nvme = watch.end();
            Ok(result)
        });
        self.contained = container_agent;
        let result = result?;
        // Whatever the workload says, a governor that died is why: it ran ungoverned then.
        let mut governor = self.open_session()?.governor_end()?;
        if let Some(record) = governor.as_mut().filter(|_| self.is_timed) {
            record.other_laws.clear();
        }
        let mut recording = probe.stop();
        recording.summary.nvme = nvme.0;
        recording.losses.extend(nvme.1);
        let kills = self.memory_kills().saturating_sub(kills_before);
        let killed = self.contained.as_ref().is_some_and(ContainerAgent::was_killed);
        let mut measurement =
            result.map_err(|failure| tell_kill(failure, killed, kills, self.memory_limit))?;
        tell_kills(&mut measurement.report, kills, self.memory_limit);
        // Syncing a slow volume takes long, and nobody keeps what is read of a trial that was broken off.
        let space = self.space.take().filter(|_| !measurement.interrupted).map(SpaceWatch::after);
        let probing = recording.summary.probe_cpu_seconds;
        let own = measurement.cpu.map(|own| if works_here { own.without(probing) } else { own });
        cpu::tell_own(&mut recording.summary, own);
        if works_here && self.built()?.groups.as_ref().is_some_and(|one| one.version == CgroupVersion::Two) {
            let words = "samples: the sampler runs under the workload's limits, because cgroup v2 limits whole processes";
            recording.losses.push(words.to_owned());
        }
        for samples in recording.samples.chunks(SAMPLES_AN_EVENT) {
            events(Event::Samples { samples: samples.to_vec() });
        }
        Ok(Reply::Measured(Box::new(Measured {
            started_at,
            metrics: measurement.metrics,
            report: measurement.report,
            raw: measurement.raw,
            governor: governor.map(Box::new),
            container: self.built()?.container.as_ref().map(|standing| Box::new(standing.facts.clone())),
            space: space.map(Box::new),
            signals: recording.summary,
            losses: recording.losses,
            interrupted: measurement.interrupted,
        })))
    }
}

impl Ready {
    fn run(
        self,
        container_agent: Option<&mut ContainerAgent>,
        stop: &StopFlag,
    ) -> Result<Measurement, Failure> {
        match (self, container_agent) {
            (Self::Here(workload), _) => Ok(workload.run(stop)?),
            (Self::Inside, Some(container_agent)) => container_agent.work(),
            (Self::Inside, None) => Err(Failure::lost("the agent in the container is gone")),
        }
    }
}

/// Adds those checks that the layers have not made already: of a plain overlay both look from the same place.
fn add_new(checks: &mut Vec<Check>, more: Vec<Check>) {
    for check in more {
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
}

/// The most room that the files of any of the workloads take, once all of them are known to be possible here.
fn needed_room(stacks: &[Stack], workloads: &[Workload]) -> Result<Option<Bytes>, Failure> {
    let mut most = None;
    for (stack, workload) in stacks.iter().zip(workloads) {
        let capacity = iostone_stack::capacity(stack);
        let room = iostone_workload::preflight(workload, capacity, None)?;
        // Sizes in the experiment were held against each other when it was read.
        if let (Some(room), Some(capacity), None) = (room, capacity, stack.capacity()) {
            check_capacity(stack, workload, room, capacity)?;
        }
        most = most.max(room);
        iostone_workload::find_programs(workload)?;
    }
    Ok(most)
}

/// Refuses files that the user's devices cannot hold. A filesystem takes about a tenth of them, of which programs may be given
/// a part back.
fn check_capacity(stack: &Stack, workload: &Workload, room: Bytes, capacity: Bytes) -> Result<(), Failure> {
    let in_file = stack.filesystem != Filesystem::None && matches!(workload, Workload::Io(_));
    let usable = if in_file { Bytes(capacity.0 / 10 * 9) } else { capacity };
    if room <= usable {
        return Ok(());
    }
    let reserve = if in_file { ", of which a filesystem reserves about a tenth" } else { "" };
    let message = format!(
        "`{}` needs {}, but the volume has {}{reserve}; reduce `workload.size`, or use a larger device",
        workload.kind(),
        room.approximate(),
        capacity.approximate()
    );
    Err(Failure::new(FailureKind::Usage, message))
}

fn greet(version: u32) -> Result<Reply, Failure> {
    if version != PROTOCOL_VERSION {
        let message = format!("this agent speaks version {PROTOCOL_VERSION} of the protocol, not {version}");
        return Err(Failure::new(FailureKind::Usage, message));
    }
    Ok(Reply::Hello { version: PROTOCOL_VERSION, iostone_version: env!("CARGO_PKG_VERSION").to_owned() })
}

fn describe(no_metadata: bool, tools: Option<&[String]>) -> Environment {
    iostone_probe::snapshot_of(&Root::live(), &queries(tools), &Metadata::unless(no_metadata))
}
