//! What can be known before the first guest is booted: kernels, programs, modules, memory, volumes.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use iostone_guest::{check_memory, needs_of};
use iostone_model::experiment::{Guest, MachineSpec, Stack, Volume, Workload};
use iostone_model::units::Bytes;
use iostone_stack::{Permission, Preflight, Registry, Session, strange_words};

use super::supplies::{Freight, Supplies};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Reply, Request};
use crate::strange::say_strange_words;
use crate::{Agent, StopFlag};

/// A preflight's fields.
pub(super) struct Question {
    pub(super) stacks: Vec<Stack>,
    pub(super) workloads: Vec<Workload>,
    pub(super) machines: Vec<MachineSpec>,
    pub(super) destroy: Vec<String>,
    pub(super) flushes_matter: bool,
    pub(super) work_directory: PathBuf,
    pub(super) file_bytes: u64,
}

/// Examines what runs on this host by its agent, and what runs in guests here; answers in the order of the stacks.
///
/// # Errors
/// The first thing that stands in the way.
pub(super) fn examine(
    question: &Question,
    host: &mut Agent,
    supplies: &mut Supplies,
    stop: &StopFlag,
) -> Result<Reply, Failure> {
    let checked = examine_each(question, host, supplies, stop);
    Ok(Reply::Preflight { stacks: say_strange_words(checked, &question.stacks, &question.destroy)? })
}

fn examine_each(
    question: &Question,
    host: &mut Agent,
    supplies: &mut Supplies,
    stop: &StopFlag,
) -> Result<Vec<Preflight>, Failure> {
    let guest_of = |index: usize| question.machines.get(index).and_then(MachineSpec::guest);
    let local: Vec<usize> = (0..question.stacks.len()).filter(|index| guest_of(*index).is_none()).collect();
    let mut on_host =
        if local.is_empty() { Vec::new() } else { ask_host(question, &local, host)? }.into_iter();
    let mut stacks = Vec::new();
    for (index, stack) in question.stacks.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        stacks.push(match guest_of(index) {
            Some(guest) => in_guest(question, guest, stack, question.workloads.get(index), supplies)?,
            None => on_host.next().ok_or_else(|| Failure::lost("a stack was not examined"))?,
        });
    }
    Ok(stacks)
}

fn ask_host(question: &Question, local: &[usize], host: &mut Agent) -> Result<Vec<Preflight>, Failure> {
    let stacks: Vec<Stack> = local.iter().filter_map(|index| question.stacks.get(*index)).cloned().collect();
    // The others are words for a guest's devices, or will be said to be for none.
    let is_meant = |word: &&String| strange_words(&stacks, std::slice::from_ref(*word)).is_empty();
    let destroy = question.destroy.iter().filter(is_meant).cloned().collect();
    let request = Request::Preflight {
        stacks,
        workloads: local.iter().filter_map(|index| question.workloads.get(*index)).cloned().collect(),
        machines: Vec::new(),
        destroy,
        flushes_matter: question.flushes_matter,
        work_directory: question.work_directory.clone(),
        file_bytes: question.file_bytes,
    };
    match host.handle(request, &mut |_| {}) {
        Reply::Preflight { stacks } => Ok(stacks),
        Reply::Failed(failure) => Err(failure),
        _ => Err(Failure::lost("the host's agent did not answer `preflight` as it should")),
    }
}

fn in_guest(
    question: &Question,
    guest: &Guest,
    stack: &Stack,
    workload: Option<&Workload>,
    supplies: &mut Supplies,
) -> Result<Preflight, Failure> {
    if stack.container.has_engine() {
        let message = format!(
            "`stack.container`: {} is not available in a QEMU guest; remove `machine` from the configuration, or use `kind = \
             \"overlay\"`, which needs no engine",
            stack.container.kind()
        );
        return Err(Failure::new(FailureKind::Usage, message));
    }
    supplies.qemu()?;
    let mut steps = Vec::new();
    let kernel = supplies.kernel(guest, &mut |step| steps.push(step.to_owned()))?;
    let freight = Freight::of(needs_of(stack, workload), guest)?;
    let archive = supplies.archive(&kernel, &freight)?;
    check_memory(guest.memory.0, archive.bytes)?;
    if let Some(workload) = workload.filter(|workload| workload.profile().needs_memory) {
        // The kernel keeps some of it, so that inside there is a little less.
        let memory = Bytes(guest.memory.0 - guest.memory.0 / 8);
        iostone_workload::preflight(workload, stack.capacity(), Some(memory))?;
    }
    let state = Registry::look().ok();
    let permission = Permission { destroy: &question.destroy, state: state.as_deref() };
    let mut found =
        Session::preflight_providing(stack, question.flushes_matter, &question.work_directory, &permission)?;
    found.notes.push(format!("guest with the kernel {} ({})", kernel.release, kernel.source));
    found.notes.extend(archive.notes.iter().cloned());
    if let Volume::Directory(volume) = &stack.volume
        && (guest.rootfs.is_none() || volume.path.is_none())
    {
        let note = "the `directory` volume is in the guest's memory, where flushes cost nothing";
        if question.flushes_matter {
            return Err(Failure::new(FailureKind::Usage, format!("`stack.volume`: {note}; use `loop`")));
        }
        found.notes.push(note.to_owned());
    }
    Ok(found)
}
