//! Whether ioping can be asked for such requests.

use super::{IopingWorkload, USUAL_SET};
use crate::experiment::check::Findings;
use crate::units::{Bytes, Span};

/// ioping's own interval.
const SECOND: Span = Span(std::time::Duration::from_secs(1));

pub(super) fn check(ioping: &IopingWorkload, findings: &mut Findings<'_>) {
    if ioping.count.is_some_and(|count| count < 2) {
        // Its first request is a warm-up that no figure counts.
        findings.value("workload.count", "no request is left after the warm-up", "at least 2");
    }
    if ioping.runtime.is_some_and(|runtime| runtime.0.is_zero()) {
        findings.value("workload.runtime", "the time is 0", "longer than a request");
    }
    if ioping.size.is_some_and(|size| size.0 == 0) {
        findings.value("workload.size", "the request size is 0", "at least 1B");
    }
    if ioping.direct && ioping.cached {
        findings.value("workload.cached", "`direct` bypasses the cache that `cached` uses", "one of them");
    }
    if ioping.direct && ioping.size.is_some_and(|size| !size.0.is_multiple_of(512)) {
        findings.value(
            "workload.size",
            "`direct` does not support requests of this size",
            "a multiple of 512B, or of the device's sectors",
        );
    }
    if ioping.sync && !ioping.write {
        findings.value("workload.sync", "`sync` applies to writes", "add `write = true`");
    }
    if let (Some(runtime), Some(interval)) = (ioping.runtime, ioping.interval.or(Some(SECOND)))
        && ioping.count.is_none()
        && interval > runtime
    {
        // ioping's first request is a warm-up that no figure counts.
        findings.value(
            "workload.runtime",
            "no request after the warm-up fits in this time",
            "longer than `interval`, which is 1s when left out",
        );
    }
    let size = ioping.size.unwrap_or(Bytes(4096));
    match ioping.working_set {
        Some(set) if set < size => {
            findings.value("workload.working_set", "it is smaller than one request", "at least `size`");
        }
        None if size > USUAL_SET => {
            let message = format!("a request of {size} does not fit in ioping's 1MiB");
            findings.value("workload.size", message, "at most 1MiB, or give a `working_set`");
        }
        _ => {}
    }
}
