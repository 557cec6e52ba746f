//! `predict`: published runs, reckoned; mistakes in units, told; what cannot be, refused.

use serde_json::Value;

use crate::support::{Bench, assert_text};

/// The published runs: 220 GiB onto gp2, by the limits of their month.
const PUBLISHED: [&str; 7] = ["predict", "--volume", "gp2:220GiB", "--write", "220GiB", "--date", "2017-07"];

fn asked<'a>(more: &[&'a str]) -> Vec<&'a str> {
    PUBLISHED.iter().copied().chain(more.iter().copied()).collect()
}

fn near(value: &Value, expected: f64, within: f64) {
    let value = value.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() <= within, "{value} is not within {within} of {expected}");
}

#[test]
fn the_published_runs_come_out_as_they_were_measured() {
    let bench = Bench::new();
    let small = bench.iostone(&asked(&["--instance", "c4.large", "--json", "--measured", "3763s"]));
    let small = small.ended_with(0).json();
    near(&small["seconds"], 3716.9, 0.0005);
    assert_eq!((&small["binds"], &small["measured"]["agreement"]), (&"link".into(), &"agrees".into()));
    assert_eq!(small["lifts"][0]["binds"], "volume");
    let large = bench.iostone(&asked(&[
        "--instance",
        "c4.4xlarge",
        "--json",
        "--buffered",
        "--measured",
        "1354.88s",
    ]));
    let large = large.ended_with(0).json();
    near(&large["seconds"], 1384.6, 0.0005);
    assert_eq!(large["binds"], "volume");
    near(&large["measured"]["excess_bytes"], 5.0e9, 0.02);
    let explanation = large["measured"]["explanation"].as_str().unwrap();
    assert!(explanation.contains("would have stayed in memory"), "{explanation}");
}

#[test]
fn the_answer_comes_first() {
    let bench = Bench::new();
    let said = bench.iostone(&asked(&["--instance", "c4.large", "--expect", "23min"])).ended_with(0);
    let first = said.stdout.lines().next().unwrap();
    assert_eq!(
        first.replace('\u{a0}', " "),
        "62 min (3717 s), held by the link of 500 Mbps = 62.5 MB/s = 59.6 MiB/s"
    );
    assert_text("predict_one", &said.stdout);
    let two = ["--instance", "c4.large", "--instance", "c4.4xlarge"];
    let said = bench.iostone(&asked(&two)).ended_with(0);
    assert_text("predict_two", &said.stdout);
}

#[test]
fn the_formulas_behind_the_published_expectations_are_named() {
    let bench = Bench::new();
    let slips = |expected: &str| {
        let said = bench.iostone(&asked(&["--instance", "c4.large", "--json", "--expect", expected]));
        said.ended_with(0).json()["expected"]["slips"].as_array().unwrap().clone()
    };
    let forgotten = slips("23min");
    assert_eq!(forgotten[0]["formula"], "220 GiB at the volume's 160 MiB/s");
    assert_eq!(forgotten[0]["mistakes"][0], "the link was forgotten");
    let published = slips("59min");
    let published = published.iter().find(|slip| slip["formula"] == "220 x 1000 MiB at 62.5 MiB/s").unwrap();
    assert_eq!(
        published["mistakes"],
        serde_json::json!(["1 GiB is 1024 MiB", "500 Mbps is 62.5 MB/s = 59.6 MiB/s"])
    );
    assert_eq!(slips("9h"), Vec::<Value>::new());
}

