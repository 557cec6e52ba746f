//! Forest plot over hosts: each host's ratio with its interval, the worst first, and below them what holds for hosts like these.

use iostone_model::fleet::FleetReport;

use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::{counted, declared_percent, factor_digits, own_interval, tick_percent};
use crate::fleet::{interval, is_odd, own, verdict};

const TOP: f64 = 30.0;
const AXIS_HEIGHT: f64 = 30.0;
/// Rows get thinner the more hosts there are; below this their names cannot be read and are left to the tips.
const ROW_HEIGHTS: (f64, f64) = (4.0, 24.0);
const READABLE: f64 = 12.0;
const TALLEST: f64 = 2400.0;
const SUMMARY_HEIGHT: f64 = 34.0;
/// Beyond these ratios a bound is drawn at the edge.
const FURTHEST: (f64, f64) = (1e-3, 1e3);

/// Draws one comparison; nothing without a single ratio.
pub(crate) fn draw(report: &FleetReport, comparison: usize, width: f64, id: &str) -> Option<String> {
    let found = report.comparisons.get(comparison)?;
    let mut hosts: Vec<(f64, usize)> = report
        .hosts
        .iter()
        .enumerate()
        .filter_map(|(index, host)| Some((host.ratios.get(comparison).copied().flatten()?, index)))
        .filter(|(ratio, _)| ratio.is_finite() && *ratio > 0.0)
        .collect();
    hosts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (lowest, highest) = (hosts.first()?.0, hosts.last()?.0);
    let narrow = width < NARROW;
    let (left, right) = if narrow { (90.0, width - 14.0) } else { (240.0, width - 185.0) };
    let row = (TALLEST / hosts.len() as f64).clamp(ROW_HEIGHTS.0, ROW_HEIGHTS.1);
    let bottom = TOP + row * hosts.len() as f64 + SUMMARY_HEIGHT;
    let mut drawing = Drawing::new(width, bottom + AXIS_HEIGHT);
    let margin = report.margin;
    let [low, high] = found.like_these.interval;
    let ends = [Some(lowest), Some(highest), Some(1.0 / (1.0 + margin)), Some(1.0 + margin), low, high];
    // A metric that is better where it is lower is drawn in its own direction, as everything else says it.
    let own_way = |ratio: f64| {
        own_interval(report.better, [Some(ratio); 2])[0].unwrap_or(ratio).clamp(FURTHEST.0, FURTHEST.1)
    };
    let known: Vec<f64> = ends.into_iter().flatten().map(own_way).collect();
    let (least, most) =
        known.iter().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(*value), b.max(*value)));
    let air = (most / least).powf(0.15).max(1.01);
    let scale = Scale::logarithmic((least / air, most * air), (left, right));
    let at = |ratio: f64| scale.at(own_way(ratio)).clamp(left, right);
    let (from, to) = (at(1.0 / (1.0 + margin)), at(1.0 + margin));
    let tip = format!("differences within {} do not matter", declared_percent(margin));
    drawing.rect("band", (from.min(to), TOP), ((to - from).abs(), bottom - TOP), &tip);
    let near = least >= 0.5 && most <= 1.5;
    for tick in scale.ticks(if narrow { 3 } else { 6 }) {
        drawing.line("grid", (scale.at(tick), TOP), (scale.at(tick), bottom));
        let label = if near { tick_percent(tick - 1.0) } else { format!("\u{d7}{}", factor_digits(tick)) };
        drawing.text("tick", (scale.at(tick), bottom + 19.0), Anchor::Middle, &label);
    }
    drawing.line("baseline", (at(1.0), TOP), (at(1.0), bottom));
    for (place, (ratio, index)) in hosts.iter().enumerate() {
        let Some(host) = report.hosts.get(*index) else { continue };
        let middle = TOP + row * (place as f64 + 0.5);
        let odd = is_odd(report, &host.name);
        if row >= READABLE || odd {
            let mark = if odd { "! " } else { "" };
            drawing.text(
                "label",
                (8.0, middle + 4.0),
                Anchor::Start,
                &fit(&format!("{mark}{}", host.name), left - 20.0),
            );
        }
        if let Some([Some(low), Some(high)]) = host.intervals.get(comparison) {
            drawing.line("grid", (at(*low), middle), (at(*high), middle));
        }
        let tip = format!("{}: {}", host.name, own(report, host, comparison));
        drawing.dot(usize::from(odd), "trial", (at(*ratio), middle), (row / 4.0).clamp(1.5, 4.0), &tip);
    }
    let middle = bottom - SUMMARY_HEIGHT / 2.0;
    let claim = &found.like_these;
    drawing.text("label", (8.0, middle + 4.0), Anchor::Start, &fit("hosts like these", left - 20.0));
    if let [Some(low), Some(high)] = claim.interval {
        let (low, high) = (at(low), at(high));
        drawing.rect(
            "interval s2",
            (low.min(high), middle - 4.0),
            ((high - low).abs().max(2.0), 8.0),
            &interval(report, claim),
        );
    }
    if let Some(ratio) = claim.ratio {
        drawing.mark(2, "mark", (at(ratio), middle), 6.0, &interval(report, claim));
    }
    if !narrow {
        drawing.text("verdict", (right + 19.0, middle + 4.0), Anchor::Start, &verdict(report, claim));
    }
    let title = format!("{} against {} on each host, worst first", found.level, found.baseline);
    let words = format!(
        "{}; hosts like these: {} {}",
        counted(hosts.len(), "host"),
        verdict(report, claim),
        interval(report, claim)
    );
    Some(drawing.finish(id, &title, &words))
}
