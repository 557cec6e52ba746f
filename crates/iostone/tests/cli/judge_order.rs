//! `judge`: tables whose order could have made the difference get no verdict, and coarse figures are taken as coarse.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Bench, Said};

const TIMED: &[&str] = &[
    "--metric",
    "figure",
    "--better",
    "higher",
    "--by",
    "config",
    "--block",
    "run",
    "--order",
    "time",
    "--baseline",
    "on",
];
const UNTIMED: &[&str] =
    &["--metric", "figure", "--better", "higher", "--by", "config", "--block", "run", "--baseline", "on"];

fn judge(table: &str, arguments: &[&str]) -> Said {
    let bench = Bench::new();
    bench.write("table.csv", table);
    bench.iostone(&[&["judge", "table.csv"], arguments].concat()).ended_with(0)
}

/// The verdict, the flags of the comparison, and all that is printed.
fn judged(table: &str, arguments: &[&str]) -> (String, Vec<String>, String) {
    let all = judge(table, &[arguments, &["--json"]].concat()).json();
    let comparison = &all["comparisons"][0];
    let flags = comparison["flags"].as_array().unwrap().iter();
    let flags = flags.map(|flag| flag["name"].as_str().unwrap().to_owned()).collect();
    (comparison["verdict"].as_str().unwrap().to_owned(), flags, text_of(table, arguments))
}