#[test]
fn mistakes_in_units_are_told() {
    let bench = Bench::new();
    let flags = |arguments: &str| {
        let line: Vec<&str> = "predict --instance c4.large --date 2017-07 --json"
            .split(' ')
            .chain(arguments.split(' '))
            .collect();
        let document = bench.iostone(&line).ended_with(0).json();
        let warnings = document["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|flag| flag["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let volume = "--volume gp2:220GiB --write";
    assert_eq!(flags(&format!("{volume} 100GiB")), Vec::<String>::new());
    assert_eq!(flags(&format!("{volume} 220GB")), ["unit-amount"]);
    assert_eq!(flags(&format!("{volume} 200000MiB")), ["unit-thousands"]);
    assert_eq!(flags(&format!("{volume} 1GiB --source 500Mb/s")), ["unit-spelling"]);
    assert_eq!(flags(&format!("{volume} 1GiB --link 500MB/s")), ["unit-bits"]);
    assert_eq!(flags(&format!("{volume} 1GiB --link 62.5MiB/s")), ["unit-binary"]);
}

#[test]
fn what_cannot_be_predicted_ends_with_2() {
    let bench = Bench::new();
    let refused = |arguments: &str, reason: &str| {
        let line: Vec<&str> = std::iter::once("predict").chain(arguments.split(' ')).collect();
        bench.iostone(&line).ended_with(2).complains_of(reason);
    };
    refused("--instance c4.lrge --write 1GiB", "did you mean `c4.large`?");
    refused("--volume gq2:1GiB --write 1GiB", "did you mean");
    refused("--volume gp3:220GiB --write 1GiB --date 2017-07", "gp3");
    refused("--volume gp2:220GiB --write 220", "220GiB is 236.2 GB, and 220GB is 204.9 GiB");
    refused("--volume gp2:220 --write 1GiB", "has no unit");
    refused("--volume gp2:220GiB", "--write SIZE");
    refused("--write 220GiB", "name an instance, a volume or a source");
    refused("--volume gp3:100GiB:99999999iops --write 1GiB", "gp3");
    refused("--volume gp2:220GiB --write 1GiB --start 140%", "neither full, empty nor a share");
    refused("nothing.toml", "nothing.toml");
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn a_bucket_that_empties_divides_the_time() {
    let bench = Bench::new();
    let line = ["predict", "--volume", "gp2:100GiB", "--read", "40GiB", "--random", "--bs", "4KiB", "--json"];
    let document = bench.iostone(&line).ended_with(0).json();
    let phases = document["timeline"].as_array().unwrap();
    near(&phases[0]["to_seconds"], 2000.0, 0.001);
    near(&phases[0]["bytes_per_second"], 3000.0 * 4096.0, 0.001);
    near(&phases.last().unwrap()["bytes_per_second"], 300.0 * 4096.0, 0.001);
}

#[test]
fn what_moves_in_a_time_is_told_and_compared() {
    let bench = Bench::new();
    let line =
        "predict --instance c4.large --instance c4.4xlarge --volume gp2:220GiB --for 10min --date 2017-07";
    let line: Vec<&str> = line.split(' ').collect();
    let said = bench.iostone(&line).ended_with(0);
    assert!(said.stdout.contains("c4.4xlarge, gp2:220GiB moves most"), "{}", said.stdout);
}

#[test]
fn every_configuration_of_an_experiment_is_predicted() {
    let bench = Bench::new();
    let file = bench.write("link.toml", include_str!("../../../../experiments/instance-bandwidth.toml"));
    let document = bench.iostone(&["predict", file, "--json"]).ended_with(0).json();
    let labels: Vec<&str> = document["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["c4.large", "c4.4xlarge"]);
    assert_eq!((&document["predictions"][0]["binds"], &document["first"]), (&"link".into(), &1.into()));
    assert_eq!(document["schema"], "iostone/predictions/1");
    let unknown = bench.write("unknown.toml", include_str!("../../../../experiments/raid0.toml"));
    bench.iostone(&["predict", unknown]).ended_with(2).complains_of("what bonnie demands");
    bench.iostone(&["predict", file, "--random"]).ended_with(2).complains_of("cannot be used with");
}

#[test]
fn the_page_holds_the_answer_and_loads_nothing() {
    let bench = Bench::new();
    let arguments = asked(&["--instance", "c4.large", "--instance", "c4.4xlarge", "--html", "page<b>.html"]);
    bench.iostone(&arguments).ended_with(0);
    let page = std::fs::read_to_string(bench.path("page<b>.html")).unwrap();
    for part in ["ends first", "id=\"time\"", "id=\"compared\"", "Ceilings", "ceilings-1-narrow", "Sources"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("page&lt;b&gt;.html") || page.contains("page&#60;b&#62;.html"));
    assert!(!page.contains("page<b>") && !page.contains("<img") && !page.contains("src="));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
}
