//! What the command line asks for is what is simulated.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: CreditsArguments,
}

fn predicted(line: &str) -> Prediction {
    predict(&Line::parse_from(std::iter::once("credits").chain(line.split(' '))).arguments).unwrap()
}

fn refused(line: &str) -> String {
    let line = Line::try_parse_from(std::iter::once("credits").chain(line.split(' ')));
    match line {
        Ok(line) => predict(&line.arguments).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

fn credits_at_start(line: &str) -> f64 {
    predicted(line).simulation.begin_seconds / 60.0
}

#[test]
fn the_start_is_what_the_options_say() {
    for (options, credits) in [
        ("", 30.0),
        (" --start full", 174.0),
        (" --start full --no-launch", 144.0),
        (" --start empty", 0.0),
        (" --start empty --launch", 30.0),
        (" --no-launch", 0.0),
        (" --balance 30", 30.0),
        (" --balance 30 --launch", 60.0),
        (" --unlimited", 0.0),
    ] {
        let begin = credits_at_start(&format!("t2.micro --work 1min{options}"));
        assert!((begin - credits).abs() < 1e-9, "{options}: {begin}");
    }
}

#[test]
fn modes_and_laws_are_found_by_their_options() {
    let name = |line: &str| predicted(line).settled.governor.allowance.name;
    assert_eq!(name("t3.micro --work 1h --standard"), "standard");
    assert_eq!(name("t3.micro --work 1h --unlimited"), "credits");
    assert_eq!(name("t2.micro --work 1h --unlimited"), "unlimited");
    assert_eq!(name("t1.micro --work 1h --law window"), "window");
}

#[test]
fn two_weeks_on_the_baseline_contradict_the_credit_law() {
    let prediction = predicted("t2.micro --work 9.33min --balance 0 --measured 14d");
    assert!((prediction.simulation.wall_seconds / 3600.0 - 1.555).abs() < 1e-3);
    let warning = &prediction.warnings[0];
    assert!(
        warning.starts_with("contradicts the credit law: 14.0 d is 216 times longer than the 1.55 h"),
        "{warning}"
    );
    assert!(predicted("t2.micro --work 9.33min --utilisation 63% --measured 886s").warnings.is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    for (line, reason) in [
        ("t2.mirco --work 1h", "did you mean `t2.micro`?"),
        ("t1.micro --work 1h --law credits", "only penalty, costly-bucket, bucket, window"),
        ("t1.micro --work 1h --balance 3", "`--balance` is about CPU credits, and `t1.micro` has none"),
        ("t1.micro --work 1h --unlimited", "`--unlimited` is about CPU credits, and `t1.micro` has none"),
        ("m1.small --work 1h --launch", "`--launch` is about CPU credits"),
        ("t2.micro --work 1h --balance 145", "0 to 144 credits"),
        ("t2.micro --work 1h --balance NaN", "0 to 144 credits"),
        ("t2.micro --work 0s", "`--work` must be longer than 0"),
        ("t2.micro --work -1s", "`--work` must be longer than 0"),
        ("t2.micro --work 1h --limit 0.0000001%", "0.1 % of a processor"),
        ("t3.micro --work 1h --launch", "`t3.micro` has no launch credits"),
        ("m5.large --work 1h", "`m5.large` is not one whose CPU is limited"),
        ("t2.mirco --work 1h", "`t2.micro`? `iostone credits --list`"),
        ("t2.micro --work 1h --utilisation 0%", "`--utilisation` must be above 0"),
        ("t2.micro --work 1h --limit 0%", "`--limit` must be above 0"),
        ("t2.micro --work 1h --measured 0d", "`0d` must be longer than 0"),
        ("t2.micro --work 9.3", "it needs a unit"),
    ] {
        let said = refused(line);
        assert!(said.contains(reason), "{line}: {said}");
    }
}

#[test]
fn every_known_type_can_be_told_in_words_and_in_json() {
    for instance in iostone_cloud::governed_types() {
        for work in ["1s", "10min", "20h"] {
            let prediction = predicted(&format!("{instance} --work {work} --utilisation 63% --measured 1h"));
            assert!(prediction.simulation.wall_seconds.is_finite());
            assert!(text::of(&prediction).contains(instance));
            let json: serde_json::Value = serde_json::from_str(&json::of(&prediction).unwrap()).unwrap();
            assert_eq!(json["laws"][0]["name"], json["allowance"]["name"]);
        }
    }
}

#[test]
fn credits_add_up_where_some_are_lost_or_overspent() {
    let told = |line: &str| text::of(&predicted(line));
    let lost = told("t2.micro --work 300h --utilisation 5%");
    assert!(lost.contains(" of them lost, as there was no room)"), "{lost}");
    let beyond = told("t3.micro --work 10h");
    assert!(beyond.contains("600 spent") && beyond.contains("of those spent were beyond"), "{beyond}");
    assert!((predicted("t2.micro --work 14d").settled.demand.cpu_seconds - 1_209_600.0).abs() < 1e-6);
}