/// What is printed, without its line breaks.
fn text_of(table: &str, arguments: &[&str]) -> String {
    judge(table, arguments).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Trials in their order in time: the block and the level of each, and what else acts on its figure of about 100.
fn table(trials: &[(u32, &str)], factor: impl Fn(usize) -> f64) -> String {
    let mut table = "run,config,time,figure\n".to_owned();
    for (time, (block, level)) in trials.iter().enumerate() {
        // Noise of a per mille that repeats nothing.
        let noise = 1.0 + 0.001 * ((time * 7919 % 97) as f64 / 97.0);
        writeln!(table, "{block},{level},{time},{:.4}", 100.0 * noise * factor(time)).unwrap();
    }
    table
}

/// No verdict is given, and nothing is said to be ruled out.
fn is_withheld(found: &(String, Vec<String>, String), because: &str) {
    let (verdict, flags, text) = found;
    assert_eq!(verdict, "undecided");
    assert!(
        flags.iter().any(|flag| flag == "withheld") && flags.iter().any(|flag| flag == because),
        "{flags:?}"
    );
    assert!(!text.contains("uled out") && text.contains("no interval"), "{text}");
}

#[test]
fn all_of_one_level_before_all_of_the_other_is_no_comparison() {
    let on = (0..6).map(|run| (run, "on"));
    let trials: Vec<(u32, &str)> = on.chain((0..6).map(|run| (run, "off"))).collect();
    // A drift of 1 % a trial and no effect.
    let seq = table(&trials, |time| 0.99f64.powi(i32::try_from(time).unwrap()));
    let unknown = judged(&seq, UNTIMED);
    is_withheld(&unknown, "order-unknown");
    assert!(unknown.2.contains("a machine that drifted"), "{}", unknown.2);
    let timed = judged(&seq, TIMED);
    is_withheld(&timed, "blocks-overlap");
    is_withheld(&timed, "fixed-order");
    assert!(timed.2.contains("all `on` ran before all `off`"), "{}", timed.2);
    // Nobody can vouch for what the times contradict.
    is_withheld(&judged(&seq, &[TIMED, &["--randomised"]].concat()), "blocks-overlap");
    let (vouched, _, _) = judged(&seq, &[UNTIMED, &["--randomised"]].concat());
    assert_eq!(vouched, "slower");
}

#[test]
fn blocks_that_overlap_in_time_are_no_blocks() {
    let first = (0..3).map(|run| (run, "on"));
    let middle = (0..6).map(|run| (run, "off"));
    let trials: Vec<(u32, &str)> = first.chain(middle).chain((3..6).map(|run| (run, "on"))).collect();
    let far = table(&trials, |time| if (3..9).contains(&time) { 0.925 } else { 1.0 });
    is_withheld(&judged(&far, TIMED), "blocks-overlap");
}

/// Blocks one after another; `on` runs first where that is said.
fn in_blocks(on_first: &[bool]) -> Vec<(u32, &'static str)> {
    let block = |(run, on_first): (u32, &bool)| match on_first {
        true => [(run, "on"), (run, "off")],
        false => [(run, "off"), (run, "on")],
    };
    (0..).zip(on_first).flat_map(block).collect()
}

#[test]
fn an_order_that_no_coin_gives_is_no_random_order() {
    let second_is_better = |time: usize| if time % 2 == 1 { 1.05 } else { 1.0 };
    let mut mostly = [true; 12];
    mostly[4] = false;
    let found = judged(&table(&in_blocks(&mostly), second_is_better), TIMED);
    is_withheld(&found, "lopsided-order");
    assert!(found.2.contains("`on` ran first in 11 of 12 blocks, p = 0.006"), "{}", found.2);
    is_withheld(&judged(&table(&in_blocks(&[true; 8]), second_is_better), TIMED), "fixed-order");
    let turns = [true, false].repeat(4);
    is_withheld(
        &judged(&table(&in_blocks(&turns), |time| [1.0, 1.1, 1.1, 1.0][time % 4]), TIMED),
        "alternating-order",
    );
    // Ten of twelve is an order that a fair coin gives in 4 %.
    mostly[9] = false;
    let (verdict, flags, _) = judged(&table(&in_blocks(&mostly), |_| 1.0), TIMED);
    assert_eq!(verdict, "equivalent", "{flags:?}");
}

#[test]
fn six_drawn_blocks_with_one_level_first_are_judged_where_six_were_planned() {
    let drawn = table(&in_blocks(&[true; 6]), |time| [1.0, 1.2][time % 2]);
    is_withheld(&judged(&drawn, TIMED), "fixed-order");
    is_withheld(&judged(&drawn, &[TIMED, &["--randomised"]].concat()), "fixed-order");
    let (verdict, flags, text) = judged(&drawn, &[TIMED, &["--randomised", "--budget", "6"]].concat());
    assert_eq!(verdict, "faster");
    assert!(flags.contains(&"fixed-order".to_owned()) && text.contains("drawn by lot"), "{text}");
}

#[test]
fn a_verdict_near_one_from_few_blocks_says_that_carry_over_was_not_seen() {
    let order = [true, false, false, true, true, true, false];
    let faster = |by: f64| {
        let trials = in_blocks(&order);
        let levels: Vec<&str> = trials.iter().map(|(_, level)| *level).collect();
        table(&trials, |time| if levels[time] == "off" { by } else { 1.0 })
    };
    let (verdict, flags, text) = judged(&faster(1.04), TIMED);
    assert_eq!(verdict, "faster");
    assert!(flags.contains(&"carry-over-unchecked".to_owned()), "{flags:?}");
    assert!(text.contains("`decide.conditioning = true`"), "{text}");
    let (verdict, flags, _) = judged(&faster(1.2), TIMED);
    assert_eq!(verdict, "faster");
    assert!(!flags.contains(&"carry-over-unchecked".to_owned()), "{flags:?}");
}

/// "1.2 GB/s" in blocks of random order.
fn coarse() -> String {
    let order = [true, false, false, true, true, false, true, false, true, true, false, false];
    let mut table = "run,config,time,figure\n".to_owned();
    for (time, (block, level)) in in_blocks(&order).into_iter().enumerate() {
        let higher = level == "off" && block % 3 != 0;
        writeln!(table, "{block},{level},{time},{}", if higher { "1.2" } else { "1.1" }).unwrap();
    }
    table
}

#[test]
fn figures_are_as_coarse_as_they_are_written() {
    let of =
        |arguments: &[&str]| -> Value { judge(&coarse(), &[TIMED, &["--json"], arguments].concat()).json() };
    let width = |all: &Value| -> f64 {
        let bound = |side: usize| all["comparisons"][0]["ratio_interval"][side].as_f64().unwrap();
        bound(1) - bound(0)
    };
    let (taken, said, exact) = (of(&[]), of(&["--resolution", "0.1"]), of(&["--resolution", "0"]));
    assert_eq!(taken["comparisons"], said["comparisons"]);
    assert!(width(&taken) > width(&exact) + 0.1, "{} {}", width(&taken), width(&exact));
    let told =
        |all: &Value| all["flags"].as_array().unwrap().iter().any(|flag| flag["name"] == "rounded-figures");
    assert!(told(&taken) && !told(&said));
    let text = text_of(&coarse(), TIMED);
    assert!(text.contains("the values appear to be rounded to 0.1;"), "{text}");
    // Steps of five among whole numbers show in the gaps; an import of the table says the same.
    let fives = coarse().replace(",1.2\n", ",110\n").replace(",1.1\n", ",105\n");
    let text = text_of(&fives, TIMED);
    assert!(text.contains("the values appear to be rounded to 5"), "{text}");
    let fine = table(&in_blocks(&[true, false, false, true, true, false]), |_| 1.0);
    assert!(!text_of(&fine, TIMED).contains("rounded"));
}
