//! `judge`: verdicts on tables from anywhere, and what it says of tables that are none.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Bench, Said, assert_text};

/// Field report 1 as it was published: five runs each, one after another, in no blocks.
const PUBLISHED: &str = "\
# dbench 4, 5 clients, MB/s
condition,run,throughput
barrier=1,1,198.832
barrier=1,2,198.525
barrier=1,3,197.24
barrier=1,4,198.003
barrier=1,5,193.24
barrier=0,1,195.168
barrier=0,2,196.525
barrier=0,3,196.241
barrier=0,4,197.79
barrier=0,5,195.378
";

/// Eight blocks in which `off` is a quarter faster than `on`, and in latency a fifth lower.
fn blocked() -> String {
    let mut table = "block,level,order,iops,latency\n".to_owned();
    for block in 0..8u32 {
        let (noise, other) = (1.0 + 0.001 * f64::from(block % 3), 1.0 + 0.002 * f64::from(block % 5));
        let (on, off) = if [0, 3, 4, 6].contains(&block) { (0, 1) } else { (1, 0) };
        writeln!(table, "{block},on,{on},{:.2},{:.4}", 1000.0 * noise, 1.0 / noise).unwrap();
        writeln!(table, "{block},off,{off},{:.2},{:.4}", 1250.0 * other, 0.8 / other).unwrap();
    }
    table
}

fn judge(table: impl AsRef<[u8]>, arguments: &[&str]) -> Said {
    let bench = Bench::new();
    bench.write("table.csv", table);
    bench.iostone(&[&["judge", "table.csv"], arguments].concat())
}

const BLOCKED: &[&str] =
    &["--metric", "iops", "--by", "level", "--block", "block", "--order", "order", "--baseline", "on"];

fn verdict(table: impl AsRef<[u8]>, arguments: &[&str]) -> Value {
    let all = judge(table, &[arguments, &["--json"]].concat()).ended_with(0).json();
    all["comparisons"][0]["verdict"].clone()
}

fn near(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected.exp()).abs() < 1e-9,
        _ => found.is_null() && expected.is_null(),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

#[test]
fn the_reference_cases_get_their_verdicts_and_intervals() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../iostone-stats/tests/vectors.json")).unwrap();
    let mut tried = 0;
    // A family of three needs two more comparisons, which the vectors do not give.
    for case in vectors["cases"].as_array().unwrap().iter().filter(|case| case["input"]["m"] == 1) {
        let (name, input, last) = (&case["name"], &case["input"], &case["final"]);
        let ratios: Vec<f64> =
            input["d"].as_array().unwrap().iter().map(|ratio| ratio.as_f64().unwrap()).collect();
        // The reference stops at its verdict; `judge` looks at everything that it is given.
        let blocks = last["n"].as_u64().map_or(ratios.len(), |n| usize::try_from(n).unwrap());
        // Strict turns forbid a verdict; the reference judges them, as somebody who vouches for an order that is not told.
        let orders: Vec<&Value> = (0..blocks).map(|block| &input["s"][block]).collect();
        let ordered = orders.windows(2).any(|pair| pair[0] == pair[1]) && !orders[0].is_null();
        let mut table = "block,level,order,figure\n".to_owned();
        for (block, ratio) in ratios.iter().take(blocks).enumerate() {
            let baseline_first = input["s"][block] == 1;
            let figure = 100.0 * ratio.exp();
            writeln!(table, "{block},a,{},100", u8::from(!baseline_first)).unwrap();
            writeln!(table, "{block},b,{},{figure:.17e}", u8::from(baseline_first)).unwrap();
        }
        let typical = median(ratios.iter().take(blocks).map(|ratio| 100.0 * ratio.exp()).collect());
        let resolution = 2.0 * input["h"].as_f64().unwrap() / (0.01 + typical.recip());
        let resolution = format!("{resolution:.17e}");
        let margin = format!("{}%", 100.0 * (input["delta"].as_f64().unwrap().exp() - 1.0));
        let budget = input["N"].to_string();
        let mut arguments = vec![
            "--metric",
            "figure",
            "--better",
            "higher",
            "--by",
            "level",
            "--block",
            "block",
            "--baseline",
            "a",
        ];
        arguments.extend(["--margin", &margin, "--budget", &budget, "--resolution", &resolution, "--json"]);
        arguments.extend(if ordered { &["--order", "order"][..] } else { &["--randomised"] });
        let judged = judge(table, &arguments).ended_with(0).json();
        let comparison = &judged["comparisons"][0];
        let expected = if last.is_null() { "undecided" } else { last["verdict"].as_str().unwrap() };
        assert_eq!(comparison["verdict"], expected, "{name}: {comparison:#}");
        // Where the effect changed the reference has no interval left; what is printed is the last that held a ratio.
        let intervals = [("ratio_interval", "ci95"), ("equivalence_interval", "ci90")];
        for (found, expected) in intervals.into_iter().filter(|_| expected != "unstable") {
            for bound in 0..2 {
                let (found, expected) = (&comparison[found][bound], &last[expected][bound]);
                assert!(near(found, expected), "{name}: {found} is not exp({expected})");
            }
        }
        if !last.is_null() {
            assert!(near(&comparison["ratio"], &last["estimate"]), "{name}: {}", comparison["ratio"]);
        }
        tried += 1;
    }
    assert_eq!(tried, 11);
}

