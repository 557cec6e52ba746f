//! Whole curves in an experiment's report: their verdicts, the curves themselves, and every load point held against the
//! baseline.

use iostone_model::orion::LoadPoint;
use iostone_model::run::RunRecord;
use iostone_model::verdict::{Comparison, CurveVerdict, Verdict};

use super::prose::Prose;
use super::{FULL, Figure, HALF, SLIM};
use crate::figures::{declared_percent, ratio};
use crate::load_points::{Aspect, point_of_metric};
use crate::svg::curves::{self, Chart, Curve, Place};
use crate::svg::heat_map::{self, Cell, HeatMap};
use crate::svg::scale::extent;
use crate::view::{Row, View, middle, name_in};
use crate::wording;

/// More rows than this are folded away.
const OPEN_ROWS: usize = 16;

/// What the report shows of curves.
pub(super) struct Curves {
    pub(super) verdicts: Vec<CurveLine>,
    pub(super) charts: Vec<(&'static str, String, Figure)>,
    pub(super) maps: Vec<(String, Figure)>,
    pub(super) comparisons: Vec<PointLine>,
    pub(super) folded: bool,
    pub(super) legend: Vec<(String, String)>,
    pub(super) margin: String,
    pub(super) confidence: String,
}

/// The verdict on one curve.
pub(super) struct CurveLine {
    pub(super) level: String,
    pub(super) against: String,
    pub(super) verdict: String,
    pub(super) class: &'static str,
    pub(super) faster: u32,
    pub(super) slower: u32,
    pub(super) equivalent: u32,
    pub(super) open: u32,
    pub(super) points: u32,
}

/// One load point of one level against the baseline.
pub(super) struct PointLine {
    pub(super) level: String,
    pub(super) point: String,
    pub(super) figure: &'static str,
    pub(super) ratio: String,
    pub(super) interval: String,
    pub(super) verdict: String,
    pub(super) class: &'static str,
    pub(super) flags: String,
}

impl Curves {
    /// None where no trial was measured at load points.
    pub(super) fn of(run: &RunRecord, view: &View<'_>) -> Option<Self> {
        let decide = &run.plan.experiment.decide;
        let charts: Vec<(&'static str, String, Figure)> =
            Aspect::ALL.into_iter().filter_map(|aspect| draw(view, aspect)).collect();
        let verdicts = run.verdicts.as_ref().filter(|_| !view.rehearsal);
        let judged: &[Comparison] = verdicts.map(|v| v.comparisons.as_slice()).unwrap_or_default();
        let judged: Vec<&Comparison> = judged.iter().filter(|c| !c.point.is_empty()).collect();
        let lines = verdicts.map(|v| v.curves.as_slice()).unwrap_or_default();
        if charts.is_empty() && lines.is_empty() && judged.is_empty() {
            return None;
        }
        let margin = decide.margin.0;
        let comparisons: Vec<PointLine> = judged.iter().map(|c| point_line(c, margin)).collect();
        Some(Self {
            verdicts: lines.iter().map(|curve| curve_line(curve, margin)).collect(),
            charts,
            maps: maps(&judged),
            folded: comparisons.len() > OPEN_ROWS,
            comparisons,
            legend: if view.rows.len() > 1 { legend(view) } else { Vec::new() },
            margin: declared_percent(margin),
            confidence: declared_percent(decide.confidence.0),
        })
    }
}

fn curve_line(curve: &CurveVerdict, margin: f64) -> CurveLine {
    let settled = curve.faster + curve.slower + curve.equivalent;
    CurveLine {
        level: name_in(&curve.level, &curve.stratum),
        against: curve.baseline.clone(),
        verdict: match curve.verdict {
            Verdict::Equivalent => format!("equivalent within {}", declared_percent(margin)),
            verdict => verdict.word().to_owned(),
        },
        class: curve.verdict.word(),
        faster: curve.faster,
        slower: curve.slower,
        equivalent: curve.equivalent,
        open: curve.points.saturating_sub(settled),
        points: curve.points,
    }
}

fn point_line(comparison: &Comparison, margin: f64) -> PointLine {
    let written = ratio(comparison.ratio, comparison.ratio_interval);
    let placed = point_of_metric(&comparison.point);
    let flags: Vec<&str> = comparison.flags.iter().map(|flag| flag.name.as_str()).collect();
    PointLine {
        level: name_in(&comparison.level, &comparison.stratum),
        point: placed.map_or_else(|| comparison.point.clone(), |(_, point)| point.to_string()),
        figure: placed.map_or("", |(aspect, _)| aspect.title()),
        interval: written.interval_with_unit().unwrap_or_default(),
        ratio: written.estimate,
        verdict: wording::verdict_words(comparison, margin, false),
        class: comparison.verdict.map_or("none", Verdict::word),
        flags: flags.join(", "),
    }
}

fn legend(view: &View<'_>) -> Vec<(String, String)> {
    let entry = |(index, row): (usize, &Row<'_>)| {
        let mut mark = crate::svg::Drawing::new(14.0, 14.0);
        mark.mark(index, "mark", (7.0, 7.0), 5.0, "");
        let name = if row.baseline { format!("{} (baseline)", row.name) } else { row.name.to_owned() };
        (mark.finish_hidden(), name)
    };
    view.rows.iter().enumerate().map(entry).collect()
}

/// A line for each configuration: ORION's first row for small I/O, its first column for large.
fn draw(view: &View<'_>, aspect: Aspect) -> Option<(&'static str, String, Figure)> {
    let trials = || view.rows.iter().flat_map(|row| &row.trials);
    let metrics = trials().flat_map(|trial| trial.record.metrics.keys());
    let mut points: Vec<LoadPoint> = metrics
        .filter_map(|metric| point_of_metric(metric).filter(|(of, _)| *of == aspect))
        .map(|(_, point)| point)
        .collect();
    points.sort_unstable();
    points.dedup();
    let large = aspect == Aspect::Throughput;
    let own = |point: &LoadPoint| if large { point.large } else { point.small };
    let other = |point: &LoadPoint| if large { point.small } else { point.large };
    let beside = points.iter().map(other).min()?;
    points.retain(|point| other(point) == beside && own(point) > 0);
    points.sort_by_key(own);
    let curves: Vec<Curve> = view
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| Curve {
            index,
            name: row.name.to_owned(),
            places: points.iter().filter_map(|point| place(row, aspect, *point, own(point))).collect(),
        })
        .collect();
    let (load, elsewhere) = if large {
        ("outstanding large I/Os or streams", "Small")
    } else {
        ("outstanding small I/Os", "Large")
    };
    let axis = if beside == 0 { load.to_owned() } else { format!("{load}, beside {elsewhere}={beside}") };
    let (id, title) = match aspect {
        Aspect::Iops => ("curve-iops", "Small I/Os a second over load"),
        Aspect::Latency => ("curve-latency", "Latency of small I/O over load"),
        Aspect::Throughput => ("curve-throughput", "Throughput of large I/O over load"),
    };
    let chart = Chart {
        title: title.to_owned(),
        axis,
        unit: aspect.unit(),
        logarithmic: aspect == Aspect::Latency,
        curves,
        levels: Vec::new(),
        knee: None,
    };
    let wide = if large { FULL } else { HALF };
    let figure = Figure {
        wide: curves::draw(&chart, wide, &format!("{id}-wide"))?,
        narrow: curves::draw(&chart, SLIM, &format!("{id}-narrow"))?,
    };
    Some((id, title.to_owned(), figure))
}

/// The median of the counted trials, and from the lowest to the highest of them.
fn place(row: &Row<'_>, aspect: Aspect, point: LoadPoint, load: u32) -> Option<Place> {
    let counted = row.trials.iter().any(|trial| trial.counts);
    let metric = format!("{}@{},{}", aspect.metric(), point.small, point.large);
    let figures = figures_of(row, &metric, counted);
    let band = extent(figures.iter().copied()).filter(|_| figures.len() > 1);
    let count = figures.len() as u64;
    let value = middle(figures)?;
    let slow = middle_of(row, &format!("latency_p99@{},{}", point.small, point.large), counted);
    let beyond: Vec<f64> = slow.filter(|_| aspect == Aspect::Latency).into_iter().collect();
    let slowest = beyond.first().map(|p99| format!(", p99 {}", aspect.write(*p99))).unwrap_or_default();
    let spread = band.map(|(low, high)| format!(", {} to {}", aspect.write(low), aspect.write(high)));
    let tip = format!(
        "{} · {point} · median {}{} of {}{slowest}",
        row.name,
        aspect.write(value),
        spread.unwrap_or_default(),
        crate::figures::counted(count, "trial")
    );
    // Trials that do not count are drawn hollow, as everywhere.
    Some(Place { load: load.into(), value, band, beyond, tip, estimated: !counted })
}

/// A metric of the trials that count, or of all where none does; latencies must be positive to be drawn.
fn figures_of(row: &Row<'_>, metric: &str, counted: bool) -> Vec<f64> {
    let trials = row.trials.iter().filter(|trial| trial.counts || !counted);
    let figures = trials.filter_map(|trial| trial.record.metrics.get(metric).copied());
    figures.filter(|value| value.is_finite() && (*value > 0.0 || !metric.starts_with("latency"))).collect()
}

fn middle_of(row: &Row<'_>, metric: &str, counted: bool) -> Option<f64> {
    middle(figures_of(row, metric, counted))
}

/// A map of each figure and level, the ratio to the baseline at every load point.
fn maps(judged: &[&Comparison]) -> Vec<(String, Figure)> {
    let mut subjects: Vec<(Aspect, &str, &str)> = Vec::new();
    for comparison in judged {
        let Some((aspect, _)) = point_of_metric(&comparison.point) else { continue };
        let subject = (aspect, comparison.level.as_str(), comparison.stratum.as_str());
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let drawn = subjects.iter().enumerate().filter_map(|(number, (aspect, level, stratum))| {
        let cells: Vec<(LoadPoint, &Comparison)> = judged
            .iter()
            .filter(|c| c.level == *level && c.stratum == *stratum)
            .filter_map(|c| {
                let (of, point) = point_of_metric(&c.point)?;
                (of == *aspect).then_some((point, *c))
            })
            .collect();
        let baseline = cells.first().map(|(_, comparison)| comparison.baseline.as_str())?;
        let title = format!("{} of {} against {baseline}", aspect.title(), name_in(level, stratum));
        let map = map(&title, &cells);
        let wide = if map.columns.len() > 8 { FULL } else { HALF };
        let figure = Figure {
            wide: heat_map::draw(&map, wide, &format!("ratio-map-{number}-wide"))?,
            narrow: heat_map::draw(&map, SLIM, &format!("ratio-map-{number}-narrow"))?,
        };
        Some((title, figure))
    });
    drawn.collect()
}

fn map(title: &str, cells: &[(LoadPoint, &Comparison)]) -> HeatMap {
    let sorted = |mut loads: Vec<u32>| {
        loads.sort_unstable();
        loads.dedup();
        loads
    };
    let small = sorted(cells.iter().map(|(point, _)| point.small).collect());
    let large = sorted(cells.iter().map(|(point, _)| point.large).collect());
    // One column alone reads better lying down.
    let lying = small.len() == 1 && large.len() > 1;
    let (columns, rows) = if lying { (large, small) } else { (small, large) };
    let axes = if lying { ("large", "small") } else { ("small", "large") };
    let at = |column: u32, row: u32| {
        let wanted = if lying {
            LoadPoint { small: row, large: column }
        } else {
            LoadPoint { small: column, large: row }
        };
        cells.iter().find(|(point, _)| *point == wanted).map(|(point, comparison)| cell(*point, comparison))
    };
    let of = |verdict: Verdict| cells.iter().filter(|(_, c)| c.verdict == Some(verdict)).count();
    let description = format!(
        "Of {} load points {} faster, {} slower, {} equivalent",
        cells.len(),
        of(Verdict::Faster),
        of(Verdict::Slower),
        of(Verdict::Equivalent)
    );
    HeatMap {
        title: title.to_owned(),
        axes: (axes.0.to_owned(), axes.1.to_owned()),
        cells: rows.iter().map(|row| columns.iter().map(|column| at(*column, *row)).collect()).collect(),
        columns,
        rows,
        description,
    }
}

/// The verdict as a sign and a colour, the ratio as text and as depth of colour.
fn cell(point: LoadPoint, comparison: &Comparison) -> Cell {
    let written = ratio(comparison.ratio, comparison.ratio_interval);
    let apart = comparison.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let depth = if apart > 0.25 {
        3
    } else if apart > 0.08 {
        2
    } else {
        1
    };
    let (sign, class) = match comparison.verdict {
        Some(Verdict::Faster) => ("+", format!("f{depth}")),
        Some(Verdict::Slower) => ("\u{2212}", format!("s{depth}")),
        Some(Verdict::Equivalent) => ("=", "b0".to_owned()),
        _ => ("?", "b0 open".to_owned()),
    };
    // The unit stands in the note; a sign that the figure has already need not be said twice.
    let figure = written.estimate.trim_end_matches("\u{a0}%").to_owned();
    let text = if figure.starts_with(sign) { figure } else { format!("{sign} {figure}") };
    let verdict = comparison.verdict.map_or("no verdict", Verdict::word);
    let interval = written.interval_with_unit().map(|interval| format!(" {interval}")).unwrap_or_default();
    Cell {
        class,
        text,
        sign: sign.to_owned(),
        tip: format!("{point}: {verdict}, {}{interval}", written.estimate),
        estimated: false,
    }
}

/// A headline's worth for those who only read the first lines: the sentence below the verdicts.
pub(super) fn rule(confidence: &str, margin: &str) -> Prose {
    Prose::of(&format!(
        "Every load point is a comparison of its own, and the {confidence} holds for all of them together (Holm). A curve is \
         faster only if no point of it is slower and some point is faster, slower likewise, and equivalent if every \
         point is within {margin}."
    ))
}
