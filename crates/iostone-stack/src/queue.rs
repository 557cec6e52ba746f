//! Settings of a request queue under `/sys/block/NAME/queue`, put back afterwards.

use std::fs;
use std::path::PathBuf;

use iostone_model::experiment::{Queue, WriteCache};
use iostone_model::trial::Check;

use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::{StackError, UndoFailure};
use crate::layer::Layer;
use crate::site::Site;
use crate::step::{Scope, Step};

/// `queue/write_cache` (Documentation/ABI/stable/sysfs-block): what the kernel takes the device for, and so whether
/// it sends flushes. The device itself is not told.
const WRITE_CACHE: &str = "queue/write_cache";

/// The layer of queue settings.
#[derive(Debug)]
pub(crate) struct QueueLayer {
    write_cache: WriteCache,
}

impl QueueLayer {
    pub(crate) fn new(queue: &Queue) -> Self {
        Self { write_cache: queue.write_cache.unwrap_or(WriteCache::WriteBack) }
    }
}

impl Layer for QueueLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let device = site.require_device("queue.write_cache")?.clone();
        check_own_queue(&device)?;
        let path = device.sysfs().join(WRITE_CACHE);
        let old = read_attribute(&path)?;
        let asked = self.write_cache.as_sysfs();
        if old == asked {
            return Ok(());
        }
        site.journal.begin(
            Scope::Trial,
            Step::Queue {
                name: device.name.clone(),
                number: device.number,
                diskseq: device.diskseq(),
                setting: WRITE_CACHE.to_owned(),
                old,
            },
        )?;
        fs::write(&path, asked).map_err(|source| match source.raw_os_error() {
            Some(libc::EINVAL) => StackError::NotApplied {
                layer: "queue",
                asked: asked.to_owned(),
                read_back: "Invalid argument: the device has no volatile cache to speak of".to_owned(),
                from: path.display().to_string(),
            },
            _ => StackError::io("write", &path, source),
        })
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("queue.write_cache")?;
        let path = device.sysfs().join(WRITE_CACHE);
        let (asked, read_back) = (self.write_cache.as_sysfs().to_owned(), read_attribute(&path)?);
        let from = format!("/sys/block/{}/{WRITE_CACHE}", device.name);
        if asked != read_back {
            return Err(StackError::NotApplied { layer: "queue", asked, read_back, from });
        }
        Ok(vec![Check { layer: "queue".to_owned(), asked, read_back, from }])
    }
}

/// A partition shares its disk's queue: stopping the flushes there would take them from its neighbours too.
pub(crate) fn check_own_queue(device: &BlockDevice) -> Result<(), StackError> {
    if device.is_partition() {
        return Err(StackError::usage(
            "queue.write_cache",
            format!(
                "`{}` is a partition, and the queue is the whole disk's, other partitions' too",
                device.name
            ),
        ));
    }
    Ok(())
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