#[test]
fn figures_without_blocks_get_no_verdict() {
    let arguments = ["--metric", "throughput", "--by", "condition", "--baseline", "barrier=1"];
    let judged = judge(PUBLISHED, &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
    let comparison = &judged["comparisons"][0];
    assert_eq!(comparison["verdict"], Value::Null);
    assert!(comparison["ratio"].as_f64().is_some_and(|ratio| ratio > 0.98 && ratio < 1.0), "{comparison:#}");
    assert_eq!(comparison["unpaired"]["sizes"], serde_json::json!([5, 5]));
    assert_eq!(comparison["unpaired"]["exact"], true);
    let flags =
        [&judged["flags"], &comparison["flags"]].map(|flags| flags.as_array().unwrap().clone()).concat();
    assert!(flags.iter().any(|flag| flag["name"] == "unblocked"), "{flags:?}");
    let text = judge(PUBLISHED, &arguments).ended_with(0).stdout;
    for word in ["faster", "slower", "equivalent"] {
        assert!(!text.contains(word), "`{word}` is in:\n{text}");
    }
    assert_text("judge_unblocked", &text);
}

#[test]
fn a_blocked_table_is_judged_in_text() {
    assert_text("judge_blocked", &judge(blocked(), BLOCKED).ended_with(0).stdout);
}

#[test]
fn lower_figures_are_better_where_that_is_said() {
    assert_eq!(verdict(blocked(), BLOCKED), "faster");
    assert_eq!(verdict(blocked(), &[BLOCKED, &["--better", "lower"]].concat()), "slower");
    let latency = ["--metric", "latency", "--by", "level", "--block", "block", "--order", "order"];
    let latency = [&latency[..], &["--baseline", "on", "--better", "lower"]].concat();
    assert_eq!(verdict(blocked(), &latency), "faster");
}

#[test]
fn times_order_the_trials_as_positions_do() {
    let with = |write: &dyn Fn(u32, u32) -> String| -> String {
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let [block, position] = [cells[0], cells[2]].map(str::parse::<u32>);
            let (Ok(block), Ok(position)) = (block, position) else { return format!("{line}\n") };
            [cells[0], cells[1], &write(block, position), cells[3], cells[4]].join(",") + "\n"
        };
        blocked().lines().map(row).collect()
    };
    let of = |table: String| {
        judge(table, &[BLOCKED, &["--json"]].concat()).ended_with(0).json()["comparisons"].clone()
    };
    let expected = of(blocked());
    // Across midnight, and in the second form across a change of the offset.
    let moments = with(&|block, position| format!("2026-10-{:02}T23:5{position}:07.25Z", 10 + block));
    assert_eq!(of(moments), expected);
    let shifted = with(&|block, position| match position {
        0 => format!("2026-10-{:02}T23:59:00+02:00", 10 + block),
        _ => format!("2026-10-{:02}T23:01:00+01:00", 10 + block),
    });
    assert_eq!(of(shifted), expected);
    let civil = with(&|block, position| format!("2026-10-{:02} 23:5{position}:07", 10 + block));
    assert_eq!(of(civil), expected);
    let seconds = with(&|block, position| format!("{}", 1_792_000_000 + 60 * block + position));
    assert_eq!(of(seconds), expected);
}

