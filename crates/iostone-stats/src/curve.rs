//! What the comparisons of a curve's points come to as a whole.
//!
//! Every point is a comparison of the family that [`crate::judge::judge_together`] decides, so the chance that any point
//! of equal configurations is called faster or slower is at most the declared one, and a verdict on the curve needs
//! no allowance of its own. Equivalence at every point needs none either: the claim is false if one of its parts is.

use iostone_model::verdict::{Comparison, CurveVerdict, Flag, PointName, Verdict, name_loads};

/// The verdict on each (stratum, level) whose comparisons are points of a curve, in order of first appearance.
///
/// Faster only if no point is slower and some point is faster; slower likewise; equivalent if every point is; else
/// undecided, with the flag `crossing` where points of both kinds were shown. Points that are undecided or unstable
/// forbid neither faster nor slower; the unstable ones are named by a flag. A flag that all points share is raised once on
/// the curve; it is taken from the points where it says the same at each. None for comparisons without blocks.
pub fn conclude_curves(comparisons: &mut [Comparison]) -> Vec<CurveVerdict> {
    let mut places: Vec<(String, String)> = Vec::new();
    for comparison in comparisons.iter().filter(|c| !c.point.is_empty() && c.verdict.is_some()) {
        let place = (comparison.stratum.clone(), comparison.level.clone());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
        .into_iter()
        .map(|(stratum, level)| {
            let mut points: Vec<&mut Comparison> = comparisons
                .iter_mut()
                .filter(|c| !c.point.is_empty() && c.stratum == stratum && c.level == level)
                .collect();
            let shared = lift_flags(&mut points);
            let points: Vec<&Comparison> = points.iter().map(|point| &**point).collect();
            conclude(&points, level, stratum, shared)
        })
        .collect()
}

fn conclude(points: &[&Comparison], level: String, stratum: String, shared: Vec<Flag>) -> CurveVerdict {
    let count = |verdict: Verdict| crate::count(points.iter().filter(|c| c.verdict == Some(verdict)).count());
    let (faster, slower, equivalent) =
        (count(Verdict::Faster), count(Verdict::Slower), count(Verdict::Equivalent));
    let all = crate::count(points.len());
    let verdict = match (faster, slower) {
        (1.., 0) => Verdict::Faster,
        (0, 1..) => Verdict::Slower,
        (0, 0) if equivalent == all => Verdict::Equivalent,
        _ => Verdict::Undecided,
    };
    let mut flags = Vec::new();
    if faster > 0 && slower > 0 {
        flags.push(Flag::new(
            "crossing",
            format!(
                "the curves cross: faster for {}, slower for {}",
                name_ranges(points, Verdict::Faster),
                name_ranges(points, Verdict::Slower)
            ),
        ));
    }
    let unstable = count(Verdict::Unstable);
    if unstable > 0 {
        flags.push(Flag::new(
            "unstable-points",
            format!(
                "the effect changed during the run at {unstable} of {all} points: {}",
                name_ranges(points, Verdict::Unstable)
            ),
        ));
    }
    flags.extend(shared);
    let baseline = points.first().map(|point| point.baseline.clone()).unwrap_or_default();
    CurveVerdict { level, baseline, stratum, verdict, faster, slower, equivalent, points: all, flags }
}

/// The points of a verdict as ranges of load.
pub fn name_ranges(points: &[&Comparison], verdict: Verdict) -> String {
    let names: Vec<&str> = points.iter().map(|point| point.point.as_str()).collect();
    name_loads(&names, |index| points.get(index).is_some_and(|point| point.verdict == Some(verdict)))
}

/// The flags that every point carries, each once.
fn lift_flags(points: &mut [&mut Comparison]) -> Vec<Flag> {
    let Some((first, others)) = points.split_first() else { return Vec::new() };
    let everywhere = |flag: &&Flag| others.iter().all(|c| c.flags.iter().any(|own| own.name == flag.name));
    let shared: Vec<Flag> = first.flags.iter().filter(everywhere).cloned().collect();
    let place = PointName::parse(&first.point).to_string();
    let mut lifted = Vec::new();
    for flag in shared {
        if points.iter().all(|point| point.flags.contains(&flag)) {
            for point in points.iter_mut() {
                point.flags.retain(|own| *own != flag);
            }
            lifted.push(flag);
        } else {
            let message = format!("at every point, as for {place}: {}", flag.message);
            lifted.push(Flag::new(&flag.name, message));
        }
    }
    lifted
}

#[cfg(test)]
mod tests;
