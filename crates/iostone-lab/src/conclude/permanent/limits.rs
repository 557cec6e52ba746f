//! How the limits of the winner are put on one command, and on a service.

use std::time::Duration;

use iostone_model::experiment::{CpuQuota, DEFAULT_PERIOD, DirectionLimits, Limit};
use iostone_model::units::{Bytes, Fraction, Span};

/// What to write where so that a program has all of the winner's limits; nothing where the baseline has the same.
pub(super) fn lines(winner: &Limit, baseline: &Limit) -> Vec<String> {
    let service = service(winner, baseline);
    if winner == baseline || service.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if let Some(command) = command(winner) {
        lines.push("# one command under these limits".to_owned());
        lines.push(command);
    }
    lines.push("# a service: /etc/systemd/system/<service>.service.d/limit.conf".to_owned());
    lines.push("[Service]".to_owned());
    lines.extend(service);
    lines
}

/// The arguments of `iostone limit`; none where nothing of what it can limit is limited. Devices it does not.
fn command(limit: &Limit) -> Option<String> {
    let mut words = Vec::new();
    if let Some(quota) = limit.cpu.quota() {
        words.push(Fraction(quota.share()).to_string());
        if quota.period != DEFAULT_PERIOD {
            words.push(format!("--period {}", Span(quota.period)));
        }
        words.extend(quota.burst.map(|burst| format!("--burst {}", Span(burst))));
    }
    words.extend(limit.memory.map(|memory| format!("--memory {memory}")));
    words.extend(limit.processors().map(|processors| format!("--cpuset {processors}")));
    (!words.is_empty()).then(|| format!("iostone limit {} -- <command>", words.join(" ")))
}

/// The settings of systemd.resource-control(5). What only the baseline limits is lifted: an empty value, or `infinity`.
fn service(winner: &Limit, baseline: &Limit) -> Vec<String> {
    let mut lines = Vec::new();
    match winner.cpu.quota() {
        Some(quota) => lines.extend(of_quota(quota)),
        None if !baseline.cpu.is_none() => lines.push("CPUQuota=".to_owned()),
        None => {}
    }
    match (winner.processors(), baseline.processors()) {
        (Some(processors), _) => lines.push(format!("AllowedCPUs={processors}")),
        (None, Some(_)) => lines.push("AllowedCPUs=".to_owned()),
        (None, None) => {}
    }
    match (winner.memory, baseline.memory) {
        // Nothing was swapped out in the trials either.
        (Some(memory), _) => {
            lines.extend([format!("MemoryMax={}", in_powers_of_1024(memory)), "MemorySwapMax=0".to_owned()]);
        }
        (None, Some(_)) => {
            lines.extend(["MemoryMax=infinity".to_owned(), "MemorySwapMax=infinity".to_owned()]);
        }
        (None, None) => {}
    }
    let of = |limit: &Limit| limit.io.map(|io| (io.reads(), io.writes())).unwrap_or_default();
    let ((reads, writes), (other_reads, other_writes)) = (of(winner), of(baseline));
    lines.extend(of_direction("Read", reads, other_reads));
    lines.extend(of_direction("Write", writes, other_writes));
    lines
}

fn of_quota(quota: CpuQuota) -> Vec<String> {
    // Hundredths of a percent are the finest that systemd reads.
    let share = Fraction((quota.share() * 1e4).round() / 1e4);
    let mut lines = vec![format!("CPUQuota={share}")];
    if quota.period != DEFAULT_PERIOD {
        lines.push(format!("CPUQuotaPeriodSec={}", Span(quota.period)));
    }
    if let Some(burst) = quota.burst.filter(|burst| *burst > Duration::ZERO) {
        lines.push(format!(
            "# systemd has no setting for the burst of {}: with cgroup v2, `echo {} > /sys/fs/cgroup/system.slice/<service>.service/cpu.max.burst`",
            Span(burst),
            burst.as_micros()
        ));
    }
    lines
}

fn of_direction(direction: &str, limits: DirectionLimits, other: DirectionLimits) -> Vec<String> {
    let line = |what: &str, own: Option<u64>, other: Option<u64>| match (own, other) {
        (Some(own), _) => Some(format!("IO{direction}{what}Max=<device> {own}")),
        (None, Some(_)) => Some(format!("IO{direction}{what}Max=<device> infinity")),
        (None, None) => None,
    };
    let rate = |limits: DirectionLimits| limits.throughput.map(|rate| rate.0);
    let iops = |limits: DirectionLimits| limits.iops.map(u64::from);
    let bandwidth = line("Bandwidth", rate(limits), rate(other));
    bandwidth.into_iter().chain(line("IOPS", iops(limits), iops(other))).collect()
}

/// `64M`: systemd's letters for memory are of 1024, and have no `iB` behind them.
fn in_powers_of_1024(size: Bytes) -> String {
    let unit = [(40, "T"), (30, "G"), (20, "M"), (10, "K")]
        .into_iter()
        .find(|(power, _)| size.0 > 0 && size.0.trailing_zeros() >= *power);
    match unit {
        Some((power, letter)) => format!("{}{letter}", size.0 >> power),
        None => size.0.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(json: &str) -> Limit {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_limit_of_the_winner_is_told() {
        let winner = limit(r#"{"cpu":"150%","cpuset":"1","memory":"64MiB"}"#);
        assert_eq!(
            lines(&winner, &Limit::default()),
            [
                "# one command under these limits",
                "iostone limit 150% --memory 64MiB --cpuset 1 -- <command>",
                "# a service: /etc/systemd/system/<service>.service.d/limit.conf",
                "[Service]",
                "CPUQuota=150%",
                "AllowedCPUs=1",
                "MemoryMax=64M",
                "MemorySwapMax=0",
            ]
        );
        assert!(lines(&winner, &winner).is_empty());
    }

    #[test]
    fn periods_and_bursts_are_told() {
        let winner = limit(r#"{"cpu":{"quota":"5ms","period":"10ms","burst":"2ms"}}"#);
        let said = lines(&winner, &Limit::default());
        assert_eq!(said[1], "iostone limit 50% --period 10ms --burst 2ms -- <command>");
        assert_eq!(said[4..6], ["CPUQuota=50%", "CPUQuotaPeriodSec=10ms"]);
        assert!(said[6].contains("echo 2000 > "), "{said:?}");
    }

    #[test]
    fn limits_of_devices_are_for_services_alone() {
        let winner = limit(r#"{"io":{"iops":100,"read_throughput":"10MiB/s"}}"#);
        let said = lines(&winner, &Limit::default());
        assert_eq!(
            said[2..],
            [
                "IOReadBandwidthMax=<device> 10485760",
                "IOReadIOPSMax=<device> 100",
                "IOWriteIOPSMax=<device> 100"
            ]
        );
    }

    #[test]
    fn what_only_the_baseline_limits_is_lifted() {
        let baseline = limit(r#"{"cpu":"30%","cpuset":"0","memory":"65MiB","io":{"write_iops":5}}"#);
        let lifted = ["CPUQuota=", "AllowedCPUs=", "MemoryMax=infinity", "MemorySwapMax=infinity"];
        let said = lines(&Limit::default(), &baseline);
        assert_eq!(said[2..6], lifted);
        assert_eq!(said[6], "IOWriteIOPSMax=<device> infinity");
    }
}
