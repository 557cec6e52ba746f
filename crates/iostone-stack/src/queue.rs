//! Settings of a request queue under `/sys/block/NAME/queue`, put back afterwards.

mod readahead;

use std::fs;
use std::path::PathBuf;

use iostone_model::experiment::{Filesystem, Stack, WriteCache};
use iostone_model::trial::Check;

use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::{StackError, UndoFailure};
use crate::layer::Layer;
use crate::site::Site;
use crate::step::{Scope, Step};

pub(crate) use readahead::Readahead;

/// `queue/write_cache` (Documentation/ABI/stable/sysfs-block): what the kernel takes the device for, and so whether
/// it sends flushes. The device itself is not told.
const WRITE_CACHE: &str = "queue/write_cache";
/// `queue/read_ahead_kb`: how far the kernel reads ahead, in KiB.
const READ_AHEAD: &str = "queue/read_ahead_kb";

/// The layer of queue settings: of the device on top, or of all the volumes where a filesystem joins them.
#[derive(Debug)]
pub(crate) struct QueueLayer {
    write_cache: Option<WriteCache>,
    readahead: Option<Readahead>,
}

impl QueueLayer {
    /// None where nothing is set, or only what a btrfs has to be told once it is mounted: how far it reads ahead.
    ///
    /// # Errors
    /// [`StackError::Usage`] for a readahead that the kernel cannot keep.
    pub(crate) fn of(stack: &Stack) -> Result<Option<Self>, StackError> {
        let readahead = stack.queue.readahead.map(Readahead::new).transpose()?;
        let is_btrfs = matches!(stack.filesystem, Filesystem::Btrfs(_));
        let layer = Self { write_cache: stack.queue.write_cache, readahead: readahead.filter(|_| !is_btrfs) };
        Ok((layer.write_cache.is_some() || layer.readahead.is_some()).then_some(layer))
    }
}

impl Layer for QueueLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        for device in devices_of(site)? {
            check_own_queue(&device)?;
            // Some kernels compute the readahead anew when another limit of the queue is set: it is noted before, so
            // that it is put back after, and set last.
            note(site, &device, READ_AHEAD)?;
            if let Some(write_cache) = self.write_cache {
                set_write_cache(site, &device, write_cache)?;
            }
            if let Some(readahead) = self.readahead {
                let path = device.sysfs().join(READ_AHEAD);
                fs::write(&path, readahead.kib().to_string())
                    .map_err(|source| StackError::io("write", &path, source))?;
            }
        }
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let mut checks = Vec::new();
        for device in devices_of(site)? {
            if let Some(write_cache) = self.write_cache {
                checks.push(check_write_cache(&device, write_cache)?);
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

/// Writes down how a setting was, to be put back.
fn note(site: &mut Site, device: &BlockDevice, setting: &str) -> Result<String, StackError> {
    let old = read_attribute(&device.sysfs().join(setting))?;
    let step = Step::Queue {
        name: device.name.clone(),
        number: device.number,
        diskseq: device.diskseq(),
        setting: setting.to_owned(),
        old: old.clone(),
    };
    site.journal.begin(Scope::Trial, step)?;
    Ok(old)
}

fn set_write_cache(site: &mut Site, device: &BlockDevice, asked: WriteCache) -> Result<(), StackError> {
    let path = device.sysfs().join(WRITE_CACHE);
    let asked = asked.as_sysfs();
    if read_attribute(&path)? == asked {
        return Ok(());
    }
    note(site, device, WRITE_CACHE)?;
    fs::write(&path, asked).map_err(|source| match source.raw_os_error() {
        Some(libc::EINVAL) => StackError::NotApplied {
            layer: "queue",
            asked: asked.to_owned(),
            read_back: "Invalid argument: the device reports no volatile cache".to_owned(),
            from: path.display().to_string(),
        },
        _ => StackError::io("write", &path, source),
    })
}

fn check_write_cache(device: &BlockDevice, asked: WriteCache) -> Result<Check, StackError> {
    let path = device.sysfs().join(WRITE_CACHE);
    let (asked, read_back) = (asked.as_sysfs().to_owned(), read_attribute(&path)?);
    let from = format!("/sys/block/{}/{WRITE_CACHE}", device.name);
    if asked != read_back {
        return Err(StackError::NotApplied { layer: "queue", asked, read_back, from });
    }
    Ok(Check { layer: "queue".to_owned(), asked, read_back, from })
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
    match setting {
        WRITE_CACHE => {
            [WriteCache::WriteBack, WriteCache::WriteThrough].iter().any(|one| one.as_sysfs() == value)
        }
        READ_AHEAD => {
            value.len() <= 10 && value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty()
        }
        _ => false,
    }
}

/// Puts a setting back, if the device is still the one that it was changed on. True if it was another.
pub(crate) fn restore(
    name: &str,
    number: DeviceNumber,
    diskseq: Option<u64>,
    setting: &str,
    old: &str,
) -> Result<bool, UndoFailure> {
    let sysfs = PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1));
    let path = sysfs.join(setting);
    let is_it = BlockDevice::numbered(number)
        .is_ok_and(|device| device.name == name && (diskseq.is_none() || device.diskseq() == diskseq));
    if !is_it || read_attribute(&path).is_ok_and(|now| now == old) {
        return Ok(false);
    }
    let written = fs::write(&path, old).map_err(|error| error.to_string());
    match written.and_then(|()| read_attribute(&path).map_err(|error| error.to_string())) {
        Ok(now) if now == old => Ok(true),
        Ok(now) => Err(format!("it stays `{now}`, it was `{old}`")),
        Err(error) => Err(error),
    }
    .map_err(|reason| UndoFailure {
        object: path.display().to_string(),
        reason,
        next: format!("echo '{old}' > /sys/block/{name}/{setting}"),
    })
}
