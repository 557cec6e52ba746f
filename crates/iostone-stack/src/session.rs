//! A session: the one owner of everything that iostone has on the machine, from the first trial to the last.

mod naming;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::{Governor, Limit, Stack};
use iostone_model::trial::{Check, ContainerFacts, GovernorRecord, GuestFacts};
use serde::{Deserialize, Serialize};

use crate::below::{Role, StackDevice, disks_under_device, disks_under_path};
use crate::container::{self, InsideView, Provision, StandingContainer};
use crate::device::BlockDevice;
use crate::disk_server;
use crate::error::{StackError, UndoFailure};
use crate::governor::GovernorProcess;
use crate::layer::{Layer, layers_of};
use crate::limit::{AppliedLimits, TrialGroups, layers_of_limits};
use crate::preflight::{self, Permission, Preflight};
use crate::registry::Registry;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::throttle::{Bounds, Confinement};
use crate::undo;
use naming::{token_of, without_parents};

pub(crate) use naming::is_token;

/// The environment variable by which processes of a session are known; its value is the session's token.
pub(crate) const PROCESS_VARIABLE: &str = "IOSTONE_RUN";

/// What a session needs to know.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// A word for the run, for people; letters, digits and `-` of it, at most 32, go into every path and marker. The
    /// session adds 64 random bits, by which its own objects are told from all others.
    pub run_token: String,
    /// The run that the session works for; only written into the journal.
    pub run_directory: PathBuf,
    /// Where images, mount points and directories are made unless the stack names another place. Made if missing.
    pub work_directory: PathBuf,
    /// Stable identities, typed in full by the user, of block devices whose content may be destroyed.
    pub destroy: Vec<String>,
    /// Raised by whoever wants the session to stop: long steps then end with [`StackError::Interrupted`].
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The program that serves emulated volumes when it is started as `PROGRAM disk plan`; this very program if none.
    pub server_program: Option<PathBuf>,
}

/// Where the workload works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// A directory; none for a raw device.
    pub directory: Option<PathBuf>,
    /// The raw device, where no filesystem was asked for.
    pub device: Option<PathBuf>,
    /// Where our filesystem is mounted, if one is.
    pub mount: Option<PathBuf>,
}

/// A stack that stands, each layer proven from the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Where the workload works.
    pub target: Target,
    /// Every setting, asked and read back.
    pub checks: Vec<Check>,
    /// What is worth repeating in the report: "backing file on ext4 (/dev/vda), buffered I/O".
    pub notes: Vec<String>,
    /// Whether what the volume stands on drops every fsync.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub syncs_dropped_below: bool,
    /// The devices whose counters tell what was served, top first.
    pub devices: Vec<StackDevice>,
    /// The guest that it stands in; none on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestFacts>>,
    /// The control groups that the workload is to be in; none where nothing limits or governs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<TrialGroups>,
    /// The overlay or container that the workload is to work in or beside; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Box<StandingContainer>>,
}

/// Builds stacks and takes them away again, one after the other.
///
/// Dropping a session undoes what it can; [`Session::finish`] also says whether it could.
pub struct Session {
    /// None once the session is finished.
    site: Option<Site>,
    layers: Vec<Box<dyn Layer>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("site", &self.site)
            .field("layers", &self.layers.len())
            .finish()
    }
}

impl Session {
    /// Begins a session: its journal stands in the registry from now on. Nothing else is touched yet.
    ///
    /// From now on this process is the parent of every orphan that descends from it (`PR_SET_CHILD_SUBREAPER`, prctl(2)):
    /// a process that keeps our mount busy is ended when the stack is undone, if it is a descendant.
    ///
    /// # Errors
    /// [`StackError::Io`] when the journal cannot be written, [`StackError::Usage`] for a relative work directory.
    pub fn begin(registry: &Registry, options: SessionOptions) -> Result<Self, StackError> {
        if !options.work_directory.is_absolute() {
            return Err(StackError::setting(
                &options.work_directory,
                "the directory to work in is not an absolute path; runs are kept where `--runs` says",
            ));
        }
        undo::adopt_orphans()?;
        let token = token_of(&options.run_token)?;
        let work_directory = without_parents(options.work_directory)?;
        let run_directory = if options.run_directory.is_absolute() {
            without_parents(options.run_directory)?
        } else {
            work_directory.clone()
        };
        let mut journal = registry.begin(&run_directory, &work_directory, &token)?;
        journal
            .begin(Scope::Session, Step::Processes { variable: PROCESS_VARIABLE.to_owned(), value: token })?;
        let mut site = Site::new(journal, work_directory, options.destroy, options.interrupt);
        site.server_program = options.server_program;
        site.leftovers = registry.leftovers();
        Ok(Self { site: Some(site), layers: Vec::new() })
    }

