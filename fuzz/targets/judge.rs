//! The judge: any figures and any rules, and nothing that is not a number comes out.
#![no_main]

use arbitrary::Arbitrary;
use iostone_fuzz::assert_survives_json;
use iostone_model::metric::Direction;
use iostone_model::verdict::Comparison;
use iostone_stats::judge::{Figure, Judgement, Rules, judge, next_step};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case {
    lower: bool,
    adjust_order: bool,
    futility: bool,
    margin: u8,
    confidence: Share,
    budget: u8,
    minimum: u8,
    resolution: Option<u8>,
    figures: Figures,
}

#[derive(Debug, Arbitrary)]
enum Share {
    Usual,
    Percent(u8),
    Any(f64),
}

#[derive(Debug, Arbitrary)]
enum Figures {
    /// As a run records them: each level once in each block.
    Blocks { levels: u8, strata: bool, figures: Vec<Value>, orders: Vec<u8> },
    /// As a table from anywhere may have them.
    Table(Vec<(u8, u8, Value, Option<u64>, Option<f64>)>),
}

#[derive(Debug, Arbitrary)]
enum Value {
    Small(u8),
    Large(u32),
    Any(f64),
}

impl Value {
    fn figure(&self) -> f64 {
        match self {
            Self::Small(value) => f64::from(*value) + 1.0,
            Self::Large(value) => f64::from(*value) + 0.5,
            Self::Any(value) => *value,
        }
    }
}

fuzz_target!(|case: Case| {
    let rules = Rules {
        direction: if case.lower { Direction::Lower } else { Direction::Higher },
        margin: f64::from(case.margin) / 200.0,
        confidence: match case.confidence {
            Share::Usual => 0.95,
            Share::Percent(percent) => f64::from(percent) / 100.0,
            Share::Any(share) => share,
        },
        budget: u32::from(case.budget),
        minimum: u32::from(case.minimum),
        resolution: case.resolution.map_or(0.0, f64::from),
        adjust_order: case.adjust_order,
        ..Rules::new("level 0", Direction::Higher)
    };
    let mut figures = case.figures.list();
    let judged = judge(&figures, &rules);
    // The planner of a live run takes the same figures.
    let _ = next_step(&figures, &rules, case.futility);
    figures.reverse();
    let reversed = judge(&figures, &rules);
    assert_eq!(judged.is_ok(), reversed.is_ok(), "{judged:?} against {reversed:?}");
    let (Ok(judged), Ok(reversed)) = (judged, reversed) else { return };
    let blocked = figures.iter().any(|figure| figure.block.is_some());
    for comparison in &judged.comparisons {
        check(comparison, blocked);
        // Figures are told apart by block and order, not by the line on which they stand.
        let same = find(&reversed, comparison).expect("each level has its comparison");
        assert_eq!((same.verdict, same.blocks), (comparison.verdict, comparison.blocks), "{same:?}");
    }
});

impl Figures {
    fn list(&self) -> Vec<Figure> {
        let level = |number: usize| format!("level {number}");
        match self {
            Self::Blocks { levels, strata, figures, orders } => {
                let levels = usize::from(levels % 3) + 2;
                let places = figures.iter().take(400).enumerate();
                places
                    .map(|(index, value)| Figure {
                        level: level(index % levels),
                        stratum: if *strata && (index / levels) % 2 == 1 { "other" } else { "" }.to_owned(),
                        value: value.figure(),
                        block: Some((index / levels) as u64),
                        order: orders.get(index).map(|order| f64::from(*order)),
                        ..Figure::default()
                    })
                    .collect()
            }
            Self::Table(lines) => lines
                .iter()
                .take(200)
                .map(|(number, stratum, value, block, order)| Figure {
                    level: level(usize::from(number % 4)),
                    stratum: ["", "a", "b"][usize::from(stratum % 3)].to_owned(),
                    value: value.figure(),
                    block: *block,
                    order: *order,
                    ..Figure::default()
                })
                .collect(),
        }
    }
}

fn find<'a>(judgement: &'a Judgement, like: &Comparison) -> Option<&'a Comparison> {
    judgement.comparisons.iter().find(|other| other.level == like.level && other.stratum == like.stratum)
}

fn check(comparison: &Comparison, blocked: bool) {
    assert_survives_json(comparison);
    assert_eq!(comparison.verdict.is_some(), blocked, "{comparison:?}");
    let ends = [comparison.ratio_interval, comparison.equivalence_interval].concat();
    let figures = [comparison.ratio, comparison.mean_ratio].into_iter().chain(ends).flatten();
    for figure in figures {
        assert!(figure.is_finite() && figure >= 0.0, "{comparison:?}");
    }
    if let [Some(low), Some(high)] = comparison.ratio_interval {
        assert!(low <= high, "{comparison:?}");
    }
    if let Some(test) = &comparison.unpaired {
        assert!((0.0..=1.0).contains(&test.p_value), "{comparison:?}");
    }
}
