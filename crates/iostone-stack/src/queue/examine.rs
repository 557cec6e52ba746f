//! What of the queue settings a kernel or a device does not have, known before anything is touched.

use std::fs;
use std::path::Path;

use iostone_model::experiment::Queue;

use super::{READ_AHEAD, SCHEDULER, lacking, read};
use crate::device::read_attribute;
use crate::error::StackError;
use crate::filesystem::has_module;

/// The drivers of devices that are attached for a trial; both have the same settings.
const ATTACHED: &[&str] = &["loop", "nbd"];

/// Of a device that is still to be attached: another of such a driver tells, and without one nothing is known. Reading only.
///
/// # Errors
/// As [`examine`].
pub(crate) fn examine_attached(queue: &Queue) -> Result<(), StackError> {
    let names = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_alike = |name: &String| ATTACHED.iter().any(|driver| name.starts_with(driver));
    // How large a request may be depends on the file below.
    let queue = Queue { max_sectors_kb: None, ..queue.clone() };
    names.find(is_alike).map_or(Ok(()), |name| examine(&queue, &name))
}

/// Of a whole disk, by its name under `/sys/block`. Reading only.
///
/// # Errors
/// [`StackError::Usage`] with the first setting that the kernel does not have for it.
pub(crate) fn examine(queue: &Queue, name: &str) -> Result<(), StackError> {
    let sysfs = Path::new("/sys/block").join(name);
    let readahead = queue.readahead_sectors().map(|sectors| (READ_AHEAD, (sectors / 2).to_string()));
    for (setting, value) in queue.settings().into_iter().chain(readahead) {
        if read(&sysfs, setting).is_err() {
            return Err(lacking(name, setting));
        }
        if setting == SCHEDULER {
            check_scheduler(&sysfs, name, &value)?;
        }
        let most = || read_attribute(&sysfs.join("queue/max_hw_sectors_kb")).ok()?.parse::<u64>().ok();
        if setting == "max_sectors_kb"
            && let Some(most) = most().filter(|most| value.parse().is_ok_and(|asked: u64| asked > *most))
        {
            return Err(StackError::usage(
                "queue",
                format!("`max_sectors_kb` of {value} is more than `{name}` accepts; at most {most}"),
            ));
        }
    }
    Ok(())
}

/// Whether a device can have that scheduler: it is offered, or a module of that name is there, which writing the name loads.
///
/// # Errors
/// [`StackError::Usage`] with those that the kernel offers.
pub(super) fn check_scheduler(sysfs: &Path, device: &str, asked: &str) -> Result<(), StackError> {
    let offered =
        read_attribute(&sysfs.join("queue").join(SCHEDULER)).map_err(|_| lacking(device, SCHEDULER))?;
    let offered: Vec<&str> = offered.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    // `bfq.ko`, `kyber-iosched.ko` (block/Makefile).
    if offered.contains(&asked) || has_module(asked) || has_module(&format!("{asked}-iosched")) {
        return Ok(());
    }
    Err(StackError::Usage {
        object: "stack.queue.scheduler".to_owned(),
        reason: format!(
            "the kernel offers {} for `{device}`, not `{asked}`; choose one of these, or load its module: `modprobe {asked}`",
            offered.join(", ")
        ),
    })
}