    /// Everything that can be known about a stack before anything is touched: what needs root, missing tools, the
    /// guard, room, a filesystem in memory where flushes are the question.
    ///
    /// # Errors
    /// The first thing that stands in the way.
    pub fn preflight(
        stack: &Stack,
        flush_matters: bool,
        work_directory: &Path,
    ) -> Result<Preflight, StackError> {
        preflight::examine(stack, flush_matters, work_directory, &Permission::default())
    }

    /// As [`Session::preflight`], with what is known of devices: which of them the user let go, what earlier runs left.
    ///
    /// # Errors
    /// The first thing that stands in the way.
    pub fn preflight_permitting(
        stack: &Stack,
        flush_matters: bool,
        work_directory: &Path,
        permission: &Permission<'_>,
    ) -> Result<Preflight, StackError> {
        preflight::examine(stack, flush_matters, work_directory, permission)
    }

    /// As [`Session::preflight_permitting`], for volumes that [`Session::provide`] hands to a guest: what is built on
    /// them there is for the guest's own agent to examine.
    ///
    /// # Errors
    /// The first thing that stands in the way.
    pub fn preflight_providing(
        stack: &Stack,
        flush_matters: bool,
        work_directory: &Path,
        permission: &Permission<'_>,
    ) -> Result<Preflight, StackError> {
        preflight::examine_provided(stack, flush_matters, work_directory, permission)
    }

    /// Builds the stack for one trial, bottom up, and proves each layer as soon as it stands. The image is filled from
    /// `seed` and the filesystem made anew, so that no trial sees what another left.
    ///
    /// What an earlier call built is undone first.
    ///
    /// # Errors
    /// What stands in the way; whatever had been built is undone then, or the error is [`StackError::UndoFailed`].
    pub fn apply(&mut self, stack: &Stack, trial: u32, seed: u64) -> Result<Applied, StackError> {
        self.undo()?;
        self.layers = layers_of(stack)?;
        self.site_mut()?.trial = trial;
        self.site_mut()?.seed = seed;
        match self.build() {
            Ok(applied) => Ok(applied),
            Err(cause) => Err(self.undo_because(cause)),
        }
    }

    /// Says what the containers of the coming trials are made of.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] after the end of the session.
    pub fn provision(&mut self, provision: Provision) -> Result<(), StackError> {
        self.site_mut()?.provision = provision;
        Ok(())
    }

    /// Holds the container against what its agent sees from inside; gives the facts of the trial and the checks.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] where they differ.
    pub fn recognise(&self, view: &InsideView) -> Result<(ContainerFacts, Vec<Check>), StackError> {
        container::recognise(self.site.as_ref().ok_or_else(ended)?, view)
    }

    /// Makes the control groups of a limit and a governor without any volume: for a command that is run under them.
    /// What an earlier call built is undone first.
    ///
    /// # Errors
    /// [`StackError::Usage`] for what cannot be limited, [`StackError::Unexpected`] with a controller that is missing
    /// and the next command, [`StackError::NotApplied`] for what the kernel refuses; everything is undone then.
    pub fn apply_limits(
        &mut self,
        limit: &Limit,
        governor: Option<&Governor>,
    ) -> Result<AppliedLimits, StackError> {
        self.undo()?;
        self.layers = layers_of_limits(limit, governor)?;
        match self.raise() {
            Ok(checks) => {
                let site = self.site.as_ref().ok_or_else(ended)?;
                Ok(AppliedLimits { groups: site.groups.clone(), checks, notes: site.notes.clone() })
            }
            Err(cause) => Err(self.undo_because(cause)),
        }
    }

    /// What can be known about [`Session::apply_limits`] before anything is touched; gives what is worth knowing.
    ///
    /// # Errors
    /// The first thing that stands in the way.
    pub fn preflight_limits(limit: &Limit, governor: Option<&Governor>) -> Result<Vec<String>, StackError> {
        layers_of_limits(limit, governor)?;
        preflight::examine_limits(limit, governor, false)
    }

    /// Undoes what was built before something went wrong; gives the error for the caller.
    pub(crate) fn undo_because(&mut self, cause: StackError) -> StackError {
        match self.undo() {
            Ok(()) => cause,
            Err(StackError::UndoFailed { failure, journal, .. }) => {
                StackError::UndoFailed { failure, journal, cause: Some(Box::new(cause)) }
            }
            Err(other) => other,
        }
    }

