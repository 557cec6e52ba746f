//! What can be known about a stack before anything is touched.

mod emulated;

use std::path::{Path, PathBuf};

use iostone_model::experiment::{Array, BackingIo, Governor, Limit, Stack, Volume};
use iostone_model::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::array;
use crate::below::{describe_filesystem, filesystem_kind};
use crate::container;
use crate::device::named::resolve;
use crate::error::StackError;
use crate::filesystem;
use crate::fill;
use crate::governor;
use crate::guard::{self, Allowance, Leftovers};
use crate::layer::layers_of;
use crate::limit::{self, LimitRequest};
use crate::mount;
use crate::provide::check_providable;
use crate::queue;
use crate::sysctl;
use crate::throttle::{ThrottleController, ThrottleLayer};
use crate::trust::{refuse_exposed, refuse_exposed_runs};
use crate::volume::BlockLayer;

/// What was found, where nothing stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preflight {
    /// What the user should know.
    pub notes: Vec<String>,
    /// Bytes that the stack takes on the filesystem below.
    pub disk_bytes: u64,
}

/// What may be done to devices of the user's that are not empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Permission<'a> {
    /// Stable identities, typed in full by the user, of devices whose content may be destroyed.
    pub destroy: &'a [String],
    /// The state directory ([`Registry::look`](crate::Registry::look)), whose records tell what earlier runs left on devices; without it nothing is
    /// known for iostone's own.
    pub state: Option<&'a Path>,
}

/// What a stack holds as far as that can be told before it is built: as the experiment says, or as the user's devices are.
pub fn capacity(stack: &Stack) -> Option<Bytes> {
    let of_device = |device: &PathBuf| {
        let path = resolve(device).ok()?.canonicalize().ok()?;
        let sectors = Path::new("/sys/class/block").join(path.file_name()?).join("size");
        // Sectors are of 512 bytes here whatever the device's are (`Documentation/ABI/stable/sysfs-block`).
        std::fs::read_to_string(sectors).ok()?.trim().parse::<u64>().ok()?.checked_mul(512)
    };
    stack.capacity().or_else(|| {
        let Volume::Block(volume) = &stack.volume else { return None };
        let sizes: Option<Vec<u64>> = volume.devices.iter().map(of_device).collect();
        Some(stack.capacity_of(Bytes(sizes?.into_iter().min()?)))
    })
}

/// Examines a stack. Reading only.
pub(crate) fn examine(
    stack: &Stack,
    flush_matters: bool,
    work_directory: &Path,
    permission: &Permission<'_>,
) -> Result<Preflight, StackError> {
    // Everything that is wrong on any machine comes first.
    layers_of(stack)?;
    refuse_exposed_runs(work_directory)?;
    let mut found = Preflight::default();
    let mut is_throttled = false;
    // Then the queue is that of the array.
    let is_joined = matches!(stack.array, Array::Md(_) | Array::Lvm(_));
    let root = rustix::process::geteuid().is_root();
    let require_root =
        |what: &str| if root { Ok(()) } else { Err(StackError::NeedsRoot { what: what.to_owned() }) };
    match &stack.volume {
        Volume::Loop(volume) => {
            require_root("a `loop` volume")?;
            require_loop_devices()?;
            let place = Place::find(volume.directory.as_deref(), work_directory, "volume.directory")?;
            place.refuse_memory(flush_matters)?;
            let place = place.path;
            fill::check_room_for_image(place, volume.size.0)?;
            found.disk_bytes = volume.size.0;
            let io = match volume.effective_backing_io() {
                BackingIo::Buffered => "buffered I/O",
                BackingIo::Direct => "direct I/O",
            };
            found.notes.push(format!("backing file on {}, {io}", describe_filesystem(place)?));
            is_throttled = volume.is_throttled();
            if is_throttled {
                let controller = ThrottleController::find()?;
                found.notes.push(format!(
                    "limited by {} in `{}`",
                    controller.version.in_words(),
                    controller.parent.display()
                ));
            }
        }
        Volume::Block(volume) => {
            require_root("a `block` volume")?;
            let leftovers = permission.state.map(Leftovers::of_state).unwrap_or_default();
            let inspected =
                BlockLayer::new(volume)?.inspect(&Allowance::early(permission.destroy, &leftovers))?;
            for guarded in inspected.members {
                // Taken and given back at once: whether somebody else has it is known now.
                drop(guard::claim(&guarded)?);
                if !stack.queue.is_empty() && !is_joined {
                    queue::check_own_queue(guarded.device())?;
                    queue::examine(&stack.queue, &guarded.device().name)?;
                }
                found.notes.extend(guarded.notes);
            }
            found.notes.extend(inspected.notes);
        }
        Volume::Emulated(volume) => {
            require_root("an `emulated` volume")?;
            emulated::examine(volume, stack.link, flush_matters, work_directory, &mut found)?;
            is_throttled = ThrottleLayer::of_emulated(volume, stack.link).is_some();
        }
        Volume::Directory(volume) => {
            let place = Place::find(volume.path.as_deref(), work_directory, "volume.path")?;
            place.refuse_memory(flush_matters)?;
            let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            if rustix::fs::access(place.path, access).is_err() {
                return Err(place.wrong("cannot be written"));
            }
            found.notes.push(format!("directory on {}", describe_filesystem(place.path)?));
        }
    }
    if matches!(stack.volume, Volume::Loop(_) | Volume::Emulated(_)) && !is_joined {
        queue::examine_attached(&stack.queue)?;
    }
    array::examine(stack)?;
    filesystem::examine(stack)?;
    mount::examine(stack)?;
    container::examine(stack)?;
    found.notes.extend(sysctl::examine(&stack.sysctl)?);
    found.notes.extend(examine_limits(&stack.limit, stack.governor.as_deref(), is_throttled)?);
    let entered = limit::places_entered(&stack.limit, stack.governor.as_deref(), is_throttled);
    found.notes.extend(container::note_of_limits(stack, &entered));
    Ok(found)
}

