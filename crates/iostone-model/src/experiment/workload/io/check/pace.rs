//! Arrival rates, pauses, and the limit of latency.

use crate::experiment::check::Findings;
use crate::experiment::{IoWorkload, Rates};
use crate::units::ByteRate;

/// A higher rate than this is a mistake in its unit.
const HIGHEST_RATE: ByteRate = ByteRate(1_000_000_000_000);

/// Checks the pace of a workload.
pub(super) fn check(io: &IoWorkload, findings: &mut Findings<'_>) {
    check_rates(io, findings);
    if let Some(blocks) = io.thinktime_blocks {
        if io.thinktime.is_none() {
            let message = "`thinktime_blocks` needs `thinktime`";
            findings.value("workload.thinktime_blocks", message, "add `thinktime = \"1ms\"`");
        } else if blocks == 0 {
            findings.value("workload.thinktime_blocks", "pauses follow requests", "at least 1");
        }
    }
    if io.max_latency.is_some_and(|limit| limit.0.is_zero()) {
        findings.value("workload.max_latency", "the latency limit is 0", "leave it out for no limit");
    }
}

fn check_rates(io: &IoWorkload, findings: &mut Findings<'_>) {
    let key = match (io.rate_iops, io.rate) {
        (Some(_), Some(_)) => {
            let message = "both `rate_iops` and `rate` set the request rate";
            findings.value("workload.rate", message, "choose one of them");
            return;
        }
        (Some(_), None) => "rate_iops",
        (None, Some(_)) => "rate",
        (None, None) => {
            if io.rate_process.is_some() {
                let message = "`rate_process` needs a rate";
                findings.value("workload.rate_process", message, "add `rate_iops = 1000` or `rate`");
            }
            return;
        }
    };
    let path = format!("workload.{key}");
    if io.rate_iops.is_some_and(|rates| rates.reads() == 0 || rates.writes() == 0) {
        findings.value(&path, "a rate of 0 sends no request", "at least 1; leave it out for no rate");
    }
    let possible = ByteRate(1)..=HIGHEST_RATE;
    let wrong = io
        .rate
        .and_then(|rates| [rates.reads(), rates.writes()].into_iter().find(|rate| !possible.contains(rate)));
    if let Some(wrong) = wrong {
        findings.value(&path, format!("a rate of {wrong} is out of range"), "1B/s to 1000GB/s");
    }
    let apart = io.rate_iops.is_some_and(Rates::is_apart) || io.rate.is_some_and(Rates::is_apart);
    if apart && !io.rw.is_mixed() {
        let message = format!("`rw = \"{}\"` does not mix reads and writes", io.rw.word());
        findings.value(&path, message, "one rate, or `rw` or `randrw`");
    } else if let Some(percent) = io.rwmixread.filter(|percent| *percent <= 100 && io.rw.is_mixed()) {
        let message = format!("`rwmixread` and `{key}` both set the share of reads");
        let label = match io.rate_iops {
            Some(Rates::Each(rate)) if (1..100).contains(&percent) => {
                let reads = (u64::from(rate) * u64::from(percent) / 100).max(1);
                let writes = u64::from(rate).saturating_sub(reads).max(1);
                format!("leave it out; {percent} % of {rate} in all is `rate_iops = \"{reads},{writes}\"`")
            }
            _ => format!("leave it out; `{key}` takes a rate of reads and one of writes"),
        };
        findings.value("workload.rwmixread", message, &label);
    }
}
