//! What the hosts of a fleet say together: on these hosts, on hosts like these, and by what differs between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iostone_model::figures::counted;
use iostone_model::fleet::{
    BetweenHosts, Claim, FLEET_REPORT_SCHEMA, Fleet, FleetReport, HostComparison, HostFigures, HostState,
    OddHost,
};
use iostone_model::median::median;
use iostone_model::metric::Direction;
use iostone_model::summary::{ConfigurationFigures, Decided, RunState};
use iostone_model::verdict::{Flag, Verdict};
use iostone_stats::LARGEST_BUDGET;
use iostone_stats::hosts::spread::{Components, NextHost};
use iostone_stats::hosts::{HostRules, between, odd, within};
use iostone_stats::judge::{Figure, Looks, Rules};

use crate::error::FleetError;
use crate::figures::{CIRCUMSTANCES, HostRun, TYPE, ZONE};
use crate::totals;

/// A level against its baseline, by the names of their configurations.
struct Pair {
    level: String,
    baseline: String,
    stratum: String,
    configurations: [String; 2],
}

/// The question that all hosts answered.
struct Question {
    decided: Decided,
    better: Direction,
    pairs: Vec<Pair>,
    configurations: Vec<String>,
}

/// Judges over the hosts of a fleet directory that have a result. A host whose run cannot be read is named in the report.
///
/// # Errors
/// No host has a result, or none that can be judged.
pub fn judge(directory: &Path, fleet: &Fleet) -> Result<FleetReport, FleetError> {
    let mut fleet = fleet.clone();
    let mut runs: Vec<HostRun> = Vec::new();
    for host in fleet.hosts.iter_mut().filter(|host| host.state == HostState::Done) {
        let run = directory.join(host.run.as_deref().unwrap_or_default());
        match HostRun::read(host, &run) {
            Ok(run) => runs.push(run),
            Err(error) => leave_out(host, &error.to_string()),
        }
    }
    judge_runs(directory, fleet, runs)
}

fn judge_runs(directory: &Path, mut fleet: Fleet, runs: Vec<HostRun>) -> Result<FleetReport, FleetError> {
    let digest = common_digest(&runs);
    let (same, others): (Vec<HostRun>, Vec<HostRun>) =
        runs.into_iter().partition(|run| run.summary.experiment_digest == digest);
    for other in &others {
        for host in fleet.hosts.iter_mut().filter(|host| host.name == other.name) {
            leave_out(host, "its run is of another experiment than most hosts'");
        }
    }
    let runs = same;
    let first = runs.first().ok_or_else(|| {
        FleetError::Usage(format!("no host in `{}` has a result that can be judged", directory.display()))
    })?;
    let decided = first.summary.decided.clone();
    let decided = decided
        .ok_or_else(|| FleetError::Usage("imports have no question to judge over hosts".to_owned()))?;
    let note = runs.iter().find_map(|run| run.summary.metrics.get(&decided.metric)).cloned();
    let note =
        note.ok_or_else(|| FleetError::Usage(format!("no host has a figure of `{}`", decided.metric)))?;
    let better = note.better.unwrap_or(Direction::Higher);
    let configurations = &first.summary.configurations;
    let question = Question {
        better,
        pairs: pairs(configurations, &decided),
        configurations: configurations.iter().map(|one| one.name.clone()).collect(),
        decided,
    };
    let blocks: Vec<Vec<Vec<f64>>> = question
        .pairs
        .iter()
        .map(|pair| runs.iter().map(|run| ratios(run, pair, &question)).collect())
        .collect();
    let comparisons = compare(&question, &blocks);
    let standings = standings(&runs, &question);
    let mut flags = circumstances(&runs);
    flags.extend(shape(&runs, &question));
    Ok(FleetReport {
        schema: FLEET_REPORT_SCHEMA.to_owned(),
        headline: String::new(),
        metric: question.decided.metric.clone(),
        unit: note.unit,
        better,
        margin: question.decided.margin,
        confidence: question.decided.confidence,
        hosts: runs
            .iter()
            .zip(&standings)
            .enumerate()
            .map(|(index, (run, standing))| {
                figures(run, index, standing.as_ref().map(|one| one.relative), &question, &blocks)
            })
            .collect(),
        comparisons,
        between: between_hosts(&runs, &question),
        odd: odd_hosts(&runs, &standings),
        totals: totals::of(directory, &fleet, &runs, &question.configurations),
        flags,
        fleet,
    })
}

fn leave_out(host: &mut iostone_model::fleet::FleetHost, reason: &str) {
    host.state = HostState::Missing;
    host.reason = Some(reason.to_owned());
    host.next = Some("fetch its run directory again, or leave the host out".to_owned());
}

