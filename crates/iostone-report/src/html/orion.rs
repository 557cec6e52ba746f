//! An ORION test as one page: its answers, its curves, the whole matrix, and every load point.

mod asked;
mod charts;
mod matrix;
mod points;

use askama::Template;
use iostone_model::metric::Unit;
use iostone_model::orion::{BoundBy, MaximumAt, OrionFindings, OrionRecord};

use super::facts::Chip;
use super::prose::{Prose, without_controls};
use super::{Figure, STYLE, date, digest, script};
use crate::figures::{counted, duration, figure, percent};
use crate::load_points::{self, Aspect, readings};
use points::PointLine;

/// A longer table of points is folded away.
const OPEN_ROWS: usize = 45;
/// A rate known no better than this, as a share, is nothing to be glad of.
const SURE: f64 = 0.05;

/// One of the figures that people ask for.
struct Answer {
    what: &'static str,
    figure: String,
    unit: String,
    place: String,
    why: Option<Prose>,
}

/// A chart with what is said above and below it.
struct ChartPart {
    id: &'static str,
    title: String,
    figure: Figure,
    note: String,
}

#[derive(Template)]
#[template(path = "orion.html")]
struct OrionPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    name: &'a str,
    eyebrow: String,
    answer: String,
    lede: Option<Prose>,
    ended: Option<Prose>,
    chips: Vec<Chip>,
    answers: Vec<Answer>,
    remarks: Vec<Prose>,
    charts: Vec<ChartPart>,
    maps: Vec<ChartPart>,
    maps_side_by_side: bool,
    estimated: bool,
    steadiness: Option<charts::Steadiness>,
    points: Vec<PointLine>,
    folded: bool,
    has: points::Columns,
    test: Vec<(String, String)>,
    machine: Vec<(String, String)>,
    command: String,
}

/// See [`crate::orion_html()`].
pub(crate) fn write(record: &OrionRecord, findings: &OrionFindings) -> Result<String, askama::Error> {
    let readings = readings(record);
    let (maps, maps_side_by_side) = matrix::draw(record, &readings);
    let points = points::lines(record);
    let header = &record.header;
    let page = OrionPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: &header.iostone_version,
        name: load_points::short_name(record),
        eyebrow: eyebrow(record),
        answer: load_points::answer(record, findings),
        lede: lede(record, findings),
        ended: load_points::ending(record).map(|ended| Prose::of(&ended)),
        chips: chips(record),
        answers: answers(record, findings),
        remarks: remarks(findings),
        charts: charts::draw(record, findings, &readings),
        maps,
        maps_side_by_side,
        estimated: readings.iter().any(|reading| reading.error.is_some()),
        steadiness: charts::steadiness(record),
        folded: points.len() > OPEN_ROWS,
        has: points::Columns::of(&points),
        points,
        test: asked::test(record),
        machine: header.machine.iter().map(|(name, fact)| (asked::words(name), fact.clone())).collect(),
        command: asked::command(record),
    };
    Ok(without_controls(&page.render()?))
}

/// "ORION calibration · 21 Nov 2026 19:40 UTC · 29 points, 2 LUNs, 20.0 GiB together · 29 min measured".
fn eyebrow(record: &OrionRecord) -> String {
    let seconds: f64 = record.points.iter().map(|point| point.seconds).filter(|s| s.is_finite()).sum();
    let mut parts = vec![
        "ORION calibration".to_owned(),
        when(&record.header.started_at),
        load_points::extent_words(record),
    ];
    if seconds > 0.0 {
        parts.push(format!("{} measured", duration(seconds)));
    }
    parts.join(" · ")
}

/// What binds, in sentences; and that there is no knee where it was not reached.
fn lede(record: &OrionRecord, findings: &OrionFindings) -> Option<Prose> {
    let mut sentences: Vec<String> =
        findings.ceilings.iter().map(|ceiling| sentence(&ceiling.sentence)).collect();
    // Whoever looked for it wants to hear so; to others the ceiling says as much.
    let unreached = findings.knee.as_ref().filter(|knee| record.header.knee && !knee.saturated);
    sentences.extend(unreached.map(|knee| load_points::knee_sentence(knee, &record.points)));
    (!sentences.is_empty()).then(|| Prose::of(&sentences.join(" ")))
}

/// `2026-11-21T19:40:07+09:00` as `21 Nov 2026 19:40 +09:00`; in UTC, or anything else, as everywhere.
fn when(rfc3339: &str) -> String {
    match (rfc3339.get(..19), rfc3339.get(rfc3339.len().saturating_sub(6)..)) {
        (Some(clock), Some(zone)) if zone.starts_with(['+', '-']) => {
            let written = date(&format!("{clock}Z"));
            written.strip_suffix("UTC").map_or(rfc3339.to_owned(), |start| format!("{start}{zone}"))
        }
        _ => date(rfc3339),
    }
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let clause = crate::svg::forest::capitalised(clause.trim());
    if clause.ends_with(['.', '!', '?']) { clause } else { format!("{clause}.") }
}

