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
        "62 min (3\u{202f}717 s), held by the link of 500 Mbps = 62.5 MB/s = 59.6 MiB/s"
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
    refused("--volume gp2:220GiB --write 1GiB --start 140%", "not full, empty or a share");
    refused("nothing.toml", "nothing.toml");
    let work = "--volume gp2:220GiB --write 1GiB";
    refused("--volume gp2:220GiB --write -5GiB", "`-5GiB` is not a size");
    refused("--volume gp2:220GiB --for 1h --expect 5min", "cannot be used with");
    refused("--volume gp2:220GiB --for 1h --measured 5min", "cannot be used with");
    refused("--volume gp2:220GiB --for 1h --written 150%", "is above 100%");
    refused("--volume gp2:220GiB --read 1GiB --buffered", "nothing is written");
    refused(&format!("{work} --region mars"), "--instance");
    refused(&format!("{work} --cpu 10% --cpu 50%"), "given twice");
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

#[test]
fn what_does_not_fit_has_no_place_in_the_ranking() {
    let bench = Bench::new();
    let line = |more: &'static str| {
        let line = "predict --volume gp2:100GiB --write 220GiB --date 2017-07 --volume";
        line.split(' ').chain(more.split(' ')).collect::<Vec<_>>()
    };
    let both = bench.iostone(&line("gp2:300GiB --json")).ended_with(0).json();
    assert_eq!(both["first"], 1);
    near(&both["predictions"][0]["asked_bytes"], 236_223_201_280.0, 1e-9);
    assert_eq!(both["predictions"][1]["asked_bytes"], Value::Null);
    let none = bench.iostone(&line("gp2:150GiB --json")).ended_with(0).json();
    assert_eq!(none["first"], Value::Null);
    let said = bench.iostone(&line("gp2:300GiB")).ended_with(0).stdout.replace('\u{a0}', " ");
    assert!(said.contains("105 GB of 236 GB"), "{said}");
    assert!(!said.contains("ends first"), "{said}");
}

#[test]
fn the_ceiling_that_is_named_is_lifted_and_no_other() {
    let bench = Bench::new();
    let line = "predict --instance m5.large --volume gp3:2TiB:10000iops:1000MiB/s --write 1TiB --json";
    let document = bench.iostone(&line.split(' ').collect::<Vec<_>>()).ended_with(0).json();
    let lifts = document["lifts"].as_array().unwrap();
    assert_eq!((&lifts[0]["lifted"], &lifts[1]["lifted"]), (&"link".into(), &"volume".into()));
    assert!(lifts[1]["binding"].as_str().unwrap().contains("IOPS"), "{lifts:?}");
}

#[test]
fn a_bandwidth_in_place_of_the_links_leaves_its_iops() {
    let bench = Bench::new();
    let line = "predict --instance m5.large --link 500MB/s --volume gp3:2TiB:16000iops:1000MiB/s --read 100GiB --random \
                --bs 4KiB --start empty --json";
    let document = bench.iostone(&line.split_whitespace().collect::<Vec<_>>()).ended_with(0).json();
    assert!(
        document["binding"].as_str().unwrap().contains("3600 IOPS of the link"),
        "{}",
        document["binding"]
    );
    assert!(document["assumptions"].to_string().contains("m5.large's "));
}

#[test]
fn limits_of_iops_are_mistaken_for_nothing() {
    let bench = Bench::new();
    let line = "predict --volume gp2:1TiB --write 50GB --bs 256KiB --json --expect";
    for expected in ["66s", "5min", "18min", "1h"] {
        let line: Vec<&str> = line.split(' ').chain([expected]).collect();
        let document = bench.iostone(&line).ended_with(0).json();
        for slip in document["expected"]["slips"].as_array().unwrap() {
            let formula = slip["formula"].as_str().unwrap();
            assert!(formula.contains("250 M") || formula.contains("IOPS"), "{formula}");
        }
    }
}

#[test]
fn half_empty_buckets_explain_a_time_between() {
    let bench = Bench::new();
    let line = "predict --volume gp2:100GiB --read 40GiB --random --bs 4KiB --json --measured 20000s";
    let document = bench.iostone(&line.split(' ').collect::<Vec<_>>()).ended_with(0).json();
    let explanation = document["measured"]["explanation"].as_str().unwrap();
    assert!(explanation.starts_with("with buckets 83 % full at the start"), "{explanation}");
}

#[test]
fn an_average_stands_beside_the_rate_of_the_long_run() {
    let bench = Bench::new();
    let line = "predict --volume gp2:33GiB --for 10h --bs 16KiB --random";
    let said = bench.iostone(&line.split(' ').collect::<Vec<_>>()).ended_with(0).stdout;
    let said = said.replace('\u{a0}', " ");
    assert!(said.contains("on average 4.10 MB/s") && said.contains("1.64 MB/s"), "{said}");
    assert!(!said.contains("1000.0 %"), "{said}");
}

#[test]
fn a_page_of_many_phases_lists_the_first() {
    let bench = Bench::new();
    let line = "predict --instance t1.micro --cpu 60s/GiB --volume gp2:100GiB --write 50GiB --html page.html";
    bench.iostone(&line.split(' ').collect::<Vec<_>>()).ended_with(0);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("more are in the picture above") && page.len() < 250_000, "{}", page.len());
}
