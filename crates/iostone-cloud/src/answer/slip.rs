//! Where an expected time came from: the formulas that people use, each with what is wrong with it.
//!
//! A formula is an amount over a rate. The amount may be reckoned with 1000 for 1024 or in the wrong unit, the rate in the wrong
//! unit, in bits for bytes, as the burst for ever, or of a ceiling that is not the lowest. Units are mistaken of ceilings that
//! count bytes alone: nobody reads an IOPS limit as megabits.

use iostone_model::answer::{Expected, Slip};
use iostone_model::cloud::CeilingKind;
use iostone_model::prediction::{CeilingRow, Prediction};
use iostone_model::units::Bytes;

use super::{Expectation, short};
use crate::ceiling::Counted;
use crate::prediction::{Route, Work};

/// Times within this share are taken for the same.
const NEAR: f64 = 0.015;
/// However coarsely a time was said, it is taken for no coarser than this.
const COARSEST: f64 = 0.05;
/// Beyond this many mistakes any time comes out of some formula.
const MOST_MISTAKES: usize = 3;
/// More formulas than this say nothing.
const MOST_FORMULAS: usize = 3;

const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// One side of a formula: its value, its words, and what is wrong with it.
struct Term {
    value: f64,
    words: String,
    mistakes: Vec<String>,
}

impl Term {
    fn right(value: f64, words: String) -> Self {
        Self { value, words, mistakes: Vec::new() }
    }

    fn wrong(value: f64, words: String, mistake: String) -> Self {
        Self { value, words, mistakes: vec![mistake] }
    }
}

/// A ceiling in what it counts by itself, by its name.
pub(super) struct OwnFigure {
    name: String,
    counted: Counted,
    base: f64,
    burst: Option<f64>,
    io_size: Option<Bytes>,
}

/// What each ceiling of some work counts.
pub(super) fn own_figures(route: &Route, work: &Work) -> Vec<OwnFigure> {
    let path = route.path(work);
    let own = path.iter().map(|lane| OwnFigure {
        name: route.name(lane, work),
        counted: lane.counted,
        base: lane.base,
        burst: lane.burst.map(|burst| burst.rate),
        io_size: work.io_size,
    });
    own.collect()
}

/// The formulas that give an expected time for so many bytes.
pub(super) fn explain(
    prediction: &Prediction,
    own: &[OwnFigure],
    asked: Bytes,
    expected: Expectation,
) -> Expected {
    let seconds = expected.seconds;
    let within_seconds = (seconds * NEAR).max(expected.half_digit.min(seconds * COARSEST));
    let near = |time: f64| (time - seconds).abs() <= within_seconds;
    let agrees = near(prediction.seconds);
    let mut slips: Vec<Slip> = Vec::new();
    if !agrees {
        let amounts = amounts(asked);
        for row in &prediction.ceilings {
            for rate in rates(row, own, &prediction.ceilings) {
                for amount in &amounts {
                    let time = amount.value / rate.value;
                    if !near(time) || amount.mistakes.len() + rate.mistakes.len() > MOST_MISTAKES {
                        continue;
                    }
                    let mistakes = [amount.mistakes.clone(), rate.mistakes.clone()].concat();
                    let formula = format!("{} at {}", amount.words, rate.words);
                    if !slips.iter().any(|slip| slip.formula == formula) {
                        slips.push(Slip { seconds: time, formula, mistakes });
                    }
                }
            }
        }
        let off = |slip: &Slip| (slip.seconds - seconds).abs();
        slips.sort_by(|a, b| a.mistakes.len().cmp(&b.mistakes.len()).then(off(a).total_cmp(&off(b))));
        let fewest = slips.first().map_or(0, |slip| slip.mistakes.len());
        slips.retain(|slip| slip.mistakes.len() <= fewest + 1);
        slips.truncate(MOST_FORMULAS);
    }
    Expected { seconds, within_seconds, agrees, slips }
}

