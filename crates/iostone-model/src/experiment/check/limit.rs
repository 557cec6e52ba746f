//! What types cannot say of the limit layer: quotas that the kernel refuses.

use super::Findings;
use crate::experiment::{CpuQuota, LONGEST_PERIOD, Limit, SHORTEST_PERIOD};
use crate::units::Span;

pub(super) fn check(limit: &Limit, findings: &mut Findings<'_>) {
    if let Some(quota) = limit.cpu.quota() {
        check_quota(&quota, findings);
    }
}

fn check_quota(quota: &CpuQuota, findings: &mut Findings<'_>) {
    let path = "stack.limit.cpu";
    if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&quota.period) {
        let message = format!("the kernel takes no period of {}", Span(quota.period));
        findings.value(path, message, "1ms to 1s");
    }
    if quota.quota < SHORTEST_PERIOD {
        let message =
            format!("a quota of {} in {} is below the kernel's least", Span(quota.quota), Span(quota.period));
        findings.value(path, message, "at least 1ms in each period; a longer period allows a smaller share");
    }
    if quota.burst.is_some_and(|burst| burst > quota.quota) {
        findings.value(path, "the burst is above the quota, which the kernel refuses", "at most the quota");
    }
}
