//! `catalog`: what is known is found, shown, compared, written and read back; the user's rows go before, and say so.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::Bench;

const DESCRIBED: &str = r#"{"InstanceTypes": [
    {"InstanceType": "c4.large", "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 3840},
     "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"BaselineBandwidthInMbps": 750,
        "BaselineIops": 4000, "MaximumBandwidthInMbps": 750, "MaximumIops": 4000}}},
    {"InstanceType": "z9.large", "VCpuInfo": {"DefaultVCpus": 3}}]}"#;

/// Whether a fact is shown as one that is not known.
fn is_unknown(shown: &str, label: &str) -> bool {
    let mut words = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.any(|words| words == [label, "unknown"])
}

#[test]
fn more_than_1400_types_are_there_and_none_has_a_zero_for_what_is_not_known() {
    let bench = Bench::new();
    let all = bench.iostone(&["catalog", "search", "--json"]).ended_with(0).json();
    assert_eq!(all["of"], 1437);
    let instances = all["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 1437);
    for one in instances {
        for key in ["vcpus", "memory_bytes", "clock_ghz", "ecu"] {
            assert!(one[key].is_null() || one[key].as_f64().unwrap() > 0.0, "{one}");
        }
        assert!(
            one["ebs"].is_null() || one["ebs"]["baseline_bytes_per_second"].as_u64().unwrap() > 0,
            "{one}"
        );
        assert!(one["source"].as_str().unwrap().contains("20") && one["date"].is_string(), "{one}");
    }
    let unknown = bench.iostone(&["catalog", "show", "hi1.4xlarge"]).ended_with(0);
    assert!(is_unknown(&unknown.stdout, "memory"), "{}", unknown.stdout);
    assert!(bench.iostone(&["catalog"]).ended_with(0).stdout.contains("1437 instance types of EC2"));
}

#[test]
fn searches_say_how_many_and_what_is_near() {
    let bench = Bench::new();
    let found = bench.iostone(&["catalog", "search", "c4.", "--vcpus", "2..16"]).ended_with(0);
    assert!(found.stdout.contains("4 of 1437 types; prices of us-east-1."), "{}", found.stdout);
    assert!(found.stdout.lines().all(|line| line.chars().count() <= 100), "{}", found.stdout);
    bench.iostone(&["catalog", "search", "c4.lagre"]).ended_with(0).complains_of("did you mean `c4.large`?");
    bench
        .iostone(&["catalog", "search", "--region", "mars-1"])
        .ended_with(2)
        .complains_of("only of us-east-1");
    bench.iostone(&["catalog", "search", "--ebs", "500MBps.."]).ended_with(2).complains_of("not a unit here");
    bench
        .iostone(&["catalog", "search", "--vcpus", "8..4"])
        .ended_with(2)
        .complains_of("ends before it begins");
    bench.iostone(&["catalog", "show", "c4.lagre"]).ended_with(2).complains_of("did you mean `c4.large`?");
    let burstable = bench.iostone(&["catalog", "search", "--burstable", "--json"]).ended_with(0).json();
    assert_eq!(burstable["found"], 28);
    let volumes = bench.iostone(&["catalog", "search", "--volumes", "gp"]).ended_with(0);
    assert!(volumes.stdout.contains("gp2") && volumes.stdout.contains("gp3"), "{}", volumes.stdout);
}

#[test]
fn a_type_is_shown_in_every_unit_and_types_side_by_side() {
    let bench = Bench::new();
    let shown = bench.iostone(&["catalog", "show", "c4.large"]).ended_with(0).stdout;
    assert!(shown.contains("500 Mbps = 62.5 MB/s = 59.6 MiB/s"), "{shown}");
    let shown = bench.iostone(&["catalog", "show", "m5.large"]).ended_with(0).stdout;
    assert!(shown.contains("EBS burst bucket") && shown.contains("assumed"), "{shown}");
    let compared = bench.iostone(&["catalog", "compare", "c4.large", "c4.4xlarge"]).ended_with(0).stdout;
    let row = compared.lines().find(|line| line.contains("EBS baseline")).unwrap();
    assert!(row.starts_with('*') && row.contains("250 MB/s (4.00x)"), "{compared}");
    let row = compared.lines().find(|line| line.contains("hypervisor")).unwrap();
    assert!(row.starts_with(' '), "{compared}");
    bench.iostone(&["catalog", "compare", "c4.large", "gp2"]).ended_with(2).complains_of("is a volume type");
    let gp2 = bench.iostone(&["catalog", "show", "gp2"]).ended_with(0).stdout;
    assert!(gp2.contains("since 2018-12-03"), "{gp2}");
}

#[test]
fn rows_of_the_user_go_before_and_every_answer_says_so() {
    let bench = Bench::new();
    bench.write("described.json", DESCRIBED);
    let dry = bench.iostone(&["catalog", "update", "--dry-run", "described.json"]).ended_with(0);
    assert!(dry.stdout.contains("ebs_baseline: 62.5MB/s -> 93.75MB/s"), "{}", dry.stdout);
    assert!(dry.stdout.contains("2 rows read: 1 added, 1 changed, 0 as they are"), "{}", dry.stdout);
    let mine = bench.path("config/iostone/catalogue.toml");
    assert!(!mine.exists());
    bench
        .iostone(&["catalog", "update", "described.json", "--source", "EC2", "--date", "2026-11"])
        .ended_with(0);
    let text = fs::read_to_string(&mine).unwrap();
    assert!(text.contains("ebs_baseline = \"93.75MB/s\"") && !text.contains("vcpus = 2"), "{text}");
    let shown = bench.iostone(&["catalog", "show", "c4.large", "--json"]).ended_with(0).json();
    assert_eq!(shown["ebs"]["baseline_bytes_per_second"], 93_750_000);
    let source = shown["source"].as_str().unwrap();
    assert!(source.contains("your catalogue, ") && source.ends_with("(EC2, 2026-11)"), "{source}");
    let new = bench.iostone(&["catalog", "show", "z9.large"]).ended_with(0).stdout;
    assert!(new.contains("your catalogue") && is_unknown(&new, "memory"), "{new}");
    let again = bench.iostone(&["catalog", "update", "described.json"]).ended_with(0);
    assert!(again.stdout.contains("0 added, 0 changed, 2 as they are"), "{}", again.stdout);
}

#[test]
fn an_export_reads_back_as_nothing_new() {
    let bench = Bench::new();
    for format in ["csv", "json", "toml"] {
        let export =
            bench.iostone(&["catalog", "export", "--format", format, "--output", "all"]).ended_with(0);
        assert_eq!(export.stdout, "");
        let update = bench.iostone(&["catalog", "update", "all", "--json"]).ended_with(0).json();
        assert_eq!(update["changes"], serde_json::json!([]), "{format}");
        assert!(update["rows"].as_u64().unwrap() >= 1437 && update["written"] == false, "{format}");
    }
    assert!(!bench.path("config").exists(), "nothing differs, so nothing is written");
}

#[test]
fn a_broken_file_stops_who_asks_the_catalogue_and_nobody_else() {
    let bench = Bench::new();
    let with = |arguments: &[&str], file: &str| {
        let mut command = bench.command(arguments);
        command.env("IOSTONE_CATALOGUE", bench.path(file));
        crate::support::Said::from(command.output().unwrap())
    };
    bench.write("wrong.toml", "[instance.\"c4.large\"]\nmemry = \"4GiB\"\nebs_baseline = 500\n");
    let said = with(&["catalog", "show", "c4.large"], "wrong.toml").ended_with(2);
    said.complains_of("`memry` is not a key of")
        .complains_of("wrong.toml:2:1")
        .complains_of("a rate in quotes");
    with(&["catalog", "--help"], "wrong.toml").ended_with(0);
    with(&["list"], "wrong.toml").ended_with(0);
    with(&["catalog"], "absent.toml").ended_with(2).complains_of("names a catalogue that is not there");
    bench.write("latin.toml", b"# ok\n# caf\xe9\n");
    with(&["catalog"], "latin.toml").ended_with(2).complains_of("is not UTF-8 from line 2 on");
    fs::File::create(bench.path("large.toml")).unwrap().set_len(100 << 20).unwrap();
    with(&["catalog"], "large.toml").ended_with(2).complains_of("is larger than 16 MiB");
    symlink(bench.path("loop.toml"), bench.path("loop.toml")).unwrap();
    with(&["catalog"], "loop.toml").ended_with(2).complains_of("reading");
    fs::create_dir(bench.path("folder.toml")).unwrap();
    with(&["catalog"], "folder.toml").ended_with(2).complains_of("reading");
    bench.write("cut.json", "{\"InstanceTypes\": [{");
    bench.iostone(&["catalog", "update", "cut.json"]).ended_with(2).complains_of("line 1, column");
}

#[test]
fn a_catalogue_that_cannot_be_written_is_as_it_was() {
    let bench = Bench::new();
    bench.write("described.json", DESCRIBED);
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    let said = command.env("IOSTONE_CATALOGUE", "/dev/full").output().unwrap();
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    fs::create_dir(bench.path("real")).unwrap();
    bench.write("real/rows.toml", "# mine\n");
    symlink(bench.path("real/rows.toml"), bench.path("link.toml")).unwrap();
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    assert!(command.env("IOSTONE_CATALOGUE", bench.path("link.toml")).status().unwrap().success());
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    assert!(command.env("IOSTONE_CATALOGUE", bench.path("new.toml")).status().unwrap().success());
    assert!(bench.path("new.toml").is_file(), "who updates a named catalogue makes it");
    assert!(bench.path("link.toml").is_symlink());
    let text = fs::read_to_string(bench.path("real/rows.toml")).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("z9.large"), "{text}");
}