/// The amount in every way in which it is reckoned.
fn amounts(asked: Bytes) -> Vec<Term> {
    const UNITS: [(&str, &str, &str, u32); 3] =
        [("TiB", "GiB", "TB", 4), ("GiB", "MiB", "GB", 3), ("MiB", "KiB", "MB", 2)];
    let bytes = asked.0 as f64;
    let mut terms = vec![Term::right(bytes, spaced(&asked.to_string()))];
    for (binary, smaller, decimal, power) in UNITS {
        let (two, ten) = (1024_u64.pow(power), 1000_u64.pow(power));
        if asked.0 >= two && asked.0.is_multiple_of(two) {
            let count = asked.0 / two;
            terms.push(Term::wrong(
                bytes * 1000.0 / 1024.0,
                format!("{count} x 1000 {smaller}"),
                format!("1 {binary} is 1024 {smaller}"),
            ));
            terms.push(Term::wrong(
                count as f64 * ten as f64,
                format!("{count} {decimal}"),
                format!("{count} {binary} is {} {decimal}", short(bytes / ten as f64)),
            ));
            break;
        }
        if asked.0 >= ten && asked.0.is_multiple_of(ten) {
            let count = asked.0 / ten;
            terms.push(Term::wrong(
                count as f64 * two as f64,
                format!("{count} {binary}"),
                format!("{count} {decimal} is {} {binary}", short(bytes / two as f64)),
            ));
            break;
        }
    }
    terms
}

/// `220GiB` with a blank before its unit.
fn spaced(quantity: &str) -> String {
    let end = quantity.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(quantity.len());
    let (number, unit) = quantity.split_at(end);
    format!("{number} {unit}")
}

/// A ceiling's rate in every way in which it is read.
fn rates(row: &CeilingRow, own: &[OwnFigure], all: &[CeilingRow]) -> Vec<Term> {
    let figure = own.iter().find(|figure| figure.name == row.name);
    let read = |rate: f64, own: &dyn Fn(&OwnFigure) -> Option<f64>| match figure {
        Some(figure) if figure.counted == Counted::Ios => {
            let iops = short(own(figure).unwrap_or(figure.base));
            let of = figure.io_size.map(|size| format!(" of {}", size.in_words())).unwrap_or_default();
            vec![Term::right(rate, format!("{iops} IOPS{of}"))]
        }
        Some(figure) if figure.counted != Counted::Bytes => {
            vec![Term::right(rate, format!("{} MB/s", short(rate / MB)))]
        }
        _ => read_rates(row.kind, rate),
    };
    let sustained = read(row.sustained, &|figure| Some(figure.base));
    let burst = row.burst.into_iter().flat_map(|burst| {
        read(burst, &|figure| figure.burst).into_iter().map(|mut term| {
            term.mistakes.push(format!("the burst of the {} does not last for ever", word(row.kind)));
            term
        })
    });
    let terms = sustained.into_iter().chain(burst);
    let forgotten = lower_kinds(row, all);
    terms
        .map(|mut term| {
            if !forgotten.is_empty() {
                term.mistakes.extend(forgotten.iter().map(|name| format!("the {name} was forgotten")));
                term.words = format!("the {}'s {}", word(row.kind), term.words);
            }
            term
        })
        .collect()
}

/// The kinds of ceilings that are lower in the long run.
fn lower_kinds(row: &CeilingRow, all: &[CeilingRow]) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for other in all.iter().filter(|other| other.sustained < row.sustained * (1.0 - 1e-9)) {
        let name = if other.kind == row.kind { "lower limit" } else { word(other.kind) };
        if !kinds.contains(&name) {
            kinds.push(name);
        }
    }
    kinds
}

/// A rate in its own unit, in the other prefix, and in bits for bytes.
fn read_rates(kind: CeilingKind, rate: f64) -> Vec<Term> {
    let binary = (rate / MIB).fract() == 0.0;
    let (own, unit, other_factor, other_unit) =
        if binary { (MIB, "MiB/s", MB, "MB/s") } else { (MB, "MB/s", MIB, "MiB/s") };
    let number = short(rate / own);
    let is = match kind {
        CeilingKind::Link => {
            format!(
                "{} Mbps is {} MB/s = {} MiB/s",
                short(rate * 8.0 / MB),
                short(rate / MB),
                short(rate / MIB)
            )
        }
        _ => format!("{number} {unit} is {} {other_unit}", short(rate / other_factor)),
    };
    let mut terms = vec![
        Term::right(rate, format!("{number} {unit}")),
        Term::wrong(rate / own * other_factor, format!("{number} {other_unit}"), is),
    ];
    if kind == CeilingKind::Link {
        let bits = short(rate * 8.0 / MB);
        for (factor, unit) in [(MB, "MB/s"), (MIB, "MiB/s")] {
            terms.push(Term::wrong(
                rate * 8.0 / MB * factor,
                format!("{bits} {unit}"),
                format!("{bits} Mbps are bits: {} MB/s", short(rate / MB)),
            ));
        }
    } else {
        terms.push(Term::wrong(
            rate / own * MB / 8.0,
            format!("{number} Mbps"),
            format!("{number} {unit} are bytes, not bits"),
        ));
    }
    terms
}