    fn build(&mut self) -> Result<Applied, StackError> {
        self.site_mut()?.make_work_directory()?;
        let checks = self.raise()?;
        let site = self.site.as_ref().ok_or_else(ended)?;
        Ok(Applied {
            target: Target {
                directory: site.directory.clone(),
                device: site
                    .device
                    .as_ref()
                    .filter(|_| site.directory.is_none())
                    .map(|device| device.path.clone()),
                mount: site.mount.clone(),
            },
            checks,
            notes: site.notes.clone(),
            syncs_dropped_below: site.syncs_dropped_below()?,
            devices: devices_of(site)?,
            guest: None,
            groups: site.groups.clone(),
            container: site.container.clone().map(Box::new),
        })
    }

    /// Applies the layers, bottom up, and proves each as soon as it stands.
    fn raise(&mut self) -> Result<Vec<Check>, StackError> {
        let site = self.site.as_mut().ok_or_else(ended)?;
        let mut checks = Vec::new();
        for layer in &mut self.layers {
            site.check_interrupt()?;
            match layer.apply(site).and_then(|()| layer.verify(site)) {
                Ok(read_back) => checks.extend(read_back),
                // Where the user asked to stop, what waited for a server of ours was failed.
                Err(cause) => return Err(site.check_interrupt().err().unwrap_or(cause)),
            }
        }
        Ok(checks)
    }

    /// Reads every layer back from the kernel again; for after the workload.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] for a setting that changed meanwhile.
    pub fn verify(&self) -> Result<Vec<Check>, StackError> {
        let site = self.site.as_ref().ok_or_else(ended)?;
        let mut checks = Vec::new();
        for layer in &self.layers {
            checks.extend(layer.verify(site)?);
        }
        Ok(checks)
    }

    /// Moves this process, with all its threads and whatever it starts from now on, under the limits of the stack's
    /// volumes, until the answer is dropped or told to leave; none if the stack has no limits.
    ///
    /// # Errors
    /// [`StackError::Io`] when the kernel does not let it in, [`StackError::NotApplied`] when it is not there then.
    pub fn confine(&self) -> Result<Option<Confinement>, StackError> {
        self.bounds(false)?.map(|bounds| bounds.enter()).transpose()
    }

    /// The groups that hold the workload, for whoever runs it in this process or ends it; none if nothing is limited.
    /// `works_here` says that the workload's engine is of this process: then it has to enter the groups of CPU time too,
    /// which programs enter by themselves.
    ///
    /// # Errors
    /// [`StackError::Io`] without `/proc`.
    pub fn bounds(&self, works_here: bool) -> Result<Option<Bounds>, StackError> {
        let site = self.site.as_ref().ok_or_else(ended)?;
        Bounds::of(site.throttle.as_ref(), site.groups.as_ref(), works_here)
    }

    /// As [`Session::bounds`], for another process that runs the workload, with all that it starts from then on.
    ///
    /// # Errors
    /// [`StackError::Io`] when it has ended, [`StackError::Unexpected`] where it could not be brought back.
    pub fn bounds_of(&self, process: u32) -> Result<Option<Bounds>, StackError> {
        let site = self.site.as_ref().ok_or_else(ended)?;
        Bounds::of_process(site.throttle.as_ref(), site.groups.as_ref(), process)
    }

    /// Lets the workload begin: burst buckets of emulated volumes and of their link hold what they are to hold then, though
    /// making filesystems and laying out files has used them, and the law of an emulated CPU allowance begins.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] when the disk server does not answer, and those of
    /// [`governor_begin`](Self::governor_begin).
    pub fn begin_workload(&mut self) -> Result<(), StackError> {
        for layer in &mut self.layers {
            layer.begin_workload()?;
        }
        if let Some(control) = self.disk_control() {
            disk_server::begin_workload(&control)?;
        }
        self.governor_begin()
    }

    /// Lets the law of the emulated CPU allowance begin, which is to be at the moment when the workload does; nothing where
    /// nothing is governed.
    ///
    /// # Errors
    /// [`StackError::Ungoverned`] when the governor is dead, [`StackError::Interrupted`].
    pub fn governor_begin(&mut self) -> Result<(), StackError> {
        self.with_governor(GovernorProcess::begin).map(|_| ())
    }

    /// Ends the law and tells what it gave; none where nothing is governed.
    ///
    /// # Errors
    /// [`StackError::Ungoverned`] when the governor died meanwhile: the workload then ran ungoverned for a time.
    pub fn governor_end(&mut self) -> Result<Option<GovernorRecord>, StackError> {
        self.with_governor(GovernorProcess::end)
    }

    fn with_governor<T>(
        &mut self,
        ask: impl FnOnce(&mut GovernorProcess, Option<&AtomicBool>) -> Result<T, StackError>,
    ) -> Result<Option<T>, StackError> {
        let site = self.site_mut()?;
        let Some(mut governor) = site.governor.take() else { return Ok(None) };
        let answer = ask(&mut governor, site.interrupt());
        site.governor = Some(governor);
        answer.map(Some)
    }

