//! What types cannot say of limits: what the kernel refuses, and what the volume or another limit forbids.

use super::Findings;
use crate::experiment::{Stack, Volume};

pub(super) fn check(stack: &Stack, findings: &mut Findings<'_>) {
    for problem in stack.limit.problems() {
        findings.value(&format!("stack.limit.{}", problem.key), problem.message, &problem.expected);
    }
    let Some(io) = stack.limit.io.filter(|io| !io.is_empty()) else { return };
    match &stack.volume {
        Volume::Directory(_) => {
            let message = "a directory has no device to limit";
            findings.key("stack.limit.io", message, "leave this out, or use a `loop` volume");
        }
        Volume::Emulated(volume) if volume.burst.is_some() => {
            let message = format!("{io}, while the volume's burst already changes its limits");
            findings.key("stack.limit.io", message, "leave this out, or `burst` of the volume");
        }
        Volume::Loop(_) | Volume::Block(_) | Volume::Emulated(_) => {}
    }
}
