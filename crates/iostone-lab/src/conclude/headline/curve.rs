//! What the verdict on a curve is in words: at how many points, where, and by how much.

use iostone_model::units::ratio_digits;
use iostone_model::verdict::{Comparison, CurveVerdict, PointName, Verdict, Verdicts};
use iostone_stats::curve::name_ranges;

use super::{FACTOR_FROM, at_stratum, margin};

/// The answer for one level.
pub(super) fn sentence(curve: &CurveVerdict, verdicts: &Verdicts) -> String {
    let points: Vec<&Comparison> = curve.points_of(verdicts).collect();
    let level = at_stratum(&curve.level, &curve.stratum);
    let baseline = &curve.baseline;
    let of = Count { all: curve.points, noun: noun(&points) };
    match curve.verdict {
        Verdict::Faster => format!(
            "{level} is faster than {baseline} at {} and slower at none ({}).",
            of.share(curve.faster),
            besides(curve, verdicts, &points, Verdict::Faster)
        ),
        Verdict::Slower => format!(
            "{level} is slower than {baseline} at {} and faster at none ({}).",
            of.share(curve.slower),
            besides(curve, verdicts, &points, Verdict::Slower)
        ),
        Verdict::Equivalent => format!(
            "{level} and {baseline} are equivalent within {} at {} ({}).",
            margin(verdicts),
            of.share(curve.equivalent),
            blocks(verdicts)
        ),
        _ if curve.crosses() => format!(
            "{level} crosses {baseline}: faster for {}, slower for {} ({} and {} of {} {}, {}).",
            name_ranges(&points, Verdict::Faster),
            name_ranges(&points, Verdict::Slower),
            curve.faster,
            curve.slower,
            curve.points,
            of.noun,
            blocks(verdicts)
        ),
        _ => undecided(curve, verdicts, &points, &of, &level),
    }
}

/// How many of how many, and of what.
struct Count {
    all: u32,
    noun: &'static str,
}

impl Count {
    /// "12 of 28 load points", "all 28 load points", "the one load point".
    fn share(&self, some: u32) -> String {
        match self.all {
            1 => format!("the one {}", self.noun.trim_end_matches('s')),
            all if all == some => format!("all {all} {}", self.noun),
            all => format!("{some} of {all} {}", self.noun),
        }
    }
}

/// Where a load point has several figures, points are more than load points.
fn noun(points: &[&Comparison]) -> &'static str {
    let mut loads: Vec<_> = points.iter().map(|c| PointName::parse(&c.point).load).collect();
    loads.sort_unstable();
    let repeats = loads.windows(2).any(|pair| pair[0] == pair[1]);
    if repeats { "points" } else { "load points" }
}

fn blocks(verdicts: &Verdicts) -> String {
    match verdicts.blocks.complete {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    }
}

/// The sizes of the differences, what the other points came to, and the blocks.
fn besides(curve: &CurveVerdict, verdicts: &Verdicts, points: &[&Comparison], verdict: Verdict) -> String {
    let ratios: Vec<f64> =
        points.iter().filter(|c| c.verdict == Some(verdict)).filter_map(|c| c.ratio).collect();
    let least = ratios.iter().copied().reduce(f64::min);
    let most = ratios.iter().copied().reduce(f64::max);
    let as_factor = ratios.iter().any(|ratio| *ratio >= FACTOR_FROM || *ratio <= FACTOR_FROM.recip());
    let sizes = least.zip(most).map(|(least, most)| sizes(least, most, as_factor));
    let rest = curve.points - curve.faster - curve.slower - curve.equivalent;
    let equivalent = (curve.equivalent > 0)
        .then(|| format!("{} equivalent within {}", curve.equivalent, margin(verdicts)));
    let open = (rest > 0).then(|| format!("{rest} undecided"));
    let pieces: Vec<String> =
        [sizes, equivalent, open, Some(blocks(verdicts))].into_iter().flatten().collect();
    pieces.join(", ")
}

/// "typical ratios 0.0026 to 0.010", "typical difference +10.1 %".
fn sizes(least: f64, most: f64, as_factor: bool) -> String {
    let write =
        |ratio: f64| if as_factor { ratio_digits(ratio) } else { format!("{:+.1}", (ratio - 1.0) * 100.0) };
    let (what, unit) = if as_factor { ("ratio", "") } else { ("difference", " %") };
    let (least, most) = (write(least), write(most));
    if least == most {
        format!("typical {what} {most}{unit}")
    } else {
        format!("typical {what}s {least} to {most}{unit}")
    }
}

fn undecided(
    curve: &CurveVerdict,
    verdicts: &Verdicts,
    points: &[&Comparison],
    of: &Count,
    level: &str,
) -> String {
    let (baseline, blocks) = (&curve.baseline, blocks(verdicts));
    if let Some(flag) = curve.flags.iter().find(|flag| flag.name == "no-flush") {
        return format!(
            "No difference can be claimed between {level} and {baseline} ({blocks}): {}.",
            flag.message
        );
    }
    if let Some(flag) = curve.flags.iter().find(|flag| flag.name == "withheld") {
        return format!("{level} against {baseline} stays undecided ({blocks}): {}.", flag.message);
    }
    let known = if curve.equivalent > 0 {
        format!(
            "; none is shown faster or slower, and {} of {} {} are equivalent within {}",
            curve.equivalent,
            of.all,
            of.noun,
            margin(verdicts)
        )
    } else {
        format!(" at {}", of.share(of.all))
    };
    let more =
        forecast(points).map(|[low, high]| format!(" Forecast: settled after {low} to {high} blocks."));
    format!("{level} against {baseline} is undecided after {blocks}{known}.{}", more.unwrap_or_default())
}

/// The blocks after which the curve is likely to be settled: any difference decides it, so the first in sight is what to wait
/// for; else equivalence at every point that is open.
fn forecast(points: &[&Comparison]) -> Option<[u32; 2]> {
    let forecasts = || points.iter().filter_map(|point| point.forecast);
    let difference = forecasts().filter(|of| of.difference_at.is_some()).filter_map(|of| of.between);
    let first = difference.min_by_key(|[low, high]| (*high, *low));
    let open = points.iter().filter(|point| point.verdict == Some(Verdict::Undecided));
    let equivalence = || -> Option<Vec<[u32; 2]>> {
        open.map(|point| point.forecast.filter(|of| of.equivalence_at.is_some())?.between).collect()
    };
    first.or_else(|| equivalence()?.into_iter().max_by_key(|[low, high]| (*high, *low)))
}
