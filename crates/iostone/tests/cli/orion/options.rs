//! The command line: what is refused, the plan, the help.

use serde_json::json;

use crate::support::Bench;

#[test]
fn every_spelling_of_help_prints_the_same_page() {
    let bench = Bench::new();
    let page = bench.iostone(&["orion", "-help"]).ended_with(0).stdout;
    for option in ["-run LEVEL", "-num_streamIO", "--destroy FILE", "OVERWRITES ALL DATA"] {
        assert!(page.contains(option), "{option}");
    }
    for words in [
        &["orion", "--help"][..],
        &["orion", "-h"],
        &["help", "orion"],
        &["orion", "-run", "simple", "-help"],
    ] {
        assert_eq!(bench.iostone(words).ended_with(0).stdout.trim(), page.trim(), "{words:?}");
    }
}

#[test]
fn a_plan_needs_no_luns_and_gives_the_published_numbers() {
    let bench = Bench::new();
    let plan = |words: &[&str]| {
        bench.iostone(&[&["orion", "--plan", "--json"], words].concat()).ended_with(0).json()
    };
    let simple = plan(&["-run", "simple", "-num_disks", "1"]);
    assert_eq!((&simple["total_points"], &simple["estimated_minutes"]), (&json!(8), &json!(9)));
    let normal = plan(&["-run", "normal", "-num_disks", "1"]);
    assert_eq!((&normal["total_points"], &normal["estimated_minutes"]), (&json!(18), &json!(19)));
    let oltp = plan(&["-run", "oltp", "-num_disks", "1", "-write", "50", "-hugenotneeded"]);
    assert_eq!((&oltp["total_points"], &oltp["estimated_minutes"]), (&json!(21), &json!(22)));
    let four = plan(&["-run", "simple", "-num_disks", "4"]);
    assert_eq!(four["total_points"], json!(29));
    assert_eq!(four["points"][1], json!({"number": 2, "small": 1, "large": 0}));
    let dss = plan(&["-run", "dss", "-num_disks", "1"]);
    assert!(dss["remarks"][0].as_str().unwrap().contains("iostone's"), "{dss}");
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn a_plan_for_people_says_how_long_and_how_warm() {
    let bench = Bench::new();
    let words = ["orion", "-run", "advanced", "-type", "seq", "-num_disks", "4", "--plan"];
    let text = bench.iostone(&words).ended_with(0).stdout;
    for said in [
        "  small  8 KiB random\n",
        "22 to 29  large 1 to 8  small 0",
        "29 load points",
        "Calibration will take approximately 30 minutes.",
        "2 min before each of 8 large sequential points",
    ] {
        assert!(text.contains(said), "`{said}` is not in:\n{text}");
    }
}

#[test]
fn what_orion_or_good_sense_forbids_is_refused_before_anything_is_looked_at() {
    let bench = Bench::new();
    let cases: &[(&[&str], &str)] = &[
        (&[], "`-run` is required"),
        (&["-run", "simpel"], "`-run` is `simpel`"),
        (&["-run", "simple", "-duration", "5"], "`-duration` needs `-run advanced`"),
        (&["-run", "advanced", "-matrix", "row"], "`-num_large` is needed with `-matrix row`"),
        (&["-run", "simple", "-storax", "asmlib"], "Oracle's own layers"),
        (&["-run", "simple", "-numdisks", "4"], "did you mean"),
        (&["--run", "simple"], "has one dash: `-run`"),
        (&["-run", "simple", "-plan"], "has two dashes: `--plan`"),
        (&["-run", "simple", "--format", "10.2"], "10.2"),
        (&["-run", "simple", "--knee", "--adaptive", "5%"], "--adaptive"),
        (&["-run", "simple", "--resume", "x"], "leave out `-run`"),
        (&["-run", "simple", "--until", "2"], "did you mean `2%`?"),
        (&["-run", "simple", "--seed", "x"], "`--seed` is `x`: expected a whole number"),
        (&["-run", "advanced", "-write", "--plan"], "`-write` needs a value"),
        (&["-num_disks", "4", "--plan"], "`-run` is required: simple"),
        (&["-run", "oltp", "-num_disks", "99999999999999999999"], "a whole number from 1 to 65536"),
        (
            &["-run", "normal", "-num_disks", "65536", "--plan", "--json"],
            "`-num_disks 65536` needs 327680 small I/Os in flight; the maximum is 32768",
        ),
        (&["-run", "normal", "-num_disks", "6000", "--plan", "--json"], "load points; the maximum is 100000"),
        (&["--resume", "x"], "there is no record `x_record.jsonl`"),
    ];
    for (words, complaint) in cases {
        bench.iostone(&[&["orion"], *words].concat()).ended_with(2).complains_of(complaint);
    }
}
