//! `credits`: figures of published reports, predicted; what cannot be is refused with the nearest thing that can.

use crate::support::Bench;

#[test]
fn the_published_builds_come_out_as_their_authors_saw() {
    let bench = Bench::new();
    let predicted = |arguments: &str| {
        let line: Vec<&str> = "credits --json "
            .split(' ')
            .filter(|word| !word.is_empty())
            .chain(arguments.split(' '))
            .collect();
        bench.iostone(&line).ended_with(0).json()
    };
    let near = |value: &serde_json::Value, expected: f64, within: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() <= within, "{value} is not within {within} of {expected}");
    };
    let burst = predicted("t2.micro --work 9.33min --utilisation 63%");
    near(&burst["wall_seconds"], 886.383, 0.005);
    near(&burst["credits"]["net_spent"], 8.0, 0.02);
    near(&burst["credits"]["left"], 22.0, 0.01);
    for other in ["t2.small", "t2.medium"] {
        let other = predicted(&format!("{other} --work 9.33min --utilisation 63%"));
        assert_eq!(other["wall_seconds"], burst["wall_seconds"]);
    }
    let baseline = predicted("t2.micro --work 9.33min --balance 0 --measured 14d");
    near(&baseline["wall_seconds"], 1.6 * 3600.0, 0.03);
    near(&baseline["measured"]["ratio"], 216.0, 0.001);
    assert_eq!(baseline["measured"]["agreement"], "contradicts");
    assert!(baseline["warnings"][0].as_str().unwrap().starts_with("contradicts the credit law"));
    let micro = predicted("t1.micro --work 20.5min --utilisation 91%");
    near(&micro["wall_seconds"], 11219.721, 0.01);
    near(&micro["best_limit"]["limit"], 0.3, 1e-9);
}

#[test]
fn an_unknown_type_is_told_the_nearest_and_ends_with_2() {
    let bench = Bench::new();
    bench
        .iostone(&["credits", "t2.mirco", "--work", "1h"])
        .ended_with(2)
        .complains_of("did you mean `t2.micro`?");
    bench.iostone(&["credits", "t2.micro"]).ended_with(2).complains_of("--work");
    bench.iostone(&["credits"]).ended_with(2).complains_of("TYPE");
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn words_are_plain_where_colours_are_not_wanted() {
    let bench = Bench::new();
    let mut command = bench.command(&["credits", "--list"]);
    let said = command.env("NO_COLOR", "1").output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(!text.contains('\u{1b}') && text.contains("t4g.nano") && text.contains("m3.medium"));
    let sources = bench.iostone(&["credits", "--list", "t1.micro"]).ended_with(0);
    assert!(sources.stdout.contains("Sources") && !sources.stdout.contains("t2.micro"));
}