/// What people call it.
fn word(kind: CeilingKind) -> &'static str {
    match kind {
        CeilingKind::Volume => "volume",
        CeilingKind::Array => "array",
        CeilingKind::Link => "link",
        CeilingKind::Cpu => "processor",
        CeilingKind::Source => "source",
        CeilingKind::PageCache => "page cache",
        CeilingKind::Filesystem => "filesystem",
        CeilingKind::QueueDepth => "queue depth",
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Basis;
    use proptest::prelude::*;

    use super::*;
    use crate::answer::tests::prediction;

    const ASKED: Bytes = Bytes(220 << 30);

    fn ceilings() -> Vec<CeilingRow> {
        let row = |kind, sustained| CeilingRow {
            kind,
            name: String::new(),
            sustained,
            burst: None,
            bucket: None,
            binds_seconds: 0.0,
            basis: Basis::Published,
            source: String::new(),
        };
        vec![row(CeilingKind::Link, 62.5e6), row(CeilingKind::Volume, 160.0 * MIB)]
    }

    fn explained(minutes: f64) -> Expected {
        let prediction = prediction(3717.0, ceilings());
        explain(&prediction, &[], ASKED, Expectation { seconds: minutes * 60.0, half_digit: 30.0 })
    }

    #[test]
    fn the_forgotten_link_of_the_published_23_minutes_is_found() {
        let expected = explained(23.0);
        let first = &expected.slips[0];
        assert_eq!(first.formula, "220 GiB at the volume's 160 MiB/s");
        assert_eq!(first.mistakes, ["the link was forgotten"]);
        assert!((first.seconds - 1408.0).abs() < 1e-6);
        let second = &expected.slips[1];
        assert_eq!(second.formula, "220 x 1000 MiB at the volume's 160 MiB/s");
    }

    #[test]
    fn both_slips_of_the_published_59_minutes_are_found() {
        let expected = explained(59.0);
        let published = expected.slips.iter().find(|slip| slip.formula == "220 x 1000 MiB at 62.5 MiB/s");
        let published = published.expect("the published formula");
        assert_eq!(published.mistakes, ["1 GiB is 1024 MiB", "500 Mbps is 62.5 MB/s = 59.6 MiB/s"]);
        assert!((published.seconds - 3520.0).abs() < 1e-6);
    }

    #[test]
    fn bits_for_bytes_are_found_and_a_right_expectation_needs_no_formula() {
        let bits = explained(236_223.201_28 / 500.0 / 60.0);
        assert_eq!(bits.slips[0].mistakes, ["500 Mbps are bits: 62.5 MB/s"]);
        let right = explained(62.0);
        assert!(right.agrees && right.slips.is_empty());
        assert!(explained(600.0).slips.is_empty());
    }

    #[test]
    fn a_burst_taken_for_ever_is_named() {
        let mut ceilings = ceilings();
        ceilings[0].burst = Some(125e6);
        let prediction = prediction(3000.0, ceilings);
        let expected = Expectation { seconds: 236_223_201_280.0 / 125e6, half_digit: 0.5 };
        let found = explain(&prediction, &[], ASKED, expected);
        assert_eq!(found.slips[0].mistakes, ["the burst of the link does not last for ever"]);
    }

    proptest! {
        #[test]
        fn every_formula_gives_what_was_expected(minutes in 1.0..2000.0_f64, bytes in 1..u64::MAX) {
            let expectation = Expectation { seconds: minutes * 60.0, half_digit: 30.0 };
            let found = explain(&prediction(3717.0, ceilings()), &[], Bytes(bytes), expectation);
            for slip in &found.slips {
                prop_assert!((slip.seconds - found.seconds).abs() <= found.within_seconds);
                prop_assert!(slip.mistakes.len() <= MOST_MISTAKES);
            }
        }
    }
}
