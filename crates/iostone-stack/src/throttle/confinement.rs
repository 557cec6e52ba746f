//! Entering the groups of a trial for as long as a workload runs, and going back afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::ThrottleGroup;
use crate::control_groups::{Hierarchies, lift_limits, write_line};
use crate::error::StackError;
use crate::limit::TrialGroups;
use crate::owner::start_time_of;

/// Whoever is written into it comes with all its threads; the only such file of version 2.
const PROCESSES: &str = "cgroup.procs";
/// Version 1: whoever is written into it comes alone.
const THREADS: &str = "tasks";
/// Version 1: what belongs to a process as a whole is counted where its first thread is, or needs all that do I/O.
const OF_PROCESSES: [&str; 2] = ["memory.limit_in_bytes", "blkio.throttle.read_bps_device"];

/// The groups that a workload is held to, as those of this process have to enter them that work for it.
///
/// Programs enter the groups of their limits by themselves. What stays for this process: the group with the limits of the
/// volumes, and all groups where the workload's engine is of this process. With version 1 only the calling thread enters
/// those of CPU time and processors, with what it starts from then on, so that the probe is not held back; with version 2
/// all threads of a process are in one group.
#[derive(Debug)]
pub struct Bounds {
    ways: Vec<Way>,
    /// Another process that works for the workload; none where it is this one.
    process: Option<Other>,
    /// The groups whose limits hold the workload.
    limited: Vec<PathBuf>,
}

/// Another process, told from a later one of its number by its start in clock ticks since boot.
#[derive(Debug, Clone, Copy)]
struct Other {
    pid: u32,
    started: u64,
}

/// Into a group and back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    group: PathBuf,
    file: &'static str,
    /// The group that this process came from, and goes back to.
    home: PathBuf,
}

/// While this lives, the process is in the groups. Dropping it goes back as well as it can; [`Confinement::leave`] also says
/// whether it could.
#[derive(Debug)]
#[must_use = "the process leaves the groups as soon as this is dropped"]
pub struct Confinement {
    ways: Vec<Way>,
    entrant: Entrant,
    left: bool,
}

/// Who enters groups.
#[derive(Debug)]
struct Entrant {
    /// As it is written into a group's file: 0 is the writer, whatever namespace its number is of.
    written: String,
    /// The thread that entered, by which it is found again from any other.
    thread: String,
    process: String,
    /// Where it is another one.
    other: Option<Other>,
}

impl Entrant {
    fn of(process: Option<Other>) -> Self {
        match process {
            Some(other) => {
                let pid = other.pid.to_string();
                Self { written: pid.clone(), thread: pid.clone(), process: pid, other: process }
            }
            None => Self {
                written: "0".to_owned(),
                thread: rustix::thread::gettid().as_raw_nonzero().to_string(),
                process: std::process::id().to_string(),
                other: None,
            },
        }
    }

    /// Whether it has ended: its number may be somebody else's by now, who must not be moved.
    fn has_ended(&self) -> bool {
        self.other.is_some_and(|other| start_time_of(other.pid) != Some(other.started))
    }
}

impl Bounds {
    /// What there is to enter; none where nothing is limited. `works_here` says that the workload's engine is of this
    /// process.
    ///
    /// # Errors
    /// [`StackError::Io`] without `/proc`.
    pub(crate) fn of(
        throttle: Option<&ThrottleGroup>,
        groups: Option<&TrialGroups>,
        works_here: bool,
    ) -> Result<Option<Self>, StackError> {
        let mut bounds = Self { ways: Vec::new(), process: None, limited: Vec::new() };
        let entered: Vec<&Path> = groups
            .map(|groups| groups.enter.iter().filter_map(|procs| procs.parent()).collect())
            .unwrap_or_default();
        if let Some(throttle) = throttle {
            bounds.limited.push(throttle.path.clone());
            // With version 2 a group with others in it cannot have processes of its own, and who is in those is held to
            // its limits too.
            if !entered.iter().any(|group| group.starts_with(&throttle.path)) {
                let (group, home) = (throttle.path.clone(), throttle.home.clone());
                bounds.ways.push(Way { group, file: PROCESSES, home });
            }
        }
        let machine = if works_here && !entered.is_empty() { Some(Hierarchies::look()?) } else { None };
        for group in entered {
            if !bounds.limited.iter().any(|limited| group.starts_with(limited)) {
                bounds.limited.push(group.to_owned());
            }
            if let Some(machine) = &machine {
                bounds.ways.push(Way::into(group, machine));
            }
        }
        if let Some(quota) = groups.and_then(|groups| groups.quota.clone()) {
            bounds.limited.push(quota);
        }
        Ok((!bounds.limited.is_empty()).then_some(bounds))
    }