/// The experiment that most hosts ran.
fn common_digest(runs: &[HostRun]) -> Option<String> {
    let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    for run in runs {
        *counts.entry(&run.summary.experiment_digest).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).and_then(|(digest, _)| digest.clone())
}

/// Every configuration that is not a baseline, with the baseline that differs from it in the factor alone.
fn pairs(configurations: &[ConfigurationFigures], decided: &Decided) -> Vec<Pair> {
    let others = |one: &ConfigurationFigures| {
        let mut levels = one.levels.clone();
        levels.remove(&decided.factor);
        levels
    };
    let mut pairs = Vec::new();
    for one in configurations.iter().filter(|one| !one.baseline) {
        let Some(baseline) =
            configurations.iter().find(|other| other.baseline && others(other) == others(one))
        else {
            continue;
        };
        let Some(level) = one.levels.get(&decided.factor) else { continue };
        let stratum: Vec<String> =
            others(one).iter().map(|(factor, level)| format!("{factor}={level}")).collect();
        pairs.push(Pair {
            level: level.clone(),
            baseline: decided.baseline.clone(),
            stratum: stratum.join(", "),
            configurations: [baseline.name.clone(), one.name.clone()],
        });
    }
    pairs
}

/// Log ratios of a host's blocks, in their order; above zero where the level is better.
fn ratios(run: &HostRun, pair: &Pair, question: &Question) -> Vec<f64> {
    let metric = &question.decided.metric;
    let [baseline, level] = &pair.configurations;
    let baseline = run.scores(baseline, metric, question.better);
    let level = run.scores(level, metric, question.better);
    level.iter().filter_map(|(block, score)| Some(score - baseline.get(block)?)).collect()
}

fn rules(question: &Question, comparisons: usize) -> HostRules {
    let Decided { confidence, margin, .. } = question.decided;
    HostRules { confidence, margin, comparisons: u32::try_from(comparisons.max(1)).unwrap_or(u32::MAX) }
}

/// Each pair over hosts; `blocks` are log ratios by pair and host.
fn compare(question: &Question, blocks: &[Vec<Vec<f64>>]) -> Vec<HostComparison> {
    let rules = rules(question, question.pairs.len());
    let these = on_these_hosts(question, blocks);
    let pairs = question.pairs.iter().zip(blocks).zip(these);
    pairs
        .map(|((pair, hosts), these)| {
            let values: Vec<f64> = hosts.iter().filter_map(|blocks| within::host_value(blocks)).collect();
            let found = within::compare(&values, within::Hosts::Declared, &rules);
            let components = Components::of(hosts);
            let like_these = like_these(&found, &values, &rules);
            let next = NextHost::of(&values, question.decided.confidence);
            let mut flags = Vec::new();
            if next.is_some_and(|next| next.assumes_normal) {
                let words = "the interval of the next host assumes that effects vary normally from host to host";
                flags.push(Flag::new("assumes-normal-hosts", words));
            }
            if let Some(parts) = components.filter(|parts| parts.needs_hosts() && values.len() > 1) {
                let words = format!(
                    "hosts differ more ({:.1} %) than the blocks of one leave open: more hosts would tell more, more blocks would not",
                    100.0 * parts.host.exp_m1()
                );
                flags.push(Flag::new("needs-hosts", words));
            }
            HostComparison {
                level: pair.level.clone(),
                baseline: pair.baseline.clone(),
                stratum: pair.stratum.clone(),
                hosts: count(values.len()),
                hosts_more: hosts_more(&found, &values, &rules),
                these,
                like_these,
                between_sd: components.map(|parts| parts.host),
                within_sd: components.map(|parts| parts.block),
                next_host: next.map(|next| [next.lower.exp(), next.upper.exp()]),
                flags,
            }
        })
        .collect()
}

