//! The promises of the verdicts in small: `make truth` holds them to more noise and to more tables.

#![expect(clippy::expect_used, reason = "simulated figures can be judged")]
#![expect(clippy::print_stdout, reason = "the measured rates are the evidence; shown with --nocapture")]

#[path = "../benches/truth/design.rs"]
mod design;
#[path = "../benches/truth/models.rs"]
mod models;

use design::{Family, Outcome};
use models::{MODELS, Model};

const TABLES: u64 = 40;
/// Just beyond the margin.
const BEYOND: f64 = 1.0301;

/// Tables of every kind of noise that keeps the premise, and how many there are.
fn simulate(ratio: f64, family: Family, tables: u64) -> Vec<(&'static Model, Outcome)> {
    let kept = MODELS.iter().filter(|model| model.keeps_premise);
    kept.flat_map(|model| (1..=tables).map(move |seed| (model, design::run(model, ratio, family, seed))))
        .collect()
}

/// At most three standard errors above 5 %.
fn assert_rare(what: &str, outcomes: &[(&Model, Outcome)], wrong: impl Fn(&Outcome) -> bool) {
    let count = outcomes.iter().filter(|(_, outcome)| wrong(outcome)).count();
    let share = count as f64 / outcomes.len() as f64;
    println!("{what}: {count} of {}, {:.1} %", outcomes.len(), 100.0 * share);
    let allowed = 0.05 + 3.0 * (0.05 * 0.95 / outcomes.len() as f64).sqrt();
    assert!(share <= allowed, "{what}: {count} of {}", outcomes.len());
}

#[test]
fn wrong_verdicts_are_as_rare_as_promised() {
    for (family, tables) in
        [(Family::Levels(1), TABLES), (Family::Levels(3), TABLES), (Family::Strata(28), TABLES / 4)]
    {
        let equal = simulate(1.0, family, tables);
        assert_rare(&format!("{family:?}, a false difference"), &equal, |outcome| outcome.different);
        assert_rare(&format!("{family:?}, an interval that misses"), &equal, |outcome| !outcome.covers);
        let beyond = simulate(BEYOND, family, tables);
        assert_rare(&format!("{family:?}, a false equivalence"), &beyond, |outcome| outcome.equivalent);
    }
}

#[test]
fn a_curve_takes_fewer_blocks_than_its_points_apart() {
    let sum = |family: Family| -> (u32, u32) {
        let outcomes = simulate(1.1, family, 3);
        outcomes.iter().fold((0, 0), |sum, (_, outcome)| {
            (sum.0 + outcome.blocks.0, sum.1 + outcome.decided.1 - outcome.decided.0)
        })
    };
    let (together, apart) = (sum(Family::Points(28)), sum(Family::PointsApart(28)));
    println!("blocks to the first point and points left open: {together:?} together, {apart:?} apart");
    assert!(together.0 < apart.0 && together.1 <= apart.1, "{together:?} {apart:?}");
}

#[test]
fn carry_over_is_withheld_or_marked_where_it_cannot_be_seen() {
    let model = MODELS.iter().find(|model| model.name == "carry-over 4 %").expect("a kind of noise");
    let early = (1..=100).map(|seed| design::run_live(model, 1.0, seed));
    let early: Vec<Outcome> = early.filter(|outcome| outcome.different && outcome.blocks.0 < 11).collect();
    let marked = |outcome: &Outcome| outcome.flags.iter().any(|flag| flag == "carry-over-unchecked");
    println!("{} of 100 runs were called different before carry-over can be seen", early.len());
    assert!(early.len() > 5 && early.iter().all(marked), "{early:?}");
}
