//! Whether first touches can be made of such files.

use crate::experiment::check::Findings;
use crate::experiment::{CopyUpWorkload, Stack, Volume};
use crate::units::Bytes;

/// Names of five digits.
const MOST_FILES: u32 = 100_000;
/// A write goes out of one piece of memory.
const LARGEST_WRITE: Bytes = Bytes(64 << 20);

pub(super) fn check(touches: &CopyUpWorkload, stack: &Stack, findings: &mut Findings<'_>) {
    if touches.write.0 == 0 {
        findings.value("workload.write", "the write size is 0", "at least 1B");
    } else if touches.write > LARGEST_WRITE {
        let message = format!("a write of {} is too large", touches.write);
        findings.value("workload.write", message, &format!("at most {LARGEST_WRITE}"));
    } else if touches.size < touches.write {
        let message = format!("a write of {} does not fit in a file of {}", touches.write, touches.size);
        findings.value("workload.size", message, "at least `write`");
    }
    if touches.files > MOST_FILES {
        let message = format!("{} small files are too many", touches.files);
        findings.value("workload.files", message, &format!("at most {MOST_FILES}"));
    }
    if touches.file_size > LARGEST_WRITE {
        let message = format!("a small file of {} is too large", touches.file_size);
        findings.value("workload.file_size", message, &format!("at most {LARGEST_WRITE}"));
    }
    check_room(touches, stack, findings);
}

/// Whether the volumes hold the files; a `loop` volume without a container is spoken of with those of the other workloads.
fn check_room(touches: &CopyUpWorkload, stack: &Stack, findings: &mut Findings<'_>) {
    let in_image = touches.room().0.saturating_sub(touches.size.0);
    let room = match stack.container.copies_of_image() {
        // The container's own copy of everything is written to in its place.
        copies @ 2.. => in_image.saturating_mul(copies),
        _ => touches.room().0,
    };
    let is_spoken_of = matches!(&stack.volume, Volume::Loop(volume) if touches.room() > volume.size);
    if let Some(capacity) = stack.capacity().filter(|capacity| room > capacity.0 && !is_spoken_of) {
        let message = format!("copy-up needs {} on a stack of {capacity}", Bytes(room));
        findings.value(
            "stack.volume.size",
            message,
            "make the volume larger, or the workload's files smaller",
        );
    }
}
