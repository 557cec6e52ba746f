//! Whether the load engine can carry an `io` workload out: everything that it would refuse whatever the target is.

mod data;
mod pace;
mod shape;

use crate::diagnostic::Diagnostic;
use crate::experiment::check::{Findings, SMALLEST_LOOP, ramp};
use crate::experiment::{Configuration, Filesystem, IoEngine, IoWorkload, SyncMode, Volume};
use crate::units::Bytes;

/// A larger block than this is no single request anywhere.
const LARGEST_BLOCK: Bytes = Bytes(64 << 20);
const LARGEST_DEPTH: u32 = 4096;
/// More memory than this for buffers is a mistake in one of the factors; the machine's own memory is looked at later.
const LARGEST_BUFFERS: Bytes = Bytes(16 << 30);
const MOST_JOBS: u32 = 256;

/// Checks an `io` workload.
pub(super) fn check(io: &IoWorkload, configuration: &Configuration, findings: &mut Findings<'_>) {
    if !shape::check_blocks(io, findings) {
        return;
    }
    check_load(io, findings);
    check_engine(io, findings);
    check_window(io, findings);
    shape::check_order(io, findings);
    pace::check(io, findings);
    data::check(io, findings);
    check_span(io, configuration, findings);
}

fn check_load(io: &IoWorkload, findings: &mut Findings<'_>) {
    if io.iodepth == 0 || io.iodepth > LARGEST_DEPTH {
        findings.value("workload.iodepth", "the queue depth is out of range", "1 to 4096");
    }
    if io.numjobs == 0 || io.numjobs > MOST_JOBS {
        findings.value("workload.numjobs", "the number of jobs is out of range", "1 to 256");
    }
    let largest = io.block_sizes().largest();
    let buffers = largest.0.saturating_mul(u64::from(io.iodepth)).saturating_mul(u64::from(io.numjobs));
    if buffers > LARGEST_BUFFERS.0 {
        let message =
            format!("`numjobs` times `iodepth` times `bs` is {} of buffers", Bytes(buffers).approximate());
        findings.key("workload", message, "at most 16GiB");
    }
}

fn check_engine(io: &IoWorkload, findings: &mut Findings<'_>) {
    if io.engine == IoEngine::Sync && io.iodepth > 1 {
        let message = format!("synchronous I/O cannot keep {} requests in flight", io.iodepth);
        findings.value("workload.iodepth", message, "1 with `engine = \"sync\"`; use `numjobs` for more");
    }
    if io.engine != IoEngine::Mmap {
        return;
    }
    if io.iodepth > 1 {
        let message = format!("a mapping cannot keep {} requests in flight", io.iodepth);
        findings.value("workload.iodepth", message, "1 with `engine = \"mmap\"`; use `numjobs` for more");
    }
    if io.direct {
        let message = "mmap I/O always uses the page cache";
        findings.value("workload.direct", message, "leave it out with `engine = \"mmap\"`");
    }
    if io.sync != SyncMode::None {
        let message = "`sync` has no effect on mmap stores";
        findings.value("workload.sync", message, "use `fsync` or `fdatasync` with `engine = \"mmap\"`");
    }
    if !io.flags.is_empty() {
        let message = "mmap I/O has no requests to flag";
        findings.value("workload.flags", message, "leave them out with `engine = \"mmap\"`");
    }
}

fn check_window(io: &IoWorkload, findings: &mut Findings<'_>) {
    if io.runtime.is_none() && io.io_size.is_none() {
        findings.key(
            "workload",
            "the workload has no end",
            "give it `runtime = \"10s\"` or `io_size = \"1GiB\"`",
        );
    }
    if io.asked_runtime().is_some_and(|runtime| runtime.0.is_zero()) {
        findings.value("workload.runtime", "the runtime is 0", "at least 100ms is sensible");
    }
    ramp::check_io(io, findings);
    if io.io_size.is_some_and(|size| size.0 == 0) {
        findings.value("workload.io_size", "the amount is 0", "at least one block");
    } else if let Some(size) = io.io_size {
        check_whole_blocks(size, io, findings);
    }
}

/// Where all blocks are of one size, what is read or written is whole blocks.
fn check_whole_blocks(size: Bytes, io: &IoWorkload, findings: &mut Findings<'_>) {
    let blocks = io.block_sizes();
    let block = blocks.largest();
    if blocks.smallest() != block || size.0.is_multiple_of(block.0) {
        return;
    }
    match size.0 / block.0 {
        0 => {
            let message = format!("{size} is smaller than one block of {block}");
            findings.value("workload.io_size", message, "too small");
        }
        whole => {
            let message = format!("{size} is not a multiple of the block size of {block}");
            let below = Bytes(whole.saturating_mul(block.0));
            findings.value("workload.io_size", message, &format!("the next smaller is {below}"));
        }
    }
}

fn check_span(io: &IoWorkload, configuration: &Configuration, findings: &mut Findings<'_>) {
    if io.direct && !io.offset.0.is_multiple_of(512) {
        let message = format!("an offset of {} cannot be used with `direct`", io.offset);
        findings.value("workload.offset", message, "a multiple of 512B, the smallest sector");
    }
    let stack = &configuration.stack;
    let (Some(size), Some(end)) = (io.size, io.file_size()) else {
        if stack.filesystem != Filesystem::None || matches!(stack.volume, Volume::Directory(_)) {
            findings.key("workload", "the workload's file has no size", "give it `size = \"128MiB\"`");
        }
        return;
    };
    let largest = io.block_sizes().largest();
    if size < largest {
        let message = format!("{size} is smaller than one block of {largest}");
        findings.value("workload.size", message, "too small");
        return;
    }
    let shared_out = !io.rw.is_random() || io.verifies();
    if shared_out && size.0 / largest.0 < u64::from(io.numjobs) {
        let message = format!("{size} is less than {} blocks of {largest}, one for each job", io.numjobs);
        findings.value("workload.numjobs", message, "sequential and verifying jobs get a part each");
    }
    let Some(capacity) = stack.capacity().filter(|capacity| *capacity >= SMALLEST_LOOP) else { return };
    let bare = stack.filesystem == Filesystem::None;
    let room = if bare { capacity.0 } else { capacity.0 / 10 * 9 };
    if end.0 > room {
        let message = if bare {
            format!("{end} of a device of {capacity} cannot be read or written")
        } else {
            format!("a file of {end} does not fit on a volume of {capacity}")
        };
        let error = Diagnostic::new("io0006", message);
        let label = if bare { "this much" } else { "this file" };
        let error = findings.places.at_value(error, "workload.size", label);
        let error = findings.places.at_value(error, "stack.volume.size", "this volume");
        findings.found.push(if bare {
            error.note("without `size` the workload takes the whole device")
        } else {
            error.note("a filesystem reserves about a tenth of its volume")
        });
    }
}

#[cfg(test)]
mod tests;