    /// As [`Bounds::of`], for another process of which all threads work for the workload, and which goes back to the groups
    /// that it is in now.
    ///
    /// # Errors
    /// [`StackError::Io`] when its groups cannot be read, [`StackError::Unexpected`] where one of them cannot be reached.
    pub(crate) fn of_process(
        throttle: Option<&ThrottleGroup>,
        groups: Option<&TrialGroups>,
        process: u32,
    ) -> Result<Option<Self>, StackError> {
        let Some(mut bounds) = Self::of(throttle, groups, true)? else { return Ok(None) };
        let started = start_time_of(process)
            .ok_or_else(|| StackError::io("read", format!("/proc/{process}/stat"), Errno::SRCH))?;
        let machine = Hierarchies::look_of(process)?;
        for way in &mut bounds.ways {
            way.file = PROCESSES;
            way.home = machine.home_beside(&way.group).ok_or_else(|| {
                let reason = format!(
                    "the cgroup of process {process} in the hierarchy of `{}` is unknown, so the process could not be moved \
                     back",
                    way.group.display()
                );
                StackError::unexpected(format!("/proc/{process}/cgroup"), reason)
            })?;
        }
        Ok(Some(Self { process: Some(Other { pid: process, started }), ..bounds }))
    }

    /// Moves this process, or the calling thread where that is enough, or the other process that works, into the groups, and reads back that it is there.
    ///
    /// # Errors
    /// [`StackError::Io`] when the kernel does not let it in, [`StackError::NotApplied`] when it is not there then; it has
    /// gone back from all of them then.
    pub fn enter(&self) -> Result<Confinement, StackError> {
        let inside = Confinement { ways: self.ways.clone(), entrant: Entrant::of(self.process), left: false };
        for way in &self.ways {
            way.enter(&inside.entrant)?;
        }
        Ok(inside)
    }

    /// Takes all limits off the groups: what waits for its turn under them gets it at once. For a workload that is to
    /// end; whoever moves limits by credits may set one again, so call it until the workload has ended.
    pub fn lift_limits(&self) {
        self.limited.iter().for_each(|group| lift_limits(group));
    }
}

impl Way {
    fn into(group: &Path, machine: &Hierarchies) -> Self {
        let is_version_1 = group.join(THREADS).exists();
        let whole = !is_version_1 || OF_PROCESSES.iter().any(|file| group.join(file).exists());
        let home = if is_version_1 { None } else { machine.home_2() };
        Self {
            group: group.to_owned(),
            file: if whole { PROCESSES } else { THREADS },
            // With version 1 groups are made within the one that this process is in.
            home: home.or_else(|| above_own(group)).unwrap_or_default(),
        }
    }

    fn enter(&self, entrant: &Entrant) -> Result<(), StackError> {
        let file = self.group.join(self.file);
        let written =
            if entrant.has_ended() { Err(Errno::SRCH.into()) } else { write_line(&file, &entrant.written) };
        written.map_err(|source| StackError::io("enter", &self.group, source))?;
        let inside = fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
        let own = if self.file == THREADS { &entrant.thread } else { &entrant.process };
        if !inside.lines().any(|line| line == own) {
            return Err(StackError::NotApplied {
                layer: "limit",
                asked: format!("process {own} in the group"),
                read_back: inside.split_whitespace().collect::<Vec<_>>().join(" "),
                from: file.display().to_string(),
            });
        }
        Ok(())
    }

    fn leave(&self, entrant: &Entrant) -> std::io::Result<()> {
        if entrant.has_ended() {
            return Ok(());
        }
        // A process is moved by any of its threads.
        go_back(self.file, &entrant.thread, &self.group, &self.home)
    }
}

/// The group above those of a session, by their name.
fn above_own(group: &Path) -> Option<PathBuf> {
    let is_own = |path: &&Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(crate::site::OWN_PREFIX))
    };
    group.ancestors().find(is_own)?.parent().map(Path::to_owned)
}

impl Confinement {
    /// Goes back to the groups that the process came from.
    ///
    /// # Errors
    /// [`StackError::Io`] when neither such a group nor one above it takes the process.
    pub fn leave(mut self) -> Result<(), StackError> {
        self.left = true;
        for way in &self.ways {
            way.leave(&self.entrant).map_err(|source| StackError::io("leave", &way.group, source))?;
        }
        Ok(())
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        if !self.left {
            for way in &self.ways {
                // What is still in the group is moved out of it again before the group is removed.
                let _ = way.leave(&self.entrant);
            }
        }
    }
}

/// Moves a process to the group that it came from or, where that is gone because nobody was left in it, to the nearest
/// one above that takes it.
///
/// # Errors
/// What the kernel says last.
pub(crate) fn go_home(process: &str, from: &Path, home: &Path) -> std::io::Result<()> {
    go_back(PROCESSES, process, from, home)
}

fn go_back(file: &str, who: &str, from: &Path, home: &Path) -> std::io::Result<()> {
    let mut result = write_line(&home.join(file), who);
    // The top of the hierarchy is the last directory upward that has such a file.
    for above in home.ancestors().skip(1).chain(from.ancestors().skip(1)) {
        let entrance = above.join(file);
        if result.is_ok() || result.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH)) {
            return Ok(());
        }
        if entrance.exists() {
            result = write_line(&entrance, who);
        }
    }
    result
}
