//! Whether dd can be asked for a copy.

use crate::diagnostic::nearest;
use crate::experiment::check::Findings;
use crate::experiment::{DdDirection, DdWorkload};

/// Conversions that keep what is copied as long as it was; `sync` would pad, `ascii` and the like translate, and
/// `nocreat` would find no file.
const CONVERSIONS: &[&str] =
    &["fdatasync", "fsync", "sparse", "notrunc", "excl", "noerror", "swab", "lcase", "ucase"];
/// Flags that change how files are opened; `count_bytes` and the like would change what `size` means.
const FLAGS: &[&str] =
    &["direct", "dsync", "sync", "nocache", "noatime", "nofollow", "nonblock", "append", "fullblock"];
/// What `O_DIRECT` asks of every block on any device (open(2)).
const SECTOR_BYTES: u64 = 512;

pub(super) fn check(dd: &DdWorkload, findings: &mut Findings<'_>) {
    check_sizes(dd, findings);
    let reads = dd.direction == DdDirection::Read;
    if reads {
        if dd.source.is_some() {
            findings.value("workload.source", "reads use a file that iostone creates", "leave this out");
        }
        if dd.conv.is_some() || !dd.oflag.is_empty() {
            findings.key("workload", "`conv` and `oflag` apply to writes", "leave them out for reads");
        }
    }
    if dd.source.as_ref().is_some_and(|source| source != "generated" && !source.starts_with('/')) {
        findings.value(
            "workload.source",
            "the source is neither `generated` nor an absolute path",
            "as in `/dev/zero`",
        );
    }
    if !reads && dd.source() == "generated" && dd.iflag.iter().any(|flag| flag != "fullblock") {
        let message = "these flags have no effect on a pipe, the source of generated data";
        findings.value("workload.iflag", message, "leave this out, or name a `source`");
    }
    check_words("conv", dd.conv.as_deref().unwrap_or_default(), CONVERSIONS, findings);
    check_words("oflag", &dd.oflag, FLAGS, findings);
    check_words("iflag", &dd.iflag, FLAGS, findings);
}

fn check_sizes(dd: &DdWorkload, findings: &mut Findings<'_>) {
    if dd.bs.0 == 0 || dd.bs.0 > 1 << 30 {
        findings.value("workload.bs", "this block size is not supported for dd", "1B to 1GiB");
    } else if dd.size.0 == 0 || !dd.size.0.is_multiple_of(dd.bs.0) {
        let message = format!("{} is not a multiple of the block size of {}", dd.size, dd.bs);
        findings.value("workload.size", message, "a multiple of `bs`");
    } else if dd.is_direct() && !dd.bs.0.is_multiple_of(SECTOR_BYTES) {
        let message = format!("`direct` does not support blocks of {}", dd.bs);
        findings.value("workload.bs", message, "a multiple of 512B, or of the device's sectors");
    }
}

fn check_words(key: &str, words: &[String], known: &[&str], findings: &mut Findings<'_>) {
    for (index, word) in words.iter().enumerate().filter(|(_, word)| !known.contains(&word.as_str())) {
        let message = match nearest(word, known.iter().copied()) {
            Some(near) => format!("`{word}` is not one of the words for `{key}`; did you mean `{near}`?"),
            None => format!("`{word}` is not one of the words for `{key}` that leave a copy a copy"),
        };
        findings.value(&format!("workload.{key}[{index}]"), message, &known.join(", "));
    }
}