/// All blocks of all hosts as those of one machine, the first block of every host first: what holds here and nowhere else.
fn on_these_hosts(question: &Question, blocks: &[Vec<Vec<f64>>]) -> Vec<Claim> {
    let most = blocks.iter().map(|hosts| hosts.iter().map(Vec::len).sum::<usize>()).max().unwrap_or(0);
    let all = |reason: String| {
        let counts = blocks.iter().map(|hosts| hosts.iter().map(Vec::len).sum::<usize>());
        counts
            .map(|blocks| Claim { count: count(blocks), reason: Some(reason.clone()), ..Claim::default() })
            .collect()
    };
    if most > LARGEST_BUDGET as usize {
        return all(format!(
            "{most} blocks are more than are judged together ({LARGEST_BUDGET}); what holds for hosts like these says more"
        ));
    }
    let mut figures = Vec::new();
    for (index, (pair, hosts)) in question.pairs.iter().zip(blocks).enumerate() {
        let longest = hosts.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..longest).flat_map(|turn| hosts.iter().filter_map(move |blocks| blocks.get(turn)));
        for (block, ratio) in in_turn.enumerate() {
            // A ratio alone decides: it stands as a figure beside a baseline of 1.
            for (level, value) in [(&pair.baseline, 1.0), (&pair.level, ratio.exp())] {
                figures.push(Figure {
                    level: level.clone(),
                    stratum: format!("{index} {}", pair.stratum),
                    value,
                    block: Some(block as u64),
                    ..Figure::default()
                });
            }
        }
    }
    let baseline = question.decided.baseline.as_str();
    let rules = Rules {
        margin: question.decided.margin,
        confidence: question.decided.confidence,
        budget: count(most.max(1)),
        minimum: 1,
        adjust_order: false,
        looks: Looks::Once,
        randomised: true,
        conditioned: true,
        ..Rules::new(baseline, Direction::Higher)
    };
    let judged = match iostone_stats::judge::judge(&figures, &rules) {
        Ok(judged) => judged.comparisons,
        Err(error) => return all(error.to_string()),
    };
    question
        .pairs
        .iter()
        .enumerate()
        .map(|(index, pair)| {
            let stratum = format!("{index} {}", pair.stratum);
            let found = judged.iter().find(|one| one.level == pair.level && one.stratum == stratum);
            found.map_or_else(Claim::default, |one| Claim {
                verdict: one.verdict,
                ratio: one.ratio,
                interval: one.ratio_interval,
                count: one.blocks,
                reason: None,
            })
        })
        .collect()
}

fn like_these(found: &iostone_stats::hosts::HostComparison, values: &[f64], rules: &HostRules) -> Claim {
    let [difference, equivalence] = within::fewest_hosts(rules);
    let fewest = format!("equivalence needs {equivalence}, a difference {difference}");
    let hosts = counted(values.len(), "host");
    let is_bounded = found.difference.lower.is_finite() || found.difference.upper.is_finite();
    let reason = match found.verdict {
        None => Some(format!("{hosts} {} too few: {fewest}", if values.len() == 1 { "is" } else { "are" })),
        Some(Verdict::Undecided) if !is_bounded => {
            Some(format!("{hosts} have no interval at this confidence: {fewest}"))
        }
        Some(_) => None,
    };
    claim(found, values.len(), reason)
}

fn claim(found: &iostone_stats::hosts::HostComparison, hosts: usize, reason: Option<String>) -> Claim {
    let bound = |log: f64| Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite());
    let interval = match found.verdict {
        Some(Verdict::Equivalent) => found.equivalence,
        _ => found.difference,
    };
    Claim {
        verdict: found.verdict,
        ratio: found.estimate.map(f64::exp),
        interval: [bound(interval.lower), bound(interval.upper)],
        count: count(hosts),
        reason,
    }
}

/// How many hosts more would settle it with a chance of about 80 %, if they vary as those that are there.
fn hosts_more(
    found: &iostone_stats::hosts::HostComparison,
    values: &[f64],
    rules: &HostRules,
) -> Option<u32> {
    const MOST: f64 = 10_000.0;
    let settled = found.verdict.is_some_and(|verdict| verdict != Verdict::Undecided);
    if settled || values.is_empty() {
        return None;
    }
    let here = count(values.len());
    let fewest = within::fewest_hosts(rules)[0];
    let needed = match (found.estimate, values.len()) {
        (Some(effect), 2..) => {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let spread = (squares / (values.len() - 1) as f64).sqrt();
            // As far as a normal law's 97.5 % and 80 % together, from the nearer of what could be shown.
            let reach = effect.abs().max((rules.margin.ln_1p() - effect.abs()).abs());
            let root = 2.8 * spread / reach.max(f64::MIN_POSITIVE);
            root * root
        }
        _ => 0.0,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded in the same line")]
    (needed < MOST).then(|| (needed.ceil() as u32).max(fewest).saturating_sub(here).max(1))
}

/// Instance types and the user's labels, each against its most frequent level, for every configuration.
fn between_hosts(runs: &[HostRun], question: &Question) -> Vec<BetweenHosts> {
    const MOST_LEVELS: usize = 12;
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.facts.keys()).collect();
    let mut facts = Vec::new();
    for name in names.into_iter().filter(|name| !CIRCUMSTANCES.contains(&name.as_str())) {
        let mut levels: BTreeMap<&String, u32> = BTreeMap::new();
        let known = runs.iter().filter_map(|run| run.facts.get(name));
        known.for_each(|level| *levels.entry(level).or_default() += 1);
        if (2..=MOST_LEVELS).contains(&levels.len()) {
            let most =
                levels.iter().rev().max_by_key(|(_, hosts)| **hosts).map(|(level, _)| (*level).clone());
            let others: Vec<String> =
                levels.into_keys().filter(|one| Some(*one) != most.as_ref()).cloned().collect();
            facts.extend(most.map(|most| (name, most, others)));
        }
    }
    let levels: usize = facts.iter().map(|(_, _, others)| others.len()).sum();
    let rules = rules(question, levels * question.configurations.len());
    let mut found = Vec::new();
    for (fact, baseline, others) in &facts {
        for level in others {
            for configuration in &question.configurations {
                found.push(of_fact(runs, question, &rules, fact, [baseline, level], configuration));
            }
        }
    }
    found
}

