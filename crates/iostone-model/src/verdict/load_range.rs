//! Points of a curve by name, and neighbouring points of a like verdict folded into ranges of load.

use std::fmt;

use crate::metric::{self, Unit};
use crate::orion::LoadPoint;

/// The parts of a point's name, such as `iops@4,0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointName<'a> {
    /// The figure: `iops`.
    pub figure: &'a str,
    /// Where it is taken; none for a name without a load.
    pub load: Option<LoadPoint>,
}

impl<'a> PointName<'a> {
    /// Takes a trial's metric apart: the figure, then `@`, the small load, `,` and the large one.
    pub fn parse(name: &'a str) -> Self {
        let parsed = name.split_once('@').and_then(|(figure, load)| {
            let (small, large) = load.split_once(',')?;
            let load = LoadPoint { small: small.parse().ok()?, large: large.parse().ok()? };
            Some(Self { figure, load: Some(load) })
        });
        parsed.unwrap_or(Self { figure: name, load: None })
    }

    /// The figure for people: "IOPS", "mean latency".
    pub fn figure_words(&self) -> &'a str {
        match self.figure {
            "iops" => "IOPS",
            "latency" => "mean latency",
            "latency_p99" => "p99 latency",
            other => other,
        }
    }
}

impl PointName<'_> {
    /// The unit of its values.
    pub fn unit(&self) -> Unit {
        match self.figure {
            "latency" => Unit::Seconds,
            other => metric::find(other).map_or(Unit::Plain, |metric| metric.unit),
        }
    }
}

impl fmt::Display for PointName<'_> {
    /// "IOPS at Small=4 and Large=0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.figure_words())?;
        self.load.map_or(Ok(()), |load| write!(f, " at {load}"))
    }
}

/// A rectangle of the matrix: neighbouring points of one figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRange<'a> {
    /// The figure, and the point with the least loads.
    pub first: PointName<'a>,
    /// The point with the greatest loads.
    pub last: PointName<'a>,
    /// Its points, as indices into the names that were folded.
    pub members: Vec<usize>,
}

impl LoadRange<'_> {
    /// The small loads: "4", "1 to 5"; none where the points have no load.
    pub fn small(&self) -> Option<String> {
        Some(span(self.first.load?.small, self.last.load?.small))
    }

    /// The large loads, likewise.
    pub fn large(&self) -> Option<String> {
        Some(span(self.first.load?.large, self.last.load?.large))
    }

    /// Where it lies, without the figure: "Small=1 to 5 and Large=0".
    pub fn loads(&self) -> Option<String> {
        Some(format!("Small={} and Large={}", self.small()?, self.large()?))
    }
}

impl fmt::Display for LoadRange<'_> {
    /// "IOPS at Small=1 to 5 and Large=0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.first.figure_words())?;
        self.loads().map_or(Ok(()), |loads| write!(f, " at {loads}"))
    }
}

/// Ranges named in a sentence.
const RANGES_NAMED: usize = 4;

/// The chosen points in words, folded into ranges; where those are too many to be named, the larger ones.
pub fn name_loads(names: &[&str], chosen: impl Fn(usize) -> bool) -> String {
    let mut ranges = fold_loads(names, |left, right| chosen(left) == chosen(right));
    ranges.retain(|range| range.members.iter().any(|index| chosen(*index)));
    if ranges.len() > RANGES_NAMED {
        ranges.sort_by_key(|range| std::cmp::Reverse(range.members.len()));
    }
    let rest: usize = ranges.iter().skip(RANGES_NAMED).map(|range| range.members.len()).sum();
    let mut written: Vec<String> = ranges.iter().take(RANGES_NAMED).map(ToString::to_string).collect();
    if rest > 0 {
        written.push(format!("{rest} more {}", if rest == 1 { "point" } else { "points" }));
    }
    match written.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{}; and {last}", others.join("; ")),
        _ => written.join(""),
    }
}

fn span(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// Folds points into rectangles of neighbours that are alike, in the order of figures, large loads and small loads.
///
/// Neighbours are next to each other among the points given: where the loads 4, 8 and 12 were measured, 4 and 8 are. A
/// point without a load stays by itself.
pub fn fold_loads<'a>(names: &[&'a str], alike: impl Fn(usize, usize) -> bool) -> Vec<LoadRange<'a>> {
    let parsed: Vec<PointName<'a>> = names.iter().map(|name| PointName::parse(name)).collect();
    let mut figures: Vec<&str> = Vec::new();
    for name in &parsed {
        if !figures.contains(&name.figure) {
            figures.push(name.figure);
        }
    }
    figures.into_iter().flat_map(|figure| fold_figure(&parsed, figure, &alike)).collect()
}

