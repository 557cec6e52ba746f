//! Whole curves in an experiment's report: their verdicts, the curves themselves, and every load point held against the
//! baseline.

mod charts;
mod flatness;
mod maps;

use iostone_model::experiment::Configuration;
use iostone_model::run::RunRecord;
use iostone_model::verdict::{Comparison, CurveVerdict, Verdict};

use flatness::FlatFinding;

use super::Figure;
use super::glossary;
use super::prose::Prose;
use crate::figures::{declared_percent, ratio};
use crate::load_points::point_of_metric;
use crate::view::{Row, View, name_in};
use crate::wording::{self, curve::verdict_word};

/// More rows than this are folded away.
const OPEN_ROWS: usize = 16;

/// What the report shows of curves.
pub(super) struct Curves {
    pub(super) verdicts: Vec<CurveLine>,
    /// What flat write curves are put down to.
    pub(super) flatness: Vec<FlatFinding>,
    pub(super) charts: Vec<CurveChart>,
    /// The same figures beside more of the other load.
    pub(super) others: Vec<CurveChart>,
    pub(super) maps: Vec<(String, Figure)>,
    pub(super) groups: Vec<PointGroup>,
    pub(super) comparisons: usize,
    pub(super) folded: bool,
    pub(super) legend: Vec<(String, String)>,
    pub(super) margin: String,
    pub(super) confidence: String,
    /// Whether a verdict rests on more than the interval shown beside it.
    pub(super) any_together: bool,
    pub(super) any_equivalent: bool,
}

/// A figure over load.
pub(super) struct CurveChart {
    pub(super) id: String,
    pub(super) title: String,
    /// "with no large I/O beside it"; empty where there is no other load anywhere.
    pub(super) beside: String,
    pub(super) figure: Figure,
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
    pub(super) figures: u32,
}

/// The figures of one level against the same of the baseline.
pub(super) struct PointGroup {
    pub(super) title: String,
    pub(super) lines: Vec<PointLine>,
}

/// A figure at one load point against the baseline's.
pub(super) struct PointLine {
    pub(super) point: String,
    pub(super) figure: &'static str,
    pub(super) ratio: String,
    pub(super) interval: String,
    pub(super) verdict: String,
    pub(super) class: &'static str,
    /// Whether it was decided together with others.
    pub(super) together: bool,
    pub(super) flags: Prose,
}

impl Curves {
    /// None where no trial was measured at load points.
    pub(super) fn of(run: &RunRecord, view: &View<'_>) -> Option<Self> {
        let decide = &run.plan.experiment.decide;
        let strata = strata(run);
        let experiment = &run.plan.experiment;
        let levels: Vec<&str> =
            experiment.configurations.iter().map(|one| experiment.compared_level(one)).collect();
        let (charts, others) = charts::draw(view, &strata, &levels);
        let verdicts = run.verdicts.as_ref().filter(|_| !view.rehearsal);
        let judged: &[Comparison] = verdicts.map(|v| v.comparisons.as_slice()).unwrap_or_default();
        let judged: Vec<&Comparison> = judged.iter().filter(|c| !c.point.is_empty()).collect();
        let lines = verdicts.map(|v| v.curves.as_slice()).unwrap_or_default();
        if charts.is_empty() && lines.is_empty() && judged.is_empty() {
            return None;
        }
        let margin = decide.margin.0;
        Some(Self {
            verdicts: lines.iter().map(|curve| curve_line(curve, margin)).collect(),
            flatness: verdicts.map(|v| v.flatness.iter().map(FlatFinding::of).collect()).unwrap_or_default(),
            charts,
            others,
            maps: maps::draw(&judged),
            groups: groups(&judged),
            comparisons: judged.len(),
            folded: judged.len() > OPEN_ROWS,
            legend: match view.rows.len() {
                0 | 1 => Vec::new(),
                _ if charts::are_apart(&strata) => legend_of_levels(run, view, &strata),
                _ => legend(view),
            },
            margin: declared_percent(margin),
            confidence: declared_percent(decide.confidence.0),
            any_together: judged.iter().any(|comparison| wording::is_decided_together(&comparison.flags)),
            any_equivalent: judged.iter().any(|c| c.verdict == Some(Verdict::Equivalent)),
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
            _ => verdict_word(curve).to_owned(),
        },
        class: curve.verdict.word(),
        faster: curve.faster,
        slower: curve.slower,
        equivalent: curve.equivalent,
        open: curve.points.saturating_sub(settled),
        figures: curve.points,
    }
}

/// The figures of each level together, in the order in which they were judged.
fn groups(judged: &[&Comparison]) -> Vec<PointGroup> {
    let mut groups: Vec<PointGroup> = Vec::new();
    for comparison in judged {
        let name = name_in(&comparison.level, &comparison.stratum);
        let title = format!("{name} against {}", comparison.baseline);
        let line = point_line(comparison);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.lines.push(line),
            None => groups.push(PointGroup { title, lines: vec![line] }),
        }
    }
    groups
}

