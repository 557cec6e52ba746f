//! What a fleet found, in words: the answer, each comparison's two claims, hosts in order of their figures.

use iostone_model::fleet::{
    Claim, FleetHost, FleetReport, FleetTotal, HostComparison, HostFigures, HostState,
};
use iostone_model::verdict::Verdict;

use crate::figures::{declared_percent, figure, own_ratio, percent, ratio};

/// The answer in a sentence or two, and what is missing from it.
pub(crate) fn headline(report: &FleetReport) -> String {
    let hosts = report.hosts.len();
    let mut sentences = Vec::new();
    for comparison in report.comparisons.iter().take(3) {
        sentences.push(claims(report, comparison));
    }
    if sentences.is_empty() {
        sentences.push(format!("{} measured; nothing is compared over hosts", counted(hosts, "host")));
    }
    match report.comparisons.len().saturating_sub(3) {
        0 => {}
        more => sentences.push(format!("{more} more comparisons stand below")),
    }
    if !report.odd.is_empty() {
        let names: Vec<&str> = report.odd.iter().take(3).map(|odd| odd.name.as_str()).collect();
        let more =
            if report.odd.len() > 3 { format!(" and {} more", report.odd.len() - 3) } else { String::new() };
        sentences.push(format!("unlike the rest: {}{more}", names.join(", ")));
    }
    let missing = missing(report).count();
    if missing > 0 {
        sentences.push(format!("{missing} of {} hosts are missing", report.fleet.hosts.len()));
    }
    format!("{}.", sentences.join(". "))
}

/// Both claims of a comparison.
fn claims(report: &FleetReport, comparison: &HostComparison) -> String {
    let stratum = stratum(comparison);
    let (level, baseline) = (&comparison.level, &comparison.baseline);
    let these = worded(report, &comparison.these, level, baseline);
    let hosts = counted(comparison.hosts as usize, "host");
    let like = match &comparison.like_these.reason {
        Some(reason) => format!("For hosts like these there is no verdict: {reason}"),
        None => format!("On hosts like these {}", worded(report, &comparison.like_these, level, baseline)),
    };
    format!("On these {hosts} {these}{stratum}. {like}")
}

fn worded(report: &FleetReport, claim: &Claim, level: &str, baseline: &str) -> String {
    let figures = interval(report, claim);
    match claim.verdict {
        Some(Verdict::Faster) => format!("{level} is faster than {baseline} ({figures})"),
        Some(Verdict::Slower) => format!("{level} is slower than {baseline} ({figures})"),
        Some(Verdict::Equivalent) => {
            format!(
                "{level} and {baseline} are equivalent within {} ({figures})",
                declared_percent(report.margin)
            )
        }
        Some(Verdict::Unstable) => format!("the effect of {level} changed during the runs ({figures})"),
        Some(Verdict::Undecided) => format!("it is open whether {level} differs from {baseline} ({figures})"),
        None => {
            let reason = claim.reason.as_deref().unwrap_or("too few blocks");
            format!("there is no verdict on {level} against {baseline}: {reason}")
        }
    }
}

/// A claim's ratio with its interval, in the metric's own direction.
pub(crate) fn interval(report: &FleetReport, claim: &Claim) -> String {
    let text = own_ratio(report.better, claim.ratio, claim.interval);
    let interval = text.interval_with_unit().map(|text| format!(" {text}")).unwrap_or_default();
    format!("{}{interval}", text.estimate)
}

/// One word, or two, for a table.
pub(crate) fn verdict(report: &FleetReport, claim: &Claim) -> String {
    match claim.verdict {
        Some(Verdict::Equivalent) => format!("equivalent within {}", declared_percent(report.margin)),
        Some(verdict) => verdict.word().to_owned(),
        None => "no verdict".to_owned(),
    }
}

pub(crate) fn stratum(comparison: &HostComparison) -> String {
    if comparison.stratum.is_empty() { String::new() } else { format!(" ({})", comparison.stratum) }
}

/// Spread, the next host, and how many more: a sentence each.
pub(crate) fn outlook(report: &FleetReport, comparison: &HostComparison) -> Vec<String> {
    let mut sentences = Vec::new();
    if let (Some(between), Some(within)) = (comparison.between_sd, comparison.within_sd) {
        sentences.push(format!(
            "the effect varies by {} from host to host, and by {} from block to block of a host",
            percent(between.exp_m1()),
            percent(within.exp_m1())
        ));
    }
    if let Some([low, high]) = comparison.next_host {
        let text = own_ratio(report.better, None, [Some(low), Some(high)]);
        sentences.extend(text.interval_with_unit().map(|interval| {
            format!(
                "the next host will lie in {interval}, with {} confidence",
                declared_percent(report.confidence)
            )
        }));
    }
    if let Some(more) = comparison.hosts_more {
        sentences.push(format!("{} would probably settle it", counted_more(more)));
    }
    sentences.extend(comparison.flags.iter().map(|flag| flag.message.clone()));
    sentences
}

fn counted_more(more: u32) -> String {
    if more == 1 { "1 host more".to_owned() } else { format!("{more} hosts more") }
}

/// Hosts with a result, the worst first.
pub(crate) fn worst_first(report: &FleetReport) -> Vec<&HostFigures> {
    let mut hosts: Vec<&HostFigures> = report.hosts.iter().collect();
    let key = |host: &HostFigures| host.relative.unwrap_or(0.0);
    hosts.sort_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.name.cmp(&b.name)));
    hosts
}

pub(crate) fn is_odd(report: &FleetReport, host: &str) -> bool {
    report.odd.iter().any(|odd| odd.name == host)
}

/// Hosts without a result.
pub(crate) fn missing(report: &FleetReport) -> impl Iterator<Item = &FleetHost> {
    report.fleet.hosts.iter().filter(|host| host.state != HostState::Done)
}

/// Why, and what to do.
pub(crate) fn why_missing(host: &FleetHost) -> String {
    let usual = match host.state {
        HostState::Running => "its result was not fetched yet",
        _ => "it was not started",
    };
    let reason = host.reason.as_deref().unwrap_or(usual);
    match &host.next {
        Some(next) => format!("{reason}; next: {next}"),
        None => reason.to_owned(),
    }
}

/// Facts that not all hosts share: columns of a table.
pub(crate) fn varied_facts(report: &FleetReport) -> Vec<String> {
    let mut names: Vec<&String> = report.hosts.iter().flat_map(|host| host.facts.keys()).collect();
    names.sort();
    names.dedup();
    let varies = |name: &&String| {
        let mut values: Vec<Option<&String>> =
            report.hosts.iter().map(|host| host.facts.get(*name)).collect();
        values.sort();
        values.dedup();
        values.len() > 1
    };
    names.into_iter().filter(varies).cloned().collect()
}

/// A host's own ratio of a comparison.
pub(crate) fn own(report: &FleetReport, host: &HostFigures, comparison: usize) -> String {
    let estimate = host.ratios.get(comparison).copied().flatten();
    own_ratio(report.better, estimate, [None, None]).estimate
}

/// How a host's figures relate to the median host's.
pub(crate) fn relative(host: &HostFigures) -> String {
    ratio(host.relative, [None, None]).estimate
}

/// A total, or why there is none.
pub(crate) fn total(total: &FleetTotal) -> String {
    match total.value {
        Some(value) => format!("{} ({})", figure(total.unit, value), total.because),
        None => total.because.clone(),
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
