//! `explain`: what bound published figures, and runs of this machine of which nothing is known.

use serde_json::Value;

use crate::runs::{finished, small_io};
use crate::support::Bench;

fn explained(arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["explain"].iter().chain(arguments).copied().chain(["--json"]).collect();
    let document = Bench::new().iostone(&arguments).ended_with(0).json();
    assert_eq!(document["schema"], "iostone/explanation/1");
    document
}

/// A figure of a condition.
fn figure<'a>(document: &'a Value, condition: &str, metric: &str) -> &'a Value {
    let named = |list: &'a Value, key: &str, name: &str| {
        list.as_array().unwrap().iter().find(|one| one[key] == name).unwrap_or(&Value::Null)
    };
    named(&named(&document["parts"], "configuration", condition)["figures"], "figure", metric)
}

#[test]
fn report_4_is_predicted_again_and_bound_by_the_link() {
    let document = explained(&["casebook", "instance-bandwidth"]);
    let small = figure(&document, "instance=c4.large", "throughput");
    assert_eq!(small["binds"], "the link of c4.large");
    let large = figure(&document, "instance=c4.4xlarge", "throughput");
    assert_eq!(large["excess"]["because"], "page-cache");
    assert!(large["excess"]["beyond"].as_f64().unwrap() < large["excess"]["allowed"].as_f64().unwrap());
    let seconds: Vec<(f64, f64)> = document["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["predicted"].as_f64().unwrap(), one["measured"].as_f64().unwrap()))
        .collect();
    assert!((seconds[0].0 - 3716.9).abs() < 0.5 && (seconds[0].1 - 3763.15).abs() < 0.01, "{seconds:?}");
    let first = &document["predictions"][0];
    let [low, high] = [0, 1].map(|end| first["predicted_interval"][end].as_f64().unwrap());
    assert!(low < high && (low..=high).contains(&3763.15), "{low} to {high}");
    assert!(first["sentence"].as_str().unwrap().contains(", inside"), "{first}");
    assert!((seconds[1].0 - 1384.6).abs() < 0.5 && (seconds[1].1 - 1354.88).abs() < 0.01, "{seconds:?}");
    let said = Bench::new().iostone(&["explain", "casebook", "instance-bandwidth"]).ended_with(0);
    insta::assert_snapshot!("explain_instance-bandwidth", said.stdout);
}

#[test]
fn reads_of_a_gigabyte_a_second_are_above_every_path_of_2011() {
    let document = explained(&["casebook", "raid0"]);
    for part in document["parts"].as_array().unwrap() {
        for figure in part["figures"].as_array().unwrap() {
            if figure["figure"] == "block_read" && figure["measured"].as_f64().unwrap() > 1e9 {
                assert_eq!(figure["ceilings"][0]["state"], "exceeded", "{figure}");
                assert!(figure["excess"]["because"].is_string(), "{figure}");
            }
        }
    }
    let text = document.to_string();
    assert_eq!(text.matches("is of later than 2011-10-19").count(), 1, "{text}");
    // What a volume has room for is not what was worked on.
    assert!(!text.contains("memory alone cannot have answered"), "{text}");
}

#[test]
fn dbench_on_c4_2xlarge_is_above_its_link() {
    let document = explained(&["casebook", "barriers-and-kernels"]);
    let figure = figure(&document, "barriers: barrier=1", "throughput");
    assert_eq!(figure["excess"]["because"], "above-every-ceiling", "{figure}");
    assert!(figure["ceilings"].to_string().contains("the link of c4.2xlarge"), "{figure}");
}

#[test]
fn of_a_machine_that_nobody_names_nothing_is_known_and_that_is_said() {
    let bench = finished(&small_io());
    let said = bench.iostone(&["explain"]).ended_with(0);
    assert!(said.stdout.contains("What bound it"), "{}", said.stdout);
    // A link that the user names is held against; direct or not, a name that is not known is refused.
    let said = bench.iostone(&["explain", "latest", "--instance", "c4.large"]).ended_with(0);
    assert!(said.stdout.contains("the link of c4.large"), "{}", said.stdout);
    assert!(said.stdout.contains("c4.large (by `--instance`)"), "{}", said.stdout);
    let said = bench.iostone(&["explain", "latest", "--instance", "c4.larg"]).ended_with(2);
    assert!(said.stderr.contains("did you mean `c4.large`?"), "{}", said.stderr);
}

#[test]
fn a_dataset_without_a_machine_says_how_to_name_one() {
    let bench = Bench::new();
    bench.write(
        "figures.toml",
        "[[observation]]\nlabels = { a = \"x\" }\nfigures = { throughput = \"61.7MB/s\" }\n",
    );
    let said = bench.iostone(&["explain", "figures.toml"]).ended_with(0);
    let unwrapped = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unwrapped.contains("name the machine with the facts `instance`, `volume` and `date`"),
        "{}",
        said.stdout
    );
    let said = bench.iostone(&["explain", "figures.toml", "--instance", "c4.large", "--date", "2017-07"]);
    let said = said.ended_with(0);
    assert!(said.stdout.contains("98.7 % of the link of c4.large (62.5 MB/s): it binds"), "{}", said.stdout);
    for (arguments, words) in [
        (&["explain", "figures.toml", "--volume", "gp2"][..], "its size is missing"),
        (&["explain", "figures.toml", "--date", "July"][..], "is not a date"),
        (&["explain", "casebook", "nothing"][..], "there is no case `nothing`"),
        (&["explain", "a", "b"][..], "takes one run or file"),
        (&["explain", "casebook"][..], "`casebook` needs the name of a case: barriers-and-kernels, raid0"),
        (&["explain", "nosuch.toml"][..], "there is no file `nosuch.toml`"),
        (&["explain", "casebook", "instance-bandwidth", "--date", "2010"][..], "`--date` does not fit"),
    ] {
        let said = bench.iostone(arguments).ended_with(2);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

/// A dataset of one observation of a machine.
fn of_machine(volume: &str, date: &str, labels: &str, figures: &str, facts: &str) -> String {
    format!(
        "[facts]\ninstance = \"m5.large\"\nvolume = \"{volume}\"\ndate = \"{date}\"\n{facts}\n[[observation]]\n\
         labels = {{ {labels} }}\nfigures = {{ {figures} }}\n"
    )
}

fn explained_file(content: &str) -> Value {
    let bench = Bench::new();
    bench.write("figures.toml", content);
    bench.iostone(&["explain", "figures.toml", "--json"]).ended_with(0).json()
}

/// A figure of the only condition.
fn only<'a>(document: &'a Value, metric: &str) -> &'a Value {
    let figures = document["parts"][0]["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["figure"] == metric).unwrap()
}

#[test]
fn iops_are_held_against_iops_and_their_size_bounds_the_throughput() {
    let figures = "iops = \"20000/s\", throughput = \"81.92MB/s\", wall_time = \"600s\"";
    let random = of_machine("gp2:100GiB", "2020", "rw = \"randread\"", figures, "direct = true");
    let document = explained_file(&random);
    let iops = only(&document, "iops");
    let volume = &iops["ceilings"][0];
    assert_eq!(
        (volume["name"].as_str(), volume["at_best"].as_f64()),
        (Some("300 IOPS of gp2:100GiB"), Some(3000.0))
    );
    assert_eq!(volume["state"], "exceeded");
    let throughput = only(&document, "throughput");
    assert!(
        (throughput["ceilings"][0]["at_best"].as_f64().unwrap() - 12_288_000.0).abs() < 1.0,
        "{throughput}"
    );
    // Adjacent ones are counted together.
    let document = explained_file(&random.replace("randread", "read"));
    assert_ne!(only(&document, "iops")["ceilings"][0]["state"], "exceeded");
    let document = explained_file(&random.replace("rw = \"randread\"", "a = \"x\""));
    assert!(
        document.to_string().contains("whether I/Os followed each other is not recorded"),
        "{document:#}"
    );
}

#[test]
fn a_year_in_which_the_law_changed_has_the_higher_limits_and_says_so() {
    let of = |date: &str| {
        explained_file(&of_machine(
            "io1:300GiB:1000iops",
            date,
            "a = \"x\"",
            "throughput = \"198MB/s\"",
            "direct = true",
        ))
    };
    let year = of("2015");
    assert!(year.to_string().contains("128MiB/s, then 250MiB/s; the higher are taken"), "{year:#}");
    assert!(!only(&year, "throughput").to_string().contains("exceeded"), "{year:#}");
    assert!(only(&of("2015-01"), "throughput").to_string().contains("exceeded"));
}

#[test]
fn another_instance_takes_the_place_of_what_the_author_states() {
    let document = explained(&["casebook", "instance-bandwidth", "--instance", "c4.4xlarge"]);
    let small = figure(&document, "instance=c4.large", "throughput");
    assert!(!small["ceilings"].to_string().contains("62500000"), "{small:#}");
    assert_eq!(small["binds"], Value::Null);
    assert!(document.to_string().contains("what the source states of c4.large is left out"), "{document:#}");
}

#[test]
fn where_the_machine_is_named_the_note_does_not_ask_for_it() {
    let latency = of_machine("gp2:100GiB", "2020", "a = \"x\"", "random_seeks = \"100/s\"", "");
    let document = explained_file(&latency);
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("bytes a second and of I/Os a second") && !notes.contains("name the machine"),
        "{notes}"
    );
    let document = explained_file(&latency.replace("2020", "1999"));
    assert!(!document["notes"].to_string().contains("name the machine"), "{document:#}");
}

