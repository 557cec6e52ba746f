//! Settings of a request queue under `/sys/block/NAME/queue`, put back afterwards.

mod examine;
mod readahead;

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Filesystem, Stack, is_possible_in_queue};
use iostone_model::trial::Check;

use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::{StackError, UndoFailure};
use crate::layer::Layer;
use crate::site::Site;
use crate::step::{Scope, Step};

pub(crate) use examine::{examine, examine_attached};
pub(crate) use readahead::Readahead;

/// `queue/read_ahead_kb`: how far the kernel reads ahead, in KiB.
const READ_AHEAD: &str = "read_ahead_kb";
/// `queue/scheduler`: the schedulers that the kernel offers, the device's own in brackets.
const SCHEDULER: &str = "scheduler";
/// What a scheduler sets when it takes over a queue, `bfq` the second (`blk_mq_init_sched`, block/blk-mq-sched.c;
/// `wbt_disable_default`, block/blk-wbt.c).
const OF_SCHEDULERS: &[&str] = &["nr_requests", "wbt_lat_usec"];

/// The layer of queue settings: of the device on top, or of all the volumes where a filesystem joins them.
#[derive(Debug)]
pub(crate) struct QueueLayer {
    /// All but the readahead, in the order in which they are set.
    settings: Vec<(&'static str, String)>,
    readahead: Option<Readahead>,
}

impl QueueLayer {
    /// None where nothing is set, or only what a btrfs has to be told once it is mounted: how far it reads ahead.
    ///
    /// # Errors
    /// [`StackError::Usage`] for what the kernel cannot keep.
    pub(crate) fn of(stack: &Stack) -> Result<Option<Self>, StackError> {
        StackError::refuse_settings("queue", stack.queue.problems())?;
        let is_btrfs = matches!(stack.filesystem, Filesystem::Btrfs(_));
        let layer = Self {
            settings: stack.queue.settings(),
            readahead: Readahead::of(&stack.queue).filter(|_| !is_btrfs),
        };
        Ok((!layer.settings.is_empty() || layer.readahead.is_some()).then_some(layer))
    }

    /// Writes down how everything was that is set, or that the kernel sets by itself then. Undoing goes backwards: the
    /// scheduler first, because it sets others, and the readahead last, which some kernels compute anew whenever another
    /// limit of the queue is set.
    fn note(&self, site: &mut Site, device: &BlockDevice) -> Result<(), StackError> {
        let is_asked = |name: &str| self.settings.iter().any(|(asked, _)| *asked == name);
        let disturbed = OF_SCHEDULERS.iter().copied().filter(|name| is_asked(SCHEDULER) && !is_asked(name));
        // What a device does not have, nothing disturbs.
        let disturbed: Vec<&str> = disturbed.filter(|name| read(&device.sysfs(), name).is_ok()).collect();
        let asked = self.settings.iter().rev().map(|(name, _)| *name);
        for name in [READ_AHEAD].into_iter().chain(disturbed).chain(asked) {
            let step = Step::Queue {
                name: device.name.clone(),
                number: device.number,
                diskseq: device.diskseq(),
                setting: format!("queue/{name}"),
                old: read_of(device, name)?,
            };
            site.journal.begin(Scope::Trial, step)?;
        }
        Ok(())
    }
}

impl Layer for QueueLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        for device in devices_of(site)? {
            check_own_queue(&device)?;
            self.note(site, &device)?;
            for (name, value) in &self.settings {
                set(&device, name, value)?;
            }
            if let Some(readahead) = self.readahead {
                set(&device, READ_AHEAD, &readahead.kib().to_string())?;
            }
        }
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let mut checks = Vec::new();
        for device in devices_of(site)? {
            for (name, value) in &self.settings {
                let (asked, read_back) = (format!("{name} {value}"), read_of(&device, name)?);
                let (read_back, from) = (format!("{name} {read_back}"), shown(&device, name));
                if asked != read_back {
                    return Err(StackError::NotApplied { layer: "queue", asked, read_back, from });
                }
                checks.push(Check { layer: "queue".to_owned(), asked, read_back, from });
            }
            if let Some(readahead) = self.readahead {
                checks.push(readahead.check_device(&device)?);
            }
        }
        Ok(checks)
    }
}

