//! Settings of the kernel's memory management under `/proc/sys/vm`, put back afterwards.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Sysctl, SysctlRow};
use iostone_model::trial::Check;
use rustix::fs::{Access, FlockOperation};

use crate::device::read_attribute;
use crate::error::{StackError, UndoFailure};
use crate::layer::Layer;
use crate::plan::Plan;
use crate::site::Site;
use crate::step::{Scope, Step};

/// Whoever has it locked (flock(2)) changes settings below; they are one for the whole machine.
const LOCKED: &str = "/proc/sys/vm";

/// The layer of kernel settings. It comes after whatever writes to build the stack, and goes before it is taken away.
#[derive(Debug)]
pub(crate) struct SysctlLayer {
    settings: Vec<(&'static SysctlRow, u64)>,
}

impl SysctlLayer {
    /// None where nothing is set.
    ///
    /// # Errors
    /// [`StackError::Usage`] for what the kernel does not take.
    pub(crate) fn of(sysctl: &Sysctl) -> Result<Option<Self>, StackError> {
        StackError::refuse_settings("sysctl", sysctl.problems())?;
        let settings = sysctl.settings();
        Ok((!settings.is_empty()).then_some(Self { settings }))
    }

    /// Everything that is set, and what the kernel makes 0 then.
    fn changed(&self) -> impl Iterator<Item = &'static str> {
        self.settings.iter().flat_map(|(row, _)| [Some(row.name), row.twin]).flatten()
    }
}

impl Layer for SysctlLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        if site.sysctl_lock.is_none() {
            site.sysctl_lock = Some(lock()?);
        }
        let mut old = Vec::new();
        for name in self.changed() {
            old.push((name, read(name).map_err(|source| StackError::io("read", path_of(name), source))?));
        }
        // Undoing goes backwards, and what is in force comes first: it makes the other of the pair 0.
        old.sort_by_key(|(_, value)| value != "0");
        for (name, old) in old {
            site.journal.begin(Scope::Trial, Step::Sysctl { name: name.to_owned(), old })?;
        }
        for (row, value) in &self.settings {
            put(row, &value.to_string()).map_err(|source| match source.raw_os_error() {
                Some(libc::EINVAL) => StackError::NotApplied {
                    layer: "sysctl",
                    asked: format!("{} {value}", row.name),
                    read_back: "Invalid argument".to_owned(),
                    from: path_of(row.name).display().to_string(),
                },
                _ => StackError::io("write", path_of(row.name), source),
            })?;
        }
        Ok(())
    }

    fn verify(&self, _: &Site) -> Result<Vec<Check>, StackError> {
        let check = |(row, value): &(&SysctlRow, u64)| {
            let path = path_of(row.name);
            let (asked, from) = (format!("{} {value}", row.name), path.display().to_string());
            let read_back = format!("{} {}", row.name, read_attribute(&path)?);
            if asked != read_back {
                return Err(StackError::NotApplied { layer: "sysctl", asked, read_back, from });
            }
            Ok(Check { layer: "sysctl".to_owned(), asked, read_back, from })
        };
        self.settings.iter().map(check).collect()
    }
}

/// `/proc/sys/vm/dirty_ratio`
fn path_of(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

fn read(name: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path_of(name))?.trim_end().to_owned())
}

fn write(name: &str, value: &str) -> io::Result<()> {
    fs::write(path_of(name), value)
}

/// Sets one. Of a pair the kernel makes the other 0 only where a value changes, and takes no 0 for a size at all
/// (`dirty_ratio_handler` and `dirty_bytes_handler`, mm/page-writeback.c).
fn put(row: &SysctlRow, value: &str) -> io::Result<()> {
    if value == read(row.name)? && (value != "0" || row.twin.is_none()) {
        return Ok(());
    }
    let Some(twin) = row.twin.filter(|_| value == "0") else { return write(row.name, value) };
    if row.is_size() {
        // What the share is to be stays; on the way there it makes the size 0.
        let share = read(twin)?;
        write(twin, if share == "1" { "2" } else { "1" })?;
        return write(twin, &share);
    }
    if read(twin)? != "0" {
        write(row.name, "1")?;
    }
    write(row.name, "0")
}

/// # Errors
/// [`StackError::Lacking`] where another run has it.
fn lock() -> Result<File, StackError> {
    let file = File::open(LOCKED).map_err(|source| StackError::io("open", LOCKED, source))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(lacking(
            LOCKED,
            "another run has changed the kernel's settings, which are one for the whole machine; wait until it has ended",
        )),
        Err(source) => Err(StackError::io("flock", LOCKED, source)),
    }
}

fn lacking(object: impl AsRef<Path>, reason: &str) -> StackError {
    StackError::Lacking { object: object.as_ref().display().to_string(), reason: reason.to_owned() }
}

/// What can be known before anything is touched; gives what is worth knowing. Reading only.
///
/// # Errors
/// [`StackError::Lacking`] where the settings cannot be changed.
pub(crate) fn examine(sysctl: &Sysctl) -> Result<Option<String>, StackError> {
    let Some(layer) = SysctlLayer::of(sysctl)? else { return Ok(None) };
    if !rustix::process::geteuid().is_root() {
        return Err(lacking("stack.sysctl", "changing the kernel's settings needs root; run it with `sudo`"));
    }
    for name in layer.changed() {
        let path = path_of(name);
        if rustix::fs::access(&path, Access::WRITE_OK).is_err() {
            let reason = if path.exists() {
                "it cannot be written, as in a container without privileges; run on the host, or in a guest"
            } else {
                "this kernel has no such setting"
            };
            return Err(lacking(path, reason));
        }
    }
    // Taken and given back at once: whether somebody else has it is known now.
    drop(lock()?);
    let names: Vec<&str> = layer.settings.iter().map(|(row, _)| row.name).collect();
    Ok(Some(format!("for each trial {} of the whole machine is changed", names.join(", "))))
}

/// The steps in words, for a dry run, and what takes them back to the front of `undo`.
pub(crate) fn plan(plan: &mut Plan, sysctl: &Sysctl, here: bool, undo: &mut Vec<String>) {
    let whose = if here { "for the whole machine" } else { "in the guest" };
    for (row, value) in sysctl.settings() {
        plan.add("sysctl", format!("sysctl -w {}={value} ({whose})", row.name), None, 0);
        let twin = row.twin.map(|twin| format!(" and {twin}")).unwrap_or_default();
        undo.insert(0, format!("restore {}{twin}", row.name));
    }
}

/// Puts a setting back. True if it was another.
pub(crate) fn restore(name: &str, old: &str) -> Result<bool, UndoFailure> {
    let failure = |reason: String| UndoFailure {
        object: path_of(name).display().to_string(),
        reason,
        next: format!("sysctl -w {name}={old}"),
    };
    let Some(row) = SysctlRow::of(name) else { return Ok(false) };
    if read(name).is_ok_and(|now| now == old) {
        return Ok(false);
    }
    put(row, old).map_err(|error| failure(error.to_string()))?;
    match read(name) {
        Ok(now) if now == old => Ok(true),
        Ok(now) => Err(failure(format!("it stays `{now}`, it was `{old}`"))),
        Err(error) => Err(failure(error.to_string())),
    }
}
