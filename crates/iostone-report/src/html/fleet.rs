//! The page of a fleet: the answer, a forest plot over hosts, a row a host with the worst first, the missing ones.

use askama::Template;
use iostone_model::fleet::FleetReport;

use super::prose::{Prose, without_controls};
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::figures::{counted, figure};
use crate::fleet::{
    finding, is_odd, measure, missing, outlook, own, relative, stratum, total, varied_facts, why_missing,
    worst_first,
};
use crate::svg::hosts;

struct ComparisonPart {
    title: String,
    these: Prose,
    like_these: Prose,
    outlook: Vec<Prose>,
    figure: Option<Figure>,
}

struct HostRow {
    name: String,
    odd: bool,
    relative: String,
    ratios: Vec<String>,
    medians: Vec<String>,
    facts: Vec<String>,
    blocks: u32,
}

#[derive(Template)]
#[template(path = "fleet.html")]
struct FleetPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    title: String,
    eyebrow: String,
    headline: Prose,
    comparisons: Vec<ComparisonPart>,
    measure: String,
    levels: Vec<String>,
    configurations: Vec<String>,
    facts: Vec<String>,
    hosts: Vec<HostRow>,
    missing: Vec<(String, Prose)>,
    odd: Vec<(String, Prose)>,
    between: Vec<(String, Prose)>,
    totals: Vec<(String, Prose)>,
    flags: Vec<Prose>,
}

/// Curves of many comparisons would make a page of megabytes.
const MOST_FIGURES: usize = 4;
/// Facts with a value of its own for every host, such as a rack's slot, are no columns.
const MOST_FACTS: usize = 6;

/// See [`crate::fleet_html()`].
pub(crate) fn write(report: &FleetReport) -> Result<String, askama::Error> {
    let fleet = &report.fleet;
    let configurations: Vec<String> =
        report.hosts.first().map(|host| host.medians.keys().cloned().collect()).unwrap_or_default();
    let mut facts = varied_facts(report);
    facts.truncate(MOST_FACTS);
    let page = FleetPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        title: if fleet.question.is_empty() { fleet.experiment.clone() } else { fleet.question.clone() },
        eyebrow: format!(
            "Fleet {} · {} of {}",
            fleet.fleet_id,
            report.hosts.len(),
            counted(fleet.hosts.len(), "host")
        ),
        headline: Prose::of(&report.headline),
        comparisons: (0..report.comparisons.len()).filter_map(|index| part(report, index)).collect(),
        measure: measure(report),
        levels: report.comparisons.iter().map(|one| format!("{}{}", one.level, stratum(one))).collect(),
        hosts: worst_first(report)
            .into_iter()
            .map(|host| HostRow {
                name: host.name.clone(),
                odd: is_odd(report, &host.name),
                relative: relative(report, host),
                ratios: (0..report.comparisons.len()).map(|index| own(report, host, index)).collect(),
                medians: configurations
                    .iter()
                    .map(|name| {
                        host.medians.get(name).map(|value| figure(report.unit, *value)).unwrap_or_default()
                    })
                    .collect(),
                facts: facts.iter().map(|fact| host.facts.get(fact).cloned().unwrap_or_default()).collect(),
                blocks: host.blocks,
            })
            .collect(),
        configurations,
        facts,
        missing: missing(report).map(|host| (host.name.clone(), Prose::of(&why_missing(host)))).collect(),
        odd: report.odd.iter().map(|odd| (odd.name.clone(), Prose::of(&odd.message))).collect(),
        between: report
            .between
            .iter()
            .map(|one| {
                let name =
                    format!("{} {} against {}, {}", one.fact, one.level, one.baseline, one.configuration);
                (name, Prose::of(&finding(report, &one.claim)))
            })
            .collect(),
        totals: report
            .totals
            .iter()
            .map(|one| (format!("{}: {}", one.configuration, one.what), Prose::of(&total(one))))
            .collect(),
        flags: report.flags.iter().map(|flag| Prose::of(&format!("{}.", flag.message))).collect(),
    };
    Ok(without_controls(&page.render()?))
}

fn part(report: &FleetReport, index: usize) -> Option<ComparisonPart> {
    let comparison = report.comparisons.get(index)?;
    let claim = |claim: &iostone_model::fleet::Claim| Prose::of(&finding(report, claim));
    let figure = (index < MOST_FIGURES)
        .then(|| {
            let wide = hosts::draw(report, index, FULL, &format!("hosts-{index}-wide"))?;
            let narrow = hosts::draw(report, index, SLIM, &format!("hosts-{index}-narrow"))?;
            Some(Figure { wide, narrow })
        })
        .flatten();
    Some(ComparisonPart {
        title: format!("{} against {}{}", comparison.level, comparison.baseline, stratum(comparison)),
        these: claim(&comparison.these),
        like_these: claim(&comparison.like_these),
        outlook: outlook(report, comparison).iter().map(|one| Prose::of(one)).collect(),
        figure,
    })
}