    /// Takes the stack away, down to the image, which the next trial fills again. Processes of the session that still
    /// run are ended first. Harmless when nothing stands.
    ///
    /// # Errors
    /// [`StackError::UndoFailed`] with what is left, why, and what to do.
    pub fn undo(&mut self) -> Result<(), StackError> {
        self.undo_scope(Some(Scope::Trial))
    }

    /// Takes everything away, the journal too.
    ///
    /// # Errors
    /// [`StackError::UndoFailed`] with what is left; the journal is kept for `iostone cleanup`.
    pub fn finish(mut self) -> Result<(), StackError> {
        self.end()
    }

    /// The environment variable, name and value, that processes started for a trial must carry: by it they are found
    /// and ended when the stack is undone. It stands in the journal since the beginning.
    pub fn processes_marker(&self) -> (String, String) {
        let token = self.site.as_ref().map(|site| site.journal.owner.token.clone()).unwrap_or_default();
        (PROCESS_VARIABLE.to_owned(), token)
    }

    pub(crate) fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    pub(crate) fn site_mut(&mut self) -> Result<&mut Site, StackError> {
        self.site.as_mut().ok_or_else(ended)
    }

    fn undo_scope(&mut self, scope: Option<Scope>) -> Result<(), StackError> {
        for layer in &mut self.layers {
            layer.release();
        }
        let site = self.site.as_mut().ok_or_else(ended)?;
        // It lifts its quota, and nothing that is ended from here on is slowed down by it any more.
        site.governor = None;
        if let Some(control) = &site.disk_control {
            disk_server::lift_limits(control);
        }
        // Without a thread the rest is undone all the same, if later.
        let _ = site.watch_server();
        let engines = undo::engine_processes(&site.journal);
        match undo::undo_steps(&mut site.journal, scope) {
            Ok(undone) => {
                self.layers.clear();
                site.clear();
                undo::reap(&engines);
                // Said once: the journal is done with it, but the caller has to know that something stays.
                undone
                    .left_alone
                    .into_iter()
                    .next()
                    .map_or(Ok(()), |left| Err(undo_failed(left, &site.journal.path)))
            }
            Err(failure) => Err(undo_failed(failure, &site.journal.path)),
        }
    }

    fn end(&mut self) -> Result<(), StackError> {
        if self.site.is_none() {
            return Ok(());
        }
        let undone = self.undo_scope(None);
        if let (Ok(()), Some(site)) = (&undone, &self.site) {
            site.claims.values().for_each(|claim| claim.remember(&site.leftovers));
        }
        let Some(mut site) = self.site.take() else { return undone };
        match undone {
            Ok(()) => site.journal.remove(),
            Err(error) => {
                site.journal.release();
                Err(error)
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Best effort: what is left stays in the journal for the next cleanup.
        let _ = self.end();
    }
}

fn undo_failed(failure: UndoFailure, journal: &Path) -> StackError {
    StackError::UndoFailed { failure: Box::new(failure), journal: journal.display().to_string(), cause: None }
}

fn ended() -> StackError {
    StackError::unexpected("session", "it has ended")
}

fn devices_of(site: &Site) -> Result<Vec<StackDevice>, StackError> {
    let as_role =
        |device: &BlockDevice, role| StackDevice { name: device.name.clone(), number: device.number, role };
    // A volume by itself is the stack's device; several, or one under an array, stand beside it. Those of a btrfs have
    // none above them: what is asked of the filesystem is what is asked of all of them together.
    let joined_above = site.members.len() > 1;
    let is_top =
        |device: &&BlockDevice| !(joined_above && site.members.iter().any(|one| one.number == device.number));
    let top = site.device.as_ref().filter(is_top);
    let mut devices: Vec<StackDevice> = top.iter().map(|device| as_role(device, Role::Stack)).collect();
    let is_member = |device: &&BlockDevice| top.is_none_or(|top| top.number != device.number);
    devices.extend(site.members.iter().filter(is_member).map(|device| as_role(device, Role::Member)));
    devices.extend(site.instance.iter().map(|device| as_role(device, Role::Below)));
    let mut below = Vec::new();
    for device in site.device.iter().chain(&site.members) {
        below.extend(disks_under_device(device));
    }
    if let Some(path) = &site.stands_on {
        below.extend(disks_under_path(path)?);
    }
    // The disks under an array are first its members, and members often share one.
    for device in below {
        if devices.iter().all(|known| known.number != device.number) {
            devices.push(device);
        }
    }
    Ok(devices)
}