fn of_fact(
    runs: &[HostRun],
    question: &Question,
    rules: &HostRules,
    fact: &str,
    [baseline, level]: [&String; 2],
    configuration: &str,
) -> BetweenHosts {
    let mut strata: BTreeMap<&str, between::Stratum> = BTreeMap::new();
    let mut hosts = [0, 0];
    for run in runs {
        let scores = run.scores(configuration, &question.decided.metric, question.better);
        let Some(value) = between::host_value(&scores.into_values().collect::<Vec<f64>>()) else { continue };
        // Hosts of a zone are compared with those of that zone, unless the zone is what is compared.
        let zone = run.facts.get(ZONE).map_or("", String::as_str);
        let stratum = strata.entry(zone).or_default();
        match run.facts.get(fact) {
            Some(own) if own == baseline => {
                stratum.baseline.push(value);
                hosts[0] += 1;
            }
            Some(own) if own == level => {
                stratum.level.push(value);
                hosts[1] += 1;
            }
            _ => {}
        }
    }
    let strata: Vec<between::Stratum> = strata.into_values().collect();
    let compared = between::compare(&strata, rules);
    let reason = compared.verdict.is_none().then(|| {
        let fewest = between::fewest_hosts(compared.hosts[0], rules)
            .map(|fewest| format!("; beside {}, {} would do", compared.hosts[0], fewest.difference))
            .unwrap_or_default();
        let zones = if compared.hosts == hosts { "" } else { " within a zone" };
        format!(
            "no verdict on the {fact}: {} and {}{zones} are too few{fewest}",
            compared.hosts[0],
            counted(compared.hosts[1], "host")
        )
    });
    BetweenHosts {
        fact: fact.to_owned(),
        configuration: configuration.to_owned(),
        level: level.clone(),
        baseline: baseline.clone(),
        claim: claim(&compared, (hosts[0] + hosts[1]) as usize, reason),
        hosts,
    }
}

/// A host among those of its type: where it stands, and what is known of how well.
struct Standing<'a> {
    kind: &'a str,
    /// Mean over configurations of the median log figure, as distance from the median host of its type.
    relative: f64,
    variance: f64,
}

/// Makes a median deviation a standard deviation for normal figures.
const NORMAL_SCALE: f64 = 1.4826;
/// The median of normal figures has this many times the standard error of their mean.
const OF_A_MEDIAN: f64 = 1.2533;

/// How each host stands among those of its type; none without a figure.
fn standings<'a>(runs: &'a [HostRun], question: &Question) -> Vec<Option<Standing<'a>>> {
    let mut standings: Vec<Option<Standing<'a>>> = runs
        .iter()
        .map(|run| {
            let mut parts = Vec::new();
            for configuration in &question.configurations {
                let scores = run.scores(configuration, &question.decided.metric, question.better);
                let centre = median(scores.values())?;
                let deviation = median(scores.values().map(|score| (score - centre).abs()))?;
                let error = OF_A_MEDIAN * NORMAL_SCALE * deviation;
                parts.push((centre, error * error / scores.len() as f64));
            }
            let all = parts.len() as f64;
            Some(Standing {
                kind: run.facts.get(TYPE).map_or("", String::as_str),
                relative: parts.iter().map(|(centre, _)| centre).sum::<f64>() / all,
                variance: parts.iter().map(|(_, variance)| variance).sum::<f64>() / (all * all),
            })
        })
        .collect();
    let kinds: BTreeSet<&str> = standings.iter().flatten().map(|one| one.kind).collect();
    for kind in kinds {
        let of_kind = standings.iter().flatten().filter(|one| one.kind == kind);
        let centre = median(of_kind.map(|one| one.relative)).unwrap_or(0.0);
        for one in standings.iter_mut().flatten().filter(|one| one.kind == kind) {
            one.relative -= centre;
        }
    }
    standings
}

