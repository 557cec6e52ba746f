//! What a fleet found, in words: the answer, each comparison's two claims, hosts in order of their figures.

use iostone_model::fleet::{
    Claim, FleetHost, FleetReport, FleetTotal, HostComparison, HostFigures, HostState,
};
use iostone_model::verdict::Verdict;

use crate::figures::{counted, declared_percent, figure, own_ratio, percent};

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
        1 => sentences.push("1 more comparison stands below".to_owned()),
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
        let all = counted(report.fleet.hosts.len(), "host");
        sentences.push(format!("{missing} of {all} {} missing", if missing == 1 { "is" } else { "are" }));
    }
    format!("{}.", sentences.join(". "))
}

/// Both claims of a comparison.
fn claims(report: &FleetReport, comparison: &HostComparison) -> String {
    let stratum = stratum(comparison);
    let (level, baseline) = (&comparison.level, &comparison.baseline);
    let these = worded(report, &comparison.these, level, baseline);
    let hosts = if comparison.hosts == 1 {
        "this host".to_owned()
    } else {
        format!("these {}", counted(comparison.hosts, "host"))
    };
    let like = match (&comparison.like_these.reason, comparison.like_these.verdict) {
        (Some(reason), None) => format!("For hosts like these there is no verdict: {reason}"),
        (Some(reason), Some(_)) => {
            let worded = worded(report, &comparison.like_these, level, baseline);
            format!("On hosts like these {worded}: {reason}")
        }
        (None, _) => {
            format!("On hosts like these {}", worded(report, &comparison.like_these, level, baseline))
        }
    };
    format!("On {hosts} {these}{stratum}. {like}")
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

/// The verdict of a claim with its figures, and what there is to say of it.
pub(crate) fn finding(report: &FleetReport, claim: &Claim) -> String {
    let figures = || format!("{}, {}", verdict(report, claim), interval(report, claim));
    match (&claim.reason, claim.verdict) {
        (Some(reason), None) => reason.clone(),
        (Some(reason), Some(_)) => format!("{}: {reason}", figures()),
        (None, _) => figures(),
    }
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
        sentences.push(format!("{} more would probably settle it", counted(u64::from(more), "host")));
    }
    sentences.extend(comparison.flags.iter().map(|flag| flag.message.clone()));
    sentences
}

/// Hosts with a result, the worst first.
pub(crate) fn worst_first(report: &FleetReport) -> Vec<&HostFigures> {
    let mut hosts: Vec<&HostFigures> = report.hosts.iter().collect();
    let key = |host: &HostFigures| host.relative.unwrap_or(f64::INFINITY);
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

/// What [`relative`] is of: hosts are in its order.
pub(crate) fn measure(report: &FleetReport) -> String {
    format!("{} of all levels, against the median host", report.metric)
}

/// How a host's metric relates to the median host's, over all levels, in the metric's own direction.
pub(crate) fn relative(report: &FleetReport, host: &HostFigures) -> String {
    own_ratio(report.better, host.relative, [None, None]).estimate
}

/// A line for each reason why there is a total of something missing.
pub(crate) fn refused_totals(report: &FleetReport) -> Vec<String> {
    let mut refused: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for one in report.totals.iter().filter(|one| one.value.is_none()) {
        let because = one.because.strip_prefix("refused: ").unwrap_or(&one.because);
        let index = refused.iter().position(|(known, ..)| *known == because).unwrap_or(refused.len());
        if index == refused.len() {
            refused.push((because, Vec::new(), Vec::new()));
        }
        let Some((_, totals, levels)) = refused.get_mut(index) else { continue };
        for (list, word) in [(totals, one.what.as_str()), (levels, one.configuration.as_str())] {
            if !list.contains(&word) {
                list.push(word);
            }
        }
    }
    let line = |(because, totals, levels): &(&str, Vec<&str>, Vec<&str>)| {
        format!("Refused: {} ({}): {because}.", totals.join(", "), levels.join(", "))
    };
    refused.iter().map(line).collect()
}

/// A total, or why there is none.
pub(crate) fn total(total: &FleetTotal) -> String {
    match total.value {
        Some(value) => format!("{} ({})", figure(total.unit, value), total.because),
        None => total.because.clone(),
    }
}