#[test]
fn tables_of_spreadsheets_are_read() {
    let marked = [b"\xef\xbb\xbf".as_slice(), blocked().as_bytes()].concat();
    assert_eq!(verdict(marked, BLOCKED), "faster");
    assert_eq!(verdict(blocked().replace('\n', "\r\n"), BLOCKED), "faster");
    assert_eq!(verdict(blocked().replace(',', " , "), BLOCKED), "faster");
    let quoted = blocked().replace(",on,", ",\"on, really\",").replace(",off,", ",\"o\"\"ff\",");
    let baseline = [&BLOCKED[..BLOCKED.len() - 1], &["on, really"]].concat();
    assert_eq!(verdict(&quoted, &baseline), "faster");
    let commented = blocked().replace("\n3,", "\n# disturbed by a backup\n3,");
    assert_eq!(verdict(commented, BLOCKED), "faster");
    let named: String = blocked().lines().map(|line| format!("b{line}\n")).collect();
    let named = named.replace("bblock", "block");
    assert_eq!(verdict(named, BLOCKED), "faster");
}

#[test]
fn standard_input_is_read_where_a_dash_stands() {
    let bench = Bench::new();
    let arguments = [&["judge", "-"], BLOCKED, &["--json"]].concat();
    let mut child = bench.command(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(blocked().as_bytes()).unwrap();
    let said = Said::from(child.wait_with_output().unwrap()).ended_with(0);
    assert_eq!(said.json()["comparisons"][0]["verdict"], "faster");
}

#[test]
fn several_levels_are_each_held_against_the_baseline() {
    let third: String = (0..8).map(|block| format!("{block},third,2,1001.{block},1\n")).collect();
    let judged = judge(blocked() + &third, &[BLOCKED, &["--json"]].concat()).ended_with(0).json();
    let levels: Vec<&Value> =
        judged["comparisons"].as_array().unwrap().iter().map(|comparison| &comparison["level"]).collect();
    assert_eq!(levels, ["off", "third"]);
    assert!(judged["comparisons"].as_array().unwrap().iter().all(|one| one["baseline"] == "on"));
    assert_eq!(judged["configurations"].as_array().unwrap().len(), 3);
}

#[test]
fn a_second_factor_keeps_its_values_apart() {
    let both: String = blocked()
        .lines()
        .flat_map(|line| match line.strip_prefix("block") {
            Some(rest) => vec![format!("block{rest},fs\n")],
            None => vec![format!("{line},ext4\n"), format!("{line},xfs\n")],
        })
        .collect();
    let arguments = [&BLOCKED[..6], &["--baseline", "on"]].concat();
    judge(&both, &arguments)
        .ended_with(2)
        .complains_of("line 3: a second figure of `on` in one block; the first is on line 2");
    let within = [&arguments[..], &["--within", "fs", "--json"]].concat();
    let judged = judge(&both, &within).ended_with(0).json();
    let strata: Vec<&Value> =
        judged["comparisons"].as_array().unwrap().iter().map(|comparison| &comparison["stratum"]).collect();
    assert_eq!(strata, ["fs=ext4", "fs=xfs"]);
}

#[test]
fn tables_that_cannot_be_judged_say_where() {
    let plain = &["--metric", "iops", "--by", "level", "--block", "block", "--baseline", "on"][..];
    let line = |number: usize, new: &str| -> String {
        blocked()
            .lines()
            .enumerate()
            .map(|(index, line)| format!("{}\n", if index + 1 == number { new } else { line }))
            .collect()
    };
    let with = |old: &str, new: &'static str| -> Vec<&str> {
        plain.iter().map(|&argument| if argument == old { new } else { argument }).collect()
    };
    let cases: Vec<(&str, Vec<u8>, Vec<&str>)> = vec![
        ("an empty file", Vec::new(), plain.to_vec()),
        ("only a header", b"block,level,iops\n".to_vec(), plain.to_vec()),
        ("no UTF-8", b"block,level,iops\n1,\xff,3\n".to_vec(), plain.to_vec()),
        ("a mistyped column", blocked().into(), with("iops", "iosp")),
        ("an unknown column", blocked().into(), with("iops", "throughput")),
        ("an unknown column of blocks", blocked().into(), with("block", "round")),
        ("an unknown baseline", blocked().into(), with("on", "default")),
        ("an empty level", line(4, "1,,1,1000,1").into(), plain.to_vec()),
        ("an empty block", line(4, ",on,1,1000,1").into(), plain.to_vec()),
        ("no number", line(4, "1,on,1,1000 MB/s,1").into(), plain.to_vec()),
        ("a decimal comma", line(4, "1,on,1,\"1000,5\",1").into(), plain.to_vec()),
        ("nothing measured", line(4, "1,on,1,0,1").into(), plain.to_vec()),
        ("below zero", line(4, "1,on,1,-5,1").into(), plain.to_vec()),
        ("a cell too few", line(4, "1,on,1,1000").into(), plain.to_vec()),
        ("a level twice in a block", line(4, "0,on,1,1000,1").into(), plain.to_vec()),
        (
            "an order that is no number",
            line(4, "1,on,first,1000,1").into(),
            [plain, &["--order", "order"]].concat(),
        ),
        (
            "only one level",
            blocked()
                .replace("off", "on2")
                .replace("on2", "on")
                .lines()
                .step_by(2)
                .collect::<Vec<_>>()
                .join("\n")
                .into(),
            plain.to_vec(),
        ),
        (
            "a time among positions",
            line(4, "1,on,2026-11-21T19:40:07Z,1000,1").into(),
            [plain, &["--order", "order"]].concat(),
        ),
        ("a margin of nothing", blocked().into(), [plain, &["--margin", "0%"]].concat()),
        ("a margin without a unit", blocked().into(), [plain, &["--margin", "3"]].concat()),
        ("a margin of everything", blocked().into(), [plain, &["--margin", "100%"]].concat()),
        ("a confidence of nothing", blocked().into(), [plain, &["--confidence", "0%"]].concat()),
        ("no budget", blocked().into(), [plain, &["--budget", "0"]].concat()),
        ("a resolution below zero", blocked().into(), [plain, &["--resolution=-1"]].concat()),
    ];
    let mut all = String::new();
    for (name, table, arguments) in cases {
        let said = judge(table, &arguments);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        writeln!(all, "{name}\n    {}", said.stderr.trim_end().replace('\n', "\n    ")).unwrap();
    }
    let bench = Bench::new();
    let said = bench.iostone(&[&["judge", "missing.csv"], plain].concat()).ended_with(2);
    writeln!(all, "a missing file\n    {}", said.stderr.trim_end()).unwrap();
    assert_text("judge_wrong_tables", &all);
}