/// The device on top; all the volumes where none is.
fn devices_of(site: &Site) -> Result<Vec<BlockDevice>, StackError> {
    let is_joined_above =
        site.members.len() > 1 && site.device.as_ref().is_none_or(|device| site.members.contains(device));
    if is_joined_above {
        return Ok(site.members.clone());
    }
    Ok(vec![site.require_device("queue")?.clone()])
}

/// As a person finds it: `/sys/block/loop0/queue/scheduler`.
fn shown(device: &BlockDevice, name: &str) -> String {
    format!("/sys/block/{}/queue/{name}", device.name)
}

/// A setting of a device by its directory in sysfs; of the schedulers the one in brackets.
fn read(sysfs: &Path, name: &str) -> Result<String, StackError> {
    let text = read_attribute(&sysfs.join("queue").join(name))?;
    let in_force = || text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(match name {
        SCHEDULER => in_force().unwrap_or(&text).to_owned(),
        _ => text,
    })
}

/// # Errors
/// [`StackError::Usage`] where the device has none.
fn read_of(device: &BlockDevice, name: &str) -> Result<String, StackError> {
    read(&device.sysfs(), name).map_err(|_| lacking(&device.name, name))
}

/// A driver without requests, as that of zram, has no scheduler; a kernel without `CONFIG_BLK_WBT` throttles no writeback.
fn lacking(device: &str, name: &str) -> StackError {
    StackError::Usage {
        object: format!("stack.queue.{name}"),
        reason: format!("this kernel has no `{name}` for `{device}`; leave it out, or use another `volume`"),
    }
}

fn set(device: &BlockDevice, name: &str, value: &str) -> Result<(), StackError> {
    let before = read_of(device, name)?;
    if before == value {
        return Ok(());
    }
    if name == SCHEDULER {
        examine::check_scheduler(&device.sysfs(), &device.name, value)?;
    }
    let path = device.sysfs().join("queue").join(name);
    fs::write(&path, value).map_err(|source| match source.raw_os_error() {
        Some(libc::EINVAL) => {
            let why = if name == "write_cache" { ": the device reports no volatile cache" } else { "" };
            StackError::NotApplied {
                layer: "queue",
                asked: format!("{name} {value}"),
                read_back: format!("{name} {before} (Invalid argument{why})"),
                from: shown(device, name),
            }
        }
        _ => StackError::io("write", &path, source),
    })
}

/// A partition shares its disk's queue: stopping the flushes there would take them from its neighbours too.
pub(crate) fn check_own_queue(device: &BlockDevice) -> Result<(), StackError> {
    if device.is_partition() {
        return Err(StackError::usage(
            "queue",
            format!(
                "`{}` is a partition; the queue belongs to the whole disk and its other partitions",
                device.name
            ),
        ));
    }
    Ok(())
}

/// Whether a setting is one that iostone changes, and a value one that it can have had.
pub(crate) fn is_possible(setting: &str, value: &str) -> bool {
    setting.strip_prefix("queue/").is_some_and(|name| is_possible_in_queue(name, value))
}

/// Puts a setting back, if the device is still the one that it was changed on. True if it was another.
pub(crate) fn restore(
    device_name: &str,
    number: DeviceNumber,
    diskseq: Option<u64>,
    setting: &str,
    old: &str,
) -> Result<bool, UndoFailure> {
    let sysfs = PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1));
    let path = sysfs.join(setting);
    let name = setting.strip_prefix("queue/").unwrap_or(setting);
    let is_it = BlockDevice::numbered(number)
        .is_ok_and(|device| device.name == device_name && (diskseq.is_none() || device.diskseq() == diskseq));
    if !is_it || read(&sysfs, name).is_ok_and(|now| now == old) {
        return Ok(false);
    }
    let written = fs::write(&path, old).map_err(|error| error.to_string());
    match written.and_then(|()| read(&sysfs, name).map_err(|error| error.to_string())) {
        Ok(now) if now == old => Ok(true),
        Ok(now) => Err(format!("it stays `{now}`, it was `{old}`")),
        Err(error) => Err(error),
    }
    .map_err(|reason| UndoFailure {
        object: path.display().to_string(),
        reason,
        next: format!("echo '{old}' > /sys/block/{device_name}/{setting}"),
    })
}
