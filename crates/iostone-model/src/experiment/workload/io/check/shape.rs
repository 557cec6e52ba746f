//! Block sizes, the mix of directions, and the order of blocks.

use super::LARGEST_BLOCK;
use crate::experiment::IoWorkload;
use crate::experiment::check::Findings;

/// Checks the sizes of blocks; false where nothing else can be said before they are right.
pub(super) fn check_blocks(io: &IoWorkload, findings: &mut Findings<'_>) -> bool {
    let given =
        [("bs", io.bs.is_some()), ("bsrange", io.bsrange.is_some()), ("bssplit", io.bssplit.is_some())];
    let given: Vec<&str> = given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
    if let [first, .., last] = given.as_slice() {
        let message = format!("both `{first}` and `{last}` set the block size");
        findings.value(&format!("workload.{last}"), message, "choose one of them");
        return false;
    }
    let blocks = io.block_sizes();
    let path = format!("workload.{}", blocks.key());
    let written = blocks.written();
    if let Some(wrong) = written.iter().find(|bytes| bytes.0 == 0 || **bytes > LARGEST_BLOCK) {
        findings.value(&path, format!("a block size of {wrong} is out of range"), "1B to 64MiB");
        return false;
    }
    if let Some(wrong) = written.iter().find(|bytes| io.direct && !bytes.0.is_multiple_of(512)) {
        let message = format!("blocks of {wrong} cannot be read or written with `direct`");
        findings.value(&path, message, "a multiple of 512B, the smallest sector");
        return false;
    }
    true
}

/// Checks the mix of directions, and that only random requests are spread out.
pub(super) fn check_order(io: &IoWorkload, findings: &mut Findings<'_>) {
    if let Some(percent) = io.rwmixread {
        if !io.rw.is_mixed() {
            let message = format!("`rw = \"{}\"` does not mix reads and writes", io.rw.word());
            findings.value("workload.rwmixread", message, "leave it out, or use `rw` or `randrw`");
        } else if percent > 100 {
            findings.value("workload.rwmixread", "the share of reads is out of range", "0 to 100");
        }
    }
    if io.rw.is_random() {
        return;
    }
    for (key, set) in [("random_distribution", io.skew().is_some()), ("norandommap", io.norandommap)] {
        if set {
            let message = format!("`{key}` has no effect on sequential I/O");
            let label = format!("leave it out, or use `rw = \"rand{}\"`", io.rw.word());
            findings.value(&format!("workload.{key}"), message, &label);
        }
    }
}