/// Hosts whose figures lie away from those of their type. Types share the chance that a healthy fleet has anybody named, for
/// distances within each are looked at together.
fn odd_hosts(runs: &[HostRun], standings: &[Option<Standing<'_>>]) -> Vec<OddHost> {
    let known: Vec<(&HostRun, &Standing<'_>)> =
        runs.iter().zip(standings).filter_map(|(run, one)| Some((run, one.as_ref()?))).collect();
    let values: Vec<f64> = known.iter().map(|(_, one)| one.relative).collect();
    let uncertainty = median(known.iter().map(|(_, one)| one.variance)).unwrap_or(0.0).sqrt();
    let mut found: Vec<OddHost> = odd::odd_hosts(&values, uncertainty)
        .into_iter()
        .filter_map(|odd| {
            let (run, standing) = known.get(odd.host)?;
            let ratio = standing.relative.exp();
            let way = if ratio < 1.0 { "worse" } else { "better" };
            let percent = 100.0 * (ratio - 1.0).abs();
            let of = if standing.kind.is_empty() { String::new() } else { format!(" of {}", standing.kind) };
            Some(OddHost {
                name: run.name.clone(),
                message: format!(
                    "{percent:.0} % {way} than the median host{of}, {:.1} robust standard deviations away (named from {:.1} on)",
                    odd.deviations, odd.limit
                ),
                ratio,
            })
        })
        .collect();
    found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    found
}

fn figures(
    run: &HostRun,
    index: usize,
    relative: Option<f64>,
    question: &Question,
    blocks: &[Vec<Vec<f64>>],
) -> HostFigures {
    let metric = &question.decided.metric;
    let medians = question.configurations.iter().filter_map(|name| {
        let figure = run.configuration(name)?.figures.get(metric)?.median?;
        Some((name.clone(), figure))
    });
    let intervals = question.pairs.iter().map(|pair| {
        let own = run.summary.comparisons.iter().find(|one| {
            one.level == pair.level && one.point.is_empty() && same_stratum(&one.stratum, &pair.stratum)
        });
        own.filter(|one| !one.withheld).map_or([None, None], |one| one.ratio_interval)
    });
    let ratios = blocks
        .iter()
        .map(|hosts| hosts.get(index).and_then(|blocks| within::host_value(blocks)).map(f64::exp));
    HostFigures {
        name: run.name.clone(),
        facts: run.facts.clone(),
        blocks: run.summary.blocks,
        finished: run.summary.state == RunState::Finished,
        medians: medians.collect(),
        relative: relative.map(f64::exp),
        ratios: ratios.collect(),
        intervals: intervals.collect(),
    }
}

/// Whether two strata are of the same levels, in whatever order their factors are named.
fn same_stratum(one: &str, other: &str) -> bool {
    let parts = |stratum: &str| stratum.split(", ").map(str::to_owned).collect::<BTreeSet<String>>();
    parts(one) == parts(other)
}

/// What differs between hosts without anybody having asked for it.
fn circumstances(runs: &[HostRun]) -> Vec<Flag> {
    let mut flags = Vec::new();
    for fact in CIRCUMSTANCES.into_iter().filter(|fact| *fact != ZONE) {
        let kinds: BTreeSet<&String> = runs.iter().filter_map(|run| run.facts.get(fact)).collect();
        if kinds.len() > 1 {
            let some: Vec<&str> = kinds.iter().take(3).map(|kind| kind.as_str()).collect();
            let more = if kinds.len() > 3 { ", ..." } else { "" };
            let words = format!("hosts differ in {fact}: {}{more}", some.join(", "));
            flags.push(Flag::new("hosts-differ", words));
        }
    }
    flags
}

fn shape(runs: &[HostRun], question: &Question) -> Vec<Flag> {
    let mut flags = Vec::new();
    if question.pairs.is_empty() {
        let words = "a sweep, or an experiment without a baseline, is not compared over hosts: each host's own report has its verdict";
        flags.push(Flag::new("not-compared", words));
    }
    if runs.iter().any(|run| run.summary.rehearsal) {
        flags.push(Flag::new("rehearsal", "hosts only rehearsed: no figure here is a finding"));
    }
    let early: Vec<&str> = runs
        .iter()
        .filter(|run| run.summary.state != RunState::Finished)
        .map(|run| run.name.as_str())
        .collect();
    if !early.is_empty() {
        flags
            .push(Flag::new("unfinished", format!("runs had not come to their end on {}", early.join(", "))));
    }
    flags
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