fn chips(record: &OrionRecord) -> Vec<Chip> {
    let header = &record.header;
    let chip = |class, text: String| Chip { class, text };
    let mut chips = Vec::new();
    if !record.is_finished() {
        chips.push(chip("heed", "! unfinished, can be resumed".to_owned()));
    }
    chips.push(if header.direct {
        chip("good", "✓ page cache bypassed".to_owned())
    } else {
        chip("heed", "! through the page cache".to_owned())
    });
    let shares: Vec<f64> = record.points.iter().filter_map(load_points::served_share).collect();
    if let Some((low, high)) = crate::svg::scale::extent(shares.into_iter()) {
        let text = if percent(low) == percent(high) {
            format!("devices served {} of what was claimed", percent(low))
        } else {
            format!("devices served {} to {} of what was claimed", percent(low), percent(high))
        };
        // Less is cache; much more is somebody else's I/O.
        let sound = low > 0.97 && high < 1.1;
        chips.push(if sound {
            chip("good", format!("✓ {text}"))
        } else {
            chip("heed", format!("! {text}"))
        });
    }
    let precisions = record.points.iter().filter_map(|point| point.precision);
    if let Some((_, worst)) = crate::svg::scale::extent(precisions) {
        let kept = header.until.is_none_or(|until| worst <= until * 1.0001);
        let worst_words = load_points::precision(worst);
        chips.push(if kept && worst <= SURE {
            chip("good", format!("✓ rates known to {worst_words} or better"))
        } else {
            chip("heed", format!("! rates known to {worst_words} at worst"))
        });
    }
    let estimates = record.end.as_ref().map_or(0, |end| end.estimates.len());
    if estimates > 0 {
        chips.push(chip("heed", format!("! {} estimated, not measured", counted(estimates as u64, "point"))));
    }
    let test = &header.test;
    chips.push(chip(
        "plain",
        if test.writes() { format!("{} % writes", test.write_percent) } else { "reads only".to_owned() },
    ));
    chips
}

fn answers(record: &OrionRecord, findings: &OrionFindings) -> Vec<Answer> {
    let why = |small: bool| {
        let ceiling = findings.ceilings.iter().find(|ceiling| ceiling.small == small)?;
        Some(Prose::of(&bound_words(&ceiling.bound_by)))
    };
    let answer = |what, aspect: Aspect, maximum: Option<MaximumAt>, why| {
        let maximum = maximum?;
        let written = aspect.write(maximum.value);
        let (figure, unit) = written.split_once('\u{a0}').unwrap_or((&written, ""));
        Some(Answer {
            what,
            figure: figure.to_owned(),
            unit: unit.to_owned(),
            place: load_points::place_words(&maximum, record),
            why,
        })
    };
    let maxima = &findings.maxima;
    let mut answers: Vec<Answer> = [
        answer("Most small I/Os a second", Aspect::Iops, maxima.iops, why(true)),
        answer("Highest throughput of large I/O", Aspect::Throughput, maxima.throughput, why(false)),
        answer(
            "Lowest mean latency of small I/O",
            Aspect::Latency,
            maxima.latency,
            tail(record, maxima.latency),
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    answers.extend(findings.knee.as_ref().filter(|knee| knee.saturated).map(|knee| Answer {
        what: "Knee: where latency takes off",
        figure: knee.at.to_string(),
        unit: if knee.small { "small I/Os in flight" } else { "large in flight" }.to_owned(),
        place: format!("{} in {}", Aspect::Iops.write(knee.iops), Aspect::Latency.write(knee.latency)),
        why: Some(Prose::of(&load_points::knee_sentence(knee, &record.points))),
    }));
    answers
}

/// What the slow I/Os took where the mean was lowest.
fn tail(record: &OrionRecord, lowest: Option<MaximumAt>) -> Option<Prose> {
    let latency = record.at(lowest?.point)?.small_io.as_ref()?.latency.as_ref()?;
    let (p99, p99_9) = (figure(Unit::Seconds, latency.p99), figure(Unit::Seconds, latency.p99_9));
    Some(Prose::of(&format!("p99 {p99}, p99.9 {p99_9} there")))
}

fn bound_words(bound: &BoundBy) -> String {
    match bound {
        BoundBy::Limit { limit, share } => {
            format!(
                "Bound by a known limit: {}, {} of it used",
                load_points::limit_words(limit),
                percent(*share)
            )
        }
        BoundBy::Plateau => "Bound by something that no load raises; it is not known by name".to_owned(),
        BoundBy::Load => "Still growing at the highest load: more may be there".to_owned(),
    }
}

/// What must be known.
fn remarks(findings: &OrionFindings) -> Vec<Prose> {
    load_points::first_remarks(&findings.remarks).iter().map(|remark| Prose::of(&sentence(remark))).collect()
}