/// Examines the limits on a workload. Reading only.
pub(crate) fn examine_limits(
    limit: &Limit,
    governor: Option<&Governor>,
    is_throttled: bool,
) -> Result<Vec<String>, StackError> {
    let mut notes = match LimitRequest::of(limit, governor, is_throttled)? {
        Some(asked) => limit::examine(&asked).map_err(as_lacking)?,
        None => Vec::new(),
    };
    if let Some(governor) = governor {
        notes.extend(governor::examine(governor, limit)?);
    }
    Ok(notes)
}

/// What is not as it should be before anything was asked of the machine is missing there.
fn as_lacking(error: StackError) -> StackError {
    match error {
        StackError::Unexpected { object, reason } => StackError::Lacking { object, reason },
        other => other,
    }
}

/// Examines volumes that are handed to a guest. Reading only.
pub(crate) fn examine_provided(
    stack: &Stack,
    flush_matters: bool,
    work_directory: &Path,
    permission: &Permission<'_>,
) -> Result<Preflight, StackError> {
    check_providable(stack)?;
    filesystem::examine_provided(stack)?;
    refuse_exposed_runs(work_directory)?;
    let mut found = Preflight::default();
    match &stack.volume {
        Volume::Loop(volume) => {
            let place = Place::find(volume.directory.as_deref(), work_directory, "volume.directory")?;
            place.refuse_memory(flush_matters)?;
            fill::check_room_for_image(place.path, volume.size.0)?;
            found.disk_bytes = volume.size.0;
            found.notes.push(format!("backing file on {}", describe_filesystem(place.path)?));
            Ok(found)
        }
        Volume::Emulated(volume) => {
            emulated::examine_images(volume, flush_matters, work_directory, &mut found)?;
            found.notes.push("emulated by iostone's disk server, reached by QEMU".to_owned());
            Ok(found)
        }
        // Nothing above the devices is built here.
        Volume::Block(_) => {
            examine(&Stack::of(stack.volume.clone()), flush_matters, work_directory, permission)
        }
        Volume::Directory(_) => Ok(found),
    }
}

fn require_loop_devices() -> Result<(), StackError> {
    if Path::new("/dev/loop-control").exists() {
        return Ok(());
    }
    Err(StackError::unexpected(
        "/dev/loop-control",
        "the kernel has no loop devices; load them with `modprobe loop`",
    ))
}

/// The directory that a volume is made in.
#[derive(Debug)]
struct Place<'a> {
    path: &'a Path,
    key: &'static str,
    /// Whether the stack names it; else it is where the run is kept.
    asked: bool,
}

impl<'a> Place<'a> {
    /// The directory that is asked for, which has to exist, or the nearest one above the work directory that does.
    fn find(
        asked: Option<&'a Path>,
        work_directory: &'a Path,
        key: &'static str,
    ) -> Result<Self, StackError> {
        match asked {
            Some(path) if path.is_dir() => {
                let next = format!("set `{key}` to a directory that only root can write to");
                refuse_exposed(path, key, &[&next])?;
                Ok(Self { path, key, asked: true })
            }
            Some(path) => Err(StackError::usage(key, format!("`{}` is not a directory", path.display()))),
            None => {
                let path = work_directory.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
                Ok(Self { path, key, asked: false })
            }
        }
    }

    /// What is wrong with it, said of the key if that was set, else of the directory itself.
    fn wrong(&self, what: &str) -> StackError {
        if self.asked {
            return StackError::usage(
                self.key,
                format!("`{}` {what}; set it to a directory on a writable disk", self.path.display()),
            );
        }
        StackError::setting(
            self.path,
            format!("it {what} and holds the runs: keep them on a disk with `--runs`, or set `{}`", self.key),
        )
    }

    /// A flush of what lies in memory costs nothing, so an experiment about flushes would find nothing there.
    fn refuse_memory(&self, flush_matters: bool) -> Result<(), StackError> {
        let kind = filesystem_kind(self.path)?;
        if flush_matters && matches!(kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "rootfs") {
            return Err(self.wrong(&format!("is {kind}, in memory, where flushes cost nothing")));
        }
        Ok(())
    }
}