/// Eight blocks in which `b` takes twice as much of whatever `metric` is.
fn doubled(metric: &str) -> String {
    blocked_pairs(metric, |block| (1.0 + 0.001 * f64::from(block % 3), 2.0 + 0.002 * f64::from(block % 5)))
}

fn blocked_pairs(metric: &str, figures: fn(u32) -> (f64, f64)) -> String {
    let mut table = format!("block,level,order,{metric}\n");
    for block in 0..8u32 {
        let (a, b) = if [0, 3, 4, 6].contains(&block) { (0, 1) } else { (1, 0) };
        let (first, second) = figures(block);
        writeln!(table, "{block},a,{a},{first}\n{block},b,{b},{second}").unwrap();
    }
    table
}

#[test]
fn known_metrics_and_units_bring_their_direction() {
    for (metric, expected, better) in [
        ("wall_time", "slower", "lower"),
        ("latency_ms", "slower", "lower"),
        ("seconds", "slower", "lower"),
        ("real_s", "slower", "lower"),
        ("read_latency", "slower", "lower"),
        ("iops", "faster", "higher"),
        ("throughput", "faster", "higher"),
        ("write_mb_s", "faster", "higher"),
    ] {
        let arguments =
            ["--metric", metric, "--by", "level", "--block", "block", "--order", "order", "--baseline", "a"];
        let judged = judge(doubled(metric), &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
        assert_eq!(judged["comparisons"][0]["verdict"], expected, "{metric}: {}", judged["headline"]);
        assert_eq!(judged["better"], better, "{metric}");
    }
    let milliseconds =
        judge(doubled("latency_ms"), &["--metric", "latency_ms", "--by", "level", "--baseline", "a"]);
    let text = milliseconds.ended_with(0).stdout.replace('\u{a0}', " ");
    assert!(text.contains("1.00 ms") && text.contains("2.00 ms"), "{text}");
}

#[test]
fn an_unknown_metric_needs_its_direction() {
    let arguments =
        ["--metric", "score", "--by", "level", "--block", "block", "--order", "order", "--baseline", "a"];
    judge(doubled("score"), &arguments).ended_with(2).complains_of("`--better higher` or `--better lower`");
    for (better, verdict) in [("higher", "faster"), ("lower", "slower")] {
        let judged = judge(doubled("score"), &[&arguments[..], &["--better", better, "--json"]].concat())
            .ended_with(0)
            .json();
        assert_eq!(judged["comparisons"][0]["verdict"], verdict);
    }
}

#[test]
fn headlines_of_unblocked_figures_give_the_answer_first() {
    let mut table = "mode,iops\n".to_owned();
    for run in 0..6 {
        writeln!(table, "none,{}\ndsync,{}", 116_000 + run * 100, 1000 + run).unwrap();
    }
    let arguments = ["--metric", "iops", "--by", "mode", "--baseline", "none"];
    let judged = judge(&table, &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
    assert_eq!(
        judged["headline"],
        "dsync delivers 1/116 of the operations per second of none, p = 0.002; without blocks in random order there is no \
         verdict."
    );
    // More levels than are told one by one.
    for (level, base) in [("a", 116_050.0), ("b", 90_000.0), ("c", 116_020.0)] {
        for run in 0..6 {
            writeln!(table, "{level},{}", base + 90.0 * f64::from(run)).unwrap();
        }
    }
    let judged = judge(&table, &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
    let headline = judged["headline"].as_str().unwrap();
    assert!(
        headline.starts_with("2 of 4 levels differ from none (p below 0.0125); without blocks"),
        "{headline}"
    );
    assert!(headline.contains("The largest: dsync delivers 1/116"), "{headline}");
}

#[test]
fn many_rows_are_judged_and_not_audited() {
    let mut table = "level,latency_us\n".to_owned();
    for row in 0..60_000u32 {
        writeln!(table, "{},{}", ["a", "b"][row as usize % 2], 100 + row % 97).unwrap();
    }
    let judged = judge(table, &["--metric", "latency_us", "--by", "level", "--baseline", "a", "--json"]);
    let judged = judged.ended_with(0).json();
    assert_eq!(judged["configurations"][0]["trials"], 30_000);
    assert!(judged["flags"].as_array().unwrap().iter().any(|flag| flag["name"] == "not-audited"));
    assert!(judged["audit"].is_null());
}
