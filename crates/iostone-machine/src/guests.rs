//! Guests: a virtual machine booted for each trial that asks for one, and this host for the others.

mod booted;
mod check;
mod facts;
mod host_load;
mod launch;
mod refused;
mod root;
mod running_kernel;
mod supplies;
mod trying;

use std::sync::atomic::Ordering;

use iostone_model::experiment::{Guest, MachineSpec, Stack, Workload};
use iostone_stack::{Applied, Provided};
use iostone_workload::RawOutput;

use crate::failure::{Failure, FailureKind};
use crate::protocol::{Begin, Event, Reply, Request};
use crate::{Agent, Machine, StopFlag};

use booted::Booted;
use host_load::HostLoad;
use launch::{Launch, Launched};
use supplies::Supplies;

pub use trying::{TriedOut, TryOut, try_out};

/// Where the agent inside a guest works, in its memory.
pub const WORK_INSIDE: &str = "/run/iostone/work";

/// This host, and the guests that are booted on it. What belongs to the host (its description, the volumes, QEMU
/// itself) is done here and journalled here; what belongs to a trial in a guest goes to the agent inside.
pub struct Guests {
    host: Agent,
    stop: StopFlag,
    /// The session as it was begun; the one inside a guest is begun likewise.
    begun: Option<Begin>,
    supplies: Supplies,
    booted: Option<Booted>,
    /// What this host does beside it.
    load: HostLoad,
    /// What the guest of the last trial left behind.
    evidence: Vec<RawOutput>,
}

impl Guests {
    /// No guest runs yet.
    pub fn new(stop: StopFlag) -> Self {
        Self {
            host: Agent::new(StopFlag::clone(&stop)),
            supplies: Supplies::new(StopFlag::clone(&stop)),
            stop,
            begun: None,
            booted: None,
            load: HostLoad::default(),
            evidence: Vec::new(),
        }
    }

    fn on_host(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        match self.host.handle(request, events) {
            Reply::Failed(failure) => Err(failure),
            reply => Ok(reply),
        }
    }

    fn check_stop(&self) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        Ok(())
    }

    /// Boots a guest for a trial and has the agent inside build the stack on the drives that this host provides.
    fn apply(
        &mut self,
        guest: &Guest,
        wanted: &Wanted<'_>,
        events: &mut dyn FnMut(Event),
    ) -> Result<Reply, Failure> {
        self.leave_guest()?;
        self.evidence.clear();
        self.check_stop()?;
        let applied = self.build(guest, wanted, events);
        if applied.is_err() {
            let undone = self.leave_guest();
            let failure = applied.err();
            return Err(match (failure, undone) {
                (Some(failure), Ok(())) => failure,
                (Some(failure), Err(left)) => {
                    Failure::new(failure.kind, format!("{failure}; then {}", left.message))
                }
                (None, _) => Failure::lost("no stack was built"),
            });
        }
        applied.map(|applied| Reply::Applied(Box::new(applied)))
    }

    fn build(
        &mut self,
        guest: &Guest,
        wanted: &Wanted<'_>,
        events: &mut dyn FnMut(Event),
    ) -> Result<Applied, Failure> {
        let outside = self.begun.clone().unwrap_or_default();
        let session = self.host.open_session()?;
        let Provided { drives, stack, destroy, below, notes, syncs_dropped_below } =
            session.provide(wanted.stack, wanted.trial, wanted.seed)?;
        let launch = Launch::of_trial(guest, &stack, wanted.workload, &drives, &outside.work_directory)?;
        let Launched { booted, mut facts, notes: packed } =
            launch.boot(session, &mut self.supplies, &self.stop)?;
        self.load = HostLoad::new(&below, booted.process());
        let booted = self.booted.insert(booted);
        let Reply::Environment(inside) =
            booted.call(Request::Describe { no_metadata: true, tools: None }, events)?
        else {
            return Err(out_of_turn("describe"));
        };
        facts::complete(&mut facts, &inside, guest.rootfs.is_some());
        let begin = Begin {
            run_token: outside.run_token,
            run_directory: WORK_INSIDE.into(),
            work_directory: WORK_INSIDE.into(),
            // What the user let go here has another name inside.
            destroy,
        };
        booted.call(Request::Begin(begin), events)?;
        let request = Request::Apply {
            stack: Box::new(stack),
            trial: wanted.trial,
            seed: wanted.seed,
            machine: Box::default(),
            workload: wanted.workload.cloned().map(Box::new),
        };
        let built = booted.call(request, events).map_err(|failure| refused::seen_from_host(failure, &drives));
        let Reply::Applied(mut applied) = built? else {
            return Err(out_of_turn("apply"));
        };
        applied.notes = notes.into_iter().chain(packed).chain(applied.notes).collect();
        applied.syncs_dropped_below |= syncs_dropped_below;
        applied.guest = Some(Box::new(facts));
        Ok(*applied)
    }

    /// Has the agent in the guest answer; what only this host sees is added.
    fn inside(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        let Some(booted) = self.booted.as_mut() else { return Err(Failure::lost("there is no guest")) };
        match request {
            Request::Settle(settle) => {
                let inside = || match booted.call(Request::Settle(settle), events)? {
                    Reply::Settled(settled) => Ok(settled),
                    _ => Err(out_of_turn("settle")),
                };
                self.load.settle(&settle, &self.stop, inside).map(Reply::Settled)
            }
            Request::Run(run) => {
                let inside = || match booted.call(Request::Run(run), events)? {
                    Reply::Measured(measured) => Ok(measured),
                    _ => Err(out_of_turn("run")),
                };
                // The volumes are this host's: their buckets are filled here, just before the workload begins inside.
                self.host.open_session()?.begin_workload()?;
                self.load.sample(run, inside).map(Reply::Measured)
            }
            request => booted.call(request, events),
        }
    }

    /// Ends the guest, if one runs, and undoes what this host did for it.
    fn leave_guest(&mut self) -> Result<(), Failure> {
        let Some(mut booted) = self.booted.take() else {
            return match self.host.session() {
                Some(session) => session.undo().map_err(Into::into),
                None => Ok(()),
            };
        };
        let inside = booted.undo_and_power_off();
        self.evidence = booted.evidence();
        drop(booted);
        self.host.open_session()?.undo()?;
        inside
    }
}