fn point_line(comparison: &Comparison) -> PointLine {
    let written = ratio(comparison.ratio, wording::deciding_interval(comparison));
    let placed = point_of_metric(&comparison.point);
    // The dagger tells what was decided together.
    let told = |name: &&str| !wording::DECIDED_TOGETHER.contains(name);
    let flags = comparison.flags.iter().map(|flag| flag.name.as_str()).filter(told);
    let flags: Vec<Prose> = flags.map(glossary::named).collect();
    PointLine {
        point: placed.map_or_else(|| comparison.point.clone(), |(_, point)| point.to_string()),
        figure: placed.map_or("", |(aspect, _)| aspect.title()),
        interval: written.interval_with_unit().unwrap_or_default(),
        ratio: written.estimate,
        verdict: comparison.verdict.map_or_else(
            || wording::verdict_words(comparison, 0.0, false),
            |verdict| verdict.word().to_owned(),
        ),
        class: comparison.verdict.map_or("none", Verdict::word),
        together: wording::is_decided_together(&comparison.flags),
        flags: Prose::list(&flags),
    }
}

/// The levels beside the compared one, a configuration each.
fn strata(run: &RunRecord) -> Vec<String> {
    let experiment = &run.plan.experiment;
    let of = |configuration: &Configuration| {
        let factors = experiment.factors.iter().filter(|factor| factor.name != experiment.baseline_factor);
        let levels = factors.filter_map(|factor| configuration.levels.get(&factor.name));
        levels.map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    experiment.configurations.iter().map(of).collect()
}

/// The compared levels, marked as they are in the chart of each stratum.
fn legend_of_levels(run: &RunRecord, view: &View<'_>, strata: &[String]) -> Vec<(String, String)> {
    let experiment = &run.plan.experiment;
    let first = strata.first();
    let rows = view.rows.iter().zip(&experiment.configurations).enumerate();
    rows.filter(|(index, _)| strata.get(*index) == first)
        .map(|(index, (row, configuration))| {
            let mut mark = crate::svg::Drawing::new(14.0, 14.0);
            mark.mark(charts::place_in_stratum(strata, index), "mark", (7.0, 7.0), 5.0, "");
            let level = experiment.compared_level(configuration);
            let name = if row.baseline { format!("{level} (baseline)") } else { level.to_owned() };
            (mark.finish_hidden(), name)
        })
        .collect()
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

/// What the verdict on a curve means: the sentence below the verdicts.
pub(super) fn rule(confidence: &str, margin: &str) -> Prose {
    Prose::of(&format!(
        "Every figure at a load point is a comparison of its own, and the {confidence} holds for all of them together. A curve is faster only if some of its figures are faster and none is slower, slower likewise, and \
         equivalent if every one is within {margin}. It crosses where some are faster and some slower."
    ))
}