fn fold_figure<'a>(
    names: &[PointName<'a>],
    figure: &str,
    alike: &impl Fn(usize, usize) -> bool,
) -> Vec<LoadRange<'a>> {
    let mut order: Vec<(LoadPoint, usize, PointName<'a>)> = Vec::new();
    let mut ranges: Vec<LoadRange<'a>> = Vec::new();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| name.figure == figure) {
        match name.load {
            Some(load) => order.push((load, index, *name)),
            None => ranges.push(LoadRange { first: *name, last: *name, members: vec![index] }),
        }
    }
    order.sort_by_key(|(load, ..)| (load.large, load.small));
    // The ranges that end in the row before: those that the next row may go on with.
    let mut above: Vec<LoadRange<'a>> = Vec::new();
    for row in order.chunk_by(|left, right| left.0.large == right.0.large) {
        let mut here: Vec<LoadRange<'a>> = row
            .chunk_by(|left, right| alike(left.1, right.1))
            .filter_map(|run| {
                let ((_, _, first), (_, _, last)) = (run.first()?, run.last()?);
                let members = run.iter().map(|(_, index, _)| *index).collect();
                Some(LoadRange { first: *first, last: *last, members })
            })
            .collect();
        for range in &mut here {
            let small =
                |one: &LoadRange<'_>| [one.first.load, one.last.load].map(|load| load.map(|load| load.small));
            let goes_on = |upper: &LoadRange<'a>| {
                let same = upper.members.first().zip(range.members.first());
                small(upper) == small(range) && same.is_some_and(|(upper, own)| alike(*upper, *own))
            };
            if let Some(found) = above.iter().position(goes_on) {
                let upper = above.swap_remove(found);
                range.first = upper.first;
                range.members.splice(0..0, upper.members);
            }
        }
        ranges.append(&mut above);
        above = here;
    }
    ranges.append(&mut above);
    ranges.sort_by_key(|range| range.first.load.map(|load| (load.large, load.small)));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(points: &[(&str, char)]) -> Vec<String> {
        let names: Vec<&str> = points.iter().map(|(name, _)| *name).collect();
        let ranges = fold_loads(&names, |left, right| points[left].1 == points[right].1);
        ranges.iter().map(|range| format!("{}: {range}", points[range.members[0]].1)).collect()
    }

    #[test]
    fn neighbours_that_are_alike_make_a_range() {
        let row =
            [("iops@1,0", '+'), ("iops@2,0", '+'), ("iops@4,0", '+'), ("iops@8,0", '-'), ("iops@12,0", '+')];
        assert_eq!(
            folded(&row),
            [
                "+: IOPS at Small=1 to 4 and Large=0",
                "-: IOPS at Small=8 and Large=0",
                "+: IOPS at Small=12 and Large=0"
            ]
        );
    }

    #[test]
    fn rows_with_the_same_range_make_a_rectangle() {
        let matrix = [
            ("iops@1,0", '+'),
            ("iops@2,0", '='),
            ("iops@1,1", '+'),
            ("iops@2,1", '='),
            ("iops@1,2", '='),
            ("iops@2,2", '='),
            ("throughput@0,1", '='),
            ("throughput@0,2", '='),
        ];
        assert_eq!(
            folded(&matrix),
            [
                "+: IOPS at Small=1 and Large=0 to 1",
                "=: IOPS at Small=2 and Large=0 to 1",
                "=: IOPS at Small=1 to 2 and Large=2",
                "=: throughput at Small=0 and Large=1 to 2"
            ]
        );
    }

    #[test]
    fn a_name_without_a_load_stays_by_itself() {
        assert_eq!(folded(&[("iops", '+'), ("iops@x,1", '+')]), ["+: IOPS", "+: iops@x,1"]);
        let units = ["iops@1,0", "latency@1,0", "latency_p99@1,0", "throughput@0,1"]
            .map(|n| PointName::parse(n).unit());
        assert_eq!(units, [Unit::PerSecond, Unit::Seconds, Unit::Seconds, Unit::BytesPerSecond]);
        assert_eq!(PointName::parse("latency_p99@4,2").to_string(), "p99 latency at Small=4 and Large=2");
    }
}