/// What a trial wants.
struct Wanted<'a> {
    stack: &'a Stack,
    trial: u32,
    seed: u64,
    workload: Option<&'a Workload>,
}

impl Machine for Guests {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        match request {
            Request::Begin(begin) => {
                let reply = self.on_host(Request::Begin(begin.clone()), events)?;
                self.begun = Some(begin);
                Ok(reply)
            }
            Request::Apply { stack, trial, seed, machine, workload } => match *machine {
                MachineSpec::Guest(guest) => {
                    let wanted = Wanted { stack: &stack, trial, seed, workload: workload.as_deref() };
                    self.apply(&guest, &wanted, events)
                }
                machine => {
                    self.leave_guest()?;
                    self.evidence.clear();
                    running_kernel::check(&machine)?;
                    let machine = Box::new(machine);
                    self.on_host(Request::Apply { stack, trial, seed, machine, workload }, events)
                }
            },
            Request::Preflight {
                stacks,
                workloads,
                machines,
                destroy,
                flushes_matter,
                work_directory,
                file_bytes,
            } => {
                let question = check::Question {
                    stacks,
                    workloads,
                    machines,
                    destroy,
                    flushes_matter,
                    work_directory,
                    file_bytes,
                };
                check::examine(&question, &mut self.host, &mut self.supplies, &self.stop)
            }
            Request::Undo if self.booted.is_some() => {
                self.leave_guest()?;
                Ok(Reply::Done)
            }
            Request::Verify
            | Request::Prepare(_)
            | Request::Settle(_)
            | Request::Run(_)
            | Request::Execute(_)
                if self.booted.is_some() =>
            {
                self.check_stop()?;
                self.inside(request, events)
            }
            Request::Evidence => Ok(Reply::Evidence {
                raw: self.booted.as_ref().map_or_else(|| self.evidence.clone(), Booted::evidence),
            }),
            Request::Finish => {
                let left = self.leave_guest();
                let reply = self.on_host(Request::Finish, events);
                self.begun = None;
                self.supplies.forget_archives();
                left.and(reply)
            }
            other => self.on_host(other, events),
        }
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        // Best effort, and quick: what is left stands in the journal.
        if let Some(mut booted) = self.booted.take() {
            booted.kill();
        }
    }
}

fn out_of_turn(request: &str) -> Failure {
    Failure::lost(format!("the agent in the guest did not answer `{request}` as it should"))
}