#[test]
fn a_volume_at_its_baseline_for_two_hours_is_bound_by_it() {
    let figures = "iops = \"300/s\", throughput = \"4.9152MB/s\", wall_time = \"7200s\"";
    let content = of_machine("gp2:100GiB", "2020", "rw = \"randread\"", figures, "direct = true");
    let document = explained_file(&content);
    let iops = only(&document, "iops");
    assert_eq!(iops["binds"], "300 IOPS of gp2:100GiB", "{iops:#}");
    assert_eq!(iops["ceilings"][0]["state"], "binds-in-long-run");
    let sentence = iops["sentence"].as_str().unwrap();
    assert!(sentence.contains("100 % of the long run of 300 IOPS of gp2:100GiB"), "{sentence}");
}

#[test]
fn what_predictions_know_of_volumes_off_nitro_explanations_know_too() {
    let figures = "iops = \"31900/s\", throughput = \"130.6624MB/s\", wall_time = \"600s\"";
    let nitro = of_machine("io2:4TiB:64000iops", "2024", "rw = \"randread\"", figures, "direct = true")
        .replace("m5.large", "r5.24xlarge");
    assert_eq!(only(&explained_file(&nitro), "iops")["binds"], Value::Null);
    let document = explained_file(&nitro.replace("r5.24xlarge", "r4.16xlarge"));
    assert_eq!(only(&document, "iops")["binds"], "32000 IOPS of io2:4TiB:64000iops", "{document:#}");
}
