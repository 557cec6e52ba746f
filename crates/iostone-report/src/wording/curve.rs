//! Sentences about a curve: what its points came to, and what else must be known of them.

use iostone_model::verdict::{Comparison, CurveVerdict, Flag, FlatnessVerdict, Verdicts, name_loads};

use crate::figures::declared_percent;
use crate::view::name_in;

/// The flags of curves with the curve's name where there are several: those of each curve, then those of its points, without
/// those that render findings.
///
/// Of its points there is one line for each name: at how many of them, where, and the evidence at the first.
/// What the curve says of all its points is not told again.
pub(crate) fn flags(verdicts: &Verdicts) -> Vec<(Option<String>, String, String)> {
    let several = verdicts.curves.len() > 1;
    let mut lines = Vec::new();
    for curve in &verdicts.curves {
        let subject = several.then(|| name_in(&curve.level, &curve.stratum));
        let is_told = |flag: &&Flag| flag.severity.is_none();
        let own = curve
            .flags
            .iter()
            .filter(is_told)
            .map(|flag| (subject.clone(), flag.name.clone(), flag.message.clone()));
        lines.extend(own);
        let points: Vec<&Comparison> = curve.points_of(verdicts).collect();
        let names: Vec<&str> = points.iter().map(|point| point.point.as_str()).collect();
        let mut told: Vec<&str> = curve.flags.iter().map(|flag| flag.name.as_str()).collect();
        for flag in points.iter().flat_map(|point| &point.flags).filter(is_told) {
            if told.contains(&flag.name.as_str()) {
                continue;
            }
            told.push(&flag.name);
            let has = |index: usize| {
                points.get(index).is_some_and(|point| point.flags.iter().any(|own| own.name == flag.name))
            };
            let count = (0..points.len()).filter(|index| has(*index)).count();
            let place = name_loads(&names, has);
            let message = if count == 1 {
                format!("{place}: {}", flag.message)
            } else {
                format!("at {count} of {} points ({place}), first: {}", points.len(), flag.message)
            };
            lines.push((subject.clone(), flag.name.clone(), message));
        }
    }
    lines
}

/// What flat write curves are put down to: "volume=limited: the flat curve is put down to the volume's limit, ...".
pub(crate) fn flatness_lines(verdicts: &Verdicts) -> Vec<String> {
    let line = |found: &FlatnessVerdict| match found.stratum.as_str() {
        "" => format!("Small writes over load: {}.", found.sentence),
        stratum => format!("Small writes over load with {stratum}: {}.", found.sentence),
    };
    verdicts.flatness.iter().map(line).collect()
}

/// The verdict on a curve: `crosses` where some of it is faster and some slower, which no more blocks would settle.
pub(crate) fn verdict_word(curve: &CurveVerdict) -> &'static str {
    if curve.flags.iter().any(|flag| flag.name == "crossing") { "crosses" } else { curve.verdict.word() }
}

/// The verdict on a curve and what its points came to: "faster: 12 of 28 points faster, none slower, 10 equivalent
/// within 3 %, 6 undecided".
pub(crate) fn curve_words(curve: &CurveVerdict, margin: f64) -> String {
    let number = |count: u32| if count == 0 { "none".to_owned() } else { count.to_string() };
    let mut words = format!(
        "{} of {} points faster, {} slower",
        number(curve.faster),
        curve.points,
        number(curve.slower)
    );
    if curve.equivalent > 0 {
        words = format!("{words}, {} equivalent within {}", curve.equivalent, declared_percent(margin));
    }
    let rest = curve.points - curve.faster - curve.slower - curve.equivalent;
    if rest > 0 { format!("{words}, {rest} undecided") } else { words }
}
